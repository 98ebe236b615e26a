"""The columns that a query writer declares, in each of the forms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, TypedDict

import pyarrow as pa
import pytest

from muntin.errors import QueryError
from muntin_engine.backends.local.inputs.declared_schema import declared_schema

INSTANT = pa.timestamp("us", "UTC")


@dataclass
class Place:
    lat: float
    tags: list[str]


@dataclass
class Ride:
    station: str
    at: datetime
    place: Place | None
    shares: dict[str, int]
    lasts: timedelta
    is_new: bool


class Reading(NamedTuple):
    sensor: bytes
    value: float


class Price(TypedDict):
    amount: Decimal


RIDE = pa.schema(
    [
        ("station", pa.string()),
        ("at", INSTANT),
        ("place", pa.struct([("lat", pa.float64()), ("tags", pa.list_(pa.field("element", pa.string())))])),
        ("shares", pa.map_(pa.string(), pa.int64())),
        ("lasts", pa.duration("us")),
        ("is_new", pa.bool_()),
    ]
)


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("boolean", pa.bool_()),
        ("tinyint", pa.int8()),
        ("byte", pa.int8()),
        ("smallint", pa.int16()),
        ("short", pa.int16()),
        ("int", pa.int32()),
        ("INTEGER", pa.int32()),
        ("bigint", pa.int64()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("real", pa.float32()),
        ("double", pa.float64()),
        ("string", pa.string()),
        ("string collate UTF8_BINARY", pa.string()),
        ("array<string collate utf8_binary>", pa.list_(pa.field("element", pa.string()))),
        ("varchar(10)", pa.string()),
        ("char(3)", pa.string()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", INSTANT),
        ("timestamp_ltz", INSTANT),
        ("timestamp_ntz", pa.timestamp("us")),
        ("interval day to second", pa.duration("us")),
        ("decimal", pa.decimal128(10, 0)),
        ("decimal(5)", pa.decimal128(5, 0)),
        ("decimal(38, 18)", pa.decimal128(38, 18)),
        ("array<int>", pa.list_(pa.field("element", pa.int32()))),
        ("map<string, array<date>>", pa.map_(pa.string(), pa.list_(pa.field("element", pa.date32())))),
        ("struct<a: int, `b c`: string>", pa.struct([("a", pa.int32()), ("b c", pa.string())])),
    ],
)
def test_a_type_of_sparks_ddl_is_read_as_one_of_arrow(text: str, data_type: pa.DataType) -> None:
    schema = declared_schema(f"`a b` {text} NOT NULL COMMENT 'x', other int")
    assert schema == pa.schema([("a b", data_type), ("other", pa.int32())])


def test_a_struct_type_may_have_fields_of_any_name() -> None:
    spark_types = pytest.importorskip("pyspark.sql.types")
    texts = spark_types.ArrayType(spark_types.StringType())
    place = spark_types.StructType().add("a b", spark_types.IntegerType()).add("c`d", texts)
    schema = spark_types.StructType().add("place", place)
    assert declared_schema(schema).field("place").type == pa.struct(
        [("a b", pa.int32()), ("c`d", pa.list_(pa.field("element", pa.string())))]
    )


def test_columns_of_records_are_those_that_a_module_declares() -> None:
    assert declared_schema(Ride) == RIDE
    assert declared_schema(Reading) == pa.schema([("sensor", pa.binary()), ("value", pa.float64())])


def test_a_struct_type_of_sparks_declares_the_same_as_its_text() -> None:
    spark_types = pytest.importorskip("pyspark.sql.types")
    part = spark_types.StructType().add("x", spark_types.DayTimeIntervalType())
    struct = spark_types.StructType().add("a", "decimal(4,2)").add("b", spark_types.ArrayType(part))
    text = "a decimal(4, 2), b array<struct<x: interval day to second>>"
    assert declared_schema(struct) == declared_schema(text)


def test_an_arrow_schema_declares_the_types_in_which_its_columns_are_read() -> None:
    arrow = pa.schema([("a", pa.large_string()), ("t", pa.timestamp("ns", "Europe/Paris")), ("d", pa.duration("s"))])
    declared = declared_schema(arrow)
    assert declared == declared_schema("a string, t timestamp, d interval day to second")
    assert declared_schema(declared) == declared


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (5, "declares no columns"),
        (int, "declares no columns"),
        ("", "cannot be read"),
        ("a", "cannot be read"),
        ("a int) x", "cannot be read as columns of Spark's DDL"),
        ("a int>) + CAST(NULL AS STRUCT<b int", "cannot be read as columns of Spark's DDL"),
        ("a variant", "'a' as variant, which has no meaning in a query"),
        ("a interval year to month", "interval year to month, which has no meaning"),
        ("a string collate UNICODE_CI", "text with a collation has no meaning"),
        ("a struct<b: string collate UNICODE_CI>", "text with a collation has no meaning"),
        ("a array<string collate UNICODE_CI>", "text with a collation has no meaning"),
        ("a map<string, string collate UNICODE_CI>", "text with a collation has no meaning"),
        ("a decimal(39, 2)", r"as decimal\(39, 2\), which Spark does not have\n  expected: 1 to 38 digits"),
        ("a decimal(5, 7)", r"as decimal\(5, 7\), which Spark does not have"),
        ("a array<decimal(0)>", r"as decimal\(0\), which Spark does not have"),
        ("a decimal(5, 2, 1)", r"as decimal\(5, 2, 1\), which Spark does not have"),
        ("a array", "'a' as array, which has no meaning"),
        ("a map<int>", "which has no meaning"),
        ("a struct<int>", "'a' as struct<int>, which has no meaning"),
        ("a int, a string", "names the column 'a' twice"),
        ("a int, A string", "Spark does not tell upper from lower case"),
        (pa.schema([("a", pa.uint8())]), "'a' as uint8, which has no meaning"),
        (pa.schema([("a", pa.int8()), ("a", pa.int8())]), "names a column twice"),
        (pa.schema([]), "declares no columns"),
        (Price, "'amount' as Decimal|does not say what the column is"),
    ],
)
def test_what_is_no_declaration_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        declared_schema(schema)


def test_a_schema_of_spark_that_names_a_column_twice_is_refused() -> None:
    spark_types = pytest.importorskip("pyspark.sql.types")
    schema = spark_types.StructType().add("a", spark_types.IntegerType()).add("a", spark_types.StringType())
    with pytest.raises(QueryError, match="names the column 'a' twice"):
        declared_schema(schema)
