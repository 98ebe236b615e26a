"""Translate column types between the SDK's descriptions, Spark's types and Arrow's types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Final

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin import Axis
from muntin.axis import MOST_PLACES
from muntin.errors import QueryError
from muntin.errors.messages import Constant, ErrorMessage, SparkFunction, WrittenColumn
from muntin.schemas import Field, Growth, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable
from muntin_engine.plan import Plan
from muntin_engine.plan.column_fit import matching

_KIND_OF_SPARK_TYPE: Final[tuple[tuple[type[spark_types.DataType], ScalarKind], ...]] = (
    (spark_types.BooleanType, ScalarKind.BOOLEAN),
    (spark_types.IntegralType, ScalarKind.INTEGER),
    (spark_types.DecimalType, ScalarKind.DECIMAL),
    (spark_types.FractionalType, ScalarKind.FLOAT),
    (spark_types.StringType, ScalarKind.STRING),
    (spark_types.VarcharType, ScalarKind.STRING),
    (spark_types.CharType, ScalarKind.STRING),
    (spark_types.BinaryType, ScalarKind.BINARY),
    (spark_types.DateType, ScalarKind.DATE),
    (spark_types.TimestampType, ScalarKind.TIMESTAMP),
    (spark_types.TimestampNTZType, ScalarKind.TIMESTAMP),
    (spark_types.DayTimeIntervalType, ScalarKind.INTERVAL),
)

_SPARK_TYPE_OF_KIND: Final[dict[ScalarKind, spark_types.DataType]] = {
    ScalarKind.BOOLEAN: spark_types.BooleanType(),
    ScalarKind.INTEGER: spark_types.LongType(),
    ScalarKind.FLOAT: spark_types.DoubleType(),
    ScalarKind.STRING: spark_types.StringType(),
    ScalarKind.BINARY: spark_types.BinaryType(),
    ScalarKind.DECIMAL: spark_types.DecimalType(38, 18),
    ScalarKind.DATE: spark_types.DateType(),
    ScalarKind.TIMESTAMP: spark_types.TimestampType(),
    ScalarKind.INTERVAL: spark_types.DayTimeIntervalType(),
}

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

_SPARK_TYPE_OF_ARROW_TYPE: Final[dict[pa.DataType, Callable[[], spark_types.DataType]]] = {
    pa.int32(): spark_types.IntegerType,
    pa.int64(): spark_types.LongType,
    pa.string(): spark_types.StringType,
    pa.binary(): spark_types.BinaryType,
    pa.duration("us"): spark_types.DayTimeIntervalType,
}

_MOST_DIGITS: Final = 38
"""Most digits of a decimal."""

_DIGITS_OF_TICKS: Final = 19
"""Digits of the largest tick."""

_BINARY: Final = "UTF8_BINARY"
"""The collation of text without a collation: two texts are equal if all their bytes are."""

_FINER_THAN_KINDS: Final = (spark_types.DecimalType, spark_types.TimestampNTZType)
"""Types of which `ColumnScalar` keeps more than the kind: the scale, and that there is no time zone."""


@dataclass(frozen=True, slots=True)
class ColumnScalar(Scalar):
    """A kind of value as a column has it, where the SDK's words are too coarse: a decimal's scale, no time zone.

    Attributes:
        spark: The type of the column.
        is_wide: True if values that are computed from such values are known to fit the type.
    """

    spark: spark_types.DataType
    is_wide: bool = False

    def grown(self, growth: Growth) -> Scalar:
        """Return the type of results: a decimal with more digits, up to the most that Spark's decimals have."""
        if not isinstance(self.spark, spark_types.DecimalType):
            return Scalar.grown(self, growth)  # super() fails in a dataclass with slots
        digits = min(_MOST_DIGITS, self.spark.precision + growth.digits)
        places = min(_MOST_DIGITS, self.spark.scale + growth.places)
        return ColumnScalar(self.kind, spark_types.DecimalType(digits, places), is_wide=True)


@dataclass(frozen=True, slots=True)
class ColumnType(Variable):
    """The type of a column that passes through a query as it is, whatever it holds.

    Attributes:
        spark: The type of the column.
    """

    spark: spark_types.DataType = dataclass_field(kw_only=True)


def passed_on(name: str, data_type: spark_types.DataType) -> Field:
    """Return a column of results with exactly the type of a column of the input."""
    return Field(name, ColumnType(data_type.simpleString(), spark=data_type), is_nullable=True)


