"""A filter of a stream of events, where plain filters of rows would lose watermark and revisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from muntin import hopping, tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, Query, events, from_stream, module, union
from muntin_engine.api.query import WindowedStream
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
        # change, id, from, to, new, km
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
    """Return the rows of each micro-batch."""
    return [table_of(SCHEMA, rows) for rows in BATCHES]


def counts_and_totals(windows: WindowedStream, column: str = "km") -> Query:
    """Return the number of members of each window, and the sum of a column of theirs."""
    return windows.aggregate(n=module(Count), total=module(Total, column))


def lasting_rides(df: DataFrame) -> EventStream:
    """Return the rides from their starts to their ends, as they are revised."""
    return events(df, id="id", start="from", end="to", change="change", new_end="new", buckets=1)


def starts_of_rides(df: DataFrame) -> EventStream:
    """Return the starts of all rides as points, also of those that are retracted later."""
    inserted = df.where("change != 'revise' and change != 'retract'")
    return events(inserted, at="from", change="change", buckets=1)


def with_two_conditions(df: DataFrame) -> Query:
    """Return the rides of more than 2 and less than 6 km."""
    rides = lasting_rides(df).where("km > 2").where(F.col("km") < 6)
    return counts_and_totals(rides.window(tumbling(10)))


def with_a_column_and_shifted(df: DataFrame) -> Query:
    """Return the rides of more than 2 km with twice their length, ten ticks later."""
    rides = lasting_rides(df).where("km > 2").with_columns(twice="km * 2", count=F.lit(1)).select("twice").shift(10)
    return counts_and_totals(rides.window(tumbling(10)), "twice")


def short_and_shifted_long_rides(df: DataFrame) -> Query:
    """Return the starts of rides below 4 km united with the others, ten ticks later."""
    short = starts_of_rides(df).where("km < 4")
    long = starts_of_rides(df).where("km >= 4").shift(10)
    return (
        union(short=short, long=long)
        .window(hopping(20, 10))
        .aggregate(
            n=module(Count),
            total=module(Total, "km"),
            apart=module("stats.average_difference", left=from_stream("long", "km"), right=from_stream("short", "km")),
        )
    )


def per_two_ticks(df: DataFrame) -> Query:
    """Return the number and the total of the rides that start in two ticks."""
    return counts_and_totals(starts_of_rides(df).window(tumbling(2)))


def busy_windows(df: DataFrame) -> Query:
    """Return the windows of two ticks with more than one start, as events of another query."""
    busy = per_two_ticks(df).named("input").as_events(buckets=1).where("n > 1")
    return counts_and_totals(busy.window(tumbling(10)), "total")


def lifetimes_by_value(df: DataFrame) -> Query:
    """Return windows of two ticks that last for as many ticks as they have km, united with starts that come so late."""
    windows = per_two_ticks(df).named("windows").as_events(buckets=1).set_duration(F.col("total").cast("bigint"))
    later = starts_of_rides(df).shift(F.col("km").cast("bigint"), at_least=2)
    return counts_and_totals(union(windows=windows, later=later).select("total").window(tumbling(5)), "total")


EXPECTED = {
    # start of the window, number of members, total
    with_two_conditions: [(0, 2, 8.0), (10, 1, 5.0)],  # ride 1, until 14, and ride 5
    with_a_column_and_shifted: [(10, 2, 16.0), (20, 1, 10.0)],  # of these all twice, ten later
    short_and_shifted_long_rides: [(-10, 2, 4.0), (0, 4, 16.0), (10, 2, 12.0)],  # 2 and 5, and ten later 1 and 4
    busy_windows: [(0, 2, 13.0)],  # of the windows from 0, 2 and 4 the first two have two members each
    # windows of 6, 7 and 3 km last from 0, 2 and 4 for as many ticks; rides of 5, 7 and 3 km are at 6, 10 and 7
    lifetimes_by_value: [(0, 3, 16.0), (5, 5, 16.0), (10, 1, None)],
}


def windows_of(rows: list[dict[str, Any]]) -> list[tuple[int, int, float | None]]:
    """Return start, number and total of each result, as in `EXPECTED`."""
    return sorted((row["window"]["start"], row["n"], row["total"]) for row in rows)


DIFFERENCES = {-10: None, 0: 4.0, 10: None}
"""By window start, the average length of the long rides less that of the short ones, where a window has both."""


@pytest.mark.nightly
def test_changed_streams_of_events_have_their_punctuation_and_revisions(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, tmp_path / "stream", tables())
    queries = (with_two_conditions, with_a_column_and_shifted, short_and_shifted_long_rides)

    results = run_together({query.__name__: query(stream) for query in queries}, tmp_path / "checkpoint")

    for query in queries:
        assert windows_of(results[query.__name__]) == EXPECTED[query], query.__name__
    assert differences_of(results[short_and_shifted_long_rides.__name__]) == DIFFERENCES


@pytest.mark.nightly
def test_changed_tables_of_events_and_results_of_queries_give_what_streams_give(spark: SparkSession) -> None:
    table = spark.createDataFrame(pa.concat_tables(tables()))
    queries = (short_and_shifted_long_rides, busy_windows, lifetimes_by_value)

    results = collect_together({query.__name__: query(table) for query in queries})

    for query in queries:
        assert windows_of(results[query.__name__]) == EXPECTED[query], query.__name__
    assert differences_of(results[short_and_shifted_long_rides.__name__]) == DIFFERENCES


def differences_of(rows: list[dict[str, Any]]) -> dict[int, float | None]:
    """Return the result `apart` of each window, by its start."""
    return {row["window"]["start"]: row["apart"] for row in rows}


def test_a_filter_that_is_no_condition_is_refused(spark: SparkSession) -> None:
    rides = events(spark.createDataFrame(pa.concat_tables(tables())), at="from")
    with pytest.raises(QueryError, match="is of type double\n  expected: a condition, such as 'km > 2'"):
        rides.where("km + 1")
    with pytest.raises(QueryError, match="takes a condition on columns"):
        rides.where(True)  # type: ignore[arg-type]


def test_columns_that_make_rows_events_are_not_replaced(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(tables()))
    rides = events(df, key=F.upper(F.col("change")), at="from", change="change").where("km > 2")
    for name in ("FROM", "change", "km"):
        with pytest.raises(QueryError, match=rf"with_columns\({name}=...\) would replace a column"):
            rides.with_columns(**{name: F.lit(1)})


def test_selected_columns_come_with_those_that_make_rows_events(spark: SparkSession) -> None:
    df = spark.createDataFrame(pa.concat_tables(tables()))
    rides = events(df, key=F.upper(F.col("change")), at="from", change="change").where("km > 2")

    selected = rides.select("id", more="km + 1")

    # the key is computed from "change", the time is "from", and the condition is on "km"
    assert selected.df.columns == ["change", "id", "from", "km", "more"]
    with pytest.raises(QueryError, match="reads 'to', and the input has no such column"):
        selected.window(tumbling(10)).aggregate(n=module(Total, "to"))


def test_columns_that_the_input_does_not_have_are_refused(spark: SparkSession) -> None:
    rides = events(spark.createDataFrame(pa.concat_tables(tables())), at="from", change="change")
    with pytest.raises(QueryError, match="select reads 'kms', and the input has no such column\n  did you mean 'km'"):
        rides.select("kms")
    with pytest.raises(QueryError, match="with_columns reads 'speed', and the input has no such column"):
        rides.with_columns(more="speed")
    with pytest.raises(QueryError, match="needs columns to keep"):
        rides.select()


def test_columns_are_computed_for_insertions_alone_which_have_a_payload(spark: SparkSession) -> None:
    rides = lasting_rides(spark.createDataFrame(pa.concat_tables(tables())))
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
