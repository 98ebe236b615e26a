"""Results with a watermark of Spark's, for Spark's own operators downstream.

Spark takes its watermark from the times of rows, so while no window has a result it would stand still. Rows that hold
the output watermark, and nothing else, move it on; they are filtered out behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import QueryError
from muntin_engine.exchange.bucket_task import OUTPUT_WATERMARK, RESULTS
from muntin_engine.exchange.readers import WatermarkReader
from muntin_engine.plan import Plan
from muntin_engine.plan.checks import check_names
from muntin_engine.spark.types import arrow_schema_of

if TYPE_CHECKING:
    from muntin_engine.api.planned_query import PlannedQuery

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
    wanted = blobs.where(F.col("stream").isin(RESULTS, OUTPUT_WATERMARK)).select("bucket", "rows", "data")
    rows = wanted.mapInArrow(WatermarkReader(arrow_schema_of(marked), query.plan.lifetime_column), marked)
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
            "  use hopping, tumbling or calendar windows with emit='final' and events without ids;\n"
            "  or results() and a delay: .withWatermark(..., '1 hour')"
        )
