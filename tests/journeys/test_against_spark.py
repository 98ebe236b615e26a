"""Windows and statistics that Spark has too, on the same rows: its answers are a second opinion of the meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from random import Random
from typing import Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from muntin import calendar, cumulate, landmark, session, tumbling
from muntin.rows import last
from muntin_adapters.combinators import all_of, grouping_by
from muntin_engine import Query, events, module
from muntin_engine.api.query import WindowedStream
from muntin_engine.testing.streaming.job_on_spark import setting
from tests.journeys.running import collect, collect_together

SECOND = 1_000_000


def test_sessions_are_those_of_spark(spark: SparkSession) -> None:
    """Some rows are exactly the gap of ten seconds apart, some a microsecond more or less."""
    random = Random(5)
    steps = (0, 1, 4 * SECOND, 10 * SECOND - 1, 10 * SECOND, 10 * SECOND + 1, 25 * SECOND)
    random_rows = []
    for key in ("a", "b", "c", None):
        at = random.randrange(100) * SECOND
        for _ in range(60):
            at += random.choice(steps)
            gap_in_seconds = random.choice((1, 5, 10, 20))
            x = random.randrange(-9, 10) / 4
            random_rows.append((key, at, gap_in_seconds, x))
    random.shuffle(random_rows)
    rows = spark.createDataFrame(random_rows, "key string, at long, gap long, x double").selectExpr(
        "key", "timestamp_micros(at) AS ts", "timestamp_micros(at + gap * 1000000) AS until", "gap", "x"
    )

    # One gap for all rows, and one for each row, which Muntin reads as events of that length that touch or overlap.
    sessions_of_points = events(rows, key="key", at="ts", buckets=2).window(session("10 seconds"))
    sessions_of_lasting_events = events(rows, key="key", start="ts", end="until", buckets=2).window(session())
    gap_of_row = F.concat(F.col("gap").cast("string"), F.lit(" seconds"))

    modules = {"n": module("stats.count", "x"), "total": module("stats.sum", "x"), "mean": module("stats.average", "x")}
    functions_of_spark = (F.count("x"), F.sum("x"), F.avg("x"))
    for windows, gap in ((sessions_of_points, F.lit("10 seconds")), (sessions_of_lasting_events, gap_of_row)):
        results = windows.aggregate(**modules).results().collect()
        sessions_by_spark = rows.groupBy("key", F.session_window("ts", gap).alias("window")).agg(*functions_of_spark)
        assert sorted_texts(results) == sorted_texts(sessions_by_spark.collect())
        assert 40 < len(results) < 200, "neither a session for all rows of a key, nor one for each row"


def sorted_texts(rows: Iterable[Row]) -> list[str]:
    """Return the values of each row as text, in order: rows with nulls have no order of their own."""
    return sorted(str(tuple(row)) for row in rows)


UNITS_BY_ZONE = {
    "Europe/Berlin": ("day", "year"),
    "America/Sao_Paulo": ("day", "week"),  # summer time begins at midnight, which that day does not have
    "Pacific/Apia": ("day", "month"),  # 30 December 2011 was left out
    "Australia/Lord_Howe": ("week", "quarter"),  # summer time is half an hour
    "Africa/Cairo": ("day", "month"),  # midnight may come twice
}
"""Zones, with the units of calendar windows that are tried in them."""


def test_days_to_years_are_those_of_date_trunc(spark: SparkSession) -> None:
    random = Random(3)
    seconds = [(random.randrange(1_230_000_000, 1_420_000_000),) for _ in range(400)]  # 2009 to 2014
    rows = spark.createDataFrame(seconds, "second LONG").selectExpr("second * 1000000 AS at")
    stream = events(rows, at="at", unit="us", buckets=1)

    queries: dict[str, Query] = {}
    for zone, units in UNITS_BY_ZONE.items():
        for unit in units:
            windows = stream.window(calendar(unit, zone=zone))
            queries[f"{unit} {zone}"] = windows.aggregate(n=module("stats.count"))
    results = collect_together(queries)

    for zone, units in UNITS_BY_ZONE.items():
        with setting(spark, "spark.sql.session.timeZone", zone):
            starts = [F.unix_micros(F.date_trunc(unit, F.timestamp_micros("at"))).alias(unit) for unit in units]
            starts_by_spark = rows.select(*starts).collect()
        for unit in units:
            counts = {row["window"]["start"]: row["n"] for row in results[f"{unit} {zone}"]}
            assert len(counts) > 5
            assert counts == Counter(row[unit] for row in starts_by_spark), (unit, zone)


STEPS_OF_60_BY_20 = """
    SELECT key, first, first + length, COUNT(*)
    FROM (
        SELECT *, FLOOR((at - 10) / 60) * 60 + 10 AS first, EXPLODE(ARRAY(20, 40, 60)) AS length
        FROM growing_rows
    )
    WHERE at < first + length
    GROUP BY key, first, length