def field_of(name: str, data_type: spark_types.DataType) -> Field:
    """Describe a Spark type as the SDK does; a type that no module can read is a variable without a name."""
    if isinstance(data_type, spark_types.ArrayType):
        return Field(name, ListOf(field_of("element", data_type.elementType)), is_nullable=True)
    if isinstance(data_type, spark_types.MapType):
        key = field_of("key", data_type.keyType)
        value = field_of("value", data_type.valueType)
        return Field(name, MapOf(key, value), is_nullable=True)
    if isinstance(data_type, spark_types.StructType):
        parts = tuple(field_of(part.name, part.dataType) for part in data_type.fields)
        return Field(name, Struct(parts, dict), is_nullable=True)
    kind = next((kind for cls, kind in _KIND_OF_SPARK_TYPE if isinstance(data_type, cls)), None)
    if kind is None:
        return Field(name, Variable(""), is_nullable=True)
    scalar = ColumnScalar(kind, data_type) if isinstance(data_type, _FINER_THAN_KINDS) else Scalar(kind)
    return Field(name, scalar, is_nullable=True)


def check_no_collation(part: spark_types.StructField, call: str) -> None:
    """Refuse text with a collation where values are compared: Spark may find "a" and "A" equal, Python does not.

    Args:
        part: The column.
        call: The argument that names the column, such as `key`.

    Raises:
        QueryError: The column is text with a collation, or contains such text.
    """
    pending: list[spark_types.DataType] = [part.dataType]
    while pending:
        data_type = pending.pop()
        if isinstance(data_type, spark_types.StructType):
            pending += [inner.dataType for inner in data_type.fields]
        elif isinstance(data_type, spark_types.ArrayType):
            pending.append(data_type.elementType)
        elif isinstance(data_type, spark_types.StringType) and data_type.collation != _BINARY:
            plain = f"F.collate({part.name!r}, {_BINARY!r})"
            raise QueryError(
                f"{call} {part.name} has the collation {data_type.collation}: Spark compares it by that, and Python by "
                f"its letters\n  to have spellings alike give one spelling, for example F.lower({plain})\n"
                f"  to tell them apart give {plain}"
            )


def spark_type_of(field: Field, time_type: spark_types.DataType) -> spark_types.DataType:
    """Return the Spark type of a column of results.

    An instant has the type of the query's times. Where a type variable was bound by a column, a decimal keeps the
    column's scale and a timestamp its lack of a zone.
    """
    data_type = field.type
    if isinstance(data_type, ColumnType):
        return data_type.spark
    if isinstance(data_type, ColumnScalar):
        return data_type.spark if data_type.is_wide else _widest(data_type.spark)
    if isinstance(data_type, Scalar):
        return time_type if data_type.kind is ScalarKind.INSTANT else _SPARK_TYPE_OF_KIND[data_type.kind]
    if isinstance(data_type, ListOf):
        return spark_types.ArrayType(spark_type_of(data_type.element, time_type))
    if isinstance(data_type, MapOf):
        return spark_types.MapType(spark_type_of(data_type.key, time_type), spark_type_of(data_type.value, time_type))
    if isinstance(data_type, Struct):
        parts = [spark_types.StructField(part.name, spark_type_of(part, time_type)) for part in data_type.fields]
        return spark_types.StructType(parts)
    raise QueryError(f"the type of {field.name!r} is not known when the query is built")


def carried_type(input_field: Field, column_type: spark_types.DataType) -> pa.DataType:
    """Return the Arrow type in which a column travels to a module: its own, unless the module reads another one.

    An instant travels as ticks, and a number that the module reads as a float travels as a float. Timestamps are in UTC
    whatever the session's zone, so that a module sees the same values in any session.

    Args:
        input_field: The field that the module declares.
        column_type: The type of the column that it reads.
    """
    declared = input_field.type
    if isinstance(declared, Scalar):
        if declared.kind is ScalarKind.INSTANT:
            return pa.int64()
        if declared.kind is ScalarKind.FLOAT:
            return pa.float64()
        return arrow_type_of(column_type)
    if isinstance(declared, ListOf) and isinstance(column_type, spark_types.ArrayType):
        return pa.list_(carried_type(declared.element, column_type.elementType))
    if isinstance(declared, MapOf) and isinstance(column_type, spark_types.MapType):
        key_type = carried_type(declared.key, column_type.keyType)
        return pa.map_(key_type, carried_type(declared.value, column_type.valueType))
    if isinstance(declared, Struct) and isinstance(column_type, spark_types.StructType):
        declared_at = _declared_fields_at(declared, column_type)
        parts: list[tuple[str, pa.DataType]] = []
        for place, part in enumerate(column_type.fields):
            part_field = declared_at.get(place)
            if part_field is None:  # the module does not read it
                parts.append((part.name, arrow_type_of(part.dataType)))
            else:
                parts.append((part.name, carried_type(part_field, part.dataType)))
        return pa.struct(parts)
    return arrow_type_of(column_type)


