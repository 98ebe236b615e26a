"""Queries over the results of queries, in one query of Spark's."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import OutputContract, early, snapshot, tumbling
from muntin.errors import QueryError
from muntin.triggers import every_count
from muntin_engine import Query, batch_metrics, events, module
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import Outcome, run, start, stream_of
from tests.modules.members import Count, Echo, Members, Total

MINUTE = 60_000_000


@pytest.fixture(scope="module")
def minutes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """A point every half minute, in two batches; the last one comes much later and closes the windows before."""
    tables: list[pa.Table] = []
    for half_minutes in ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 60]):
        times = [half * MINUTE // 2 for half in half_minutes]
        tables.append(pa.table({"at": pa.array(times, pa.timestamp("us", tz="UTC"))}))
    return stream_of(spark, tmp_path_factory.mktemp("minutes"), tables)


def counts(df: DataFrame) -> Query:
    return events(df, at="at", watermark="0 seconds", buckets=2).window(tumbling("1 minute")).aggregate(n=module(Count))


def test_a_query_over_the_results_of_a_query(minutes: DataFrame, tmp_path: Path) -> None:
    first = counts(minutes).named("inner").results()
    second = events(first, start="window.start", end="window.end", watermark="0 seconds", buckets=2)
    query = second.window(tumbling("2 minutes")).aggregate(all=module(Members, "n"), total=module(Total, "n"))
    outcome = run(query.results(), tmp_path / "checkpoint")

    assert [(row["window"]["start"] // MINUTE, row["all"], row["total"]) for row in sorted(outcome.rows, key=str)] == [
        (0, [2, 2], 4.0),
        (2, [2, 2], 4.0),
    ]  # the window from minute 4 waits for a later result than that of the last minute
    assert outcome.total("accepted") == 5


def test_two_queries_that_count_under_one_name_are_told_apart_first(minutes: DataFrame) -> None:
    first = counts(minutes).named("mine").results()
    windowed = events(first, at="window.end", watermark=0).window(tumbling("10 seconds"))
    second = windowed.aggregate(n=module(Count)).named("mine")
    with pytest.raises(QueryError, match=r"reports metrics under the name 'mine' already\n.*\.named"):
        second.results()


@pytest.mark.nightly
def test_queries_that_are_given_no_names_are_told_apart_by_themselves(minutes: DataFrame, tmp_path: Path) -> None:
    """The results of a query per window, as one: what is advised where windows cannot share their slices."""
    stream = events(minutes, at="at", watermark="0 seconds", buckets=1)
    queries = [stream.window(size).aggregate(n=module(Count)) for size in (tumbling("1 minute"), tumbling("2 minutes"))]
    twice = events(minutes.where("true"), at="at", watermark="0 seconds", buckets=1).window(tumbling("1 minute"))
    outcome = Outcome()
    united = reduce(DataFrame.unionAll, [query.results() for query in (*queries, twice.aggregate(n=module(Count)))])
    query = start(united, tmp_path / "checkpoint", outcome)
    query.awaitTermination()

    metrics = [batch_metrics(progress) for progress in query.recentProgress]
    names = list(metrics[0])
    assert len(names) == 3
    assert "muntin tumbling('2 minutes')" in names
    assert sum(name.startswith("muntin tumbling('1 minute') ") for name in names) == 2
    assert [sum(numbers[name].accepted for numbers in metrics) for name in names] == [11, 11, 11]


@pytest.mark.nightly
def test_sparks_watermark_goes_on_where_no_window_has_a_result(spark: SparkSession, tmp_path: Path) -> None:
    marks = [((0, 1, 2), "insert"), ((30,), "punctuate"), ((31,), "insert")]
    tables = [pa.table({"at": minutes_of(*minutes), "change": [change] * len(minutes)}) for minutes, change in marks]
    df = stream_of(spark, tmp_path / "input", tables)
    query = events(df, at="at", change="change", buckets=2).window(tumbling("1 minute")).aggregate(n=module(Count))
    results = query.results(watermark="closed")
    sums = results.groupBy(F.window("closed", "2 minutes")).agg(F.sum("n").alias("n"), F.count("*").alias("rows"))
    outcome = run(sums, tmp_path / "checkpoint")

    assert sorted((row["window"]["start"] // MINUTE, row["n"], row["rows"]) for row in outcome.rows) == [
        (0, 2, 2),
        (2, 1, 1),
    ]
    assert outcome.total("late") == 0


@pytest.mark.nightly
def test_sparks_own_operators_follow_results_that_are_retracted_and_buckets_that_differ(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Minutes in which bikes are in use, by the windows of 20 minutes in which a number of bikes began to be.

    a  0         10  12                36 37   40        the bike from 36 comes when c has come to 60, so a window
       |---------|---|-----------------|--|----|         from 12 is retracted when other buckets are past 30
    b    1-3                                     45----------------90
    c     2---9                                        60-61-62
    """
    batches = [
        [("a", 0, 40), ("b", 1, 3)],
        [("c", 2, 9), ("a", 10, 12)],
        [("c", 60, 61)],
        [("c", 61, 62)],  # Spark tells late rows by the watermark before the last
        [("a", 36, 37), ("b", 45, 90)],
    ]
    closing_batch = [("a", 200, 201), ("b", 200, 201), ("c", 200, 201)]
    tables: list[pa.Table] = []
    for rows in [*batches, closing_batch]:
        keys, starts, ends = zip(*rows, strict=True)
        tables.append(pa.table({"k": keys, "from": after_60(*starts), "to": after_60(*ends)}))
    df = stream_of(spark, tmp_path / "input", tables)
    stream = events(df, key="k", start="from", end="to", watermark="25 minutes", buckets=4)
    results = stream.window(snapshot(), emit="eager").aggregate(n=module(Count)).results(watermark="starts")
    length = F.expr("timestampdiff(MINUTE, window.start, window.end) * n * IF(change = 'insert', 1, -1)")
    lengths = results.where("n > 0").select(
        "starts", length.alias("minutes")
    )  # a filter does not hold the watermark up
    sums = lengths.groupBy(F.window("starts", "20 minutes")).agg(F.sum("minutes").alias("minutes"))
    outcome = Outcome()
    with setting(spark, "spark.sql.shuffle.partitions", "2"):  # else all buckets are in one
        query = start(sums, tmp_path / "checkpoint", outcome)
        query.awaitTermination()

    sums_by_start = [(row["window"]["start"] // MINUTE - 60, row["minutes"]) for row in outcome.rows]
    assert sorted(sums_by_start) == [(0, 10 + 2 * 2 + 24 + 2 + 7), (20, 2 + 3), (40, 45), (60, 2)]
    dropped: list[int] = []
    for progress in query.recentProgress:
        dropped += [operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"]]
    assert dropped
    assert not any(dropped)


def after_60(*minutes: int) -> pa.Array:
    return minutes_of(*(60 + minute for minute in minutes))


class Anywhere(Echo):
    """An operator that promises nothing about lifetimes."""

    name, version = "show.anywhere", "1.0.0"
    contract = OutputContract.UNRESTRICTED


def test_results_that_may_start_before_the_output_watermark_have_none_of_sparks(minutes: DataFrame) -> None:
    stream = events(minutes, at="at", id="at", watermark=0)
    revised = stream.window(tumbling("1 minute"), timestamps="time_bound", emit="eager").aggregate(n=module(Count))
    with pytest.raises(QueryError, match=r"may be revised: a row with change='revise' starts where[^$]*as_events\(\)"):
        revised.results(watermark="closed")
    anywhere = stream.window(tumbling("1 minute"), timestamps="unchanged").apply(module(Anywhere, F.lit(1)))
    with pytest.raises(QueryError, match=r"show.anywhere 1.0.0 may start anywhere[^$]*timestamps='clip'"):
        anywhere.results(watermark="closed")
    with pytest.raises(QueryError, match="two columns named 'n'"):
        counts(minutes).results(watermark="n")


def test_retracted_results_are_retracted_events(spark: SparkSession, tmp_path: Path) -> None:
    tables = [pa.table({"at": pa.array(ticks, pa.int64())}) for ticks in ([1, 15], [2, 3], [12, 40], [90])]
    df = stream_of(spark, tmp_path / "input", tables)
    first = events(df, at="at", watermark=30, buckets=2).window(tumbling(10), emit="speculative")
    query = first.aggregate(n=module(Count)).as_events().window(tumbling(30)).aggregate(all=module(Members, "n"))
    outcome = run(query.results(), tmp_path / "checkpoint")
    assert [(row["window"]["start"], sorted(row["all"])) for row in outcome.rows] == [(0, [2, 3]), (30, [1])]
    assert outcome.total("late") == outcome.total("rejected") == 0


def test_early_results_that_stay_are_no_events(minutes: DataFrame) -> None:
    stream = events(minutes, at="at", watermark=0).window(tumbling("1 minute"), emit=early(every_count(1)))
    with pytest.raises(QueryError, match=r"not retracted.*\n.*refinement='retract'"):
        stream.aggregate(n=module(Count)).as_events()


def test_results_keep_their_key_as_events_unless_another_is_named(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS at, 'a' AS shop, 2 AS `the zone`")
    counted = events(df, at="at", key=["shop", "the zone"]).window(tumbling(10)).aggregate(n=module(Count))
    assert counted.as_events().keys == ("shop", "`the zone`")
    chained = counted.as_events().window(tumbling(20)).aggregate(n=module(Count))
    assert [key.name for key in chained.plan.keys] == ["shop", "the zone"]
    assert counted.as_events(key="shop").keys == ("shop",)
    assert counted.as_events(key=None).keys == ()


@pytest.mark.nightly
def test_a_join_with_another_stream_emits_rows_without_a_partner(spark: SparkSession, tmp_path: Path) -> None:
    tables = [
        pa.table({"at": minutes_of(5, 6), "change": ["insert", "insert"]}),
        pa.table({"at": minutes_of(30), "change": ["punctuate"]}),
        pa.table({"at": minutes_of(31), "change": ["insert"]}),
    ]
    df = stream_of(spark, tmp_path / "left", tables)
    query = events(df, at="at", change="change", buckets=2).window(tumbling("1 minute")).aggregate(n=module(Count))
    right_batches = [pa.table({"seen": minutes_of(minute), "rides": [1]}) for minute in (5, 40)]
    rides_seen = stream_of(spark, tmp_path / "right", right_batches)
    joined = query.results(watermark="closed").join(
        rides_seen.withWatermark("seen", "0 seconds"),
        F.expr("n = rides AND seen >= closed AND seen < closed + INTERVAL 1 MINUTE"),
        "leftOuter",
    )
    outcome = run(joined, tmp_path / "checkpoint")
    joined_rows = [(row["window"]["start"] // MINUTE, row["n"], row["seen"] is not None) for row in outcome.rows]
    assert sorted(joined_rows) == [(5, 1, True), (6, 1, False)]


def minutes_of(*minutes: int) -> pa.Array:
    return pa.array([minute * MINUTE for minute in minutes], pa.timestamp("us", tz="UTC"))