"""
"""The windows of `cumulate(60, 20, 10)`: from 10 on, each 60 ticks begin with windows of 20 and 40."""


def steps_of_30_from_zero(latest: int) -> str:
    """Return the windows of `landmark(30)`, up to one that ends after the latest row.

    They all begin at zero, and end every 30 ticks while a key lives: until 50 ticks went by without a row of it, after
    which it begins anew and its windows have the later rows alone.
    """
    return f"""
        WITH marked AS (
            SELECT key, at, IF(at - LAG(at) OVER (PARTITION BY key ORDER BY at) > 50, 1, 0) AS is_first
            FROM growing_rows
        ), lives AS (
            SELECT key, at, SUM(is_first) OVER (PARTITION BY key ORDER BY at) AS life FROM marked
        ), spans AS (
            SELECT key, life, MAX(at) + 51 AS over_at FROM lives GROUP BY key, life
        ), steps AS (
            SELECT key, life, step.tick, LEAST(step.tick, over_at) AS until
            FROM spans, (SELECT id AS tick FROM RANGE(30, {latest + 31}, 30)) AS step
            WHERE step.tick - 30 < over_at
        )
        SELECT steps.key, 0, until, COUNT(*)
        FROM steps JOIN lives USING (key, life)
        WHERE at < until
        GROUP BY steps.key, life, steps.tick, until
    """


def test_growing_windows_have_the_rows_that_sql_says(spark: SparkSession) -> None:
    random = Random(8)
    keyed_times = [(random.choice("abc"), random.randrange(600)) for _ in range(40)]
    rows = spark.createDataFrame(keyed_times, "key STRING, at LONG")
    rows.createOrReplaceTempView("growing_rows")
    stream = events(rows, key="key", at="at", buckets=2)

    windows = {
        "cumulate": stream.window(cumulate(60, 20, 10)),
        "landmark": stream.window(landmark(30), forget_keys_after=50),
    }
    results = collect_together({name: window.aggregate(n=module("stats.count")) for name, window in windows.items()})

    latest = max(at for _, at in keyed_times)
    for name, definition in (("cumulate", STEPS_OF_60_BY_20), ("landmark", steps_of_30_from_zero(latest))):
        windows_by_definition = sorted(map(tuple, spark.sql(definition).collect()))
        # key, start, end, count
        windows_of_muntin = [(row["key"], *row["window"].values(), row["n"]) for row in results[name]]
        assert sorted(windows_of_muntin) == windows_by_definition, name
        assert len(windows_of_muntin) > 9


def test_statistics_are_those_of_spark(spark: SparkSession) -> None:
    df = spark.range(60).selectExpr(
        "id % 3 as k", "id as at", "if(id % 7 = 0, null, sin(id) * 10) as x", "cos(id) * id as y", "id % 11 as b"
    )
    modules = {
        "mean": module("stats.mean", "x"),
        "std": module("stats.std", "x"),
        "var": module("stats.var", "x"),
        "cov": module("stats.cov", "x", "y"),
        "corr": module("stats.corr", "x", "y"),
        "max_by": module("stats.max_by", "x", "y"),
        "min_by": module("stats.min_by", "x", "y"),
        "percentile": module("stats.percentile", "x", q=0.9),
        "nunique": module("stats.nunique", "b"),
        "listed": module("stats.collect_list", "x"),
    }
    functions_of_spark = {
        "mean": F.avg("x"),
        "std": F.stddev_samp("x"),
        "var": F.var_samp("x"),
        "cov": F.covar_samp("x", "y"),
        "corr": F.corr("x", "y"),
        "max_by": F.max_by("x", "y"),
        "min_by": F.min_by("x", "y"),
        "percentile": F.percentile("x", F.lit(0.9)),
        "nunique": F.countDistinct("b"),
        "listed": F.sort_array(F.collect_list("x")),
    }

    windows = events(df, key="k", at="at", buckets=2).window(tumbling(100))
    results = {row["k"]: row for row in collect(windows.aggregate(**modules).results())}
    rows_of_spark = df.groupBy("k").agg(*(column.alias(name) for name, column in functions_of_spark.items())).collect()

    assert len(rows_of_spark) == 3
    for row in rows_of_spark:
        for name in modules:
            value = results[row["k"]][name]
            if name == "listed":
                value = sorted(value)
            assert value == pytest.approx(row[name], rel=1e-12), name


PRICES_AT_ONE_TIME = [
    # at, seq, price
    (7, 3, 4.0),
    (7, 1, 5.0),
    (7, 2, 3.0),
]


@pytest.fixture
def prices(spark: SparkSession) -> DataFrame:
    """Three prices at one time."""
    return spark.createDataFrame(PRICES_AT_ONE_TIME, "at bigint, seq bigint, price double")


class Values(NamedTuple):
    """What modules that follow the order of rows return of them."""

    first: float
    last: float
    collect_list: list[float]


VALUES_BY_SEQ = Values(first=5.0, last=4.0, collect_list=[5.0, 3.0, 4.0])
VALUES_BY_PRICE = Values(first=3.0, last=5.0, collect_list=[3.0, 4.0, 5.0])


def values_of(windows: WindowedStream) -> Values:
    """Return the values of the window that has most prices."""
    calls = {name: module(f"stats.{name}", "price") for name in Values._fields}
    results = collect(windows.aggregate(**calls).results())
    row = max(results, key=lambda row: len(row["collect_list"]))
    return Values(row["first"], row["last"], row["collect_list"])


def test_values_of_one_time_follow_one_another_by_the_order_of_the_query(prices: DataFrame) -> None:
    ordered = events(prices, at="at", order="seq")

    assert values_of(ordered.window(tumbling(10))) == VALUES_BY_SEQ
    assert values_of(ordered.window(last(9))) == VALUES_BY_SEQ


def test_values_of_one_time_follow_one_another_by_themselves_if_the_query_has_no_order(prices: DataFrame) -> None:
    assert values_of(events(prices, at="at").window(tumbling(10))) == VALUES_BY_PRICE


@pytest.mark.parametrize("order", ["seq", None])
def test_of_records_of_one_time_the_last_has_the_largest_seq_with_and_without_an_order(
    prices: DataFrame, order: str | None
) -> None:
    windows = events(prices, at="at", order=order).window(tumbling(10))

    (result,) = collect(windows.aggregate(row=module("stats.last", F.struct("seq", "price"))).results())

    assert result["row"]["seq"] == 3
    assert result["row"]["price"] == 4.0


@pytest.mark.parametrize(
    ("order", "expected_prices", "evaluator"),
    [("seq", [5.0, 3.0], "grouped:"), (None, [5.0, 4.0], "sliced:")],
    ids=["the first by order", "the largest"],
)
def test_of_equal_rows_top_by_takes_the_first_ones(
    prices: DataFrame, order: str | None, expected_prices: list[float], evaluator: str
) -> None:
    windows = events(prices, at="at", order=order).window(tumbling(10))
    query = windows.apply(module("stats.top_by", "price", F.lit(1), k=2))  # by the number 1 all are equal

    rows = sorted(collect(query.results()), key=lambda row: row["rank"])

    assert [row["value"] for row in rows] == expected_prices
    assert f"evaluator   {evaluator}" in query.plan_text()


class ResultsOf(NamedTuple):
    """The results of one query by one evaluator."""

    evaluator: str
    table: pa.Table


def by_each_evaluator(df: DataFrame, modules: dict[str, Any]) -> list[ResultsOf]:
    """Return the results of modules of each key `k` over all rows, by each of three evaluators, computed as one."""
    stream = events(df, key="k", at="at", buckets=2)
    evaluators: tuple[Literal["auto", "sliced", "general"], ...] = ("auto", "sliced", "general")
    queries = []
    for evaluator in evaluators:
        query = stream.window(tumbling(100), evaluator=evaluator).aggregate(**modules)
        queries.append(query.results().select(F.lit(evaluator).alias("evaluator"), "*"))

    assert len({str(results.schema) for results in queries}) == 1, "they agree on types"
    table = reduce(DataFrame.union, queries).toArrow()
    return [ResultsOf(name, table.filter(pc.equal(table["evaluator"], name))) for name in evaluators]


def sorted_rows(table: pa.Table, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the values of some columns of each row, in order."""
    return sorted(tuple(row.values()) for row in table.select(columns).to_pylist())


