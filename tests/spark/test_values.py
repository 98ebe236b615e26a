"""Values on their way in and out: times, decimals, nulls inside, and what Python cannot hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Generic, TypeVar

import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import INFINITY, Aggregate, Instant, tumbling
from muntin_engine import Query, events, module
from tests.spark.modules import Count
from tests.spark.running import collect, setting

T = TypeVar("T")


class Only(Aggregate[T, T], Generic[T]):
    """The one payload of a window."""

    name, version = "show.only", "1.0.0"

    def compute_result(self, payloads: Sequence[T]) -> T:
        (payload,) = payloads
        return payload


class Spelled(Aggregate[datetime, str]):
    """A time as the module sees it."""

    name, version = "show.spelled", "1.0.0"

    def compute_result(self, payloads: Sequence[datetime]) -> str:
        return max(payloads).isoformat()


@dataclass
class Stay:
    marks: list[Instant]
    left: Instant | None


class Stays(Aggregate[Stay, Stay]):
    """Instants, which modules read and write as ticks."""

    name, version = "show.stays", "1.0.0"

    def compute_result(self, payloads: Sequence[Stay]) -> Stay:
        (stay,) = payloads
        return Stay([mark + 1 for mark in stay.marks], INFINITY if stay.left is None else stay.left)


class Third(Aggregate[Decimal, Decimal]):
    """A number with more digits than a column has."""

    name, version = "show.third", "1.0.0"

    def compute_result(self, payloads: Sequence[Decimal]) -> Decimal:
        return sum(payloads, Decimal(0)) / 3


class Sums(Aggregate[list[int], int]):
    """Lists without nulls inside."""

    name, version = "show.sums", "1.0.0"

    def compute_result(self, payloads: Sequence[list[int]]) -> int:
        return sum(map(sum, payloads))


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.sql(
        "SELECT timestamp'2024-05-01 08:00' AS t, timestamp_ntz'2024-05-01 08:00' AS n, 1.20BD AS d, 7 AS x, "
        "named_struct('left', cast(null as timestamp), 'marks', array(timestamp'1970-01-01 00:00:01')) AS stay, "
        "array(map('a', timestamp_ntz'2024-05-01 08:00')) AS deep"
    )


def test_a_result_that_a_column_types_has_the_columns_type(df: DataFrame) -> None:
    names = ("t", "n", "d", "x", "deep")
    query = (
        events(df, at="t").window(tumbling("1 day")).aggregate(**{f"m_{name}": module(Only, name) for name in names})
    )
    results = query.results()
    types = {
        "t": "timestamp",
        "n": "timestamp_ntz",
        "d": "decimal(38,2)",
        "x": "bigint",
        "deep": "array<map<string,timestamp_ntz>>",
    }
    assert {field.name: field.dataType.simpleString() for field in results.schema.fields[1:]} == {
        f"m_{name}": of for name, of in types.items()
    }
    assert results.select(*(f"m_{name}" for name in names)).collect() == df.select(*names).collect()


def test_times_and_decimals_inside_values(df: DataFrame) -> None:
    query = (
        events(df, at="t")
        .window(tumbling("1 day"))
        .aggregate(
            stay=module(Stays, "stay"), third=module(Third, "d"), at=module(Spelled, "t"), plain=module(Spelled, "n")
        )
    )
    assert query.results().schema["stay"].dataType.simpleString() == "struct<marks:array<timestamp>,left:timestamp>"
    (row,) = collect(query.results())
    assert row["stay"] == {"marks": [1_000_001], "left": None}
    assert row["third"] == Decimal("0.4")
    assert (row["at"], row["plain"]) == ("2024-05-01T08:00:00+00:00", "2024-05-01T08:00:00")


def test_a_module_sees_utc_whatever_the_zone_of_the_session(spark: SparkSession) -> None:
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        df = spark.sql("SELECT timestamp'2024-05-01 08:00' AS t")
        key = "named_struct('t', t, 'm', map_keys(map(t, 1)))"
        query = events(df.selectExpr("t", f"{key} AS k"), at="t", key="k").window(tumbling("1 day"))
        results = query.aggregate(at=module(Spelled, "t")).results()
        (row,) = collect(results)
        tick = round(datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp() * 1_000_000)
        assert row["at"] == "2024-05-01T12:00:00+00:00"
        assert row["k"] == {"t": tick, "m": [tick]}
        assert [str(row["k"]["t"]) for row in results.selectExpr("struct(string(k.t) as t) as k").collect()] == [
            "2024-05-01 08:00:00"
        ]


def rejected(query: Query) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in query.rejected().collect():
        found.setdefault(row["reason"], []).append(json.loads(row["row"])["at"])
    return {reason: sorted(ats) for reason, ats in found.items()}


def test_rows_with_values_that_nobody_can_read_are_rejected_and_the_others_counted(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT at, if(at = 1, array(1, null), if(at = 2, null, array(at))) AS xs, "
        "if(at = 3, timestamp_micros(8000000000000000000), timestamp'2024-05-01') AS t, "
        "if(at = 4, cast(X'FF' as string), 'text') AS s, if(at = 5, date'9999-12-31' + 9999999, date'2024-05-01') AS d "
        "FROM VALUES (1L), (2L), (3L), (4L), (5L), (6L), (7L), (4611686018427387904L) AS (at)"
    )
    query = (
        events(df, at="at", key="s", buckets=2)
        .window(tumbling(10))
        .aggregate(sum=module(Sums, "xs"), n=module(Count, "t"), m=module(Count, "d"))
    )
    assert [(row["sum"], row["n"], row["m"]) for row in collect(query.results())] == [(13, 4, 4)]
    assert rejected(query) == {
        "unreadable value": [3, 4, 5],
        "time out of range": [4611686018427387904],
    }
    assert query.late().collect() == []
