"""One Spark query that feeds all sinks of a query, or of several in one pass, a micro-batch at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from os import PathLike, fspath
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkException, PySparkPicklingError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin.errors import QueryError
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.checkpoints.query_texts import text_or_reason
from muntin_engine.backends.spark.dataframes.pipeline import streaming_blobs
from muntin_engine.backends.spark.delivery.by_value import by_value
from muntin_engine.backends.spark.foreach_batch.batch_writer import BatchWriter
from muntin_engine.backends.spark.foreach_batch.closing import ClosingQuery, check_end, write_last_windows
from muntin_engine.backends.spark.foreach_batch.query_ids import StartedQuery, StoredQueryId
from muntin_engine.backends.spark.foreach_batch.query_sinks import plans_of_pass, with_sinks
from muntin_engine.backends.spark.foreach_batch.recorded_queries import (
    begin_recordings,
    recording_settings,
    recordings_of,
)
from muntin_engine.backends.spark.foreach_batch.trigger_arguments import trigger_arguments
from muntin_engine.backends.spark.foreach_batch.written_query import WrittenQuery
from muntin_engine.backends.spark.operators.bucket_processor import REPARTITIONED
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import in_session, is_cut_off
from muntin_engine.backends.spark.session.kinds import AnySession, is_connect
from muntin_engine.backends.spark.session.settings import set_settings
from muntin_engine.errors import SetupError
from muntin_engine.packages.local_code import local_modules
from muntin_engine.plan.plan_words import spell_grouping
from muntin_engine.sinks.addresses import is_elsewhere, local_path

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.backends.write_request import WriteRequest

_LOG: Final = logging.getLogger("muntin.checkpoint")
_WHY_SETTINGS: Final = (
    "a query that reads another's results is recorded by it, and so is started a query whose checkpoint Spark gave\n"
    "  another number of partitions: leave record= out, or run one micro-batch elsewhere"
)
_SINKS: Final = logging.getLogger("muntin.sinks")

_STARTS: Final[dict[str, Lock]] = {}
"""A lock for each checkpoint that this process starts queries with."""

_SETTINGS: Final = Lock()
"""Held while a query starts whose settings are those of the session: other starts would overwrite or unset them."""


@in_session()
def write(request: WriteRequest) -> StreamingQuery:
    """Start a Spark query that writes; see `Query.write` and `OnePass.write`."""
    queries = request.outputs.queries
    checkpoint = _checked_checkpoint(request)
    pace = trigger_arguments(request.every, available_now=request.available_now)
    session = request.outputs.first_query.source.df.sparkSession
    is_remote = is_connect(session)

    # Build one DataFrame with the output of all queries, as their sinks and recordings need it.
    stored_checkpoint = Checkpoint(session, checkpoint)
    ordered_queries = stored_checkpoint.in_order(queries)
    outputs = with_sinks(ordered_queries, request.outputs.sinks, checkpoint)
    recordings = recordings_of(ordered_queries, request.record)
    row_recordings = [None if recording is None else recording.rows for recording in recordings]
    taken_outputs = [query_sinks.sinks.keys() for query_sinks in outputs.sinks]
    blobs = streaming_blobs(
        outputs.queries,
        taken_outputs=taken_outputs,
        recordings=row_recordings,
        has_begun=stored_checkpoint.has_begun,
    )

    # Refuse queries that cannot go on with the checkpoint or with the sinks, before anything is started.
    for change in stored_checkpoint.check(outputs.plans, outputs.names, reads_state=False):
        _LOG.warning("%s", change)
    stored_checkpoint.check_open()
    if not is_remote:  # on Spark Connect only the server sees what the sinks have written
        stored_checkpoint.check_sinks(outputs.sinks_by_spelling)
    record = stored_checkpoint.record_of_queries(
        outputs.plans,
        outputs.names,
        destinations=outputs.destinations,
        text=text_or_reason(ordered_queries),
    )
    for query_sinks in outputs.sinks:
        for output, sink in query_sinks.sinks.items():
            _SINKS.info("%s=%s: each row arrives %s", query_sinks.spelled(output), sink, sink.guarantee)
    begin_recordings(recordings, outputs.queries, stored_checkpoint)

    # The first micro-batch may run before Spark has returned the id of the query: the writer then waits for it.
    query_id = StartedQuery()
    batch_writer = BatchWriter(
        outputs.sinks,
        query_id=StoredQueryId(checkpoint) if is_remote else query_id,
        checkpoint=checkpoint,
        destinations=stored_checkpoint.checked_destinations,
        first_file=record,
        recordings=recordings,
    )

    # Tasks see the settings that the session has at the start: Spark copies them for the query's own session.
    settings = recording_settings(recordings, outputs.queries)
    repartitioned_batch = stored_checkpoint.repartitioned_batch
    if repartitioned_batch is not None:
        settings[REPARTITIONED] = str(repartitioned_batch)
    usual_name = _usual_name(queries)

    def start(trigger: Mapping[str, Any]) -> StreamingQuery:
        """Start the Spark query, with the arguments of Spark's `trigger`."""
        with _set_for_start(session, settings), _one_start_at_once(checkpoint):
            return _start(blobs, batch_writer, checkpoint, trigger=trigger, name=request.name, usual_name=usual_name)

    streaming = start(pace)
    query_id.set_id(str(streaming.id))

    shown_queries = tuple(queries.values())
    if request.on_end == "leave":
        # A `WrittenQuery` is made from the object in the JVM, which a program on Spark Connect does not have.
        return streaming if is_remote else WrittenQuery(streaming, checkpoint, shown_queries)

    # A stream is closed after a whole micro-batch. If `stop` cut the last micro-batch short, Spark's old trigger `once`
    # runs it again and no other one after it: `availableNow` would also read all rows that have come since.
    def finish() -> None:
        """Run the last micro-batch again if it was cut short."""
        if Checkpoint(session, checkpoint).is_cut_short:
            start({"once": True}).awaitTermination()

    def close() -> None:
        """Close the stream."""
        write_last_windows(outputs, checkpoint, recordings)

    return ClosingQuery(streaming, finish=finish, close=close, checkpoint=checkpoint, planned_queries=shown_queries)


