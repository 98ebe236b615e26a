"""What IBM Streams gives on small streams, by its *Window handling*, and what the recipes on our page give.

`tests/sdk/rows/test_ibm_streams.py` follows that document statement by statement, without Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin_stats as stats
from muntin import RowOperator, correct, hopping, tumbling
from muntin.progress import ordered, punctuate_every
from muntin.rows import batch, delta, elapsed, last, marker
from muntin_engine import EventStream, Query, events, module
from muntin_engine.testing.streaming import StartsJob
from tests.journeys.recipes.recipe import IBM_STREAMS, recipe, rows_of, table

ROWS = [
    # seq, at, price, kind
    (1, 1, 10.0, "t"),
    (2, 2, 11.0, "t"),
    (3, 5, 12.0, "t"),
    (4, 6, 14.0, "close"),
    (5, 12, 13.0, "t"),
]


@pytest.fixture
def stream(spark: SparkSession) -> EventStream:
    """Tuples 1 to 5, at 1, 2, 5, 6 and 12, with rising prices up to the fourth, which is of another kind."""
    rows = table(spark, "seq int, at bigint, price double, kind string", *ROWS)
    return events(rows, at="at", order="seq")


def members(stream: EventStream, window: Any) -> list[list[int]]:
    """Return the numbers of the tuples in each computed window, in the order of time."""
    query = stream.window(window).aggregate(seq=stats.collect_list("seq"))
    return [seq for _, _, seq in rows_of(query, "end", "start", "seq")]


@recipe(IBM_STREAMS, "`sliding, count(10)`", "`sliding, count(10), count(2)`")
def test_sliding_windows_by_count_may_wait_until_they_are_full(stream: EventStream) -> None:
    # Aggregate waits until the window is full unless aggregateIncompleteWindows is true.
    assert members(stream, last(3).when_full()) == [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert members(stream, last(3)) == [[1], [1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert members(stream, last(3).trigger(2)) == [[1, 2], [2, 3, 4]]


@recipe(IBM_STREAMS, "`sliding, time(300)`", "`sliding, count(10), time(60)`")
def test_sliding_windows_by_time_have_tuples_up_to_their_size_ago(stream: EventStream) -> None:
    # A tuple leaves when it is in the window for more than the size: the one at 1 is there at 6.
    assert members(stream, last(elapsed(5))) == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [5]]
    assert members(stream, last(2).trigger(elapsed(5)))[:2] == [[1, 2], [3, 4]]


@recipe(IBM_STREAMS, "`sliding, delta(price, 2.0)`", "`sliding, count(10), delta(price, 2.0)`")
def test_sliding_windows_by_delta_evict_and_trigger_by_a_difference(stream: EventStream) -> None:
    # Evicted are tuples whose price is more than 2 below that of the new one.
    assert members(stream, last(delta("price", 2))) == [[1], [1, 2], [1, 2, 3], [3, 4], [3, 4, 5]]

    # Triggered before the tuple at 14, which is more than 2 above the first one.
    assert members(stream, last(10).trigger(delta("price", 2))) == [[1, 2, 3]]


@pytest.mark.nightly
@recipe(
    IBM_STREAMS,
    "`tumbling, count(10)`",
    "`tumbling, time(600)`",
    "`tumbling, delta(price, 2.0)`",
    "`tumbling, punct()`",
)
def test_tumbling_windows_end_by_count_time_delta_or_marker(stream: EventStream) -> None:
    assert members(stream, batch(2)) == [[1, 2], [3, 4], [5]]
    assert members(stream, batch(elapsed(5))) == [[1, 2], [3, 4], [5]]
    assert members(stream, batch(delta("price", 2))) == [[1, 2, 3], [4, 5]]
    assert members(stream, batch(marker("kind = 'close'"))) == [[1, 2, 3], [5]]


@recipe(IBM_STREAMS, "`timeInterval, intervalDuration(60.0), creationPeriod(10.0)`, since 4.3")
def test_time_intervals_are_hopping_windows(stream: EventStream) -> None:
    # Panes [t, t + 6) at each multiple of 3.
    assert members(stream, hopping(6, 3)) == [[1, 2], [1, 2, 3], [3, 4], [4], [5], [5]]


@recipe(IBM_STREAMS, "a count window with a timeout: none; an operator of your own, or `partitionAge`")
def test_a_count_window_with_a_timeout_is_a_batch_within_a_time(stream: EventStream) -> None:
    # Flushed with the third tuple, or 5 after the first one, without a tuple at that time.
    assert members(stream, batch(3, within=5)) == [[1, 2, 3], [4], [5]]


@recipe(
    IBM_STREAMS, '`partitioned, partitionBy: sensor`, `.partition("sensor")`', "`partitionCount(c)`, `tupleCount(t)`"
)
def test_partitions_have_windows_of_their_own_and_may_evict_each_other(stream: EventStream) -> None:
    assert members(stream, last(2).partition("kind")) == [[1], [1, 2], [2, 3], [4], [3, 5]]

    # With one partition at most, the tuple of the other kind evicts it.
    assert members(stream, last(2).partition("kind", most=1)) == [[1], [1, 2], [2, 3], [4], [5]]


@recipe(IBM_STREAMS, "`Aggregate` with `Average(x)`, `Any(x)`")
def test_an_average_is_one_of_a_batch(stream: EventStream) -> None:
    query = stream.window(batch(2)).aggregate(mean=stats.average("price"))
    assert rows_of(query, "end", "mean") == [(3, 10.5), (7, 13.0), (13, 13.0)]


@recipe(IBM_STREAMS, "`Join` over two windows")
def test_a_join_over_two_windows_is_a_join_of_extended_lifetimes(spark: SparkSession) -> None:
    # Left and right windows of sliding, time(5): tuples match that are at most 5 apart.
    left_rows = table(spark, "k string, at bigint, l string", ("a", 1, "l1"), ("a", 10, "l2"))
    right_rows = table(spark, "k string, at bigint, r string", ("a", 6, "r1"), ("a", 16, "r2"))
    left = events(left_rows, key="k", at="at")
    right = events(right_rows, key="k", at="at")
    joined = left.extend(5).join(right.extend(5), left_columns=["l"], right_columns=["r"])
    assert rows_of(joined, "l", "r") == [("l1", "r1"), ("l2", "r1")]


class Evicted(RowOperator[float, list[float], float, float]):
    """An operator whose second port has the tuples that leave the window."""

    name, version = "recipes.evicted", "1.0.0"

    def create_state(self) -> list[float]:
        return []

    def on_evict(self, state: list[float], rows: Sequence[Any], window: Any) -> list[float]:
        return [row.payload for row in rows]


@pytest.mark.nightly
@recipe(IBM_STREAMS, "a second output port")
def test_tuples_that_leave_the_window_are_a_second_output(stream: EventStream) -> None:
    second_port = stream.window(last(2)).apply(module(Evicted, "price")).evicted_rows()
    assert sorted(row.value for row in second_port.collect()) == [10.0, 11.0, 12.0]


@pytest.mark.nightly
@recipe(IBM_STREAMS, "a window marker after the output of each window")
def test_results_are_marked_where_a_window_ends(stream: EventStream) -> None:
    marked = stream.window(batch(2).with_marks()).aggregate(n=stats.count())
    assert rows_of(marked, "n", "ends_window") == [(1, True), (2, True), (2, True)]


@pytest.mark.nightly
@recipe(IBM_STREAMS, "`onEmptyWindowPunctEvent`")
def test_empty_windows_have_results_if_a_query_asks_for_them(stream: EventStream) -> None:

    # A tumbling window of 2 is empty from 7 to 11.
    with_empty = stream.window(batch(elapsed(2)).with_empty()).aggregate(n=stats.count())
    assert (0,) in rows_of(with_empty, "n")
    without_empty = stream.window(batch(elapsed(2))).aggregate(n=stats.count())
    assert rows_of(without_empty, "start", "n") == [(0, 1), (2, 1), (4, 1), (6, 1), (12, 1)]


@recipe(IBM_STREAMS, "`partitionAge(n)`")
def test_a_partition_is_removed_when_it_is_silent_for_its_age(stream: EventStream) -> None:
    # The partition `t` has no tuple between 5 and 12, more than 4: it is removed, and begins anew with tuple 5.
    assert members(stream, last(3).partition("kind", age=4)) == [[1], [1, 2], [1, 2, 3], [4], [5]]


@pytest.mark.nightly
@recipe(IBM_STREAMS, "`discardAge(3600.0)`")
def test_a_pane_is_kept_for_its_discard_age_and_triggered_again(streaming: StartsJob) -> None:
    def job(rows: DataFrame) -> Query:
        stream = events(rows, at="at", watermark=ordered(), late_policy=correct(5))
        return stream.window(tumbling(10)).aggregate(n=stats.count())

    # A pane is kept for 5 after its end: the tuple at 4 triggers it again, with two tuples.
    running = streaming(job, "at bigint")
    running.feed((3,))
    assert [(row["change"], row["n"]) for row in running.feed((12,))] == [("insert", 1)]
    assert sorted((row["change"], row["n"]) for row in running.feed((4,))) == [("insert", 2), ("retract", 1)]


@recipe(
    IBM_STREAMS,
    "a watermark of event time: `@eventTime(eventTimeAttribute=ts, lag=2.0)`, `set_event_time`",
    "`minimumGap`",
)
def test_a_watermark_has_a_lag_and_may_have_a_minimum_gap(streaming: StartsJob) -> None:
    def lagging(rows: DataFrame) -> Query:
        return events(rows, at="at", watermark=2).window(tumbling(10)).aggregate(n=stats.count())

    def in_steps(rows: DataFrame) -> Query:
        stream = events(rows, at="at", watermark=punctuate_every(span=5, delay=2))
        return stream.window(tumbling(10)).aggregate(n=stats.count())

    running = streaming(lagging, "at bigint")
    assert running.feed((3,), (11,)) == []
    assert [row["n"] for row in running.feed((12,))] == [1]

    # Watermarks at least 5 apart: at 5, and then at 10.
    stepping = streaming(in_steps, "at bigint")
    assert stepping.feed((3,), (11,)) == []
    assert [row["n"] for row in stepping.feed((12,))] == [1]


@pytest.mark.nightly
@recipe(IBM_STREAMS, "a final marker")
def test_a_final_marker_flushes_the_window(streaming: StartsJob) -> None:
    def job(rows: DataFrame) -> Query:
        return events(rows, at="at", order="at", watermark=2).window(batch(3)).aggregate(n=stats.count())

    running = streaming(job, "at bigint")
    assert running.feed((1,), (2,)) == []
    assert [row["n"] for row in running.close()] == [2]  # flushed, as in the Python API
