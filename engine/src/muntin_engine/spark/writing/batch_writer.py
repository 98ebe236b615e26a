"""A micro-batch, handed to every sink of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import types as spark_types

from muntin import EARLIEST
from muntin_engine.errors import SinkError
from muntin_engine.exchange.bucket_task import EVICTED, LATE, OUTPUT_WATERMARK, REJECTED, RESULTS, STREAMS
from muntin_engine.exchange.side_output import side_output_schema
from muntin_engine.spark.failures import is_from_spark, root_cause
from muntin_engine.spark.pipeline import evicted_schema, keeping_late_rows, result_schema, rows_of
from muntin_engine.spark.types import spark_schema_of
from muntin_engine.spark.writing.batch_progress import progress_of, progress_schema
from muntin_engine.spark.writing.checkpoints import CheckpointNote
from muntin_engine.spark.writing.query_ids import QueryId
from muntin_engine.writing import Sink, SinkLike, choose_sinks

if TYPE_CHECKING:
    from muntin_engine.api.planned_query import PlannedQuery

PROGRESS: Final = "progress"


def schemas_of(query: PlannedQuery) -> dict[str, spark_types.StructType]:
    """Return the schemas of the outputs of a query."""
    side_output = spark_schema_of(side_output_schema(len(query.plan.inputs)))
    evicted = {EVICTED: evicted_schema(query)} if query.plan.evicted else {}
    of_rows = {RESULTS: result_schema(query), LATE: side_output, REJECTED: side_output, **evicted}
    return {**of_rows, PROGRESS: progress_schema(query)}


class Written(NamedTuple):
    """A query with the sinks that it writes to.

    Attributes:
        query: The query, planned so that it has those outputs.
        sinks: The sinks, by output.
        schemas: The schemas of all outputs.
    """

    query: PlannedQuery
    sinks: Mapping[str, Sink]
    schemas: Mapping[str, spark_types.StructType]


def written_to(query: PlannedQuery, wanted: Mapping[str, SinkLike | None], checkpoint: str | PathLike[str]) -> Written:
    """Return a query with the sinks that were asked for.

    Raises:
        QueryError: The query has no such output, or a sink cannot take it.
    """
    sinks = choose_sinks(wanted, checkpoint)
    running = keeping_late_rows(query) if LATE in sinks else query
    if EVICTED in sinks:
        evicted_schema(running)
    schemas = schemas_of(running)
    for output, sink in sinks.items():
        sink.keyed_by([key.name for key in running.plan.keys] if output == RESULTS else [])
        sink.check(schemas[output].names)
    return Written(running, sinks, schemas)


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
        record: CheckpointNote | None = None,
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
            metrics = [(row.stream, row.rows) for row in kept.select("stream", "rows").collect()]
            if self._record is not None and not self._is_open:
                self._record.keep(kept.sparkSession, batch_id)
            watermark = min((number for name, number in metrics if name == OUTPUT_WATERMARK), default=EARLIEST)
            for output in self._sinks:
                self._write(output, self._rows(output, kept, metrics, batch_id), batch_id, watermark)
            self._is_open = True
        finally:
            kept.unpersist()

    def _rows(self, output: str, kept: DataFrame, metrics: Sequence[tuple[str, int]], batch_id: int) -> DataFrame:
        schema = self._schemas[output]
        if output == PROGRESS:
            return kept.sparkSession.createDataFrame([progress_of(batch_id, metrics, schema)], schema)
        has_rows = any(rows for stream, rows in metrics if stream in STREAMS[output])
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
