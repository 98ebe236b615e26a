"""The schemas of the outputs of a query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import types as spark_types

from muntin.errors import QueryError
from muntin.schemas import Field
from muntin_engine.backends.spark.column_types import arrow_type_of, spark_schema_of, spark_type_of, time_type_of
from muntin_engine.backends.spark.dataframes.changelogs import saying_keys
from muntin_engine.wire.side_output import side_output_schema

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


def result_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of a query's results, all columns of them."""
    return _schema(query, query.plan.added, query.plan.outputs)


def refused_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of the late and the rejected rows of a query."""
    time = time_type_of(query.source.df.schema["start"].dataType, query.plan)
    return spark_schema_of(side_output_schema(arrow_type_of(time), len(query.plan.inputs)))


def evicted_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of the second output of a query.

    Raises:
        QueryError: The query has no such output.
    """
    plan = query.plan
    if not plan.evicted:
        label = plan.modules[0].label if plan.modules else "this query"
        raise QueryError(
            f"{label} gives nothing when rows leave, so there is no such output\n"
            "  expected: an operator that follows rows, RowOperator[..., Left], whose on_evict returns rows"
        )
    return _schema(query, plan.added_to_evicted, plan.evicted)


def _schema(query: PlannedQuery, added_names: Iterable[str], outputs: Iterable[Field]) -> spark_types.StructType:
    """Return the schema of rows with the keys, columns that Muntin adds, and the outputs of modules, in this order."""
    plan = query.plan
    projected = query.source.df.schema
    time = time_type_of(projected["start"].dataType, plan)
    extent = spark_types.StructType([spark_types.StructField("start", time), spark_types.StructField("end", time)])
    added_types: dict[str, spark_types.DataType] = {
        "window_name": spark_types.StringType(),
        "change": spark_types.StringType(),
        "event_id": spark_types.LongType(),
        "new_end": time,
        "timing": spark_types.StringType(),
        "firing": spark_types.LongType(),
        "ends_window": spark_types.BooleanType(),
    }
    if plan.rows is not None and plan.rows.partition_by is not None:
        place = plan.expressions[plan.rows.partition_by]
        added_types["partition"] = projected[f"i{place}"].dataType

    fields: list[spark_types.StructField] = []
    for place, key in enumerate(plan.keys):
        fields.append(spark_types.StructField(key.name, projected[f"k{place}"].dataType))
    for name in added_names:  # those without a type of their own are windows and lifetimes
        fields.append(spark_types.StructField(name, added_types.get(name, extent)))
    for output in outputs:
        fields.append(spark_types.StructField(output.name, spark_type_of(output, time)))
    return saying_keys(spark_types.StructType(fields), [key.name for key in plan.keys])
