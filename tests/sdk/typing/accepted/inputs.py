"""Queries over tables of several libraries: their output is of the kind of their input, also for a type checker."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import duckdb
import polars as pl
from pyspark.sql import DataFrame

import muntin_stats as stats
from muntin import tumbling
from muntin_engine import EventStream, Query, events, fold


def rides_per_hour(rides: EventStream[pl.DataFrame]) -> Query[pl.DataFrame]:
    return rides.window(tumbling("1 hour")).aggregate(n=stats.count())


def of_polars(frame: pl.DataFrame) -> pl.DataFrame:
    rides = events(frame, key="station", at="leaves", late_policy="side")
    assert_type(rides, EventStream[pl.DataFrame])
    query = rides_per_hour(rides.where("km > 2"))
    assert_type(query.late_rows(), pl.DataFrame)
    return query.select("n").results().filter(pl.col("n") > 1)


def of_spark(stream: DataFrame) -> DataFrame:
    query = events(stream, at="leaves", watermark="1 minute").window(tumbling("1 hour")).aggregate(n=stats.count())
    return fold(query.as_events().to_query().results()).select("n")


def of_joined(left: duckdb.DuckDBPyRelation, right: pl.DataFrame) -> duckdb.DuckDBPyRelation:
    pairs = events(left, at="at").join(events(right, at="at"), right_columns=["price"])
    return pairs.results()


def of_files(path: Path) -> int:
    rows: int = events(path, at="at").window(tumbling("1 hour")).aggregate(n=stats.count()).results().num_rows
    return rows


def of_any(query: Query) -> Query:
    return query.named("any").untimed()
