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
from muntin_engine.plan.window_steps import steps_of
from muntin_engine.tasks.output_blobs import OUTPUT_WATERMARK, RESULTS
from muntin_engine.wire.blob_readers import WatermarkReader

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

_MARK: Final = "__muntin_watermark"

_DELAY: Final = "spark.watermarkDelayMs"
"""The place in a column's metadata by which Spark's operators know the column that late rows are told by."""


def with_watermark(query: PlannedQuery, column: str, blobs: DataFrame, schema: spark_types.StructType) -> DataFrame:
    """Return results with one column more, which is the watermark column of Spark's query from here on.

    Args:
        query: The query.
        column: The name of the column. It is the start of the result's lifetime.
        blobs: The output of its buckets: results and watermarks.
        schema: The schema of its results.

    Raises:
        QueryError: Some rows start before the output watermark, there is none, the column's type is one that Spark has
            no watermarks for, or there is a column of that name.

    Cost:
        Where buckets differ in how far their results are settled, one more shuffle, of blobs.
    """
    plan = query.plan
    _check_watermark_column(plan, column, schema)
    result_blobs = data_of(blobs, F.col("stream").isin(RESULTS, OUTPUT_WATERMARK))
    if not steps_of(plan):
        # The output watermark is the least of all buckets', so their watermarks (blobs without data) go to one task,
        # and the results stay spread by bucket.
        result_blobs = result_blobs.repartition(F.when(F.col("data").isNull(), F.lit(-1)).otherwise(F.col("bucket")))
    parts = [spark_types.StructField(part.name, part.dataType, metadata=part.metadata) for part in schema]
    marked = spark_types.StructType([*parts, spark_types.StructField(_MARK, spark_types.TimestampType())])
    rows = result_blobs.mapInArrow(WatermarkReader(arrow_schema_of(marked)), marked)

    # Spark moves filters below the watermark, and a filter of the user's would take away the rows that carry it. No
    # filter is moved below one that is not deterministic, such as this.
    is_result = F.col(_MARK).isNull() & (F.spark_partition_id() >= 0)
    only_results = rows.withWatermark(_MARK, "0 seconds").where(is_result)

    # The user's column says by its metadata that it is the one that Spark's watermark is about.
    start = F.col(plan.lifetime_column).getField("start").alias(column, metadata={_DELAY: 0})
    return only_results.select(*[F.col(f"`{name}`") for name in schema.names], start)


def _check_watermark_column(plan: Plan, column: str, schema: spark_types.StructType) -> None:
    """Refuse results that cannot have a column of their starts with the output watermark as Spark's watermark.

    Args:
        plan: The query.
        column: The name of the column.
        schema: The schema of the results.

    Raises:
        QueryError: As for `with_watermark`.
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
