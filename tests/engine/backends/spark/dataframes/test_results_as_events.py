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
    """A point every half minute from 0 on, in two micro-batches; the last one, at minute 30, closes all windows."""
    tables: list[pa.Table] = []
    for half_minutes in ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 60]):
        times = [half * MINUTE // 2 for half in half_minutes]
        tables.append(pa.table({"at": pa.array(times, pa.timestamp("us", tz="UTC"))}))
    return stream_of(spark, tmp_path_factory.mktemp("minutes"), tables)


def minutes_of(*minutes: int) -> pa.Array:
    """Return timestamps of so many minutes after the epoch."""
    return pa.array([minute * MINUTE for minute in minutes], pa.timestamp("us", tz="UTC"))


def counts(df: DataFrame) -> Query:
    """Return a query that counts the points of each minute."""
    return events(df, at="at", watermark="0 seconds", buckets=2).window(tumbling("1 minute")).aggregate(n=module(Count))


def test_results_of_a_query_are_the_events_of_another_one(minutes: DataFrame, tmp_path: Path) -> None:
    counts_by_minute = counts(minutes).named("inner").results()
    as_events = events(counts_by_minute, start="window.start", end="window.end", watermark="0 seconds", buckets=2)
    query = as_events.window(tumbling("2 minutes")).aggregate(all=module(Members, "n"), total=module(Total, "n"))
    outcome = run(query.results(), tmp_path / "checkpoint")

    rows = [(row["window"]["start"] // MINUTE, row["all"], row["total"]) for row in outcome.rows]
    # Five minutes have results; the window from minute 4 waits for a later one than that of minute 4.
    assert sorted(rows) == [(0, [2, 2], 4.0), (2, [2, 2], 4.0)]
    assert outcome.total("accepted") == 5


def test_two_queries_in_one_that_report_metrics_under_one_name_are_refused(minutes: DataFrame) -> None:
    counts_by_minute = counts(minutes).named("mine").results()
    windowed = events(counts_by_minute, at="window.end", watermark=0).window(tumbling("10 seconds"))
    outer_query = windowed.aggregate(n=module(Count)).named("mine")
    with pytest.raises(QueryError, match=r"reports metrics under the name 'mine' already\n.*\.named"):
        outer_query.results()


@pytest.mark.nightly
def test_queries_without_names_report_metrics_under_names_that_tell_them_apart(
    minutes: DataFrame, tmp_path: Path
) -> None:
    """The union of a query for each size of windows is what is advised where windows cannot share their slices."""

    def counts_in(size: str, df: DataFrame) -> DataFrame:
        windows = events(df, at="at", watermark="0 seconds", buckets=1).window(tumbling(size))
        return windows.aggregate(n=module(Count)).results()

    all_counts = [
        counts_in("1 minute", minutes),
        counts_in("2 minutes", minutes),
        counts_in("1 minute", minutes.where("true")),  # another input, with the same windows as the first
    ]
    query = start(reduce(DataFrame.unionAll, all_counts), tmp_path / "checkpoint", Outcome())
    query.awaitTermination()

    metrics = [batch_metrics(progress) for progress in query.recentProgress]
    names = list(metrics[0])
    assert len(names) == 3
    assert "muntin tumbling('2 minutes')" in names
    assert sum(name.startswith("muntin tumbling('1 minute') ") for name in names) == 2
    assert [sum(numbers[name].accepted for numbers in metrics) for name in names] == [11, 11, 11]


@pytest.mark.nightly
def test_sparks_watermark_goes_on_where_no_window_has_a_result(spark: SparkSession, tmp_path: Path) -> None:
    tables = [
        pa.table({"at": minutes_of(0, 1, 2), "change": ["insert", "insert", "insert"]}),
        pa.table({"at": minutes_of(30), "change": ["punctuate"]}),  # closes three windows, and then none has a result
        pa.table({"at": minutes_of(31), "change": ["insert"]}),
    ]
    df = stream_of(spark, tmp_path / "input", tables)
    query = events(df, at="at", change="change", buckets=2).window(tumbling("1 minute")).aggregate(n=module(Count))
    results = query.results(watermark="closed")
    sums = results.groupBy(F.window("closed", "2 minutes")).agg(F.sum("n").alias("n"), F.count("*").alias("rows"))
    outcome = run(sums, tmp_path / "checkpoint")

    rows = [(row["window"]["start"] // MINUTE, row["n"], row["rows"]) for row in outcome.rows]
    assert sorted(rows) == [(0, 2, 2), (2, 1, 1)]
    assert outcome.total("late") == 0


@pytest.mark.nightly
def test_sparks_own_operators_follow_results_that_are_retracted_and_buckets_that_differ(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Sums of minutes in which bikes are in use, by the 20 minutes in which a change of their number falls.

    a  0         10  12                36 37   40        the bike from 36 comes when c has come to 60, so a window
       |---------|---|-----------------|--|----|         from 12 is retracted when other buckets are past 30
    b    1-3                                     45----------------90
    c     2---9                                        60-61-62
    """
    # key, from, to: of rides, in minutes
    batches = [
        [("a", 0, 40), ("b", 1, 3)],
        [("c", 2, 9), ("a", 10, 12)],
        [("c", 60, 61)],
        [("c", 61, 62)],  # Spark tells late rows by the watermark before the last
        [("a", 36, 37), ("b", 45, 90)],
        [("a", 200, 201), ("b", 200, 201), ("c", 200, 201)],  # closes all windows
    ]
    tables: list[pa.Table] = []
    for rows in batches:
        keys, starts, ends = zip(*rows, strict=True)
        tables.append(pa.table({"k": keys, "from": after_60(*starts), "to": after_60(*ends)}))
    df = stream_of(spark, tmp_path / "input", tables)
    stream = events(df, key="k", start="from", end="to", watermark="25 minutes", buckets=4)
    results = stream.window(snapshot(), emit="eager").aggregate(n=module(Count)).results(watermark="starts")

    # Each result adds the minutes of its bikes, and each retraction takes them away again.
    minutes_of_change = F.expr("timestampdiff(MINUTE, window.start, window.end) * n * IF(change = 'insert', 1, -1)")
    bikes_in_use = results.where("n > 0")  # a filter does not hold the watermark up
    lengths = bikes_in_use.select("starts", minutes_of_change.alias("minutes"))
    sums = lengths.groupBy(F.window("starts", "20 minutes")).agg(F.sum("minutes").alias("minutes"))
    outcome = Outcome()
    with setting(spark, "spark.sql.shuffle.partitions", "2"):  # else all buckets are in one
        query = start(sums, tmp_path / "checkpoint", outcome)
        query.awaitTermination()

    sums_by_start = [(row["window"]["start"] // MINUTE - 60, row["minutes"]) for row in outcome.rows]
    assert sorted(sums_by_start) == [(0, 10 + 2 * 2 + 24 + 2 + 7), (20, 2 + 3), (40, 45), (60, 2)]
    dropped_rows: list[int] = []
    for progress in query.recentProgress:
        dropped_rows += [operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"]]
    assert dropped_rows
    assert not any(dropped_rows)


def after_60(*minutes: int) -> pa.Array:
    """Return times so many minutes after minute 60."""
    return minutes_of(*(60 + minute for minute in minutes))


class Anywhere(Echo):
    """An operator that promises nothing about lifetimes."""

    name, version = "show.anywhere", "1.0.0"
    contract = OutputContract.UNRESTRICTED


def test_results_that_may_start_before_the_output_watermark_get_no_watermark_of_sparks(minutes: DataFrame) -> None:
    stream = events(minutes, at="at", id="at", watermark=0)
    revised = stream.window(tumbling("1 minute"), timestamps="time_bound", emit="eager").aggregate(n=module(Count))
    with pytest.raises(QueryError, match=r"may be revised: a row with change='revise' starts where[^$]*as_events\(\)"):
        revised.results(watermark="closed")
    anywhere = stream.window(tumbling("1 minute"), timestamps="unchanged").apply(module(Anywhere, F.lit(1)))
    with pytest.raises(QueryError, match=r"show.anywhere 1.0.0 may start anywhere[^$]*timestamps='clip'"):
        anywhere.results(watermark="closed")


def test_the_watermark_of_results_is_no_column_that_they_have(minutes: DataFrame) -> None:
    with pytest.raises(QueryError, match="two columns named 'n'"):
        counts(minutes).results(watermark="n")


def test_retracted_results_are_retracted_events(spark: SparkSession, tmp_path: Path) -> None:
    batches = [
        [1, 15],
        [2, 3],  # changes the count of [0, 10)
        [12, 40],  # changes that of [10, 20)
        [90],
    ]
    tables = [pa.table({"at": pa.array(ticks, pa.int64())}) for ticks in batches]
    df = stream_of(spark, tmp_path / "input", tables)
    tens = events(df, at="at", watermark=30, buckets=2).window(tumbling(10), emit="speculative")
    query = tens.aggregate(n=module(Count)).as_events().window(tumbling(30)).aggregate(all=module(Members, "n"))
    outcome = run(query.results(), tmp_path / "checkpoint")
    assert [(row["window"]["start"], sorted(row["all"])) for row in outcome.rows] == [(0, [2, 3]), (30, [1])]
    assert outcome.total("late") == outcome.total("rejected") == 0


def test_early_results_that_are_not_retracted_are_refused_as_events(minutes: DataFrame) -> None:
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
    right_batches = [pa.table({"seen": minutes_of(minute), "rides": [1]}) for minute in (5, 40)]
    df = stream_of(spark, tmp_path / "left", tables)
    query = events(df, at="at", change="change", buckets=2).window(tumbling("1 minute")).aggregate(n=module(Count))
    rides_seen = stream_of(spark, tmp_path / "right", right_batches)
    joined = query.results(watermark="closed").join(
        rides_seen.withWatermark("seen", "0 seconds"),
        F.expr("n = rides AND seen >= closed AND seen < closed + INTERVAL 1 MINUTE"),
        "leftOuter",
    )
    outcome = run(joined, tmp_path / "checkpoint")
    joined_rows = [(row["window"]["start"] // MINUTE, row["n"], row["seen"] is not None) for row in outcome.rows]
    assert sorted(joined_rows) == [(5, 1, True), (6, 1, False)]  # minute, count, whether it has a partner
