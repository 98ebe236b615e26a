"""Types and values on their way in and out: keys, times, decimals, records, nulls, and what Python cannot hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Generic, NamedTuple, TypedDict, TypeVar

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
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
    groups_by_spark = []
    for key in GROUPS_BY_KEY:
        df = spark.range(40).selectExpr("id % 4 as x", "id as at").selectExpr(f"{key} as k", "at")
        queries[key] = events(df, key="k", at="at", buckets=2).window(tumbling(100)).aggregate(n=module(Count))
        groups_of_key = df.groupBy("k").agg(F.count("*").alias("n"))
        assert queries[key].results().schema["k"].dataType == groups_of_key.schema["k"].dataType
        group = F.to_json(F.struct("k", "n"), {"ignoreNullFields": "false"})
        groups_by_spark.append(groups_of_key.select(F.lit(key).alias("key"), group.alias("group")))

    # One job of Spark counts the groups of all keys: keys and counts are compared as text, in which NaN equals NaN.
    expected_groups: dict[str, list[str]] = {key: [] for key in GROUPS_BY_KEY}
    for row in reduce(DataFrame.union, groups_by_spark).collect():
        group = json.loads(row["group"])
        expected_groups[row["key"]].append(str((group["k"], group["n"])))

    for key, rows in collect_together(queries).items():
        groups = [str((row["k"], row["n"])) for row in rows]
        assert sorted(groups) == sorted(expected_groups[key]), key
        assert len(groups) == GROUPS_BY_KEY[key]


TEXTS = "SELECT * FROM VALUES ('a', 1), ('A', 2), ('b', 3) AS t (k, at)"
"""Texts `k`, of which two are equal if case does not matter."""


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI", "UNICODE", "UTF8_BINARY_RTRIM"])
def test_text_with_a_collation_is_refused_where_it_is_compared(spark: SparkSession, collation: str) -> None:
    collated = spark.sql(TEXTS).withColumn("k", F.collate("k", collation)).withColumn("s", F.array(F.struct("k")))
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


def test_the_key_that_is_advised_for_text_with_a_collation_groups_as_spark_does(spark: SparkSession) -> None:
    collated = spark.sql(TEXTS).withColumn("k", F.collate("k", "UTF8_LCASE"))
    advised_key = F.lower(F.collate("k", "UTF8_BINARY")).alias("k")

    results = events(collated, key=advised_key, at="at").window(tumbling(9)).aggregate(n=module(Count)).results()

    assert sorted(row.n for row in results.collect()) == [1, 2]
    assert sorted(row["count"] for row in collated.groupBy("k").count().collect()) == [1, 2]


MAPS = """
    SELECT * FROM VALUES (map('a', 1, 'b', 2), 1), (map('b', 2, 'a', 1), 2), (map('a', 1), 2), (map(), 3), (NULL, 4)
    AS t (m, at)
