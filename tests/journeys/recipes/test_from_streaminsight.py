"""What StreamInsight gives on small streams, by its documentation and its paper, and what our recipes give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin_stats as stats
from muntin import (
    Aggregate,
    Event,
    IncrementalAggregate,
    Operator,
    StreamOperator,
    Window,
    count_by_start,
    hopping,
    snapshot,
    tumbling,
)
from muntin.progress import ordered, punctuate_every
from muntin_engine import Query, events, module, union
from muntin_engine.testing.streaming import StartsJob
from tests.journeys.recipes.recipe import STREAMINSIGHT, recipe, rows_of, table

JOBS = "k string, starts bigint, ends bigint, x double"
"""The columns of most streams of these tests: a key, a lifetime and a value."""


class Covered(Aggregate[float, int]):
    """The ticks that events cover, as a time-sensitive module sees them."""

    name, version = "recipes.covered", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, parts: Sequence[Event[float]], window: Window) -> int:
        return sum(part.duration for part in parts)


class Halves(Operator[float, float]):
    """A UDO: two rows for each event."""

    name, version = "recipes.halves", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> list[float]:
        return [value / 2 for value in payloads for _ in range(2)]


class Total(IncrementalAggregate[float, list[float], float]):
    """An incremental UDM: add, remove and compute over a state."""

    name, version = "recipes.total", "1.0.0"

    def create_state(self) -> list[float]:
        return [0.0]

    def add_events(self, state: list[float], payloads: Sequence[float]) -> list[float]:
        return [state[0] + sum(payloads)]

    def remove_events(self, state: list[float], payloads: Sequence[float]) -> list[float]:
        return [state[0] - sum(payloads)]

    def compute_result(self, state: list[float]) -> float:
        return state[0]


class Rises(StreamOperator[float, list[float], float]):
    """A point stream operator: emit an event that is above the one before."""

    name, version = "recipes.rises", "1.0.0"

    def create_state(self) -> list[float]:
        return []

    def on_event(self, state: list[float], payload: float, time: int) -> list[float]:
        rises = bool(state) and payload > state[0]
        state[:] = [payload]
        return [payload] if rises else []

    def is_empty(self, state: list[float]) -> bool:
        return False


class TestDefaults:
    @pytest.mark.nightly
    @recipe(
        STREAMINSIGHT,
        "lifetimes that a time-sensitive module sees",
        "the lifetime of a result over hopping and tumbling windows",
    )
    def test_modules_see_whole_lifetimes_and_results_last_as_long_as_windows_unless_a_query_says_otherwise(
        self, spark: SparkSession
    ) -> None:
        stream = events(table(spark, JOBS, ("a", 5, 25, 1.0)), key="k", start="starts", end="ends")

        # ClipToWindow: 5 ticks, 10 and 5, each a point at the end of its window
        clipped = stream.window(tumbling(10), clip="full", timestamps="point_at_end").aggregate(n=module(Covered, "x"))
        assert rows_of(clipped, "start", "n") == [(10, 5), (20, 10), (30, 5)]

        # By default whole lifetimes of 20 here, and a result as long as its window
        whole = stream.window(tumbling(10)).aggregate(n=module(Covered, "x"))
        assert rows_of(whole, "start", "end", "n") == [(0, 10, 20), (10, 20, 20), (20, 30, 20)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "over count windows")
    def test_a_result_of_a_count_window_may_be_a_point_at_its_end(self, spark: SparkSession) -> None:
        points = table(spark, JOBS, ("a", 1, 2, 1.0), ("a", 4, 5, 2.0))
        stream = events(points, key="k", start="starts", end="ends")
        counts = stream.window(count_by_start(2), timestamps="point_at_end").aggregate(n=stats.count())
        assert rows_of(counts, "start", "n") == [(5, 2)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "over snapshot windows")
    def test_a_result_of_a_snapshot_lasts_as_long_as_it(self, spark: SparkSession) -> None:
        stream = events(table(spark, JOBS, ("a", 5, 25, 1.0)), key="k", start="starts", end="ends")
        snapshots = stream.window(snapshot()).aggregate(n=stats.count())
        assert rows_of(snapshots, "start", "end", "n") == [(5, 25, 1)]

    @recipe(STREAMINSIGHT, "`TopK` with ties")
    def test_top_by_has_ties_or_one_of_them(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 1, 2, 5.0), ("b", 2, 3, 5.0), ("c", 3, 4, 1.0))
        windows = events(rows, start="starts", end="ends").window(tumbling(10))
        assert rows_of(windows.apply(stats.top_by("k", "x", k=1, ties="all")), "value") == [("a",), ("b",)]
        assert len(rows_of(windows.apply(stats.top_by("k", "x", k=1)), "value")) == 1


class TestTime:
    @recipe(STREAMINSIGHT, "`PointEvent`", "`IntervalEvent`", "`EdgeEvent`, each sample ending the one before")
    def test_events_are_points_intervals_or_edges(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 1, 12, 1.0), ("a", 4, 6, 2.0))

        # a point lasts one tick, an interval up to its end, an edge up to the next one
        points = events(rows, key="k", at="starts").window(snapshot()).aggregate(x=stats.sum("x"))
        assert rows_of(points, "start", "end", "x") == [(1, 2, 1.0), (4, 5, 2.0)]
        intervals = events(rows, key="k", start="starts", end="ends").window(snapshot()).aggregate(x=stats.sum("x"))
        assert rows_of(intervals, "start", "end", "x") == [(1, 4, 1.0), (4, 6, 3.0), (6, 12, 1.0)]
        edges = events(rows, key="k", at="starts", edge=True).window(snapshot()).aggregate(x=stats.sum("x"))
        assert rows_of(edges, "start", "x") == [(1, 1.0), (4, 2.0)]

    @recipe(STREAMINSIGHT, "`EdgeEvent` with start and end edges", "a retraction", "a CTI")
    def test_end_edges_and_retractions_change_what_a_cti_makes_final(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, id="id", start="starts", end="ends", change="change", new_end="new_end")
            return stream.window(snapshot()).aggregate(n=stats.count())

        # The paper's figure: a start edge, its end edge, a retraction in full, and a CTI that makes them final.
        running = streaming(job, "change string, id int, starts bigint, ends bigint, new_end bigint")
        running.feed(("insert", 1, 1, None, None), ("insert", 2, 3, 8, None))
        running.feed(("revise", 1, 1, None, 6), ("retract", 2, 3, 8, None))
        rows = running.feed(("punctuate", None, 20, None, None))
        assert [(row["start"], row["end"], row["n"]) for row in rows] == [(1, 6, 1)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "`AdvanceTimeSettings.IncreasingStartTime`", "`AdvanceTimePolicy.Adjust`")
    def test_a_late_event_is_adjusted_to_the_watermark(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, start="starts", end="ends", watermark=ordered(), late_policy="adjust")
            return stream.window(snapshot()).aggregate(n=stats.count())

        # A CTI follows the event at 10, so the event [4, 15) is adjusted to [10, 15).
        running = streaming(job, JOBS)
        rows = running.feed(("a", 10, 12, 1.0))
        rows += running.feed(("a", 4, 15, 1.0))
        rows += running.close()
        assert [(row["start"], row["end"], row["n"]) for row in rows] == [(10, 12, 2), (12, 15, 1)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "`UnorderedStartTime(delay)`", "late events")
    def test_ctis_follow_behind_unordered_start_times(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, start="starts", end="ends", watermark=10)
            return stream.window(tumbling(10)).aggregate(n=stats.count())

        # The CTI is 10 behind the newest start.
        running = streaming(job, JOBS)
        assert running.feed(("a", 5, 6, 1.0), ("a", 19, 20, 1.0)) == []
        assert [(row["start"], row["n"]) for row in running.feed(("a", 20, 21, 1.0))] == [(0, 1)]
        running.feed(("a", 9, 10, 1.0))
        assert len(running.late_rows) == 1

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "`AdvanceTimeGenerationSettings(count, delay)`, `(span, delay)`")
    def test_ctis_are_generated_at_multiples_of_a_span(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, start="starts", end="ends", watermark=punctuate_every(span=20, delay=5))
            return stream.window(tumbling(10)).aggregate(n=stats.count())

        # A CTI at each multiple of 20 that lies 5 behind the newest start: at 20, with the event at 25.
        running = streaming(job, JOBS)
        assert running.feed(("a", 3, 4, 1.0), ("a", 24, 25, 1.0)) == []
        assert [(row["start"], row["n"]) for row in running.feed(("a", 25, 26, 1.0))] == [(0, 1)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "speculative output, and compensations", "the end of a query")
    def test_speculative_output_is_compensated(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, start="starts", end="ends", watermark=10)
            return stream.window(tumbling(10), emit="eager").aggregate(x=stats.sum("x"))

        running = streaming(job, JOBS)
        rows = running.feed(("a", 3, 4, 1.0))
        assert [(row["change"], row["x"]) for row in rows] == [("insert", 1.0)]
        rows = running.feed(("a", 5, 6, 2.0))
        assert sorted((row["change"], row["x"]) for row in rows) == [("insert", 3.0), ("retract", 1.0)]


class TestQueries:
    @pytest.mark.nightly
    @recipe(
        STREAMINSIGHT,
        "`HoppingWindow(size, hop)`, `TumblingWindow(size)`, with an `alignment`",
        "`SnapshotWindow()`",
        "`CountByStartTimeWindow(n)`",
    )
    def test_windows_hop_follow_the_ends_of_events_or_count_their_starts(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 2, 13, 1.0), ("a", 5, 8, 3.0), ("a", 11, 18, 8.0))
        stream = events(rows, key="k", start="starts", end="ends")

        def counts(window: Any) -> list[tuple[Any, ...]]:
            """Return start, end and number of members of each window."""
            return rows_of(stream.window(window).aggregate(n=stats.count()), "start", "end", "n")

        assert counts(tumbling(10)) == [(0, 10, 2), (10, 20, 2)]
        assert counts(hopping(20, 10)) == [(-10, 10, 2), (0, 20, 3), (10, 30, 2)]
        assert counts(tumbling(10, 1)) == [(1, 11, 2), (11, 21, 2)]
        assert counts(snapshot()) == [(2, 5, 1), (5, 8, 2), (8, 11, 1), (11, 13, 2), (13, 18, 1)]

        # From one distinct start time to the second: members start inside.
        assert counts(count_by_start(2)) == [(2, 6, 2), (5, 12, 2)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "`group e by e.Key into g`, and a window over `g`", "`Avg`, `Sum`, `Min`, `Max`, `Count`")
    def test_each_group_has_windows_and_aggregates_of_its_own(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 2, 13, 1.0), ("a", 5, 8, 3.0), ("a", 11, 18, 8.0), ("b", 2, 3, 5.0))
        stream = events(rows, key="k", start="starts", end="ends")
        query = stream.window(tumbling(20)).aggregate(
            avg=stats.average("x"), sum=stats.sum("x"), min=stats.min("x"), max=stats.max("x"), count=stats.count()
        )
        assert rows_of(query, "k", "avg", "sum", "min", "max", "count") == [
            ("a", 4.0, 12.0, 1.0, 8.0, 3),
            ("b", 5.0, 5.0, 5.0, 5.0, 1),
        ]

    @pytest.mark.nightly
    @recipe(
        STREAMINSIGHT,
        "`where`, `select`",
        "`ShiftEventTime`, `AlterEventDuration`, `AlterEventLifetime`, `ToPointEventStream`",
    )
    def test_lifetimes_are_shifted_set_extended_or_made_points(self, spark: SparkSession) -> None:
        stream = events(table(spark, JOBS, ("a", 2, 13, 1.0), ("b", 4, 5, -1.0)), start="starts", end="ends")

        def lifetimes(changed: Any) -> list[tuple[Any, ...]]:
            """Return the lifetime and twice the value of the event that `where` leaves, as the only snapshot."""
            query = changed.where("x > 0").with_columns(y="2 * x").window(snapshot()).aggregate(y=stats.sum("y"))
            return rows_of(query, "start", "end", "y")

        assert lifetimes(stream.shift(10)) == [(12, 23, 2.0)]
        assert lifetimes(stream.set_duration(4)) == [(2, 6, 2.0)]
        assert lifetimes(stream.extend(4)) == [(2, 17, 2.0)]
        assert lifetimes(stream.to_points("start")) == [(2, 3, 2.0)]

    @pytest.mark.nightly
    @recipe(
        STREAMINSIGHT,
        "`ClipEventDuration`, signals to edges",
        "a join, where lifetimes overlap",
        "a left anti semi join",
    )
    def test_joins_have_the_overlap_of_lifetimes_and_anti_joins_the_rest(self, spark: SparkSession) -> None:
        left_rows = table(spark, "k string, starts bigint, ends bigint, l string", ("a", 0, 10, "l1"))
        right_rows = table(
            spark, "k string, starts bigint, ends bigint, r string", ("a", 4, 6, "r1"), ("b", 0, 9, "r2")
        )
        left = events(left_rows, key="k", start="starts", end="ends")
        right = events(right_rows, key="k", start="starts", end="ends")
        joined = left.join(right, left_columns=["l"], right_columns=["r"])
        assert rows_of(joined, "start", "end", "l", "r") == [(4, 6, "l1", "r1")]
        assert rows_of(left.join(right, "anti", left_columns=["l"]), "start", "end") == [(0, 4), (6, 10)]
        assert rows_of(left.join(right, "clip", left_columns=["l"]), "start", "end") == [(0, 4)]

    @pytest.mark.nightly
    @recipe(STREAMINSIGHT, "`Union`", "a query over the output of another")
    def test_a_union_and_results_of_a_query_are_events(self, spark: SparkSession) -> None:
        first = events(table(spark, JOBS, ("a", 1, 2, 1.0)), key="k", start="starts", end="ends")
        second = events(table(spark, JOBS, ("a", 3, 4, 2.0), ("b", 13, 14, 4.0)), key="k", start="starts", end="ends")
        sums = union(first=first, second=second).window(tumbling(10)).aggregate(x=stats.sum("x"))
        assert rows_of(sums, "k", "start", "x") == [("a", 0, 3.0), ("b", 10, 4.0)]
        total = sums.as_events(key=None).window(tumbling(20)).aggregate(x=stats.sum("x"))
        assert rows_of(total, "start", "x") == [(0, 7.0)]


class TestModules:
    @recipe(
        STREAMINSIGHT,
        "a UDA: `CepAggregate`, `CepTimeSensitiveAggregate`",
        "`WindowDescriptor`, `IntervalEvent`",
    )
    def test_a_time_sensitive_aggregate_sees_clipped_lifetimes(self, spark: SparkSession) -> None:
        stream = events(table(spark, JOBS, ("a", 5, 25, 1.0)), key="k", start="starts", end="ends")
        clipped = stream.window(tumbling(10), clip="full").aggregate(n=module(Covered, "x"))
        assert rows_of(clipped, "start", "n") == [(0, 5), (10, 10), (20, 5)]

    @recipe(STREAMINSIGHT, "a UDO: `CepOperator`, `CepTimeSensitiveOperator`")
    def test_an_operator_has_any_number_of_rows_for_a_window(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 1, 12, 4.0), ("a", 5, 6, 6.0))
        stream = events(rows, key="k", start="starts", end="ends")
        halves = stream.window(tumbling(20)).apply(module(Halves, "x"))
        assert rows_of(halves, "value") == [(2.0,), (2.0,), (3.0,), (3.0,)]

    @recipe(STREAMINSIGHT, "an incremental UDM of the paper: add, remove and compute over a state")
    def test_an_incremental_module_adds_and_removes_events_from_snapshot_to_snapshot(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 1, 12, 4.0), ("a", 5, 6, 6.0))
        stream = events(rows, key="k", start="starts", end="ends")
        snapshots = stream.window(snapshot()).aggregate(x=module(Total, "x"))
        assert rows_of(snapshots, "start", "x") == [(1, 4.0), (5, 10.0), (6, 4.0)]

    @recipe(
        STREAMINSIGHT, "a stream operator, `CepPointStreamOperator` with `Scan`: `ProcessEvent`, `NextCti`, `IsEmpty`"
    )
    def test_a_stream_operator_sees_point_after_point(self, spark: SparkSession) -> None:
        rows = table(spark, JOBS, ("a", 1, 2, 4.0), ("a", 5, 6, 6.0))
        points = events(rows, key="k", at="starts", watermark=0).apply(module(Rises, "x"))
        assert rows_of(points, "start", "value") == [(5, 6.0)]
