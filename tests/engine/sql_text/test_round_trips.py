"""The law of SQL: the text of a query makes the same query again. And what SQL has no words for is refused by name."""

from __future__ import annotations

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


def without_backticks(selection: Any) -> tuple[Any, Any]:
    """Return the columns and the condition of a selection; a name in backticks is the same column as one without."""
    columns = {name: text.strip("`") for name, text in (selection.columns or {}).items()}
    return columns, selection.condition


def assert_text_is_same_query(spark: SparkSession, query: Query, rides: DataFrame) -> str:
    """Assert that the text of a query in SQL is read as the same query, and return the text."""
    text = query.to_sql(rides=rides)
    reread = sql(spark, text, rides=rides)

    assert plan_to_data(reread.plan) == plan_to_data(query.plan), text
    inner_plans = [plan_to_data(inner.plan) for inner in query.inner]
    assert [plan_to_data(inner.plan) for inner in reread.inner] == inner_plans, text
    assert without_backticks(reread.selection) == without_backticks(query.selection), text
    return text


def test_each_kind_of_windows_goes_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    stream = events(rides, key="station", at="leaves", order="line")
    refused: list[str] = []
    for windows in (*WINDOWS, *ROWS):
        try:
            query = stream.window(windows).aggregate(n=stats.count())
        except QueryError:
            refused.append(str(windows))
            continue
        assert_text_is_same_query(spark, query, rides)
    # Their lengths are bare numbers, which timestamps do not have.
    assert refused == ["last(elapsed(7))", "batch(elapsed(9))"]


def km_of_hours(rides: DataFrame, window_arguments: dict[str, Any] | None = None, **arguments: Any) -> Query:
    """Return a query over hopping windows, with more arguments of window() and of events()."""
    stream = events(rides, key="station", at="leaves", **arguments)
    return stream.window(hopping("1 hour", "10 minutes"), **(window_arguments or {})).aggregate(n=stats.sum("km"))


def test_each_policy_of_windows_goes_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    for emission in EMISSIONS:
        assert_text_is_same_query(spark, km_of_hours(rides, {"emit": emission}), rides)
    for clip in ("none", "left", "right", "full"):
        assert_text_is_same_query(spark, km_of_hours(rides, {"clip": clip}), rides)
    for timestamps in ("align", "point_at_end"):
        assert_text_is_same_query(spark, km_of_hours(rides, {"timestamps": timestamps}), rides)


def test_each_policy_of_events_goes_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    for late in LATE:
        assert_text_is_same_query(spark, km_of_hours(rides, late_policy=late), rides)
    for policy in PROGRESS:
        columns: dict[str, Any] = {}
        if getattr(policy, "idle", None) is not None:  # sources that may be idle have names
            columns = {"change": "line", "source": "line", "sources": ["a"]}
        assert_text_is_same_query(spark, km_of_hours(rides, watermark=policy, **columns), rides)


def test_random_queries_go_through_sql_or_are_refused_by_name(spark: SparkSession, rides: DataFrame) -> None:
    random = Random(30)
    round_trips = 0
    refusals: list[str] = []
    while round_trips + len(refusals) < 20:
        try:
            query = random_query(random, rides)
        except MuntinError:
            continue  # parts that do not go together
        try:
            query.to_sql(rides=rides)
        except QueryError as error:
            refusals.append(str(error))
        else:
            assert_text_is_same_query(spark, query, rides)
            round_trips += 1
    assert [refusal for refusal in refusals if "has no text in SQL" not in refusal.split("\n")[0]] == []
    assert round_trips > 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda stream: stream.windows(a=tumbling("1 hour"), b=tumbling("1 day")).aggregate(n=stats.count()),
            "windows()",
        ),
        (lambda stream: stream.join(stream, "clip", left_columns="km"), "how='clip'"),
        (
            lambda stream: stream.join(stream, left_columns="km", same_window=hopping("1 hour", "1 minute")),
            "same_window= of windows that overlap",
        ),
    ],
)
def test_a_call_that_has_no_text_in_sql_is_named(rides: DataFrame, make: Any, message: str) -> None:
    stream = events(rides, key="station", at="leaves", watermark="1 minute")
    with pytest.raises(QueryError, match="has no text in SQL") as refused:
        make(stream).to_sql(rides=rides)
    assert message in str(refused.value)


def test_idle_sources_go_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    policy = bounded_delay("1 minute").with_idle("1 hour", lag="2 hours").with_key_punctuation()
    ranges = {"station": ("line", None)}
    stream = events(rides, key="station", at="leaves", change="line", watermark=policy, key_ranges=ranges)
    query = stream.window(tumbling("1 hour")).aggregate(n=stats.count())
    text = assert_text_is_same_query(spark, query, rides)
    assert "bounded_delay(INTERVAL '1' MINUTE, idle => MAP(" in text


def test_heartbeats_and_clocks_go_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    beats = spark.createDataFrame([], _SCHEMA)
    stream = events(rides, at="leaves").with_heartbeat(beats, at="arrives", delay="1 minute").with_clock(beats)
    query = stream.window(tumbling("1 hour")).aggregate(n=stats.count())
    text = query.to_sql(rides=rides, beats=beats)
    assert "THEN with_heartbeat('beats', at => 'arrives', delay => INTERVAL '1' MINUTE)" in text
    assert "THEN with_clock('beats')" in text
    assert plan_to_data(sql(spark, text, rides=rides, beats=beats).plan) == plan_to_data(query.plan)


def test_joins_go_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    left = events(rides, key="station", start="leaves", end="arrives", watermark="1 minute")
    right = events(rides, key="station", start="leaves", end="arrives", watermark="1 minute")
    for how in ("inner", "left"):
        join = left.join(right, how, left_columns=["km"], right_columns={"far": "km2"})
        assert_text_is_same_query(spark, join, rides)
    for how in ("semi", "anti"):
        assert_text_is_same_query(spark, left.join(right, how, left_columns="km"), rides)
    by_hour = left.join(right, left_columns=["km"], right_columns=["km2"], same_window=tumbling("1 hour"), emit="eager")
    assert_text_is_same_query(spark, by_hour, rides)


def test_unions_go_through_sql(spark: SparkSession, rides: DataFrame) -> None:
    points = events(rides, key="station", at="leaves", watermark="1 minute", late_policy=correct("1 hour"))
    query = union(bikes=points, scooters=points).window(tumbling("1 hour")).aggregate(n=stats.count())
    assert_text_is_same_query(spark, query, rides)


TEXTS_OF_DEMO = {
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
    expected = QUESTIONS[name](flights)
    query = sql(spark, TEXTS_OF_DEMO[name], flights=flights)
    assert plan_to_data(query.plan) == plan_to_data(expected.plan)
    assert query.results().schema == expected.results().schema
