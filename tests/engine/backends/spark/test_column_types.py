"""Column types between the SDK, Spark and Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from muntin import Axis, Instant
from muntin.errors import QueryError
from muntin.schemas import Field, bind, describe, spell
from muntin_engine.backends.spark.column_types import (
    arrow_schema_of,
    arrow_type_of,
    axis_of,
    carried_type,
    field_of,
    spark_type_of,
)

V = TypeVar("V")
NTZ = T.TimestampNTZType()
LONG = T.LongType()


def spark(ddl: str) -> T.DataType:
    """Return a type from Spark's words for it; parsing them would need a JVM."""
    return {
        "array<int>": T.ArrayType(T.IntegerType()),
        "map<string,decimal(9,3)>": T.MapType(T.StringType(), T.DecimalType(9, 3)),
        "struct<a:timestamp,b:array<timestamp_ntz>>": T.StructType(
            [T.StructField("a", T.TimestampType()), T.StructField("b", T.ArrayType(NTZ))]
        ),
    }[ddl]


@dataclass
class When:
    b: list[Instant]
    a: Instant


@pytest.mark.parametrize(
    ("of", "spelled"),
    [
        (T.ByteType(), "integer"),
        (T.FloatType(), "float"),
        (T.DecimalType(9, 3), "decimal"),
        (T.CharType(3), "string"),
        (NTZ, "timestamp"),
        (T.DayTimeIntervalType(), "interval"),
        (spark("array<int>"), "list[integer | None]"),
        (spark("map<string,decimal(9,3)>"), "map[string | None, decimal | None]"),
        (T.YearMonthIntervalType(), "any"),
    ],
)
def test_a_spark_type_is_described(of: T.DataType, spelled: str) -> None:
    assert spell(field_of("x", of)) == f"{spelled} | None"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (bool, "boolean"),
        (int, "bigint"),
        (float, "double"),
        (Decimal, "decimal(38,18)"),
        (Instant, "timestamp_ntz"),
        (list[dict[str, Instant | None]], "array<map<string,timestamp_ntz>>"),
        (When, "struct<b:array<timestamp_ntz>,a:timestamp_ntz>"),
    ],
)
def test_a_result_has_a_spark_type(annotation: Any, expected: str) -> None:
    assert spark_type_of(describe(annotation), NTZ).simpleString() == expected


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (T.IntegerType(), "array<bigint>"),
        (T.FloatType(), "array<double>"),
        (T.DecimalType(9, 3), "array<decimal(38,3)>"),
        (NTZ, "array<timestamp_ntz>"),
        (T.TimestampType(), "array<timestamp>"),
        (spark("map<string,decimal(9,3)>"), "array<map<string,decimal(38,3)>>"),
    ],
)
def test_a_result_that_a_column_binds_keeps_scale_and_zone(column: T.DataType, expected: str) -> None:
    bound = bind(describe(list[V]), {"V": field_of("x", column)})  # type: ignore[valid-type]
    assert spark_type_of(bound, LONG).simpleString() == expected


def test_a_result_of_unknown_type_is_refused() -> None:
    with pytest.raises(QueryError, match="'m' is not known"):
        spark_type_of(describe(Any, "m"), LONG)


@pytest.mark.parametrize(
    ("wanted", "given", "expected"),
    [
        (Any, T.IntegerType(), pa.int32()),
        (int, T.ShortType(), pa.int16()),
        (float, T.DecimalType(9, 3), pa.float64()),
        (Instant, NTZ, pa.int64()),
        (Any, T.TimestampType(), pa.timestamp("us", tz="UTC")),
        (list[float], spark("array<int>"), pa.list_(pa.float64())),
        (dict[str, float], spark("map<string,decimal(9,3)>"), pa.map_(pa.string(), pa.float64())),
    ],
)
def test_a_column_travels_as_a_module_reads_it(wanted: Any, given: T.DataType, expected: pa.DataType) -> None:
    assert carried_type(describe(wanted), given) == expected


def test_the_fields_of_a_struct_travel_as_the_fields_of_their_name_are_read() -> None:
    given = spark("struct<a:timestamp,b:array<timestamp_ntz>>")
    ticks = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))])
    assert carried_type(describe(When), given) == ticks
    assert carried_type(describe(tuple[Instant, list[Instant]]), given) == ticks
    assert carried_type(describe(Any), given) == arrow_type_of(given)


@pytest.mark.parametrize(
    ("of", "axis"), [(T.TimestampType(), Axis.TIME), (NTZ, Axis.TIME), (LONG, Axis.TICKS), (T.ShortType(), Axis.TICKS)]
)
def test_timestamps_and_integers_are_axes(of: T.DataType, axis: str) -> None:
    assert axis_of("at", of) == axis


@pytest.mark.parametrize("of", [T.DateType(), T.StringType(), T.DoubleType(), T.NullType()])
def test_nothing_else_is_an_axis(of: T.DataType) -> None:
    with pytest.raises(QueryError, match="the time column at is of type"):
        axis_of("at", of)


@pytest.mark.parametrize("of", [T.YearMonthIntervalType(), T.VariantType(), T.ArrayType(T.NullType())])
def test_a_type_that_python_has_no_word_for_cannot_travel(of: T.DataType) -> None:
    with pytest.raises(QueryError, match="cast it first"):
        arrow_type_of(of)


def test_an_arrow_schema_follows_sparks_to_the_letter() -> None:
    schema = T.StructType(
        [T.StructField("a", T.ArrayType(T.IntegerType(), containsNull=False)), T.StructField("b", LONG, nullable=False)]
    )
    assert arrow_schema_of(schema) == pa.schema(
        [
            pa.field("a", pa.list_(pa.field("element", pa.int32(), nullable=False))),
            pa.field("b", pa.int64(), nullable=False),
        ]
    )


def test_a_described_field_keeps_its_name() -> None:
    assert isinstance(field_of("x", LONG), Field)
    assert field_of("x", LONG).name == "x"
