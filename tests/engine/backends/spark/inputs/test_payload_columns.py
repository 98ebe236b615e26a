"""Columns that are computed where a row has a payload."""

from __future__ import annotations

from pyspark.sql import SparkSession

from muntin_engine import events


def test_the_kind_of_a_change_may_be_an_expression(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("INSERT", 1, 1.6), ("PUNCTUATE", 2, None)], "kind string, at long, km double")
    rides = events(rows, at="at", change="lower(kind)").with_columns(miles="coalesce(km, 0) / 1.6")
    assert [row.miles for row in rides.df.orderBy("at").collect()] == [1.0, None]
