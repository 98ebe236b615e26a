"""Translate column types between Spark and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin_engine.backends.planning.input_column import InputColumn

_ARROW_TYPE_OF_SPARK_TYPE: Final[tuple[tuple[type[spark_types.DataType], pa.DataType], ...]] = (
    (spark_types.BooleanType, pa.bool_()),
    (spark_types.ByteType, pa.int8()),
    (spark_types.ShortType, pa.int16()),
    (spark_types.IntegerType, pa.int32()),
    (spark_types.LongType, pa.int64()),
    (spark_types.FloatType, pa.float32()),
    (spark_types.DoubleType, pa.float64()),
    (spark_types.StringType, pa.string()),
    (spark_types.VarcharType, pa.string()),
    (spark_types.CharType, pa.string()),
    (spark_types.BinaryType, pa.binary()),
    (spark_types.DateType, pa.date32()),
    (spark_types.TimestampType, pa.timestamp("us", tz="UTC")),
    (spark_types.TimestampNTZType, pa.timestamp("us")),
    (spark_types.DayTimeIntervalType, pa.duration("us")),
)

_SPARK_TYPE_OF_ARROW_TYPE: Final[dict[pa.DataType, spark_types.DataType]] = {
    pa.bool_(): spark_types.BooleanType(),
    pa.int8(): spark_types.ByteType(),
    pa.int16(): spark_types.ShortType(),
    pa.int32(): spark_types.IntegerType(),
    pa.int64(): spark_types.LongType(),
    pa.float32(): spark_types.FloatType(),
    pa.float64(): spark_types.DoubleType(),
    pa.string(): spark_types.StringType(),
    pa.binary(): spark_types.BinaryType(),
    pa.date32(): spark_types.DateType(),
    pa.timestamp("us", tz="UTC"): spark_types.TimestampType(),
    pa.timestamp("us"): spark_types.TimestampNTZType(),
    pa.duration("us"): spark_types.DayTimeIntervalType(),
}

_BINARY: Final = "UTF8_BINARY"
"""The collation of text without a collation: two texts are equal if all their bytes are."""


def input_column(part: spark_types.StructField) -> InputColumn:
    """Describe a column of a DataFrame as the planner reads it, which knows no types of Spark."""
    data_type = part.dataType
    type_without_arrow = next(_parts_without_type(data_type), None)
    return InputColumn(
        part.name,
        type=_arrow_or_null(data_type),
        spelled_type=data_type.simpleString(),
        part_without_type=None if type_without_arrow is None else type_without_arrow.simpleString(),
        collation=_collation_in(data_type),
    )


def arrow_schema_of(schema: spark_types.StructType) -> pa.Schema:
    """Return the Arrow schema of a Spark schema; `mapInArrow` takes rows with exactly this schema and no other."""
    return pa.schema([pa.field(part.name, arrow_type_of(part.dataType), part.nullable) for part in schema.fields])


def arrow_type_of(data_type: spark_types.DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type.

    Raises:
        QueryError: The type cannot pass through a Python function, such as an interval of months or a variant.
    """
    return input_column(spark_types.StructField("", data_type)).travelling_type


def _arrow_or_null(data_type: spark_types.DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type, with null in the place of parts that have none."""
    if isinstance(data_type, spark_types.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, spark_types.ArrayType):
        return pa.list_(pa.field("element", _arrow_or_null(data_type.elementType), nullable=data_type.containsNull))
    if isinstance(data_type, spark_types.MapType):
        key = pa.field("key", _arrow_or_null(data_type.keyType), nullable=False)
        value = pa.field("value", _arrow_or_null(data_type.valueType), nullable=data_type.valueContainsNull)
        return pa.map_(key, value)
    if isinstance(data_type, spark_types.StructType):
        fields: list[pa.Field] = []
        for part in data_type.fields:
            fields.append(pa.field(part.name, _arrow_or_null(part.dataType), nullable=part.nullable))
        return pa.struct(fields)
    for cls, arrow_type in _ARROW_TYPE_OF_SPARK_TYPE:
        if isinstance(data_type, cls):
            return arrow_type
    return pa.null()


def _parts_without_type(data_type: spark_types.DataType) -> Iterator[spark_types.DataType]:
    """Yield those parts of a type for which Arrow has no type: the type itself, or types that it contains."""
    if isinstance(data_type, spark_types.ArrayType):
        yield from _parts_without_type(data_type.elementType)
    elif isinstance(data_type, spark_types.MapType):
        yield from _parts_without_type(data_type.valueType)
        yield from _parts_without_type(data_type.keyType)
    elif isinstance(data_type, spark_types.StructType):
        for part in data_type.fields:
            yield from _parts_without_type(part.dataType)
    elif pa.types.is_null(_arrow_or_null(data_type)):
        yield data_type


def _collation_in(data_type: spark_types.DataType) -> str | None:
    """Return the collation of a text in a type; None if all texts in it are compared by their bytes."""
    # Only keys are compared, and maps are refused as keys. So texts in maps are not looked for.
    pending = [data_type]
    while pending:
        inner_type = pending.pop()
        if isinstance(inner_type, spark_types.StructType):
            pending += [inner.dataType for inner in inner_type.fields]
        elif isinstance(inner_type, spark_types.ArrayType):
            pending.append(inner_type.elementType)
        elif isinstance(inner_type, spark_types.StringType) and inner_type.collation != _BINARY:
            return inner_type.collation
    return None


def spark_schema_of(schema: pa.Schema) -> spark_types.StructType:
    """Return the Spark schema of Arrow columns."""
    return spark_types.StructType([_spark_field(part) for part in schema])


def spark_type_of(arrow_type: pa.DataType) -> spark_types.DataType:
    """Return the Spark type of an Arrow type; the inverse of `arrow_type_of`."""
    if pa.types.is_decimal(arrow_type):
        return spark_types.DecimalType(arrow_type.precision, arrow_type.scale)
    if pa.types.is_list(arrow_type):
        element = arrow_type.value_field
        return spark_types.ArrayType(spark_type_of(element.type), containsNull=element.nullable)
    if pa.types.is_map(arrow_type):
        value = arrow_type.item_field
        return spark_types.MapType(
            spark_type_of(arrow_type.key_type), spark_type_of(value.type), valueContainsNull=value.nullable
        )
    if pa.types.is_struct(arrow_type):
        return spark_types.StructType([_spark_field(part) for part in arrow_type])
    return _SPARK_TYPE_OF_ARROW_TYPE[arrow_type]


def _spark_field(part: pa.Field) -> spark_types.StructField:
    """Return the Spark field of an Arrow column, or of a field of a struct."""
    return spark_types.StructField(part.name, spark_type_of(part.type), nullable=part.nullable)
