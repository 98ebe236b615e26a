"""Schemas of streams, which are Spark's DDL text: read without Spark, with the types that Spark makes of them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from muntin.errors import QueryError
from muntin_engine.backends.local.streams.stream_schema import schema_of
from muntin_engine.backends.planning.needs_spark import NeedsSparkError
from muntin_engine.backends.spark.column_types import arrow_schema_of

SCHEMAS = [
    "station string, leaves timestamp, km double",
    "a boolean, b byte, c tinyint, d short, e smallint, f int, g integer, h long, i bigint, j float, k real",
    "a decimal, b decimal(5), c dec(6,2), d numeric(38,18), e date, f binary",
    "n timestamp_ntz, l timestamp_ltz, d interval day to second, s interval second",
    "a array<int>, m map<string, array<decimal(10,2)>>, s struct<x: int, y: struct<z: timestamp>>",
    "a: int, b: string",
    "a string collate UTF8_BINARY, b array<string collate utf8_binary>, c struct<d: string collate UTF8_BINARY>",
    "a int not null comment 'the first', `a b` string, `a``b` int",
    "at long, end long, start long, change string, key string, order int, window string, date date",
]


@pytest.mark.parametrize("text", SCHEMAS)
def test_a_schema_has_the_types_of_spark(text: str, spark: SparkSession) -> None:
    expected = arrow_schema_of(spark.createDataFrame([], text).schema)
    schema = schema_of(text)
    assert schema.names == expected.names
    # The fields of lists have another name there.
    expected_types = [str(data_type).replace("element: ", "item: ") for data_type in expected.types]
    assert [str(data_type) for data_type in schema.types] == expected_types


@pytest.mark.parametrize(
    "text", ["", "a", "a nonsense", "a int,, b", "a int, b", "a int) b (c int", "a void", "a int;"]
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=r"is no schema of a stream\n  expected: columns with their types") as caught:
        schema_of(text)
    assert not isinstance(caught.value, NeedsSparkError)  # which has a job run on Spark


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(QueryError, match="two columns 'a'"):
        schema_of("a int, A string")


@pytest.mark.parametrize(
    "column",
    [
        "v variant",
        "i interval year to month",
        "c char(3)",
        "s string collate UTF8_LCASE",
        "a array<struct<x: variant>>",
        "a array<string collate UNICODE_CI>",
        "m map<string collate UNICODE_CI, int>",
        "r struct<x: string collate UNICODE_CI>",
        # Spark has no such types either, and says so itself.
        "d decimal(39, 2)",
        "d decimal(5, 7)",
        "a array",
        "a array<int, int>",
        "m map<int>",
        "r struct",
        "r struct<int>",
    ],
)
def test_types_that_only_spark_has_are_left_to_it(column: str) -> None:
    with pytest.raises(NeedsSparkError, match="is of a type that only Spark has"):
        schema_of(f"k int, {column}")


def test_a_schema_is_one_of_arrow() -> None:
    assert schema_of("k string, at timestamp") == pa.schema([("k", pa.string()), ("at", pa.timestamp("us", "UTC"))])