DECIMALS = (
    "id % 2 as k",
    "id as at",
    "cast(if(id = 1, 0.01, 0) as decimal(10, 2)) as tie",  # its averages are 0.0003125, half of a last digit, and zero
    "if(id % 7 = 0, null, cast(id * id / 7 as decimal(12, 3))) as d",
    "cast(id as decimal(38, 18)) as wide",
    "cast(-id as decimal(38, 36)) / 100 as narrow",
    "id as n",
)
"""Decimals of several types, and integers, of two keys."""


@pytest.mark.nightly
def test_averages_of_decimals_are_those_of_spark_whatever_computes_them(spark: SparkSession) -> None:
    df = spark.range(64).selectExpr(*DECIMALS)
    averaged = ("tie", "d", "wide", "narrow", "n")
    modules = {name: module("stats.average", name) for name in averaged}

    averages_by_spark = df.groupBy("k").agg(*(F.avg(name).alias(name) for name in averaged)).toArrow()

    for results in by_each_evaluator(df, modules):
        for name in averaged:
            assert results.table.schema.field(name).type == averages_by_spark.schema.field(name).type
        columns = ["k", *averaged]
        assert sorted_rows(results.table, columns) == sorted_rows(averages_by_spark, columns), results.evaluator


@pytest.mark.nightly
def test_deviations_and_medians_of_decimals_are_those_of_spark_whatever_computes_them(spark: SparkSession) -> None:
    df = spark.range(64).selectExpr(*DECIMALS)
    modules = {"deviation": module("stats.std", "d"), "middle": module("stats.median", "d")}

    by_spark = df.groupBy("k").agg(F.stddev("d").alias("deviation"), F.median("d").alias("middle")).toArrow()

    for results in by_each_evaluator(df, modules):
        columns = ["k", "deviation", "middle"]
        for row, row_of_spark in zip(sorted_rows(results.table, columns), sorted_rows(by_spark, columns), strict=True):
            assert row == pytest.approx(row_of_spark, rel=1e-12), results.evaluator


