"""The law of SQL: the text of a query makes the same query again. And what SQL has no words for is refused by name."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import muntin_stats as stats
from demo.questions import QUESTIONS
from muntin import correct, hopping, tumbling
from muntin.errors import MuntinError, QueryError
from muntin.progress import bounded_delay
from muntin_engine import Query, events, sql, union
from muntin_engine.plan.plan_as_data import plan_to_data
from tests.engine.api.text.random_queries import EMISSIONS, LATE, PROGRESS, ROWS, WINDOWS, random_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEMA = "station string, line string, leaves timestamp, arrives timestamp, km double, km2 double"


@pytest.fixture(scope="module")
def rides(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], _SCHEMA)


def plain(selection: Any) -> tuple[Any, Any]:
    """Return a selection without the backticks that columns of that name have."""
    columns = {name: text.strip("`") for name, text in (selection.columns or {}).items()}
    return columns, selection.condition


def assert_same(spark: SparkSession, query: Query, rides: DataFrame) -> str:
    text = query.to_sql(rides=rides)
    back = sql(spark, text, rides=rides)
    assert plan_to_data(back.plan) == plan_to_data(query.plan), text
    assert [plan_to_data(inner.plan) for inner in back.inner] == [plan_to_data(inner.plan) for inner in query.inner], (
        text
    )
    assert plain(back.selection) == plain(query.selection), text
    return text


def test_each_kind_of_windows_goes_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    stream = events(rides, key="station", at="leaves", order="line")
    tried = 0
    for windows in (*WINDOWS, *ROWS):
        with suppress(MuntinError):  # a bare number of ticks, which timestamps do not have
            assert_same(spark, stream.window(windows).aggregate(n=stats.count()), rides)
            tried += 1
    assert tried == len(WINDOWS) + len(ROWS) - 2


def test_each_policy_goes_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    def query(window: dict[str, Any] | None = None, **options: Any) -> Query:
        stream = events(rides, key="station", at="leaves", **options)
        return stream.window(hopping("1 hour", "10 minutes"), **(window or {})).aggregate(n=stats.sum("km"))

    for emission in EMISSIONS:
        assert_same(spark, query({"emit": emission}), rides)
    for late in LATE:
        assert_same(spark, query(late_policy=late), rides)
    for policy in PROGRESS:
        columns: dict[str, Any] = {}
        if getattr(policy, "idle", None) is not None:
            columns = {"change": "line", "source": "line", "sources": ["a"]}
        assert_same(spark, query(watermark=policy, **columns), rides)
    for clip in ("none", "left", "right", "full"):
        assert_same(spark, query({"clip": clip}), rides)
    for timestamps in ("align", "point_at_end"):
        assert_same(spark, query({"timestamps": timestamps}), rides)


def test_random_queries_go_through_sql_or_are_refused_by_name(spark: SparkSession, rides: DataFrame) -> None:
    random = Random(30)
    outcomes = Counter[str]()
    while sum(outcomes.values()) < 20:
        try:
            query = random_query(random, rides)
        except MuntinError:
            continue
        try:
            query.to_sql(rides=rides)
        except QueryError as error:
            outcomes[str(error).split("\n")[0]] += 1
        else:
            assert_same(spark, query, rides)
            outcomes["same"] += 1
    refused = [outcome for outcome in outcomes if outcome != "same" and "has no text in SQL" not in outcome]
    assert refused == []
    assert outcomes["same"] > 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: s.windows(a=tumbling("1 hour"), b=tumbling("1 day")).aggregate(n=stats.count()), "windows()"),
        (lambda s: s.join(s, "clip", left_columns="km"), "how='clip'"),
        (
            lambda s: s.join(s, left_columns="km", same_window=hopping("1 hour", "1 minute")),
            "same_window= of windows that overlap",
        ),
    ],
)
def test_a_call_that_has_no_text_in_sql_is_named(rides: DataFrame, make: Any, message: str) -> None:
    stream = events(rides, key="station", at="leaves", watermark="1 minute")
    with pytest.raises(QueryError, match="has no text in SQL") as refused:
        make(stream).to_sql(rides=rides)
    assert message in str(refused.value)


def test_idle_sources_clocks_and_heartbeats_go_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    policy = bounded_delay("1 minute").with_idle("1 hour", lag="2 hours").with_key_punctuation()
    ranges = {"station": ("line", None)}
    stream = events(rides, key="station", at="leaves", change="line", watermark=policy, key_ranges=ranges)
    query = stream.window(tumbling("1 hour")).aggregate(n=stats.count())
    assert "bounded_delay(INTERVAL '1' MINUTE, idle => MAP(" in assert_same(spark, query, rides)
    beats = spark.createDataFrame([], _SCHEMA)
    stream = events(rides, at="leaves").with_heartbeat(beats, at="arrives", delay="1 minute").with_clock(beats)
    query = stream.window(tumbling("1 hour")).aggregate(n=stats.count())
    text = query.to_sql(rides=rides, beats=beats)
    assert "THEN with_heartbeat('beats', at => 'arrives', delay => INTERVAL '1' MINUTE)" in text
    assert "THEN with_clock('beats')" in text
    assert plan_to_data(sql(spark, text, rides=rides, beats=beats).plan) == plan_to_data(query.plan)


def test_joins_and_unions_go_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    left = events(rides, key="station", start="leaves", end="arrives", watermark="1 minute")
    right = events(rides, key="station", start="leaves", end="arrives", watermark="1 minute")
    for how in ("inner", "left"):
        assert_same(spark, left.join(right, how, left_columns=["km"], right_columns={"far": "km2"}), rides)
    for how in ("semi", "anti"):
        assert_same(spark, left.join(right, how, left_columns="km"), rides)
    by_hour = left.join(right, left_columns=["km"], right_columns=["km2"], same_window=tumbling("1 hour"), emit="eager")
    assert_same(spark, by_hour, rides)
    points = events(rides, key="station", at="leaves", watermark="1 minute", late_policy=correct("1 hour"))
    query = union(bikes=points, scooters=points).window(tumbling("1 hour")).aggregate(n=stats.count())
    assert_same(spark, query, rides)


DEMO = {
    "airborne": """
        SELECT origin, window, COUNT(*) AS planes, stats.time_weighted_average(distance) AS miles
        FROM SNAPSHOT(TABLE flights PARTITION BY origin, DESCRIPTOR(departure, `end`),
                      ID => id, CHANGE => change, NEW_END => new_end, BUCKETS => 8)
        GROUP BY origin, window_start, window_end
        CLIP FULL
    """,
    "delays": """
        SELECT carrier, window, COUNT(*) AS flights, AVG(dep_delay) AS mean_delay,
               stats.quantile(dep_delay, q => 0.9) AS p90_delay
        FROM HOP(TABLE flights, DESCRIPTOR(departure), INTERVAL '10' MINUTES, INTERVAL '1' HOUR,
                 CHANGE => change, ROWS => change != 'revise', BUCKETS => 8)
        GROUP BY carrier, window_start, window_end
    """,
    "cascades": """
        SELECT tailnum, window, patterns.followed_by(id, within => INTERVAL '6' HOURS)
        FROM TUMBLE(TABLE flights PARTITION BY tailnum, DESCRIPTOR(departure, `end`), INTERVAL '6' HOURS,
                    REACH => INTERVAL '6 hours 1 minute', ID => id, CHANGE => change, NEW_END => new_end, BUCKETS => 8)
        WHERE tailnum is not null and dep_delay > 60
        CLIP RIGHT
        TIMESTAMPS UNCHANGED
    """,
}


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_the_questions_of_the_demo_are_the_same_queries_in_sql(spark: SparkSession, name: str) -> None:
    schema = (
        "id long, change string, departure timestamp, end timestamp, new_end timestamp, origin string, carrier string,"
        " tailnum string, dep_delay double, distance double"
    )
    flights = spark.createDataFrame([], schema)
    asked = QUESTIONS[name](flights)
    query = sql(spark, DEMO[name], flights=flights)
    assert plan_to_data(query.plan) == plan_to_data(asked.plan)
    assert query.results().schema == asked.results().schema
