"""Types and values on their way in and out: keys, times, decimals, records, nulls, and what Python cannot hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Generic, NamedTuple, TypedDict, TypeVar

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import (
    INFINITY,
    Aggregate,
    Event,
    Instant,
    Operator,
    Window,
    function,
    hopping,
    snapshot,
    tumbling,
)
from muntin.errors import QueryError
from muntin.rows import last
from muntin_engine import Query, events, functions, module
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import collect, collect_together
from tests.modules.members import Count, Members

GROUPS_BY_KEY = {
    "cast(x as string)": 4,
    "case when x > 1 then cast('NaN' as double) when x = 1 then -0.0D else 0.0D end": 2,
    "cast(x as decimal(10, 2))": 4,
    "timestamp_micros(x * 1000000 - 5000000000)": 4,
    "cast(cast(x as string) as binary)": 4,
    "array(x % 2, null)": 2,
    "named_struct('left', x % 2, 'right', 'r')": 2,
    "if(x < 2, null, date'1969-12-31')": 2,
    "x > 1": 2,
}
"""Keys by their expression over x, which is 0, 1, 2 or 3, with the number of groups that Spark makes of them."""


def test_keys_of_any_type_group_as_in_spark(spark: SparkSession) -> None:
    queries = {}
    spark_groups = []
    for key in GROUPS_BY_KEY:
        df = spark.range(40).selectExpr("id % 4 as x", "id as at").selectExpr(f"{key} as k", "at")
        queries[key] = events(df, key="k", at="at", buckets=2).window(tumbling(100)).aggregate(n=module(Count))
        by_key = df.groupBy("k").agg(F.count("*").alias("n"))
        assert queries[key].results().schema["k"].dataType == by_key.schema["k"].dataType
        group = F.to_json(F.struct("k", "n"), {"ignoreNullFields": "false"})
        spark_groups.append(by_key.select(F.lit(key).alias("key"), group.alias("group")))

    # One job of Spark counts the groups of all keys: keys and counts are compared as text, in which NaN equals NaN.
    expected: dict[str, list[str]] = {key: [] for key in GROUPS_BY_KEY}
    for row in reduce(DataFrame.union, spark_groups).collect():
        group = json.loads(row["group"])
        expected[row["key"]].append(str((group["k"], group["n"])))
    for key, rows in collect_together(queries).items():
        groups = [str((row["k"], row["n"])) for row in rows]
        assert sorted(groups) == sorted(expected[key]), key
        assert len(groups) == GROUPS_BY_KEY[key]


def test_text_with_a_collation_is_refused_where_it_is_compared_and_what_is_advised_groups_as_spark_does(
    spark: SparkSession,
) -> None:
    df = spark.sql("SELECT * FROM VALUES ('a', 1), ('A', 2), ('b', 3) AS t (k, at)")
    for collation in ("UTF8_LCASE", "UNICODE_CI", "UNICODE", "UTF8_BINARY_RTRIM"):
        collated = df.withColumn("k", F.collate("k", collation)).withColumn("s", F.array(F.struct("k")))
        message = rf"k has the collation {collation}: Spark .*\n.*F.lower\(F.collate\('k', 'UTF8_BINARY'\)\)"
        with pytest.raises(QueryError, match=f"the key {message}"):
            events(collated, key="k", at="at").window(tumbling(9)).aggregate(n=module(Count))
        with pytest.raises(QueryError, match=f"the key s has the collation {collation}"):
            events(collated, key="s", at="at").window(tumbling(9)).aggregate(n=module(Count))
        with pytest.raises(QueryError, match=f"the id {message}"):
            events(collated, at="at", id="k").window(tumbling(9)).aggregate(n=module(Count))
        with pytest.raises(QueryError, match=f"the partition {message}"):
            events(collated, at="at").window(last(2).partition("k")).aggregate(n=module(Count))
        with pytest.raises(QueryError, match=f"the order {message}"):
            events(collated, at="at", order="k").window(last(2)).aggregate(n=module(Count))

    collated = df.withColumn("k", F.collate("k", "UTF8_LCASE"))
    advised_key = F.lower(F.collate("k", "UTF8_BINARY")).alias("k")
    results = events(collated, key=advised_key, at="at").window(tumbling(9)).aggregate(n=module(Count)).results()
    spark_groups = collated.groupBy("k").count()
    assert sorted(row.n for row in results.collect()) == [1, 2]
    assert sorted(row[1] for row in spark_groups.collect()) == [1, 2]


def test_a_key_that_is_a_map_is_refused_and_what_is_advised_groups_as_spark_does(spark: SparkSession) -> None:
    df = spark.sql("""
        SELECT * FROM VALUES (map('a', 1, 'b', 2), 1), (map('b', 2, 'a', 1), 2), (map('a', 1), 2), (map(), 3), (NULL, 4)
        AS t (m, at)
    """)
    with pytest.raises(QueryError, match="gives no hash of maps") as refusal:
        events(df, key="m", at="at").window(tumbling(10)).aggregate(n=module(Count)).results()
    assert "key='array_sort(map_entries(m))'" in str(refusal.value)

    windows = events(df, key="array_sort(map_entries(m))", at="at").window(tumbling(10))
    results = windows.aggregate(n=module(Count)).results()
    key_as_map = F.map_from_entries(F.col(f"`{results.columns[0]}`")).alias("m")
    groups = results.select(key_as_map, "n").collect()
    spark_groups = df.groupBy("m").count().collect()
    assert sorted(map(str, map(tuple, groups))) == sorted(map(str, map(tuple, spark_groups)))


def test_two_keys_and_a_null_among_them(spark: SparkSession) -> None:
    df = spark.createDataFrame(
        [("a", None, 1), ("a", 2, 3), (None, None, 4), (None, None, 5)], "p string, q int, at int"
    )
    query = events(df, key=["p", "q"], at="at").window(tumbling(10)).aggregate(n=module(Count))

    counts = {(row["p"], row["q"]): row["n"] for row in collect(query.results())}
    assert counts == {("a", None): 1, ("a", 2): 1, (None, None): 2}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_times_keep_their_type_and_mean_the_same_in_every_session_zone(
    spark: SparkSession, zone: str, kind: str
) -> None:
    with setting(spark, "spark.sql.session.timeZone", zone):
        df = spark.sql(f"SELECT {kind}'1969-12-31 23:59:00' AS at UNION ALL SELECT {kind}'1970-01-01 00:00:00'")
        results = events(df, at="at").window(tumbling("1 hour")).aggregate(n=module(Count)).results()
        rows = results.selectExpr("cast(window.start as string) as start", "cast(window.end as string) as end", "n")

        assert results.dtypes[0] == ("window", f"struct<start:{kind},end:{kind}>")
        assert {tuple(row) for row in rows.collect()} == {
            ("1969-12-31 23:00:00", "1970-01-01 00:00:00", 1),
            ("1970-01-01 00:00:00", "1970-01-01 01:00:00", 1),
        }


def test_huge_and_negative_ticks_are_windowed_without_counting_up_to_them(spark: SparkSession) -> None:
    df = spark.createDataFrame([(-(2**61),), (0,), (2**61,)], "at bigint")
    results = events(df, at="at").window(hopping(10, 5)).aggregate(n=module(Count)).results()

    assert len(collect(results)) == 6, "two windows for each tick"


def test_an_event_that_never_ends_has_a_null_end(spark: SparkSession) -> None:
    df = spark.createDataFrame([(1, 5), (3, None)], "start bigint, end bigint")
    results = events(df, start="start", end="end").window(snapshot()).aggregate(all=module(Members, "start")).results()

    assert sorted((row["window"]["start"], row["window"]["end"], row["all"]) for row in collect(results)) == [
        (1, 3, [1]),
        (3, 5, [1, 3]),
        (5, None, [3]),
    ]


class Reading(NamedTuple):
    place: str
    values: list[float]
    unit: str = "C"


@dataclass(frozen=True)
class Note:
    text: str
    seen: Instant
    parts: dict[str, list[int]]
    when: datetime


class Notes(Operator[Reading, Note]):
    """A row of nested values per event."""

    name, version = "show.notes", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[Reading]], window: Window) -> list[Event[Note]]:
        return [Event(event.start, event.end, self.note(event)) for event in events]

    def note(self, event: Event[Reading]) -> Note:
        reading = event.payload
        parts = {reading.place: [round(value) for value in reading.values]}
        return Note(f"{len(reading.values)} {reading.unit}", event.start, parts, event.starts_at or datetime.now(UTC))


def test_records_lists_and_maps_go_in_and_come_out(spark: SparkSession) -> None:
    df = spark.sql("SELECT timestamp'2024-05-01 08:00' AS at, 'north' AS place, array(1.2D, 3.9D) AS temperatures")
    query = events(df, at="at").window(tumbling("1 day"), timestamps="unchanged")
    results = query.apply(module(Notes, "place", "temperatures")).results()
    row = results.select("text", "seen", "parts", "when", "lifetime").collect()[0]

    assert row["text"] == "2 C"
    assert row["seen"] == row["when"] == row["lifetime"]["start"] == datetime(2024, 5, 1, 8)  # noqa: DTZ001  # Spark's
    assert row["lifetime"]["end"] - row["lifetime"]["start"] == timedelta(microseconds=1)
    assert row["parts"] == {"north": [1, 4]}


class Size(TypedDict):
    size: int
    widest: float | None


class Sizes(Operator[dict[str, float], Size]):
    """Rows that are plain dicts."""

    name, version = "show.sizes", "1.0.0"

    def compute_result(self, payloads: Sequence[dict[str, float]]) -> list[Size]:
        return [{"size": len(payload), "widest": max(payload.values(), default=None)} for payload in payloads]


def test_maps_are_dicts_and_rows_may_be_typed_dicts(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS at, map('a', 1.5D, 'b', 2.5D) AS m UNION ALL SELECT 2, map()")
    results = events(df, at="at").window(tumbling(10)).apply(module(Sizes, "m")).results()

    assert sorted((row["size"], row["widest"]) for row in collect(results)) == [(0, None), (2, 2.5)]


def test_an_empty_input_has_an_empty_result_of_the_right_schema(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "k string, at timestamp, x double")
    query = events(df, key="k", at="at").window(tumbling("1 hour")).aggregate(m=module("stats.median", "x"))
    results = query.results()

    assert results.collect() == []
    assert results.dtypes == [("k", "string"), ("window", "struct<start:timestamp,end:timestamp>"), ("m", "double")]


def test_installed_functions_are_there_in_sql(spark: SparkSession) -> None:
    assert "stats_clamp" in functions(spark)
    row = spark.sql("SELECT stats_clamp(7.0D, 0.0D, 5.0D) AS x, stats_log1p(0.0D) AS y").collect()[0]

    assert (row["x"], row["y"]) == (5.0, 0.0)


@function("rides.fare", version="1.0.0")
def fare(minutes: float, km: float) -> float:
    return 1.5 + 0.2 * minutes + 0.3 * km


def test_a_function_of_ones_own_is_there_in_sql(spark: SparkSession) -> None:
    assert functions(spark, fare, "stats.clamp") == ["rides_fare", "stats_clamp"]
    assert spark.sql("SELECT rides_fare(10D, 5D) AS x").collect()[0]["x"] == 5.0


# Values on their way in and out: times, decimals, nulls inside, and what Python cannot hold.


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
    columns = ("t", "n", "d", "x", "deep")
    aggregates = {f"m_{column}": module(Only, column) for column in columns}
    results = events(df, at="t").window(tumbling("1 day")).aggregate(**aggregates).results()

    types = {field.name: field.dataType.simpleString() for field in results.schema.fields if field.name != "window"}
    assert types == {
        "m_t": "timestamp",
        "m_n": "timestamp_ntz",
        "m_d": "decimal(38,2)",
        "m_x": "bigint",
        "m_deep": "array<map<string,timestamp_ntz>>",
    }
    assert results.select(*aggregates).collect() == df.select(*columns).collect()


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


def times_by_reason(query: Query) -> dict[str, list[int]]:
    """Return the times of rejected rows, by the reason of the rejection."""
    times: dict[str, list[int]] = {}
    for row in query.rejected_rows().collect():
        times.setdefault(row["reason"], []).append(json.loads(row["row"])["at"])
    return {reason: sorted(times_of_reason) for reason, times_of_reason in times.items()}


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
    assert times_by_reason(query) == {
        "unreadable value": [3, 4, 5],
        "time out of range": [4611686018427387904],
    }
    assert query.late_rows().collect() == []