@pytest.mark.nightly
def test_averages_inside_composed_modules_have_the_type_of_decimals(spark: SparkSession) -> None:
    df = spark.range(64).selectExpr(*DECIMALS)
    mean_and_total = all_of(mean="stats.average", total="stats.sum")
    windows = events(df, key="k", at="at", buckets=2).window(tumbling(100))

    results = windows.aggregate(
        all=module(mean_and_total, "tie"), by=module(grouping_by("stats.average"), "k", "tie")
    ).results()

    assert dict(results.dtypes)["all"] == "struct<mean:decimal(14,6),total:decimal(20,2)>"
    assert dict(results.dtypes)["by"] == "map<bigint,decimal(14,6)>"
    averages_by_spark = {row["k"]: row["mean"] for row in df.groupBy("k").agg(F.avg("tie").alias("mean")).collect()}
    rows = collect(results)
    assert {row["k"]: row["all"]["mean"] for row in rows} == averages_by_spark
    assert {row["k"]: dict(row["by"])[row["k"]] for row in rows} == averages_by_spark


LARGE_NUMBERS = (
    "0 as k",
    "id as at",
    "1700000000000000001 + 10 * id as ns",  # more digits than a float has
    "if(id % 2 = 0, 9223372036854775807, -9223372036854775808) as ends",  # the sum of two is -1
    "cast(0.1 as decimal(38, 18)) * id + 12345678901234567890 as d",
    "1.5D * id as x",
    "cast(id as int) as i",
)
"""Numbers that differ in digits which floats do not have; ids are 0, 1, 2, 3."""


