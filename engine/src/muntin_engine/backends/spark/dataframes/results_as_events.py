"""The results of a query, or its second output, as events of another one, in one query of Spark's.

Each bucket of the first query is a source of the second: it says how far its own results are settled, and the second is
as complete as the least complete bucket of the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Refinement, TimestampPolicy
from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call
from muntin_engine.backends.spark.column_types import arrow_schema_of
from muntin_engine.backends.spark.operators.arrow_functions import PassingReader
from muntin_engine.plan import Plan
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, OUTPUT_WATERMARK, RESULTS, STREAMS, WATERMARK
from muntin_engine.wire.blob_readers import CHANGE, SOURCE
from muntin_engine.wire.bucket_ids import bucket_ids

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


def event_rows(query: PlannedQuery, blobs: DataFrame, schema: spark_types.StructType, output: str) -> DataFrame:
    """Return the rows of an output, and rows of punctuation among them.

    Rows that leave lie at the tick at which they do, never before what the watermark has been. So that output is
    complete as far as the input is, which each bucket reports.

    Args:
        query: The query.
        blobs: The output of its buckets.
        schema: The schema of the output.
        output: `results` or `evicted_rows`.

    Raises:
        QueryError: Its results are no events: the same one may come several times.
    """
    early = query.plan.early
    if early is not None and early.refinement is not Refinement.RETRACT:
        raise QueryError(
            "the early results of this query are not retracted (refinement {refinement!r}), so they would count again "
            "and again\n  use {retracting}, or {final}",
            refinement=str(early.refinement),
            retracting=Call("early", ..., Argument("refinement", "retract")),
            final=Argument("emit", "final"),
        )
    fields = [spark_types.StructField(part.name, part.dataType) for part in schema]
    for name in (CHANGE, SOURCE):
        fields.append(spark_types.StructField(name, spark_types.StringType()))
    event_schema = spark_types.StructType(fields)
    watermark = OUTPUT_WATERMARK if output == RESULTS else WATERMARK
    event_blobs = blobs.where(F.col("stream").isin(*STREAMS[output], watermark)).select("bucket", "rows", "data")
    reader = PassingReader(arrow_schema_of(event_schema), _lifetime_column(query.plan, output), query.place_name)
    return event_blobs.mapInArrow(reader, event_schema)


def event_columns(plan: Plan, output: str) -> dict[str, Any]:
    """Return the columns of `event_rows` that make events, by the attributes of `InputRequest`."""
    lifetime = _lifetime_column(plan, output)
    is_point = output == EVICTED_ROWS or plan.timestamps is TimestampPolicy.POINT_AT_END
    columns: dict[str, Any] = {
        "start": f"{lifetime}.start",
        "end": None if is_point else f"{lifetime}.end",
        "change": CHANGE,
        "source": SOURCE,
        "sources": sources_of(plan),
    }
    if "event_id" in plan.added:
        columns["id"] = _id(plan)
    if "new_end" in plan.added:
        columns["new_end"] = "new_end"
    return columns


def _lifetime_column(plan: Plan, output: str) -> str:
    return plan.lifetime_column if output == RESULTS else "window"


def sources_of(plan: Plan) -> tuple[str, ...]:
    """Return the names of the buckets."""
    return tuple(map(str, bucket_ids(plan.buckets)))


def _id(plan: Plan) -> Column:
    """Return the id of a result among those of all keys."""
    return F.struct(*(F.col(f"`{key.name}`") for key in plan.keys), F.col("event_id"))
