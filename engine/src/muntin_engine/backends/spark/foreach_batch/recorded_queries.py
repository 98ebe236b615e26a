"""The recordings of the queries of one write: which there are, and how each begins."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as F

from muntin.errors import QueryError
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.dataframes.pipeline import task_of
from muntin_engine.backends.spark.operators.arrow_functions import RECORDING
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.plan.plan_as_data import unwritten_parameters
from muntin_engine.sinks.recordings.recorder import Recorder
from muntin_engine.sinks.recordings.recording_writer import RecordedQuery, RecordingWriter
from muntin_engine.wire.task_as_data import task_to_data

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

_LOG: Final = logging.getLogger("muntin.recording")


def recordings_of(queries: Mapping[str, PlannedQuery], record: object) -> list[RecordingWriter | None]:
    """Return the recording of each query; None of one that is not recorded.

    Args:
        queries: The queries by name; the name of one that is asked alone is empty.
        record: Where they are recorded: a place, in which each query with a name has a folder of its own; or the place
            of each by name.

    Raises:
        QueryError: A query cannot be recorded, or there is none of a name.
    """
    if record is None:
        return [None for _ in queries]
    if isinstance(record, Mapping):
        named = {name: _recorder(one) for name, one in record.items()}
        if unknown := [name for name in named if name not in queries]:
            raise QueryError(
                f"record names {unknown[0]!r}, and there is no such query\n  there are: {', '.join(queries)}"
            )
    else:
        one = _recorder(record)
        named = {name: replace(one, path=Path(fspath(one.path)) / name) if name else one for name in queries}
    for query in queries.values():
        if query.inner and len(queries) > 1:
            raise QueryError(
                "record= records a query, with those whose results it reads; these are several of one pass that share "
                "the results of another\n  record one of them: write(...) it by itself, with record="
            )
        if is_connect(query.source.df.sparkSession):
            raise QueryError(
                "record= is written by the driver and its workers, and this session has them on a Connect server\n"
                "  run the query in a classic session to record it"
            )
    return [
        RecordingWriter(named[name], len(_before(query))) if name in named else None for name, query in queries.items()
    ]


def _before(query: PlannedQuery) -> dict[str, PlannedQuery]:
    """Return the queries before a query, each after those that it reads itself, by the names that their tasks know."""
    return {one.place_name: one for one in query.before}


def recording_settings(recordings: Sequence[RecordingWriter | None], queries: Sequence[PlannedQuery]) -> dict[str, str]:
    """Return the settings by which the tasks of the queries before find where they record, for as long as one starts.

    Their part of the query of Spark's was made when nobody knew that it would be recorded.
    """
    return {
        RECORDING + name: json.dumps([rows.folder, rows.run])
        for recording, query in zip(recordings, queries, strict=True)
        if recording is not None
        for name, rows in zip(_before(query), recording.before, strict=True)
    }


def _recorder(record: object) -> Recorder:
    if isinstance(record, Recorder):
        return record
    if isinstance(record, str | PathLike):
        return Recorder(record)
    raise QueryError(
        f"record={record!r:.80} is no place for a recording\n"
        "  expected: the path of a folder, or Recorder('<path>', ...)"
    )


def begin(recordings: Sequence[RecordingWriter | None], queries: Sequence[PlannedQuery], known: Checkpoint) -> None:
    """Write what is recorded of queries that start, and the state that they start with.

    Raises:
        RecordingError: A folder has the recording of another query, or of a later time than the checkpoint.
        StateError: The checkpoint does not say which query it is of.
    """
    if all(recording is None for recording in recordings):
        return
    known.check_metadata()
    last = known.last_commit
    query_id = known.query_id if last >= 0 else ""
    for place, (recording, query) in enumerate(zip(recordings, queries, strict=True)):
        if recording is None:
            continue
        before = _before(query)
        operators = [one.place_name for one in query.before]
        told = [_recorded(one, 0, operators.index(name), known, list(before)) for name, one in before.items()]
        recording.begin(_recorded(query, place, len(operators), known, list(before)), query_id, last, told)


def _recorded(query: PlannedQuery, place: int, operator: int, known: Checkpoint, names: list[str]) -> RecordedQuery:
    """Return a query as its recording begins with it.

    Args:
        query: The query.
        place: Its place among those of one pass.
        operator: The place of its operator in the checkpoint, in the order of the rows.
        known: The checkpoint.
        names: The names of the queries that are recorded before.
    """
    task = task_of(query, place)
    data = task_to_data(query.plan, task)
    for told in unwritten_parameters(data["plan"]):
        _LOG.warning("a recording cannot hold a part of the query, which a replay has to be given: %s", told)

    def cells() -> pa.Table:
        with known.state.cells(operator) as found:
            return found.where(F.col("bucket").isin(*task.buckets)).toArrow()

    return RecordedQuery(data, cells, tuple(names.index(one.place_name) for one in query.inner))