def _checked_checkpoint(request: WriteRequest) -> str:
    """Return the path of the checkpoint that a call of `write` gives; refuse a call that cannot be carried out.

    Raises:
        QueryError: The queries cannot end as `on_end` says, their input is static, or no checkpoint is given.
    """
    for query in request.outputs.queries.values():
        check_end(query, request.on_end)
    if not request.outputs.first_query.source.df.isStreaming:
        raise QueryError(
            "write() starts a streaming query, and the input is static\n"
            "  write what results(), late_rows() and rejected_rows() return: query.results().write.parquet('results')"
        )
    if request.checkpoint is None:
        raise QueryError(
            "write() needs a checkpoint, and none is given\n"
            "  expected: a folder of the query's own, in which Spark keeps what it has read, and Muntin its state; a\n"
            "  query that is started again with it goes on where it was, and writes no result twice\n"
            "  for example query.write(checkpoint='checkpoint', results='results')"
        )
    return fspath(request.checkpoint)


def _usual_name(queries: Mapping[str, PlannedQuery]) -> str:
    """Return the name of a streaming query that has none from its writer: the names of all Muntin queries in it."""
    names: list[str] = []
    for query in queries.values():
        names.append(query.metrics_name if query.is_named else spell_grouping(query.plan))
    return ", ".join(names)


@in_session()
def check_checkpoint(queries: Mapping[str, PlannedQuery], checkpoint: str | PathLike[str]) -> list[str]:
    """Raise unless queries can go on with a checkpoint; see `Query.check`.

    Args:
        queries: The queries by name; the name of a query that is written alone is empty.
        checkpoint: The checkpoint.

    Returns:
        Descriptions of the differences from the queries that the checkpoint began with.

    Raises:
        StateMismatchError, StateError: The queries cannot go on with the checkpoint, or it is damaged or closed.
    """
    first_query = next(iter(queries.values()))
    stored_checkpoint = Checkpoint(first_query.source.df.sparkSession, checkpoint)
    ordered_queries = stored_checkpoint.in_order(queries)
    names = [name for name in ordered_queries if name]
    changes = stored_checkpoint.check(plans_of_pass(list(ordered_queries.values())), names)
    stored_checkpoint.check_open()
    return changes


