"""The results of a query, or its second output, as events of another one, in one query of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin_engine.backends.planning import output_events
from muntin_engine.backends.spark.column_types import arrow_schema_of
from muntin_engine.backends.spark.dataframes.pipeline import data_of
from muntin_engine.backends.spark.inputs.declared_frames import with_columns_if_declared
from muntin_engine.backends.spark.operators.arrow_functions import PassingReader
from muntin_engine.plan import Plan
from muntin_engine.plan.request import SqlExpression, column_text
from muntin_engine.wire.blob_readers import CHANGE, SOURCE

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


def event_rows(query: PlannedQuery, blobs: DataFrame, schema: spark_types.StructType, output: str) -> DataFrame:
    """Return the rows of an output, with the watermarks of its buckets among them as rows of punctuation.

    Args:
        query: The query.
        blobs: The output of its buckets.
        schema: The schema of the output.
        output: `results` or `evicted_rows`.
    """
    # The metadata of the schema mark a changelog, which events are not: fields are made anew without them.
    fields = [spark_types.StructField(part.name, part.dataType) for part in schema]
    for name in (CHANGE, SOURCE):
        fields.append(spark_types.StructField(name, spark_types.StringType()))
    event_schema = spark_types.StructType(fields)
    is_event = F.col("stream").isin(*output_events.event_streams(output))
    event_blobs = data_of(blobs, is_event)
    lifetime = output_events.lifetime_column(query.plan, output)
    reader = PassingReader(arrow_schema_of(event_schema), lifetime, query.inner_id)
    return with_columns_if_declared(blobs, event_blobs.mapInArrow(reader, event_schema), event_schema)


def event_columns(plan: Plan, output: str) -> dict[str, Any]:
    """Return the names of the columns of `event_rows` by their roles: `start`, `end`, `id`, ... of `InputRequest`."""
    columns = output_events.event_columns(plan, output)
    id_names = output_events.identifying_columns(plan)
    if id_names:
        # Plain names stay without backquotes, as the text becomes a part of the id's name.
        columns["id"] = SqlExpression(f"struct({', '.join(map(column_text, id_names))})")
    return columns
