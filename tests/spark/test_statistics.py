"""`muntin-stats` against Spark SQL's own functions, and sums that their columns cannot hold."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
from muntin.rows import last
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
        "ordered runs": "grouped:",
        "plain": [5.0, 4.0],
        "plain runs": "sliced:",
    }


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
    calls = {name: module("stats.average", name) for name in names}
    calls |= {"std": module("stats.std", "d"), "middle": module("stats.median", "d")}
    types = told.toArrow().schema
    for table in by_each_evaluator(df, calls):
        assert [table.schema.field(name).type for name in names] == [types.field(name).type for name in names]
        found = sorted(tuple(row[name] for name in ("k", *calls)) for row in table.to_pylist())
        assert [row[:6] for row in found] == [row[:6] for row in expected]
        assert [row[6:] for row in found] == [pytest.approx(row[6:], rel=1e-12) for row in expected]
    both = all_of(mean="stats.average", total="stats.sum")
    window = events(df, key="k", at="at", buckets=2).window(tumbling(100))
    table = window.aggregate(all=module(both, "tie"), by=module(grouping_by("stats.average"), "k", "tie")).results()
    assert dict(table.dtypes)["all"] == "struct<mean:decimal(14,6),total:decimal(20,2)>"
    assert dict(table.dtypes)["by"] == "map<bigint,decimal(14,6)>"
    assert sorted((row["k"], row["all"]["mean"], dict(row["by"])[row["k"]]) for row in collect(table)) == [
        (row[0], row[1], row[1]) for row in expected
    ]


def by_each_evaluator(df: DataFrame, calls: dict[str, Any]) -> list[pa.Table]:
    """Return the results of one query by each evaluator, computed as one."""
    stream = events(df, key="k", at="at", buckets=2)
    evaluators: tuple[Literal["auto", "sliced", "general"], ...] = ("auto", "sliced", "general")
    asked = [
        stream.window(tumbling(100), evaluator=one).aggregate(**calls).results().select(F.lit(one).alias("by"), "*")
        for one in evaluators
    ]
    assert len({str(table.schema) for table in asked}) == 1
    table = reduce(DataFrame.union, asked).toArrow()
    return [table.filter(pc.equal(table["by"], one)) for one in evaluators]


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
        results.append(sorted((row["k"], *(row[name] for name in calls)) for row in table.to_pylist()))
        assert [str(field.type) for field in table.schema][3:] == [
            "int64",
            "decimal128(38, 0)",
            "decimal128(20, 2)",
            "decimal128(10, 2)",
        ]
    small = Decimal("12345678.25")
    expected = [(0, None, None, 2 * small, small), (1, 1614, None, 2 * small, small)]
    assert results == [expected] * 3
