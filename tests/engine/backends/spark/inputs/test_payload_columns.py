"""Columns that are computed where a row has a payload."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import muntin_stats as stats
from muntin import tumbling
from muntin_engine import events, union


def test_the_kind_of_a_change_may_be_an_expression(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("INSERT", 1, 1.6), ("PUNCTUATE", 2, None)], "kind string, at long, km double")
    rides = events(rows, at="at", change="lower(kind)").with_columns(miles="coalesce(km, 0) / 1.6")
    assert [row.miles for row in rides.df.orderBy("at").collect()] == [1.0, None]


def test_names_with_backquotes_and_dots_are_those_of_columns_all_the_way(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("a", 1, 1.5), ("a", 2, 2.5)], "`k``1` string, `t.at` long, `k``m` double")
    rides = events(rows, key="`k``1`", at="`t.at`").with_columns(twice="`k``m` * 2").where("`k``m` > 1")
    windows = union(rides=rides, again=rides.shift(10)).window(tumbling(10))

    results = windows.aggregate(km=stats.sum("`k``m`"), twice=stats.sum("twice")).select("k`1", "km", "twice")

    assert [tuple(row) for row in results.results().collect()] == [("a", 4.0, 8.0), ("a", 4.0, 8.0)]


def test_results_by_a_key_with_backquotes_are_shown_and_are_events(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = spark.createDataFrame([("b", 1, 1.5), ("a", 2, 2.5)], "`k``1` string, at long, km double")
    query = events(rows, key="`k``1`", at="at").window(tumbling(10)).aggregate(km=stats.sum("km"))

    query.select("k`1", "km").show()
    shown_rows = [line for line in capsys.readouterr().out.splitlines() if "|" in line]
    assert shown_rows == ["|k`1| km|", "|  a|2.5|", "|  b|1.5|"]

    again = query.as_events().window(tumbling(20)).aggregate(km=stats.sum("km"))
    assert sorted((row["k`1"], row.km) for row in again.results().collect()) == [("a", 2.5), ("b", 1.5)]