def axis_of(name: str, data_type: spark_types.DataType) -> Axis:
    """Return the axis that a time column measures.

    Raises:
        QueryError: The column is not a timestamp, integer or decimal, or a decimal of too many places.
    """
    if isinstance(data_type, spark_types.TimestampType | spark_types.TimestampNTZType):
        return Axis.TIME
    places = places_of(data_type)
    if isinstance(data_type, spark_types.IntegralType) or (places is not None and places <= MOST_PLACES):
        return Axis.TICKS
    raise QueryError(
        "the time column {value} is of type {kind}\n"
        "  expected: a timestamp; or, for an axis of any other kind, an integer or a decimal of at most {most_places} "
        "places\n  {instead}",
        argument="at",
        value=name,
        kind=data_type.simpleString(),
        most_places=MOST_PLACES,
        instead=_instead(name, data_type),
    )


def places_of(data_type: spark_types.DataType) -> int | None:
    """Return the decimal places of times; None for times that are not decimals."""
    return data_type.scale if isinstance(data_type, spark_types.DecimalType) else None


def time_type_of(times: spark_types.DataType, plan: Plan) -> spark_types.DataType:
    """Return the type of the times in results: that of the input, but wide enough for the boundary of any window."""
    if plan.places is not None:
        return spark_types.DecimalType(_DIGITS_OF_TICKS, plan.places)
    return times if plan.axis is Axis.TIME else spark_types.LongType()


def _instead(name: str, data_type: spark_types.DataType) -> ErrorMessage:
    """Return the call to write instead of a column that cannot be an axis."""
    if isinstance(data_type, spark_types.FractionalType):
        return ErrorMessage("a float has no next one: {cast}", cast=WrittenColumn(name, "decimal(18, 6)"))
    if isinstance(data_type, spark_types.StringType):
        order = SparkFunction("array", Constant("low"), Constant("high"))
        return ErrorMessage(
            "text that is a time: {time}; categories in an order of yours: their place in it, {place}",
            time=WrittenColumn(name, "timestamp"),
            place=SparkFunction("array_position", order, WrittenColumn(name)),
        )
    return ErrorMessage("cast it, for example to timestamp")


def arrow_schema_of(schema: spark_types.StructType) -> pa.Schema:
    """Return the Arrow schema that Spark expects from `mapInArrow`, which has to match exactly."""
    return pa.schema([_arrow_field(part) for part in schema.fields])


def spark_schema_of(schema: pa.Schema) -> spark_types.StructType:
    """Return the Spark schema of the Arrow columns that the engine itself makes, which have few types.

    Raises:
        KeyError: A column has another type.
    """
    parts = [spark_types.StructField(column.name, _spark_type_of_arrow(column.type)) for column in schema]
    return spark_types.StructType(parts)


def _spark_type_of_arrow(arrow_type: pa.DataType) -> spark_types.DataType:
    if pa.types.is_list(arrow_type):
        return spark_types.ArrayType(_spark_type_of_arrow(arrow_type.value_type))
    if pa.types.is_decimal(arrow_type):
        return spark_types.DecimalType(arrow_type.precision, arrow_type.scale)
    return _SPARK_TYPE_OF_ARROW_TYPE[arrow_type]()


def arrow_type_of(data_type: spark_types.DataType) -> pa.DataType:
    """Return the Arrow type of a Spark type.

    Raises:
        QueryError: The type cannot pass through a Python function, such as an interval of months or a variant.
    """
    if isinstance(data_type, spark_types.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, spark_types.ArrayType):
        return pa.list_(pa.field("element", arrow_type_of(data_type.elementType), data_type.containsNull))
    if isinstance(data_type, spark_types.MapType):
        value = pa.field("value", arrow_type_of(data_type.valueType), data_type.valueContainsNull)
        return pa.map_(pa.field("key", arrow_type_of(data_type.keyType), nullable=False), value)
    if isinstance(data_type, spark_types.StructType):
        return pa.struct([_arrow_field(part) for part in data_type.fields])
    for spark_type, arrow_type in _ARROW_TYPE_OF_SPARK_TYPE:
        if isinstance(data_type, spark_type):
            return arrow_type
    raise QueryError(f"a column of type {data_type.simpleString()} cannot be a key, an id or an input; cast it first")


def _arrow_field(part: spark_types.StructField) -> pa.Field:
    return pa.field(part.name, arrow_type_of(part.dataType), part.nullable)


def _declared_fields_at(declared: Struct, column_type: spark_types.StructType) -> dict[int, Field]:
    """Return the fields that a module reads of a struct column, by their place in the column."""
    described = field_of("", column_type).type
    assert isinstance(described, Struct)
    return dict(matching(declared, described) or ())


def _widest(data_type: spark_types.DataType) -> spark_types.DataType:
    """Return a type for results that are computed from values of a type: a sum has more digits than its terms."""
    if isinstance(data_type, spark_types.DecimalType):
        return spark_types.DecimalType(_MOST_DIGITS, data_type.scale)
    return data_type
