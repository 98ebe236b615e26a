"""Results with a watermark of Spark's, for Spark's own operators downstream.

Spark takes its watermark from the times of rows, so while no window has a result it would stand still. Rows that hold
the output watermark, and nothing else, move it on; they are filtered out behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import EARLIEST, QueryError
from muntin_engine.exchange.blobs import from_blob
from muntin_engine.exchange.bucket_task import OUTPUT_WATERMARK, RESULTS
from muntin_engine.plan import Plan
from muntin_engine.plan.checks import check_names
from muntin_engine.spark.types import arrow_schema_of

if TYPE_CHECKING:
    from muntin_engine.api.planned_query import PlannedQuery

_LATEST: Final = 253_402_300_799_999_999
"""The end of the year 9999, which is as far as Python's datetime goes: the watermark of a stream that was closed."""

_MARK: Final = "__muntin_watermark"


def with_watermark(query: PlannedQuery, column: str, blobs: DataFrame, schema: spark_types.StructType) -> DataFrame:
    """Return results with one column more, which is the watermark column of Spark's query from here on.

    Args:
        query: The query.
        column: The name of the column. It is the start of the result's lifetime.
        blobs: What comes out of its buckets: results and watermarks.
        schema: That of its results.

    Raises:
        QueryError: Results do not come in the order of this column, its type is none that Spark has watermarks for, or
            there is a column of that name.
    """
    _check(query.plan, column, schema)
    added = [
        spark_types.StructField(column, spark_types.TimestampType()),
        spark_types.StructField(_MARK, spark_types.BooleanType()),
    ]
    marked = spark_types.StructType([spark_types.StructField(part.name, part.dataType) for part in schema] + added)
    wanted = blobs.where(F.col("stream").isin(RESULTS, OUTPUT_WATERMARK)).select("rows", "data")
    rows = wanted.mapInArrow(PunctuatedReader(arrow_schema_of(marked), query.plan.lifetime_column), marked)
    # Spark moves a filter below the watermark unless it reads the watermark's own column.
    is_result = ~F.col(_MARK) | F.col(column).isNull()
    return rows.withWatermark(column, "0 seconds").where(is_result).drop(_MARK)


def _check(plan: Plan, column: str, schema: spark_types.StructType) -> None:
    check_names([*schema.names, column])
    lifetime = schema[plan.lifetime_column].dataType
    assert isinstance(lifetime, spark_types.StructType)
    if lifetime["start"].dataType != spark_types.TimestampType():
        found = lifetime["start"].dataType.simpleString()
        raise QueryError(
            f"Spark has watermarks for timestamps alone, and the times of this query are of type {found}\n"
            "  give events() a column of type timestamp"
        )
    if not plan.steps or plan.early is not None:
        raise QueryError(
            "the results of this query do not come in the order of their windows, so Spark would drop some as late\n"
            "  use hopping or tumbling windows with emit='final' and events without ids; or results() and a delay:\n"
            "  .withWatermark(..., '1 hour')"
        )


class PunctuatedReader:
    """Turns blobs into typed rows, and watermarks into rows that hold a time and nothing else."""

    def __init__(self, schema: pa.Schema, lifetime: str) -> None:
        self._schema = schema
        self._lifetime = lifetime

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of each blob."""
        for batch in batches:
            for number, blob in zip(*batch.columns, strict=True):
                table = self._results(blob.as_py()) if blob.is_valid else self._punctuation(number.as_py())
                yield from table.to_batches()

    def _results(self, blob: bytes) -> pa.Table:
        results = from_blob(blob)
        starts = results.column(self._lifetime).combine_chunks().field("start")
        is_mark = pa.repeat(pa.scalar(False), results.num_rows)
        return pa.table([*results.columns, starts, is_mark], names=self._schema.names).cast(self._schema)

    def _punctuation(self, tick: int) -> pa.Table:
        """Return the last time that is no time of a later result: Spark drops what lies at its watermark, too."""
        if tick <= EARLIEST:
            return self._schema.empty_table()
        columns = [pa.nulls(1, part.type) for part in self._schema]
        columns[-2:] = [pa.array([min(tick, _LATEST) - 1]).cast(self._schema.field(-2).type), pa.array([True])]
        return pa.table(columns, schema=self._schema)
