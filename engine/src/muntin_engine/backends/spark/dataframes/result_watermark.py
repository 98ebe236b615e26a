"""Results with a watermark of Spark's, for Spark's own operators downstream.

Spark takes its watermark from the largest time of any row, and would so run ahead of results that come in another order
than that of their times, and stand still while no window has a result. Rows that hold the output watermark and nothing
else move it instead: results have no time in the column that Spark reads. They have one in the column that is the
user's, which Spark's operators take for the same by its metadata.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import OutputContract
from muntin.errors import QueryError
from muntin_engine.backends.spark.column_types import arrow_schema_of
from muntin_engine.backends.spark.dataframes.pipeline import data_of
from muntin_engine.plan import Plan
from muntin_engine.plan.query_checks import check_names
from muntin_engine.plan.request import backquoted
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.tasks.output_blobs import OUTPUT_WATERMARK, RESULTS
from muntin_engine.wire.blob_readers import WatermarkReader

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

_WATERMARK: Final = "__muntin_watermark"
"""The column from which Spark takes its watermark: null in results, and the output watermark in rows of their own."""

_DELAY: Final = "spark.watermarkDelayMs"
"""The key in a column's metadata by which Spark's operators know the column with the times of a watermark."""


def with_watermark(query: PlannedQuery, column: str, blobs: DataFrame, schema: spark_types.StructType) -> DataFrame:
    """Return results with one column more, which Spark's operators downstream take for the column of their watermark.

    Args:
        query: The query.
        column: The name of the column. Its values are the starts of the results' lifetimes.
        blobs: The output of the buckets: results and watermarks.
        schema: The schema of the results.

    Raises:
        QueryError: Some results may start before the output watermark or may be revised, the results have no output
            watermark, their times are of a type for which Spark has no watermarks, or there is a column of that name
            already.

    Cost:
        One more shuffle, of blobs, unless the windows are such that all buckets have the same output watermark.
    """
    plan = query.plan
    _check_watermark_column(plan, column, schema)
    result_blobs = data_of(blobs, F.col("stream").isin(RESULTS, OUTPUT_WATERMARK))
    # If the output changes only at the ends of regular windows, all buckets have the same output watermark.
    buckets_have_one_watermark = bool(steps_of(plan))
    if not buckets_have_one_watermark:
        # The least watermark of all buckets counts. So all watermarks, which are blobs without data, go to one task.
        # Results stay spread by bucket.
        result_blobs = result_blobs.repartition(F.when(F.col("data").isNull(), F.lit(-1)).otherwise(F.col("bucket")))
    # All columns may be null, as rows that only carry a watermark have no other value.
    fields = [spark_types.StructField(part.name, part.dataType, metadata=part.metadata) for part in schema]
    fields.append(spark_types.StructField(_WATERMARK, spark_types.TimestampType()))
    schema_with_watermark = spark_types.StructType(fields)
    reader = WatermarkReader(arrow_schema_of(schema_with_watermark))
    rows = result_blobs.mapInArrow(reader, schema_with_watermark)

    # Rows that carry a watermark are dropped after `withWatermark` has seen them. Spark would move a later filter of
    # the query writer before `withWatermark`, which would then miss them. It moves no filter before one that is not
    # deterministic, as this one is by the number of the partition.
    is_result = F.col(_WATERMARK).isNull() & (F.spark_partition_id() >= 0)
    only_results = rows.withWatermark(_WATERMARK, "0 seconds").where(is_result)

    # Spark's operators recognize the query writer's column by this metadata.
    start = F.col(plan.lifetime_column).getField("start").alias(column, metadata={_DELAY: 0})
    return only_results.select(*[F.col(backquoted(name)) for name in schema.names], start)


def _check_watermark_column(plan: Plan, column: str, schema: spark_types.StructType) -> None:
    """Refuse results whose starts cannot be a column of Spark's watermark.

    Args:
        plan: The plan of the query.
        column: The name of the column.
        schema: The schema of the results.

    Raises:
        QueryError: The results have a column of that name, their times are of a type for which Spark has no watermarks,
            they may be revised, or they may start before the output watermark.
    """
    check_names([*schema.names, column])
    lifetime = schema[plan.lifetime_column].dataType
    assert isinstance(lifetime, spark_types.StructType)
    if lifetime["start"].dataType != spark_types.TimestampType():
        type_of_times = lifetime["start"].dataType.simpleString()
        raise QueryError(
            f"Spark has watermarks for timestamps alone, and the times of this query are of type {type_of_times}\n"
            "  give events() a column of type timestamp"
        )
    if "new_end" in plan.engine_columns:
        raise QueryError(
            "the results of this query may be revised: a row with change='revise' starts where the result does that it "
            "gives\n  another end, which may lie far behind the output watermark, and Spark would drop it as late\n"
            "  use timestamps='align', or take the results as events of another query: as_events()"
        )
    if plan.contract is OutputContract.UNRESTRICTED:
        raise QueryError(
            f"the results of {plan.modules[0].label} may start anywhere, also before their windows, so their output "
            "has no watermark until the stream ends\n"
            "  use timestamps='clip', which cuts results to their windows, or give the module an output contract"
        )