def test_whole_numbers_and_decimals_keep_their_digits_whatever_computes_them(spark: SparkSession) -> None:
    df = spark.range(4).selectExpr(*LARGE_NUMBERS)
    modules = {
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

    for results in by_each_evaluator(df, modules):
        (row,) = results.table.to_pylist()
        assert {name: row[name] for name in modules} == expected, results.evaluator
        types = {str(results.table.schema.field(name).type) for name in modules}
        assert types == {"double", "list<element: int64>"}


def test_averages_over_time_keep_the_digits_of_whole_numbers(spark: SparkSession) -> None:
    windows = events(spark.range(4).selectExpr(*LARGE_NUMBERS), key="k", at="at").window(tumbling(100))
    modules = {
        "over_time": module("stats.time_weighted_average", "ends"),
        "newest": module("stats.exponentially_weighted_average", "ends", alpha=0.5),
    }

    (row,) = collect(windows.aggregate(**modules).results())

    # Each of the four holds for a tick, a hundredth of the window.
    assert row["over_time"] == -0.02
    # Each weighs twice as much as the one before: 1, 2, 4, 8.
    ends = [2**63 - 1, -(2**63), 2**63 - 1, -(2**63)]
    weighted_sum = sum(value * 2**place for place, value in enumerate(ends))
    assert row["newest"] == float(Fraction(weighted_sum, 15))


def test_a_sum_that_its_column_cannot_hold_is_null_whatever_computes_it(spark: SparkSession) -> None:
    df = spark.range(4).selectExpr(
        "id % 2 as k",
        "id as at",
        "9223372036854775807 - (id % 2) * 9223372036854775000 as n",  # of the key 0, and 807 of the key 1
        "cast(99999999999999999999999999999999999999 as decimal(38, 0)) as d",
        "cast(12345678.25 as decimal(10, 2)) as small",
    )
    modules = {
        "n": module("stats.sum", "n"),
        "d": module("stats.sum", "d"),
        "s": module("stats.sum", "small"),
        "least": module("stats.min", "small"),
    }
    types = {"n": "int64", "d": "decimal128(38, 0)", "s": "decimal128(20, 2)", "least": "decimal128(10, 2)"}
    small = Decimal("12345678.25")

    for results in by_each_evaluator(df, modules):
        # k, n, d, s, least
        assert sorted_rows(results.table, ["k", *modules]) == [
            (0, None, None, 2 * small, small),
            (1, 2 * 807, None, 2 * small, small),
        ], results.evaluator
        assert {name: str(results.table.schema.field(name).type) for name in modules} == types
