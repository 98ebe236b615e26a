"""The recordings of the queries of one write: which there are, and how each begins."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F

from muntin.errors import QueryError
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.dataframes.pipeline import task_of
from muntin_engine.backends.spark.operators.arrow_functions import RECORDING
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.sinks.recordings.recorder import Recorder
from muntin_engine.sinks.recordings.recording_writer import RecordedQuery, RecordingWriter, check_keys

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


def recordings_of(queries: Mapping[str, PlannedQuery], record: object) -> list[RecordingWriter | None]:
    """Return the recording of each query; None for a query that is not recorded.

    Args:
        queries: The queries by name; the name of a query that is written alone is empty.
        record: The argument `record` of `write`: a folder or a `Recorder`, in whose folder each named query has a
            folder of its own; or folders and recorders by the name of the query; None to record nothing.

    Raises:
        QueryError: A query cannot be recorded, no query has one of the names, or a key of a recorder is none of its
            query.
    """
    if record is None:
        return [None for _ in queries]
    recorders = _recorders_by_name(queries, record)
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
    recordings: list[RecordingWriter | None] = []
    for name, query in queries.items():
        recorder = recorders.get(name)
        if recorder is None:
            recordings.append(None)
            continue
        check_keys(recorder, query.plan.keys, query.source.keys)
        recordings.append(RecordingWriter(recorder, len(_inner_queries(query))))
    return recordings


def _recorders_by_name(queries: Mapping[str, PlannedQuery], record: object) -> dict[str, Recorder]:
    """Return the recorder of each query that is recorded, by name; the arguments are those of `recordings_of`.

    Raises:
        QueryError: No query has one of the names, or a value is neither a path nor a recorder.
    """
    recorders: dict[str, Recorder] = {}
    if isinstance(record, Mapping):
        for name, folder_or_recorder in record.items():
            recorders[name] = Recorder.of(folder_or_recorder)
        for name in recorders:
            if name not in queries:
                raise QueryError(
                    f"record names {name!r}, and there is no such query\n  there are: {', '.join(queries)}"
                )
        return recorders

    recorder = Recorder.of(record)
    for name in queries:
        if name:
            recorders[name] = replace(recorder, path=Path(fspath(recorder.path)) / name)
        else:
            recorders[name] = recorder
    return recorders


def _inner_queries(query: PlannedQuery) -> dict[str, PlannedQuery]:
    """Return the inner queries of a query: the queries whose results it reads, and in turn the inner queries of these.

    A query comes after its own inner queries. A query whose results are read twice is there once.

    Returns:
        The queries by their ids.
    """
    return {inner_query.inner_id: inner_query for inner_query in query.all_inner_queries}


def recording_settings(recordings: Sequence[RecordingWriter | None], queries: Sequence[PlannedQuery]) -> dict[str, str]:
    """Return the settings of Spark by which the tasks of inner queries find the folders in which they record rows.

    The settings are set while the Spark query starts. The tasks cannot have the folder in themselves: `as_events` made
    them before `write` said that the query is recorded.

    Args:
        recordings: The recording of each query; None for a query that is not recorded.
        queries: The queries, in the same order.
    """
    settings: dict[str, str] = {}
    for recording, query in zip(recordings, queries, strict=True):
        if recording is None:
            continue
        for inner_id, rows in zip(_inner_queries(query), recording.inner_rows, strict=True):
            settings[RECORDING + inner_id] = json.dumps([rows.folder, rows.run])
    return settings


def begin_recordings(
    recordings: Sequence[RecordingWriter | None], queries: Sequence[PlannedQuery], checkpoint: Checkpoint
) -> None:
    """Write the start of each recorded query, with the state that it starts with.

    Args:
        recordings: The recording of each query; None for a query that is not recorded.
        queries: The queries, in the same order.
        checkpoint: The checkpoint that they start with.

    Raises:
        RecordingError: A folder has the recording of another query, or has micro-batches that the checkpoint lacks.
        StateError: The checkpoint does not say which query it is of.
    """
    if all(recording is None for recording in recordings):
        return
    checkpoint.check_metadata()
    last_commit = checkpoint.last_commit
    query_id = checkpoint.query_id if last_commit >= 0 else ""
    for place, (recording, query) in enumerate(zip(recordings, queries, strict=True)):
        if recording is None:
            continue

        # `all_inner_queries` has an element for each operator of the checkpoint, in the order in which rows pass them.
        # An inner query whose results are read twice has two operators with the same state: its first one is recorded.
        ids_by_operator = [inner_query.inner_id for inner_query in query.all_inner_queries]
        inner_queries = _inner_queries(query)
        inner_ids = list(inner_queries)
        recorded_inner_queries: list[RecordedQuery] = []
        for inner_id, inner_query in inner_queries.items():
            operator = ids_by_operator.index(inner_id)
            recorded_inner_query = _recorded(
                inner_query, place=0, operator=operator, checkpoint=checkpoint, inner_ids=inner_ids
            )
            recorded_inner_queries.append(recorded_inner_query)

        # Rows pass the operator of the query itself last, after those of the inner queries.
        recorded_query = _recorded(
            query, place=place, operator=len(ids_by_operator), checkpoint=checkpoint, inner_ids=inner_ids
        )
        recording.begin(recorded_query, query_id, last_commit, recorded_inner_queries)


def _recorded(
    query: PlannedQuery, *, place: int, operator: int, checkpoint: Checkpoint, inner_ids: list[str]
) -> RecordedQuery:
    """Return a query as data, with a function that reads its state, for the start of its recording.

    Args:
        query: The query.
        place: The place of the query among those of one pass.
        operator: The number of its operator in the checkpoint, in the order in which rows pass the operators.
        checkpoint: The checkpoint.
        inner_ids: The ids of all inner queries of the recording, in order.
    """
    task = task_of(query, place)

    def read_cells() -> pa.Table:
        """Read the query's state; called only if a replay of the recorded micro-batches would not compute it."""
        with checkpoint.state.cells(operator) as operator_cells:
            return operator_cells.where(F.col("bucket").isin(*task.buckets)).toArrow()

    reads = tuple(inner_ids.index(inner_query.inner_id) for inner_query in query.inner)
    return RecordedQuery.of(query.plan, task, read_cells, reads)
