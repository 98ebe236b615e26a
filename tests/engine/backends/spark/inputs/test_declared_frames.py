"""Queries with schema= are planned on Spark Connect without asking Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

import muntin_stats as stats
from muntin import correct, tumbling
from muntin.errors import QueryError
from muntin.rows import last
from muntin_engine import EventStream, Query, events, union
from muntin_engine.backends.spark.private_parts import connect_relation
from muntin_engine.backends.spark.session.sent_plans import reads_of
from tests.engine.backends.spark.silent_server import SilentSession, silent

__all__ = ["silent"]

RIDES = "station string, at timestamp, km double, number bigint, place struct<lat: double, `the name`: string>"
DAY = "struct<start:timestamp,end:timestamp>"
QUERIES: dict[str, tuple[Callable[[EventStream], Query], str]] = {
    "aggregates": (
        lambda rides: rides.window(tumbling("1 day")).aggregate(n=stats.count(), km=stats.average("km / 1.6")),
        f"struct<station:string,window:{DAY},n:bigint,km:double>",
    ),
    "a field of a struct": (
        lambda rides: rides.window(tumbling("1 day")).aggregate(lat=stats.max("place.lat")),
        f"struct<station:string,window:{DAY},lat:double>",
    ),
    "a condition and a new column": (
        lambda rides: (
            rides.where("km > 2")
            .with_columns(half="number / 2")
            .window(tumbling("1 day"))
            .aggregate(x=stats.sum("half"))
        ),
        f"struct<station:string,window:{DAY},x:double>",
    ),
    "fewer columns": (
        lambda rides: rides.select("km", name="place.`the name`").to_query(),
        f"struct<station:string,lifetime:{DAY},km:double,number:bigint,name:string>",
    ),
    "a condition on results": (
        lambda rides: rides.window(tumbling("1 day")).aggregate(n=stats.count()).where("n > 2"),
        f"struct<station:string,window:{DAY},n:bigint>",
    ),
    "a query over results": (
        lambda rides: (
            rides.window(tumbling("1 hour"))
            .aggregate(n=stats.count())
            .as_events(key="station")
            .window(tumbling("1 day"))
            .aggregate(n=stats.sum("n"))
        ),
        f"struct<station:string,window:{DAY},n:bigint>",
    ),
    "a query over results that are retracted": (
        lambda rides: (
            rides.window(tumbling("1 hour"), emit="speculative")
            .aggregate(n=stats.count())
            .as_events(key="station")
            .window(tumbling("1 day"))
            .aggregate(n=stats.sum("n"))
        ),
        f"struct<station:string,window:{DAY},n:bigint>",
    ),
    "a join": (
        lambda rides: rides.extend("5 minutes").join(rides, left_columns="km", right_columns={"other": "km * 2"}),
        f"struct<station:string,lifetime:{DAY},km:double,other:double>",
    ),
    "a union": (
        lambda rides: union(one=rides, two=rides.where("km > 1")).window(tumbling("1 day")).aggregate(n=stats.count()),
        f"struct<station:string,window:{DAY},n:bigint>",
    ),
    "row windows": (
        lambda rides: rides.window(last(2)).aggregate(km=stats.sum("km")),
        f"struct<station:string,window:{DAY},km:double>",
    ),
}


def rides_of(silent: SilentSession, schema: Any = RIDES, **arguments: Any) -> EventStream:
    """Return the events of a table of rides whose schema is declared."""
    df = silent.spark.readStream.table("rides")
    columns = {"key": "station", "at": "at", "order": "number", "watermark": "10 minutes"} | arguments
    return events(df, schema=schema, **columns)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_over_a_declared_schema_is_planned_without_asking_spark(name: str, silent: SilentSession) -> None:
    make_query, schema = QUERIES[name]
    results = make_query(rides_of(silent)).results()
    assert silent.questions == []
    if name != "a condition on results":  # of what is selected PySpark has no schema until somebody asks
        assert results.schema.simpleString() == schema


def test_outputs_beside_the_results_are_planned_without_asking_spark(silent: SilentSession) -> None:
    rides = rides_of(silent, late_policy=correct("1 hour"), rows="number > 0")
    query = rides.window(tumbling("1 day")).aggregate(n=stats.count())
    query.results()
    query.rejected_rows()
    query.late_rows()
    query.select("station", n="n + 1").where("n > 1").results()
    query.plan_text()
    assert silent.questions == []


def test_a_table_with_a_declared_schema_is_static_and_a_stream_is_not(silent: SilentSession) -> None:
    table = events(silent.spark.read.table("rides"), key="station", at="at", schema=RIDES)
    results = table.window(tumbling("1 day")).aggregate(n=stats.count()).results()
    assert not table.df.isStreaming
    assert results.schema.simpleString() == f"struct<station:string,window:{DAY},n:bigint>"
    assert rides_of(silent).df.isStreaming
    assert silent.questions == []


def test_without_schema_spark_is_asked(silent: SilentSession) -> None:
    with pytest.raises(AssertionError, match="Spark was asked"):
        events(silent.spark.readStream.table("rides"), key="station", at="at", watermark=0)
    assert silent.questions == ["analyze"]


def test_a_frame_with_the_same_schema_as_text_or_as_a_struct_is_one_input(silent: SilentSession) -> None:
    df = silent.spark.readStream.table("rides")
    struct = spark_types.StructType().add("station", "string").add("at", "timestamp")
    by_text = events(df, at="at", watermark=0, schema="station string, at timestamp")
    assert events(df, at="at", watermark=0, schema=struct).df is by_text.df
    assert events(df, at="at", watermark=0, schema="at timestamp").df is not by_text.df


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rides: rides.where(F.col("km") > 2), "where reads .* whose type only Spark knows"),
        (lambda rides: rides.where("soundex(station) = 'x'"), "whose type only Spark knows; with schema="),
        (lambda rides: rides.where("speed > 2"), "'speed'.* is not a column of the input"),
        (lambda rides: rides.window(tumbling("1 day")).aggregate(x=stats.sum("kms")), "did you mean 'km'"),
        (lambda rides: rides.window(tumbling("1 day")).aggregate(x=stats.sum("station")), "station"),
        (lambda rides: rides.window(tumbling("1 day")).aggregate(n=stats.count()).select(x="m + 1"), "'m'"),
    ],
)
def test_columns_that_are_missing_or_of_unknown_type_are_named_without_asking_spark(
    call: Any, message: str, silent: SilentSession
) -> None:
    rides = rides_of(silent)
    with pytest.raises(QueryError, match=message):
        call(rides)
    assert silent.questions == []


def test_a_column_of_pyspark_is_taken_by_its_name(silent: SilentSession) -> None:
    df = silent.spark.readStream.table("rides")
    rides = events(df, key=F.col("station"), at=F.col("at"), watermark=0, schema=RIDES)
    results = rides.window(tumbling("1 day")).aggregate(km=stats.sum(F.col("km"))).results()
    assert results.schema.simpleString() == f"struct<station:string,window:{DAY},km:double>"
    assert silent.questions == []


def test_a_classic_session_compares_a_declared_schema_with_the_input_at_once(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1, 2.5, True)], "station string, at bigint, km double, odd boolean")
    rides = events(df, key="station", at="at", schema="AT bigint, station string, km double")
    assert rides.df.columns == ["at", "station", "km"]
    results = rides.window(tumbling(10)).aggregate(km=stats.sum("km")).results().collect()
    assert [row.km for row in results] == [2.5]
    with pytest.raises(QueryError, match="declares 'km' as float, and in the input it is double"):
        events(df, at="at", schema="at bigint, km float")
    with pytest.raises(QueryError, match="declares 'speed', and the input has no such column"):
        events(df, at="at", schema="at bigint, speed float")


def test_the_plan_that_is_sent_has_the_server_compare_the_types_of_all_declared_columns(
    silent: SilentSession,
) -> None:
    plan = connect_relation(rides_of(silent).df)
    assert str(plan).count('"raise_error"') == 5  # of each declared column
    assert "struct<lat:double,the name:string>, and in the input it is " in str(plan)
    assert [read.named_table.unparsed_identifier for read in reads_of(plan)] == ["rides"]
