"""One Spark query that feeds all sinks of a query, a micro-batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkPicklingError
from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from muntin import EARLIEST, Duration, QueryError
from muntin_engine.errors import SinkError
from muntin_engine.shipping.local_code import local_modules
from muntin_engine.spark.batch_progress import progress_of, progress_schema
from muntin_engine.spark.bucket_task import LATE, PUNCTUATION, REJECTED, RESULTS
from muntin_engine.spark.by_value import by_value
from muntin_engine.spark.checkpoints import Checkpoint, Record
from muntin_engine.spark.failures import is_from_spark, root_cause
from muntin_engine.spark.pipeline import evaluated, keeping_late_rows, result_schema, rows_of
from muntin_engine.spark.query_ids import QueryId, StartedQuery, StoredQueryId
from muntin_engine.spark.refused import REFUSED
from muntin_engine.spark.sessions import is_connect
from muntin_engine.spark.types import spark_schema_of
from muntin_engine.writing import Sink, SinkLike, choose_sinks, pace_of

if TYPE_CHECKING:
    from muntin_engine.query import Query

PROGRESS: Final = "progress"


def write(
    query: Query,
    wanted: Mapping[str, SinkLike | None],
    checkpoint: str | PathLike[str],
    trigger: Duration | None,
    name: str | None,
) -> StreamingQuery:
    """Start a Spark query that writes; see `Query.write`."""
    if not query.source.df.isStreaming:
        raise QueryError(
            "write() starts a streaming query, and the input is static\n"
            "  write what results(), late() and rejected() return: query.results().write.parquet('results')"
        )
    pace_of(trigger)
    sinks = choose_sinks(wanted, checkpoint)
    running = keeping_late_rows(query) if LATE in sinks else query
    schemas = _schemas(running)
    for output, sink in sinks.items():
        sink.keyed_by([key.name for key in running.plan.columns.keys] if output == RESULTS else [])
        sink.check(schemas[output].names)
    known, plans = Checkpoint(query.source.df.sparkSession, checkpoint), (*running.inner, running.plan)
    blobs = evaluated(running)
    known.check(plans, is_last_chance=False)
    started, is_remote = StartedQuery(), is_connect(query.source.df.sparkSession)
    query_id = StoredQueryId(fspath(checkpoint)) if is_remote else started
    folders = {f"{output}={sink}": sink.folder for output, sink in sinks.items() if sink.folder is not None}
    if not is_remote:  # there they are the server's
        known.check_folders(folders)
    batches = BatchWriter(sinks, schemas, query_id, known.record(plans, folders.values()))
    streaming = _start(blobs, batches, checkpoint, trigger, name)
    started.name(str(streaming.id))
    return streaming


def check_checkpoint(query: Query, checkpoint: str | PathLike[str], *, late: bool) -> None:
    """Raise unless a query can go on with a checkpoint; see `Query.check_checkpoint`."""
    asked = keeping_late_rows(query) if late else query
    Checkpoint(query.source.df.sparkSession, checkpoint).check((*asked.inner, asked.plan))


def _start(
    blobs: DataFrame, batches: BatchWriter, checkpoint: str | PathLike[str], trigger: Duration | None, name: str | None
) -> StreamingQuery:
    writer = _triggered(blobs.writeStream, trigger).option("checkpointLocation", fspath(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    return _handing(writer, batches).start()


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


def _triggered(writer: DataStreamWriter, trigger: Duration | None) -> DataStreamWriter:
    pace = pace_of(trigger)
    return writer.trigger(**pace) if pace else writer


def _schemas(query: Query) -> dict[str, spark_types.StructType]:
    refused = spark_schema_of(REFUSED)
    return {RESULTS: result_schema(query), LATE: refused, REJECTED: refused, PROGRESS: progress_schema(query)}


class BatchWriter:
    """Hands a micro-batch to every sink.

    The buckets are evaluated once, and all of them before any sink gets a row: one that looks at a few rows only must
    not leave the state of the others unwritten. On Spark Connect it travels to the server and does its work there.
    """

    def __init__(
        self,
        sinks: Mapping[str, Sink],
        schemas: Mapping[str, spark_types.StructType],
        query_id: QueryId,
        record: Record | None = None,
    ) -> None:
        """Take what a query writes to.

        Args:
            sinks: The sinks, by output.
            schemas: The schemas of what they get, by output.
            query_id: What says what Spark calls the query.
            record: What the first micro-batch keeps in the checkpoint, if anything.
        """
        self._record = record
        self._query_id = query_id
        self._sinks = sinks
        self._schemas = schemas
        self._is_open = False

    def __call__(self, blobs: DataFrame, batch_id: int) -> None:
        """Write a micro-batch."""
        kept = blobs.persist()
        try:
            numbers = [(row.stream, row.rows) for row in kept.select("stream", "rows").collect()]
            if self._record is not None and not self._is_open:
                self._record.keep(kept.sparkSession, batch_id)
            watermark = min((number for name, number in numbers if name == PUNCTUATION), default=EARLIEST)
            for output in self._sinks:
                self._write(output, self._rows(output, kept, numbers, batch_id), batch_id, watermark)
            self._is_open = True
        finally:
            kept.unpersist()

    def _rows(self, output: str, kept: DataFrame, numbers: Sequence[tuple[str, int]], batch_id: int) -> DataFrame:
        schema = self._schemas[output]
        if output == PROGRESS:
            return kept.sparkSession.createDataFrame([progress_of(batch_id, numbers, schema)], schema)
        has_rows = any(rows for stream, rows in numbers if stream == output)
        return rows_of(kept, output, schema) if has_rows else kept.sparkSession.createDataFrame([], schema)

    def _write(self, output: str, rows: DataFrame, batch_id: int, watermark: int) -> None:
        sink = self._sinks[output]
        try:
            if not self._is_open:
                sink.open(self._query_id.of(rows.sparkSession))
            if output == RESULTS:
                sink.take_watermark(watermark)
            sink.write(rows, batch_id)
        except Exception as error:
            reason = root_cause(error) if is_from_spark(error) else f"{type(error).__name__}: {error}"
            raise SinkError(output, str(sink), batch_id, reason) from error
