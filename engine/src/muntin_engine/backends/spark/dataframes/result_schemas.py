"""The schemas of the outputs of a query in Spark's types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin_engine.backends.planning import result_schemas
from muntin_engine.backends.planning.field_types import time_type_of
from muntin_engine.backends.planning.result_schemas import projected_columns
from muntin_engine.backends.spark.column_types import spark_schema_of, spark_type_of
from muntin_engine.backends.spark.dataframes.changelogs import with_key_names

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery


def result_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of a query's results, all columns of them."""
    return _schema(query, result_schemas.result_schema(query))


def refused_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of the late and the rejected rows of a query."""
    return spark_schema_of(result_schemas.refused_schema(query))


def evicted_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of the evicted rows of a query, which are its second output.

    Raises:
        QueryError: The query has no such output.
    """
    return _schema(query, result_schemas.evicted_schema(query))


def result_time_type(query: PlannedQuery) -> spark_types.DataType:
    """Return the type of the times in the results of a query."""
    return spark_type_of(time_type_of(query.source.times, query.plan))


def _schema(query: PlannedQuery, schema: pa.Schema) -> spark_types.StructType:
    """Return the schema of an output of a query in Spark's types.

    A column that passes through from an input keeps the type that it has in the DataFrame: Spark has types that Arrow
    lacks, such as strings with a collation.

    Args:
        query: The query.
        schema: The schema in Arrow's types.
    """
    input_columns = projected_columns(query.plan)  # those that pass through, by their names in the output
    fields: list[spark_types.StructField] = []
    for part in schema:
        if part.name in input_columns:
            side, projected_name = input_columns[part.name]
            data_type = query.sources[side].df.schema[projected_name].dataType
        else:
            data_type = spark_type_of(part.type)
        fields.append(spark_types.StructField(part.name, data_type))
    return with_key_names(spark_types.StructType(fields), [key.name for key in query.plan.keys])
