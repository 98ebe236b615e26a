"""A filter of a stream of events, where plain filters of rows would lose watermark and revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import hopping, tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, Query, events, from_stream, module, union
from tests.journeys.running import collect, collect_together, run_together, stream_of, table_of
from tests.modules.members import Count, Total

SCHEMA = pa.schema(
    [
        ("change", pa.string()),
        ("id", pa.int64()),
        *((name, pa.int64()) for name in ("from", "to", "new")),
        ("km", pa.float64()),
    ]
)
BATCHES: list[list[tuple[Any, ...]]] = [
    [
        ("insert", 1, 1, 4, None, 5.0),
        ("insert", 2, 1, 4, None, 1.0),
        ("insert", 3, 2, 4, None, None),
        ("insert", 4, 3, 4, None, 7.0),
    ],
    [
        ("revise", 1, 1, 4, 14, None),
        ("revise", 2, 1, 4, 24, None),
        ("retract", 3, 2, None, None, None),
        ("retract", 4, 3, None, None, None),
        ("insert", 5, 4, 6, None, 3.0),
        ("close", None, None, None, None, None),
    ],
]


def tables() -> list[pa.Table]:
    return [table_of(SCHEMA, rows) for rows in BATCHES]


def counts_and_totals(stream: EventStream) -> Query:
    return stream.window(tumbling(10)).aggregate(n=module(Count), total=module(Total, "km"))


def queries(df: Any) -> dict[str, Query]:
    """Return queries over filtered rides, by the names of `EXPECTED`."""
    rides = events(df, id="id", start="from", end="to", change="change", new_end="new", buckets=1)
    points = events(df.where("change != 'revise' and change != 'retract'"), at="from", change="change", buckets=1)
    long_enough = rides.where("km > 2").where(F.col("km") < 6)
    by_window = points.window(tumbling(2)).aggregate(n=module(Count), total=module(Total, "km"))
    busy = by_window.named("input").as_events(buckets=1).where("n > 1")
    doubled = rides.where("km > 2").with_columns(twice="km * 2", count=F.lit(1)).select("twice").shift(10)
    united = union(one=points.where("km < 4"), two=points.where("km >= 4").shift(10))
    lasting = by_window.named("lasting").as_events(buckets=1).set_duration(F.col("total").cast("bigint"))
    later = points.shift(F.col("km").cast("bigint"), at_least=2)
    by_value = union(results=lasting, later=later).select("total").window(tumbling(5))
    return {
        "by value": by_value.aggregate(n=module(Count), total=module(Total, "total")),
        "united": united.window(hopping(20, 10)).aggregate(
            n=module(Count),
            total=module(Total, "km"),
            apart=module("stats.average_difference", left=from_stream("two", "km"), right=from_stream("one", "km")),
        ),
        "revised": counts_and_totals(long_enough),
        "changed": doubled.window(tumbling(10)).aggregate(n=module(Count), total=module(Total, "twice")),
        "chained": busy.window(tumbling(10)).aggregate(n=module(Count), total=module(Total, "total")),
    }


EXPECTED = {
    # windows of 6, 7 and 3 km last from 0, 2 and 4 for as many ticks; rides of 5, 7 and 3 km are at 6, 10 and 7
    "by value": [(0, 3, 16.0), (5, 5, 16.0), (10, 1, None)],
    "revised": [(0, 2, 8.0), (10, 1, 5.0)],  # ride 1 until 14 and ride 5
    "changed": [(10, 2, 16.0), (20, 1, 10.0)],  # of all twice, ten later
    "united": [(-10, 2, 4.0), (0, 4, 16.0), (10, 2, 12.0)],  # rides 2 and 5, and rides 1 and 4 ten later
    "chained": [(0, 2, 13.0)],  # of the windows from 0, 2 and 4 the first two have two members each
}


@pytest.mark.nightly
def test_a_stream_is_filtered_and_its_punctuation_and_revisions_arrive(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", tables())
    static = spark.read.parquet(str(tmp_path / "stream"))
    stream_queries = queries(stream)
    static_queries = queries(static)
    streamed = run_together(
        {name: stream_queries[name] for name in ("revised", "changed", "united")}, tmp_path / "checkpoint"
    )
    at_once = collect_together({name: static_queries[name] for name in ("united", "by value", "chained")})
    for name, rows in (*streamed.items(), *at_once.items()):
        assert sorted((row["window"]["start"], row["n"], row["total"]) for row in rows) == EXPECTED[name], name
    for rows in (streamed["united"], at_once["united"]):
        assert {row["window"]["start"]: row["apart"] for row in rows} == {-10: None, 0: 4.0, 10: None}
    rides = events(static, at="from")
    with pytest.raises(QueryError, match="is of type double\n  expected: a condition, such as 'km > 2'"):
        rides.where("km + 1")
    with pytest.raises(QueryError, match="takes a condition on columns"):
        rides.where(True)  # type: ignore[arg-type]


def test_columns_that_make_rows_events_stay(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(tables()))
    rides = events(df, key=F.upper(F.col("change")), at="from", change="change").where("km > 2")
    for name in ("FROM", "change", "km"):
        with pytest.raises(QueryError, match=rf"with_columns\({name}=...\) would replace a column"):
            rides.with_columns(**{name: F.lit(1)})
    with pytest.raises(QueryError, match="select reads 'kms', and the input has no such column\n  did you mean 'km'"):
        rides.select("kms")
    with pytest.raises(QueryError, match="with_columns reads 'speed', and the input has no such column"):
        rides.with_columns(more="speed")
    with pytest.raises(QueryError, match="needs columns to keep"):
        rides.select()
    chosen = rides.select("id", more="km + 1")
    assert chosen.df.columns == ["change", "id", "from", "km", "more"]
    with pytest.raises(QueryError, match="reads 'to', and the input has no such column"):
        chosen.window(tumbling(10)).aggregate(n=module(Total, "to"))


def test_columns_are_computed_where_there_is_a_payload(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(tables()))
    rides = events(df, id="id", start="from", end="to", change="change", new_end="new")
    longer_rides = rides.with_columns(km="coalesce(km, 0) + 1").df
    assert [(row["change"], row["km"]) for row in collect(longer_rides)] == [
        ("insert", 6.0),
        ("insert", 2.0),
        ("insert", 1.0),
        ("insert", 8.0),
        ("revise", None),
        ("revise", None),
        ("retract", None),
        ("retract", None),
        ("insert", 4.0),
        ("close", None),
    ]
