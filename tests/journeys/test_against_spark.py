"""Windows and statistics that Spark has too, on the same rows: its answers are a second opinion of the meaning."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from random import Random
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import calendar, cumulate, landmark, session, tumbling
from muntin.rows import last
from muntin_adapters.combinators import all_of, grouping_by
from muntin_engine import Query, events, module
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import collect, collect_together

SECOND = 1_000_000


def test_sessions_are_those_of_spark(spark: SparkSession) -> None:
    """Some rows are exactly the gap of ten seconds apart, some a microsecond more."""
    random = Random(5)
    all_rows = []
    steps = (0, 1, 4 * SECOND, 10 * SECOND - 1, 10 * SECOND, 10 * SECOND + 1, 25 * SECOND)
    for key in ("a", "b", "c", None):
        at = random.randrange(100) * SECOND
        for _ in range(60):
            at += random.choice(steps)
            all_rows.append((key, at, random.choice((1, 5, 10, 20)), random.randrange(-9, 10) / 4))
    random.shuffle(all_rows)
    rows = spark.createDataFrame(all_rows, "key string, at long, gap long, x double").selectExpr(
        "key", "timestamp_micros(at) AS ts", "timestamp_micros(at + gap * 1000000) AS until", "gap", "x"
    )
    points = events(rows, key="key", at="ts", buckets=2).window(session("10 seconds"))
    lasting = events(rows, key="key", start="ts", end="until", buckets=2).window(session())
    calls = {"n": module("stats.count", "x"), "total": module("stats.sum", "x"), "mean": module("stats.average", "x")}
    aggregates = (F.count("x"), F.sum("x"), F.avg("x"))
    spark_gap = F.concat(F.col("gap").cast("string"), F.lit(" seconds"))
    for stream, gap in ((points, F.lit("10 seconds")), (lasting, spark_gap)):
        of_spark = rows.groupBy("key", F.session_window("ts", gap).alias("window")).agg(*aggregates).collect()
        results = stream.aggregate(**calls).results().collect()
        assert sorted(map(str, map(tuple, results))) == sorted(map(str, map(tuple, of_spark)))
        assert 40 < len(results) < 200


# Midnight is skipped or comes twice, or a whole day is, and one goes by half an hour.
ZONES = {
    "Europe/Berlin": ("day", "year"),
    "America/Sao_Paulo": ("day", "week"),
    "Pacific/Apia": ("day", "month"),
    "Australia/Lord_Howe": ("week", "quarter"),
    "Africa/Cairo": ("day", "month"),
}


def test_days_to_years_are_those_of_date_trunc(spark: SparkSession) -> None:
    random = Random(3)
    seconds = [(random.randrange(1_230_000_000, 1_420_000_000),) for _ in range(400)]  # 2009 to 2014
    rows = spark.createDataFrame(seconds, "second LONG").selectExpr("second * 1000000 AS at")
    stream = events(rows, at="at", unit="us", buckets=1)
    queries: dict[str, Query] = {}
    for zone, units in ZONES.items():
        for unit in units:
            windows = stream.window(calendar(unit, zone=zone))
            queries[f"{unit} {zone}"] = windows.aggregate(n=module("stats.count"))
    results = collect_together(queries)
    for zone, units in ZONES.items():
        with setting(spark, "spark.sql.session.timeZone", zone):
            starts = [F.unix_micros(F.date_trunc(unit, F.timestamp_micros("at"))).alias(unit) for unit in units]
            truncated = rows.select(*starts).collect()
        for unit in units:
            counts = {row["window"]["start"]: row["n"] for row in results[f"{unit} {zone}"]}
            assert len(counts) > 5
            assert counts == Counter(row[unit] for row in truncated)


def test_growing_windows_have_the_rows_that_sql_says(spark: SparkSession) -> None:
    random = Random(8)
    keyed_times = [(random.choice("abc"), random.randrange(600)) for _ in range(40)]
    rows = spark.createDataFrame(keyed_times, "key STRING, at LONG")
    rows.createOrReplaceTempView("growing_rows")
    stream = events(rows, key="key", at="at", buckets=2)
    windows = {"cumulate": stream.window(cumulate(60, 20, 10))}
    windows["landmark"] = stream.window(landmark(30), forget_keys_after=50)
    results = collect_together({name: window.aggregate(n=module("stats.count")) for name, window in windows.items()})
    latest = max(at for _, at in keyed_times)
    expected = {
        "cumulate": """
            SELECT key, first, first + length, COUNT(*) FROM
            (SELECT *, FLOOR((at - 10) / 60) * 60 + 10 AS first, EXPLODE(ARRAY(20, 40, 60)) AS length FROM growing_rows)
            WHERE at < first + length GROUP BY key, first, length""",
        "landmark": f"""
            WITH marked AS (
                SELECT key, at, IF(at - LAG(at) OVER (PARTITION BY key ORDER BY at) > 50, 1, 0) AS is_first
                FROM growing_rows
            ), lives AS (SELECT key, at, SUM(is_first) OVER (PARTITION BY key ORDER BY at) AS life FROM marked
            ), spans AS (SELECT key, life, MAX(at) + 51 AS over_at FROM lives GROUP BY key, life
            ), steps AS (
                SELECT key, life, step.tick, LEAST(step.tick, over_at) AS until
                FROM spans, (SELECT id AS tick FROM RANGE(30, {latest + 31}, 30)) AS step
                WHERE step.tick - 30 < over_at
            )
            SELECT steps.key, 0, until, COUNT(*) FROM steps JOIN lives USING (key, life)
            WHERE at < until GROUP BY steps.key, life, steps.tick, until""",
    }
    for name, query in expected.items():
        intervals = [(row["key"], row["window"]["start"], row["window"]["end"], row["n"]) for row in results[name]]
        assert sorted(intervals) == sorted(map(tuple, spark.sql(query).collect())), name
        assert len(intervals) > 9


def test_statistics_are_those_of_spark(spark: SparkSession) -> None:
    df = spark.range(60).selectExpr(
        "id % 3 as k", "id as at", "if(id % 7 = 0, null, sin(id) * 10) as x", "cos(id) * id as y", "id % 11 as b"
    )
    expected = df.groupBy("k").agg(
        F.avg("x").alias("mean"),
        F.stddev_samp("x").alias("std"),
        F.var_samp("x").alias("var"),
        F.covar_samp("x", "y").alias("cov"),
        F.corr("x", "y").alias("corr"),
        F.max_by("x", "y").alias("best"),
        F.min_by("x", "y").alias("worst"),
        F.percentile("x", F.lit(0.9)).alias("percentile"),
        F.countDistinct("b").alias("nunique"),
        F.sort_array(F.collect_list("x")).alias("listed"),
    )
    inputs = {
        "mean": ("x",),
        "std": ("x",),
        "var": ("x",),
        "cov": ("x", "y"),
        "corr": ("x", "y"),
        "max_by": ("x", "y"),
        "min_by": ("x", "y"),
        "nunique": ("b",),
        "collect_list": ("x",),
    }
    named = {"max_by": "best", "min_by": "worst", "collect_list": "listed"}
    calls = {named.get(name, name): module(f"stats.{name}", *columns) for name, columns in inputs.items()}
    calls["percentile"] = module("stats.percentile", "x", q=0.9)
    window = events(df, key="k", at="at", buckets=2).window(tumbling(100))
    results = {row["k"]: row for row in collect(window.aggregate(**calls).results())}

    rows = expected.collect()
    assert len(rows) == 3
    for row in rows:
        for name in calls:
            value = results[row["k"]][name]
            compared = sorted(value) if name == "listed" else value
            assert compared == pytest.approx(row[name], rel=1e-12), name


def test_values_of_one_time_follow_one_another_by_the_order_of_the_query(spark: SparkSession) -> None:
    """
                  7
    price         5.0, 3.0, 4.0    in the order of seq
    """
    df = spark.createDataFrame([(7, 3, 4.0), (7, 1, 5.0), (7, 2, 3.0)], "at bigint, seq bigint, price double")
    calls = {name: module(f"stats.{name}", "price") for name in ("first", "last", "collect_list")}
    ordered, plain = (events(df, at="at", order=order) for order in ("seq", None))
    calls["row"] = module("stats.last", F.struct("seq", "price"))
    for stream, expected in ((ordered, (5.0, 4.0, [5.0, 3.0, 4.0])), (plain, (3.0, 5.0, [3.0, 4.0, 5.0]))):
        (row,) = collect(stream.window(tumbling(10)).aggregate(**calls).results())
        assert (row["first"], row["last"], row["collect_list"]) == expected
        assert (row["row"]["seq"], row["row"]["price"]) == (3, 4.0)
    results = collect(ordered.window(last(9)).aggregate(**calls).results())
    row = max(results, key=lambda row: len(row["collect_list"]))
    assert (row["first"], row["last"], row["collect_list"]) == (5.0, 4.0, [5.0, 3.0, 4.0])

    best: dict[str, object] = {}
    for name, stream in (("ordered", ordered), ("plain", plain)):
        query = stream.window(tumbling(10)).apply(module("stats.top_by", "price", F.lit(1), k=2))
        best[name] = [row["value"] for row in sorted(collect(query.results()), key=lambda row: row["rank"])]
        best[f"{name} runs"] = next(line.split()[1] for line in query.plan_text().splitlines() if "evaluator" in line)
    assert best == {
        "ordered": [5.0, 3.0],
        "ordered runs": "grouped:",
        "plain": [5.0, 4.0],
        "plain runs": "sliced:",
    }


@pytest.mark.nightly
def test_averages_of_decimals_are_those_of_spark_whatever_computes_them(spark: SparkSession) -> None:
    df = spark.range(64).selectExpr(
        "id % 2 as k",
        "id as at",
        "cast(if(id = 1, 0.01, 0) as decimal(10, 2)) as tie",  # 0.0003125 and zero
        "if(id % 7 = 0, null, cast(id * id / 7 as decimal(12, 3))) as d",
        "cast(id as decimal(38, 18)) as wide",
        "cast(-id as decimal(38, 36)) / 100 as narrow",
        "id as n",
    )
    names = ("tie", "d", "wide", "narrow", "n")
    spark_results = df.groupBy("k").agg(*(F.avg(name).alias(name) for name in names), F.stddev("d"), F.median("d"))
    expected = sorted(map(tuple, spark_results.collect()))
    calls = {name: module("stats.average", name) for name in names}
    calls |= {"std": module("stats.std", "d"), "middle": module("stats.median", "d")}
    types = spark_results.toArrow().schema
    for table in by_each_evaluator(df, calls):
        assert [table.schema.field(name).type for name in names] == [types.field(name).type for name in names]
        results = sorted_rows(table.select(["k", *calls]))
        assert [row[:6] for row in results] == [row[:6] for row in expected]
        assert [row[6:] for row in results] == [pytest.approx(row[6:], rel=1e-12) for row in expected]
    composed = all_of(mean="stats.average", total="stats.sum")
    window = events(df, key="k", at="at", buckets=2).window(tumbling(100))
    table = window.aggregate(all=module(composed, "tie"), by=module(grouping_by("stats.average"), "k", "tie")).results()
    assert dict(table.dtypes)["all"] == "struct<mean:decimal(14,6),total:decimal(20,2)>"
    assert dict(table.dtypes)["by"] == "map<bigint,decimal(14,6)>"
    assert sorted((row["k"], row["all"]["mean"], dict(row["by"])[row["k"]]) for row in collect(table)) == [
        (row[0], row[1], row[1]) for row in expected
    ]


def test_whole_numbers_and_decimals_keep_their_digits_whatever_computes_them(spark: SparkSession) -> None:
    df = spark.range(4).selectExpr(
        "0 as k",
        "id as at",
        "1700000000000000001 + 10 * id as ns",
        "if(id % 2 = 0, 9223372036854775807, -9223372036854775808) as ends",
        "cast(0.1 as decimal(38, 18)) * id + 12345678901234567890 as d",
        "1.5D * id as x",
        "cast(id as int) as i",
    )
    calls = {
        "mean": module("stats.average", "ends"),
        "median": module("stats.median", "ends"),
        "upper": module("stats.quantile", "ns", q=0.5),
        "variance": module("stats.variance", "ns"),
        "deviation": module("stats.standard_deviation", "ns", ddof=0),
        "slope": module("stats.linear_trend", "ns", "i"),
        "rise": module("stats.linear_trend", "ns", "x"),
        "covariance": module("stats.covariance", "ns", "i", ddof=0),
        "correlation": module("stats.correlation", "ns", "i"),
        "of_decimals": module("stats.variance", "d"),
        "per_decimal": module("stats.linear_trend", "i", "d"),
        "counts": module("stats.histogram", "ns", limits=[1700000000000000011]),
    }
    expected = {
        "mean": -0.5,
        "median": -0.5,
        "upper": 1.700000000000000016e18,
        "variance": 500 / 3,
        "deviation": 125**0.5,
        "slope": 0.1,
        "rise": pytest.approx(0.15, rel=1e-14),  # rounded on arrays, as points with a float are
        "covariance": 12.5,
        "correlation": 1.0,
        "of_decimals": 1 / 60,
        "per_decimal": 0.1,
        "counts": [1, 3],
    }
    for table in by_each_evaluator(df, calls):
        (row,) = table.to_pylist()
        assert {name: row[name] for name in calls} == expected
        assert {str(table.schema.field(name).type) for name in calls} == {"double", "list<element: int64>"}

    timed = {
        "over_time": module("stats.time_weighted_average", "ends"),
        "newest": module("stats.exponentially_weighted_average", "ends", alpha=0.5),
    }
    window = events(df, key="k", at="at").window(tumbling(100))
    (row,) = collect(window.aggregate(**timed).results())
    ends = [2**63 - 1, -(2**63)] * 2
    newest = Fraction(sum(value * 2**place for place, value in enumerate(ends)), 15)
    assert row["over_time"] == -0.02  # each holds a hundredth of the window
    assert row["newest"] == float(newest)


def by_each_evaluator(df: DataFrame, calls: dict[str, Any]) -> list[pa.Table]:
    """Return the results of one query by each evaluator, computed as one."""
    stream = events(df, key="k", at="at", buckets=2)
    evaluators: tuple[Literal["auto", "sliced", "general"], ...] = ("auto", "sliced", "general")
    asked = [
        stream.window(tumbling(100), evaluator=evaluator)
        .aggregate(**calls)
        .results()
        .select(F.lit(evaluator).alias("by"), "*")
        for evaluator in evaluators
    ]
    assert len({str(table.schema) for table in asked}) == 1
    table = reduce(DataFrame.union, asked).toArrow()
    return [table.filter(pc.equal(table["by"], evaluator)) for evaluator in evaluators]


def sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of a table as tuples, in order."""
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_a_sum_that_its_column_cannot_hold_is_null_whatever_computes_it(spark: SparkSession) -> None:
    df = spark.range(4).selectExpr(
        "id % 2 as k",
        "id as at",
        "9223372036854775807 - (id % 2) * 9223372036854775000 as n",
        "cast(99999999999999999999999999999999999999 as decimal(38, 0)) as d",
        "cast(12345678.25 as decimal(10, 2)) as small",
    )
    calls = {"n": module("stats.sum", "n"), "d": module("stats.sum", "d"), "s": module("stats.sum", "small")}
    calls["least"] = module("stats.min", "small")
    results = []
    for table in by_each_evaluator(df, calls):
        results.append(sorted_rows(table.select(["k", *calls])))
        assert [str(field.type) for field in table.schema][3:] == [
            "int64",
            "decimal128(38, 0)",
            "decimal128(20, 2)",
            "decimal128(10, 2)",
        ]
    small = Decimal("12345678.25")
    expected = [(0, None, None, 2 * small, small), (1, 1614, None, 2 * small, small)]
    assert results == [expected] * 3
