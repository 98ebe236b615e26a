"""`muntin-stats` against Spark SQL's own functions, and sums that their columns cannot hold."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from muntin import hopping, session, tumbling
from muntin.rows import last
from muntin.windows import WindowSpecification
from muntin_adapters.combinators import all_of, grouping_by
from muntin_engine import events, module
from tests.spark.running import collect


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
    found = {row["k"]: row for row in collect(window.aggregate(**calls).results())}

    rows = expected.collect()
    assert len(rows) == 3
    for row in rows:
        for name in calls:
            value = found[row["k"]][name]
            told = sorted(value) if name == "listed" else value
            assert told == pytest.approx(row[name], rel=1e-12), name


def test_values_of_one_time_follow_one_another_by_the_order_of_the_query(spark: SparkSession) -> None:
    """
                  7
    price         5.0, 3.0, 4.0    in the order of seq
    """
    df = spark.createDataFrame([(7, 3, 4.0), (7, 1, 5.0), (7, 2, 3.0)], "at bigint, seq bigint, price double")
    calls = {name: module(f"stats.{name}", "price") for name in ("first", "last", "collect_list")}
    ordered, plain = (events(df, at="at", order=order) for order in ("seq", None))
    calls["row"] = module("stats.last", F.struct("seq", "price"))
    for given, expected in ((ordered, (5.0, 4.0, [5.0, 3.0, 4.0])), (plain, (3.0, 5.0, [3.0, 4.0, 5.0]))):
        (row,) = collect(given.window(tumbling(10)).aggregate(**calls).results())
        assert (row["first"], row["last"], row["collect_list"]) == expected
        assert (row["row"]["seq"], row["row"]["price"]) == (3, 4.0)
    found = collect(ordered.window(last(9)).aggregate(**calls).results())
    row = max(found, key=lambda row: len(row["collect_list"]))
    assert (row["first"], row["last"], row["collect_list"]) == (5.0, 4.0, [5.0, 3.0, 4.0])

    best: dict[str, object] = {}
    for name, given in (("ordered", ordered), ("plain", plain)):
        query = given.window(tumbling(10)).apply(module("stats.top_by", "price", F.lit(1), k=2))
        best[name] = [row["value"] for row in sorted(collect(query.results()), key=lambda row: row["rank"])]
        best[f"{name} runs"] = next(line.split()[1] for line in query.explain().splitlines() if "evaluator" in line)
    assert best == {
        "ordered": [5.0, 3.0],
        "ordered runs": "general:",
        "plain": [5.0, 4.0],
        "plain runs": "sliced:",
    }


def test_the_first_rows_are_those_of_sql_whatever_computes_them(spark: SparkSession) -> None:
    row, price = "named_struct('name', concat('n', id % 5), 'id', id) as row", "if(id % 7 = 6, null, id % 7) as price"
    df = spark.range(90).selectExpr("id % 3 as k", "id as at", row, price)
    within = "over (partition by k, at div 30 order by price desc"
    ranked = df.where("price is not null").selectExpr(
        "*", f"row_number() {within}, row desc) as exact", f"rank() {within}) as all"
    )
    for ties in ("exact", "all"):
        wanted = ranked.where(f"{ties} <= 4").selectExpr("k", "at div 30 * 30", ties, "row", "price").collect()
        for evaluator in ("sliced", "general"):
            window = events(df, key="k", at="at", buckets=2).window(tumbling(30), evaluator=evaluator)
            rows = window.apply(module("stats.top_by", "row", "price", k=4, ties=ties)).results()
            found = rows.select("k", "window.start", "rank", "value", "by").collect()
            assert Counter(found) == Counter(wanted), (ties, evaluator)

    def first(window: WindowSpecification, evaluator: str) -> Counter[Row]:
        some = events(df, key="k", at="at", buckets=2).window(window, evaluator=evaluator)
        return Counter(some.apply(module("stats.top_by", "row", "price", k=1, ties="all")).results().collect())

    for specification in (hopping(40, 10), session(2)):
        assert first(specification, "sliced") == first(specification, "general") != Counter()


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
    told = df.groupBy("k").agg(*(F.avg(name).alias(name) for name in names), F.stddev("d"), F.median("d"))
    expected = sorted(map(tuple, told.collect()))
    others = {"std": module("stats.std", "d"), "middle": module("stats.median", "d")}
    for evaluator in ("auto", "sliced", "general"):
        window = events(df, key="k", at="at", buckets=2).window(tumbling(100), evaluator=evaluator)
        calls = {name: module("stats.average", name) for name in names}
        table = window.aggregate(**calls, **others).results()
        assert [table.schema[name].dataType for name in names] == [told.schema[name].dataType for name in names]
        found = sorted(tuple(row[name] for name in ("k", *names, *others)) for row in collect(table))
        assert [row[:6] for row in found] == [row[:6] for row in expected]
        assert [row[6:] for row in found] == [pytest.approx(row[6:], rel=1e-12) for row in expected]
    both = all_of(mean="stats.average", total="stats.sum")
    window = events(df, key="k", at="at", buckets=2).window(tumbling(100))
    table = window.aggregate(all=module(both, "tie"), by=module(grouping_by("stats.average"), "k", "tie")).results()
    types = {part.name: part.dataType.simpleString() for part in table.schema.fields}
    assert types["all"] == "struct<mean:decimal(14,6),total:decimal(20,2)>"
    assert types["by"] == "map<bigint,decimal(14,6)>"
    assert sorted((row["k"], row["all"]["mean"], dict(row["by"])[row["k"]]) for row in collect(table)) == [
        (row[0], row[1], row[1]) for row in expected
    ]


def test_a_sum_that_its_column_cannot_hold_is_null_whatever_computes_it(spark: SparkSession) -> None:
    df = spark.range(4).selectExpr(
        "id % 2 as k",
        "id as at",
        "9223372036854775807 - (id % 2) * 9223372036854775000 as n",
        "cast(99999999999999999999999999999999999999 as decimal(38, 0)) as d",
        "cast(12345678.25 as decimal(10, 2)) as small",
    )
    results = {}
    for evaluator in ("auto", "sliced", "general"):
        window = events(df, key="k", at="at", buckets=2).window(tumbling(100), evaluator=evaluator)
        calls = {"n": module("stats.sum", "n"), "d": module("stats.sum", "d"), "s": module("stats.sum", "small")}
        calls["least"] = module("stats.min", "small")
        table = window.aggregate(**calls).results()
        results[evaluator] = sorted((row["k"], row["n"], row["d"], row["s"], row["least"]) for row in collect(table))
        types = dict(table.dtypes)
        assert (types["n"], types["d"], types["s"]) == ("bigint", "decimal(38,0)", "decimal(20,2)")
        assert types["least"] == "decimal(10,2)"
    small = Decimal("12345678.25")
    expected = [(0, None, None, 2 * small, small), (1, 1614, None, 2 * small, small)]
    assert list(results.values()) == [expected] * 3