"""
"""Maps `m`, of which two are equal and have their entries in different order."""


def test_a_key_that_is_a_map_is_refused_with_the_key_to_write_instead(spark: SparkSession) -> None:
    windows = events(spark.sql(MAPS), key="m", at="at").window(tumbling(10))
    with pytest.raises(QueryError, match="gives no hash of maps") as refusal:
        windows.aggregate(n=module(Count)).results()
    assert "key='array_sort(map_entries(m))'" in str(refusal.value)


def test_the_key_that_is_advised_for_maps_groups_as_spark_does(spark: SparkSession) -> None:
    df = spark.sql(MAPS)
    windows = events(df, key="array_sort(map_entries(m))", at="at").window(tumbling(10))

    results = windows.aggregate(n=module(Count)).results()

    key_as_map = F.map_from_entries(F.col(f"`{results.columns[0]}`")).alias("m")
    groups = results.select(key_as_map, "n").collect()
    groups_by_spark = df.groupBy("m").count().collect()
    assert sorted_texts(groups) == sorted_texts(groups_by_spark)


def sorted_texts(rows: Iterable[Row]) -> list[str]:
    """Return the values of each row as text, in order: rows with maps and nulls have no order of their own."""
    return sorted(str(tuple(row)) for row in rows)


def test_nulls_are_equal_to_each_other_in_each_of_two_keys(spark: SparkSession) -> None:
    rows = [
        # p, q, at
        ("a", None, 1),
        ("a", 2, 3),
        (None, None, 4),
        (None, None, 5),
    ]
    df = spark.createDataFrame(rows, "p string, q int, at int")
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


def test_windows_of_huge_and_negative_ticks_are_found_without_those_between(spark: SparkSession) -> None:
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
    """The payload of `Notes`: two columns, and a default."""

    place: str
    values: list[float]
    unit: str = "C"


@dataclass(frozen=True)
class Note:
    """A row of `Notes`.

    Attributes:
        text: The number of values, and their unit.
        seen: The start of the event, as an instant of the axis.
        parts: The rounded values, by place.
        when: The start of the event, as a time of Python.
    """

    text: str
    seen: Instant
    parts: dict[str, list[int]]
    when: datetime


class Notes(Operator[Reading, Note]):
    """A row with a time, a tick and a map for each event."""

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
    windows = events(df, at="at").window(tumbling("1 day"), timestamps="unchanged")
    results = windows.apply(module(Notes, "place", "temperatures")).results()

    (row,) = results.select("text", "seen", "parts", "when", "lifetime").collect()

    assert row["text"] == "2 C"
    assert row["seen"] == row["when"] == row["lifetime"]["start"] == datetime(2024, 5, 1, 8)  # noqa: DTZ001  # Spark's
    assert row["lifetime"]["end"] - row["lifetime"]["start"] == timedelta(microseconds=1)
    assert row["parts"] == {"north": [1, 4]}


class Size(TypedDict):
    """A row of `Sizes`."""

    size: int
    widest: float | None


class Sizes(Operator[dict[str, float], Size]):
    """The number of entries of each map, and the largest value, as a plain dict."""

    name, version = "show.sizes", "1.0.0"

    def compute_result(self, payloads: Sequence[dict[str, float]]) -> list[Size]:
        return [{"size": len(payload), "widest": max(payload.values(), default=None)} for payload in payloads]


def test_maps_are_dicts_and_rows_may_be_typed_dicts(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS at, map('a', 1.5D, 'b', 2.5D) AS m UNION ALL SELECT 2, map()")
    results = events(df, at="at").window(tumbling(10)).apply(module(Sizes, "m")).results()

    assert sorted((row["size"], row["widest"]) for row in collect(results)) == [(0, None), (2, 2.5)]


def test_an_empty_input_has_an_empty_result_with_the_columns_of_any_other(spark: SparkSession) -> None:
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


class SpelledTime(Aggregate[datetime, str]):
    """The latest time as the module sees it, in ISO 8601, with its zone."""

    name, version = "show.spelled_time", "1.0.0"

    def compute_result(self, payloads: Sequence[datetime]) -> str:
        return max(payloads).isoformat()


@dataclass
class Stay:
    """The payload and the result of `LaterStay`: instants inside a record, in a list and beside a null."""

    marks: list[Instant]
    left: Instant | None


class LaterStay(Aggregate[Stay, Stay]):
    """A stay with its marks one tick later: modules read and write instants as ticks, and no end as `INFINITY`."""

    name, version = "show.later_stay", "1.0.0"

    def compute_result(self, payloads: Sequence[Stay]) -> Stay:
        (stay,) = payloads
        return Stay([mark + 1 for mark in stay.marks], INFINITY if stay.left is None else stay.left)


class Third(Aggregate[Decimal, Decimal]):
    """A third of the sum, which has more digits than a column."""

    name, version = "show.third", "1.0.0"

    def compute_result(self, payloads: Sequence[Decimal]) -> Decimal:
        return sum(payloads, Decimal(0)) / 3


class SumOfLists(Aggregate[list[int], int]):
    """The sum of all numbers in lists; it declares that there are no nulls inside."""

    name, version = "show.sum_of_lists", "1.0.0"

    def compute_result(self, payloads: Sequence[list[int]]) -> int:
        return sum(map(sum, payloads))


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """One row: a timestamp, one without a zone, a decimal, an integer, a record with times, and a list of a map."""
    return spark.sql(
        "SELECT timestamp'2024-05-01 08:00' AS t, timestamp_ntz'2024-05-01 08:00' AS n, 1.20BD AS d, 7 AS x, "
        "named_struct('left', cast(null as timestamp), 'marks', array(timestamp'1970-01-01 00:00:01')) AS stay, "
        "array(map('a', timestamp_ntz'2024-05-01 08:00')) AS deep"
    )


def test_a_module_that_returns_what_it_reads_has_results_of_the_type_of_the_column(df: DataFrame) -> None:
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


def test_instants_inside_records_are_ticks_for_a_module_and_timestamps_in_its_results(df: DataFrame) -> None:
    results = events(df, at="t").window(tumbling("1 day")).aggregate(stay=module(LaterStay, "stay")).results()

    assert results.schema["stay"].dataType.simpleString() == "struct<marks:array<timestamp>,left:timestamp>"
    (row,) = collect(results)
    # the mark was a second after 1970, in microseconds
    assert row["stay"] == {"marks": [1_000_001], "left": None}


def test_times_and_decimals_are_those_of_python_for_a_module(df: DataFrame) -> None:
    windows = events(df, at="t").window(tumbling("1 day"))
    query = windows.aggregate(third=module(Third, "d"), at=module(SpelledTime, "t"), plain=module(SpelledTime, "n"))

    # the row has the decimal 1.20, and eight o'clock with and without a zone
    (row,) = collect(query.results())

    assert row["third"] == Decimal("0.4")
    assert row["at"] == "2024-05-01T08:00:00+00:00"
    assert row["plain"] == "2024-05-01T08:00:00", "a timestamp without a zone"


def test_a_module_sees_utc_whatever_the_zone_of_the_session(spark: SparkSession) -> None:
    # eight o'clock in New York is twelve in UTC
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        df = spark.sql("SELECT timestamp'2024-05-01 08:00' AS t")
        results = events(df, at="t").window(tumbling("1 day")).aggregate(at=module(SpelledTime, "t")).results()

        (row,) = collect(results)

    assert row["at"] == "2024-05-01T12:00:00+00:00"


def test_times_inside_keys_stay_what_they_are_whatever_the_zone_of_the_session(spark: SparkSession) -> None:
    with setting(spark, "spark.sql.session.timeZone", "America/New_York"):
        times = spark.sql("SELECT timestamp'2024-05-01 08:00' AS t")
        df = times.selectExpr("t", "named_struct('t', t, 'm', map_keys(map(t, 1))) AS k")
        results = events(df, at="t", key="k").window(tumbling("1 day")).aggregate(n=module(Count)).results()

        (row,) = collect(results)
        (row_as_text,) = results.selectExpr("string(k.t) as t").collect()

    twelve_in_utc = round(datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp() * 1_000_000)
    assert row["k"] == {"t": twelve_in_utc, "m": [twelve_in_utc]}
    assert row_as_text["t"] == "2024-05-01 08:00:00"


def times_by_reason(query: Query) -> dict[str, list[int]]:
    """Return the times of rejected rows, by the reason of the rejection."""
    times_of: dict[str, list[int]] = {}
    for row in query.rejected_rows().collect():
        times_of.setdefault(row["reason"], []).append(json.loads(row["row"])["at"])
    for times in times_of.values():
        times.sort()
    return times_of


def test_rows_with_values_that_nobody_can_read_are_rejected_and_the_others_counted(spark: SparkSession) -> None:
    # at 1   a null in a list, which SumOfLists skips
    # at 2   a null in the place of a list, which it skips, too
    # at 3   a timestamp beyond those of Python
    # at 4   a text that is not UTF-8
    # at 5   a date beyond those of Python
    # at 6, 7   nothing unusual
    # at 2 ** 62   a time beyond the axis
    df = spark.sql(
        "SELECT at, if(at = 1, array(1, null), if(at = 2, null, array(at))) AS xs, "
        "if(at = 3, timestamp_micros(8000000000000000000), timestamp'2024-05-01') AS t, "
        "if(at = 4, cast(X'FF' as string), 'text') AS s, if(at = 5, date'9999-12-31' + 9999999, date'2024-05-01') AS d "
        "FROM VALUES (1L), (2L), (3L), (4L), (5L), (6L), (7L), (4611686018427387904L) AS (at)"
    )
    windows = events(df, at="at", key="s", buckets=2).window(tumbling(10))
    query = windows.aggregate(sum=module(SumOfLists, "xs"), n=module(Count, "t"), m=module(Count, "d"))

    (result,) = collect(query.results())

    assert result["sum"] == 6 + 7
    assert result["n"] == 4, "1, 2, 6 and 7"
    assert result["m"] == 4
    assert times_by_reason(query) == {
        "unreadable value": [3, 4, 5],
        "time out of range": [2**62],
    }
    assert query.late_rows().collect() == []