def free_name(spark: AnySession, usual_name: str) -> str:
    """Return a name that no running query of a session has: the usual name, or the usual name with a number after it.

    Spark refuses to start a query under a name that is in use.
    """
    used_names = {running.name for running in spark.streams.active}
    name = usual_name
    numbers = count(2)
    while name in used_names:
        name = f"{usual_name} ({next(numbers)})"
    return name


def _start(
    blobs: DataFrame,
    batch_writer: BatchWriter,
    checkpoint: str | PathLike[str],
    *,
    trigger: Mapping[str, Any],
    name: str | None,
    usual_name: str,
) -> StreamingQuery:
    """Start a query of Spark's.

    Args:
        blobs: The output of the buckets.
        batch_writer: The writer to the sinks.
        checkpoint: The path of the checkpoint.
        trigger: The arguments of Spark's trigger; empty to begin each micro-batch when the previous one has ended.
        name: The name of the query of Spark's; None for a name that `free_name` finds.
        usual_name: The usual name, for `free_name`.

    Raises:
        QueryError: A sink cannot travel to a server of Spark Connect.
        StateError: Spark cannot start the query, and files of the checkpoint are damaged.
        PySparkException, Py4JError: Spark cannot start the query for another reason.
    """
    writer = blobs.writeStream.option("checkpointLocation", fspath(checkpoint))
    if trigger:
        writer = writer.trigger(**trigger)
    writer = _with_sinks(writer, batch_writer)
    while True:
        query_name = name or free_name(blobs.sparkSession, usual_name)
        try:
            return writer.queryName(query_name).start()
        except (PySparkException, Py4JError) as error:
            if is_cut_off(error):
                raise  # the JVM does not answer, which says nothing of the checkpoint
            if name is None and free_name(blobs.sparkSession, usual_name) != query_name:
                continue  # another thread started a query of that name
            # Spark's error does not name the file that it could not read. So these checks look for a damaged file and
            # raise an error that names it.
            stored_checkpoint = Checkpoint(blobs.sparkSession, checkpoint)
            stored_checkpoint.check_metadata()
            stored_checkpoint.check_files()
            raise


@contextmanager
def _one_start_at_once(checkpoint: str | PathLike[str]) -> Iterator[None]:
    """Keep other threads of this process from starting a query with a checkpoint during a block.

    Starting a query stops a run of it that is active. If two threads do so at once, Spark (4.1 to 4.3) refuses one of
    the new runs with CONCURRENT_QUERY, but then takes that one for the active run. From then on the query cannot start
    in the session at all.
    """
    text = fspath(checkpoint)
    resolved_path = text if is_elsewhere(text) else str(local_path(text).resolve())
    with _STARTS.setdefault(resolved_path, Lock()):
        yield


@contextmanager
def _set_for_start(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session, by name, for the workers of the query that starts in a block; unset them after it.

    Of several threads whose queries need settings, one starts its query at a time.

    Raises:
        SetupError: The session refuses a setting.
    """
    if not settings:
        yield
        return
    with _SETTINGS:
        refused = set_settings(spark, settings)
        try:
            # The error names the first setting that was refused. It is raised inside of `try`, so that the settings
            # that were not refused are unset again.
            for name, reason in refused.items():
                raise SetupError(
                    f"the session refuses to set {name}, by which the workers of this query know what to do: {reason}\n"
                    "  expected: a session that lets its settings be changed\n"
                    f"  {_WHY_SETTINGS}"
                )
            yield
        finally:
            for name in settings.keys() - refused.keys():
                spark.conf.unset(name)


def _with_sinks(writer: DataStreamWriter, batch_writer: BatchWriter) -> DataStreamWriter:
    """Attach the sinks with foreachBatch; Spark Connect pickles them for its server.

    Raises:
        QueryError: A sink cannot be pickled.
    """
    try:
        with by_value(local_modules()):  # code of no installed package, such as a class of sinks, travels whole
            return writer.foreachBatch(batch_writer)
    except PySparkPicklingError as error:
        reason = error.__cause__ or error.__context__ or error
        raise QueryError(
            f"the sinks cannot travel to the Spark Connect server, which calls them: {reason}\n"
            "  keep sessions, DataFrames, open files and locks out of them; the session of a micro-batch is\n"
            "  batch.sparkSession"
        ) from error
