"""One Spark query that feeds all sinks of a query, a micro-batch at a time."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PySparkPicklingError
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin import Duration, QueryError
from muntin_engine.shipping.local_code import local_modules
from muntin_engine.spark.pipeline import evaluated, keeping_late_rows
from muntin_engine.spark.session.ended import in_session, is_cut_off
from muntin_engine.spark.session.kinds import is_connect
from muntin_engine.spark.shipping.by_value import by_value
from muntin_engine.spark.writing.batch_writer import BatchWriter, written_to
from muntin_engine.spark.writing.checkpoints import Checkpoint
from muntin_engine.spark.writing.closing import ClosingQuery, check_end, write_last_windows
from muntin_engine.spark.writing.query_ids import StartedQuery, StoredQueryId
from muntin_engine.writing import SinkLike, pace_of

if TYPE_CHECKING:
    from muntin_engine.api.planned_query import PlannedQuery


@in_session()
def write(
    query: PlannedQuery,
    wanted: Mapping[str, SinkLike | None],
    checkpoint: str | PathLike[str],
    trigger: Duration | None,
    on_end: str,
    name: str | None,
) -> StreamingQuery:
    """Start a Spark query that writes; see `Query.write`."""
    check_end(query, on_end)
    if not query.source.df.isStreaming:
        raise QueryError(
            "write() starts a streaming query, and the input is static\n"
            "  write what results(), late() and rejected() return: query.results().write.parquet('results')"
        )
    pace_of(trigger)
    running, sinks, schemas = written_to(query, wanted, checkpoint)
    known, plans = Checkpoint(query.source.df.sparkSession, checkpoint), (*running.inner, running.plan)
    blobs = evaluated(running)
    known.check(plans, is_last_chance=False)
    known.check_open()
    started, is_remote = StartedQuery(), is_connect(query.source.df.sparkSession)
    query_id = StoredQueryId(fspath(checkpoint)) if is_remote else started
    folders = {f"{output}={sink}": sink.folder for output, sink in sinks.items() if sink.folder is not None}
    if not is_remote:  # there they are the server's
        known.check_folders(folders)
    batches = BatchWriter(sinks, schemas, query_id, known.record(plans, folders.values()))
    streaming = _start(blobs, batches, checkpoint, pace_of(trigger), name)
    started.name(str(streaming.id))
    if on_end == "leave":
        return streaming

    def finish() -> None:
        if Checkpoint(query.source.df.sparkSession, checkpoint).is_cut_short:
            _start(blobs, batches, checkpoint, {"once": True}, name).awaitTermination()

    return ClosingQuery(streaming, finish, lambda: write_last_windows(running, sinks, checkpoint))


@in_session()
def check_checkpoint(query: PlannedQuery, checkpoint: str | PathLike[str], *, late: bool) -> None:
    """Raise unless a query can go on with a checkpoint; see `Query.check_checkpoint`."""
    asked = keeping_late_rows(query) if late else query
    known = Checkpoint(query.source.df.sparkSession, checkpoint)
    known.check((*asked.inner, asked.plan))
    known.check_open()


def _start(
    blobs: DataFrame,
    batches: BatchWriter,
    checkpoint: str | PathLike[str],
    trigger: Mapping[str, Any],
    name: str | None,
) -> StreamingQuery:
    writer = blobs.writeStream.option("checkpointLocation", fspath(checkpoint))
    if trigger:
        writer = writer.trigger(**trigger)
    if name is not None:
        writer = writer.queryName(name)
    handing = _handing(writer, batches)
    try:
        return handing.start()
    except (PySparkException, Py4JError) as error:
        if not is_cut_off(error):  # Spark has no words for metadata that it cannot read, such as cut JSON
            Checkpoint(blobs.sparkSession, checkpoint).check_metadata()
        raise


def _handing(writer: DataStreamWriter, batches: BatchWriter) -> DataStreamWriter:
    """Have micro-batches handed on; on Spark Connect, where the sinks are pickled for the server to do so."""
    try:
        with by_value(local_modules()):
            return writer.foreachBatch(batches)
    except PySparkPicklingError as error:
        reason = error.__cause__ or error.__context__ or error
        raise QueryError(
            f"the sinks cannot travel to the Spark Connect server, which calls them: {reason}\n"
            "  keep sessions, DataFrames, open files and locks out of them; the session of a micro-batch is\n"
            "  batch.sparkSession"
        ) from error
