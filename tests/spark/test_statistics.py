"""`muntin-stats` against Spark SQL's own functions, and sums that their columns cannot hold."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import tumbling
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
