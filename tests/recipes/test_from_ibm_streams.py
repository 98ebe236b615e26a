"""What IBM Streams gives on small streams, by its *Window handling*, and what the recipes on our page give.

`tests/rows/test_ibm_streams.py` follows that document statement by statement, without Spark.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import muntin_stats as stats
from muntin import hopping
from muntin.rows import batch, delta, elapsed, last, marker
from muntin_engine import EventStream, events
from tests.recipes.recipe import IBM_STREAMS, recipe, rows_of, table

ROWS = [(1, 1, 10.0, "t"), (2, 2, 11.0, "t"), (3, 5, 12.0, "t"), (4, 6, 14.0, "close"), (5, 12, 13.0, "t")]


def ibm(*theirs: str) -> Any:
    """Declare the rows of the page that a test runs."""
    return recipe(IBM_STREAMS, *theirs)


@pytest.fixture
def stream(spark: SparkSession) -> EventStream:
    """Tuples with a number, a time, a price and a kind."""
    rows = table(spark, "seq int, at bigint, price double, kind string", *ROWS)
    return events(rows, at="at", order="seq")


def members(stream: EventStream, window: Any) -> list[list[int]]:
    """Return the numbers of the tuples in each computed window, in the order of time."""
    query = stream.window(window).aggregate(seq=stats.collect_list("seq"))
    return [seq for _, _, seq in rows_of(query, "end", "start", "seq")]


@ibm("`sliding, count(10)`", "`sliding, count(10), count(2)`")
def test_sliding_by_count(stream: EventStream) -> None:
    # Aggregate waits until the window is full unless aggregateIncompleteWindows is true.
    assert members(stream, last(3).when_full()) == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert members(stream, last(3)) == [[1], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert members(stream, last(3).trigger(2)) == [[1, 2], [2, 3, 4]]


@ibm("`sliding, time(300)`", "`sliding, count(10), time(60)`")
def test_sliding_by_time(stream: EventStream) -> None:
    # A tuple leaves when it is in the window for more than the size: the one at 1 is there at 6.
    assert members(stream, last(elapsed(5))) == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [5]]
    assert members(stream, last(2).trigger(elapsed(5)))[:2] == [[1, 2], [3, 4]]


@ibm("`sliding, delta(price, 2.0)`", "`sliding, count(10), delta(price, 2.0)`")
def test_sliding_by_delta(stream: EventStream) -> None:
    # Evicted are tuples whose price is more than 2 below that of the new one.
    assert members(stream, last(delta("price", 2))) == [[1], [1, 2], [1, 2, 3], [3, 4], [3, 4, 5]]
    # Triggered before the tuple at 14, which is more than 2 above the first one.
    assert members(stream, last(10).trigger(delta("price", 2))) == [[1, 2, 3]]


@ibm("`tumbling, count(10)`", "`tumbling, time(600)`", "`tumbling, delta(price, 2.0)`", "`tumbling, punct()`")
def test_tumbling(stream: EventStream) -> None:
    assert members(stream, batch(2)) == [[1, 2], [3, 4], [5]]
    assert members(stream, batch(elapsed(5))) == [[1, 2], [3, 4], [5]]
    assert members(stream, batch(delta("price", 2))) == [[1, 2, 3], [4, 5]]
    assert members(stream, batch(marker("kind = 'close'"))) == [[1, 2, 3], [5]]


@ibm("`timeInterval, intervalDuration(60.0), creationPeriod(10.0)`, since 4.3")
def test_time_intervals(stream: EventStream) -> None:
    # Panes [t, t + 6) at each multiple of 3.
    assert members(stream, hopping(6, 3)) == [[1, 2], [1, 2, 3], [3, 4], [4], [5], [5]]


@ibm("a count window with a timeout: none; an operator of your own, or `partitionAge`")
def test_a_count_window_with_a_timeout(stream: EventStream) -> None:
    # Flushed with the third tuple, or 5 after the first one, without a tuple at that time.
    assert members(stream, batch(3, within=5)) == [[1, 2, 3], [4], [5]]


@ibm('`partitioned, partitionBy: sensor`, `.partition("sensor")`', "`partitionCount(c)`, `tupleCount(t)`")
def test_partitions(stream: EventStream) -> None:
    assert members(stream, last(2).partition("kind")) == [[1], [1, 2], [2, 3], [4], [3, 5]]
    # With one partition at most, the tuple of the other kind evicts it.
    assert members(stream, last(2).partition("kind", most=1)) == [[1], [1, 2], [2, 3], [4], [5]]


@ibm("`Aggregate` with `Average(x)`, `Any(x)`")
def test_an_average(stream: EventStream) -> None:
    query = stream.window(batch(2)).aggregate(mean=stats.average("price"))
    assert rows_of(query, "end", "mean") == [(3, 10.5), (7, 13.0), (13, 13.0)]


@ibm("`Join` over two windows")
def test_a_join_over_two_windows(spark: SparkSession) -> None:
    # Left and right windows of sliding, time(5): tuples match that are at most 5 apart.
    left_rows = table(spark, "k string, at bigint, l string", ("a", 1, "l1"), ("a", 10, "l2"))
    right_rows = table(spark, "k string, at bigint, r string", ("a", 6, "r1"), ("a", 16, "r2"))
    left, right = events(left_rows, key="k", at="at"), events(right_rows, key="k", at="at")
    joined = left.extend(5).join(right.extend(5), left_columns=["l"], right_columns=["r"])
    assert rows_of(joined, "l", "r") == [("l1", "r1"), ("l2", "r1")]
