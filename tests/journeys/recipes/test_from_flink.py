"""What Flink gives on small streams, and what its recipes on our page give.

The values are worked out by hand from Flink's documentation and, where it leaves bounds open, from its operators.
Times are whole numbers, which stand for milliseconds in Flink.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    correct,
    cumulate,
    early,
    global_windows,
    hopping,
    session,
    trailing,
    tumbling,
)
from muntin.progress import ordered
from muntin.rows import batch, between, delta, elapsed, last
from muntin.triggers import every_count
from muntin_adapters import from_aggregate_function
from muntin_engine import EventStream, Query, events, module, union
from muntin_engine.testing.streaming import StartsJob
from tests.journeys.recipes.recipe import FLINK_AND_BEAM, READINGS, columns_of, readings, recipe, rows_of, table

NUMBERS = "k string, at bigint, x bigint"


class TestWatermarks:
    @recipe(FLINK_AND_BEAM, "`WatermarkStrategy.forBoundedOutOfOrderness(d)`", "`sideOutputLateData(tag)`")
    def test_with_bounded_out_of_orderness_a_window_fires_and_rows_behind_it_go_aside(
        self, streaming: StartsJob
    ) -> None:
        def job(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=5).window(tumbling(10)).aggregate(n=stats.count())

        # Flink's watermark is the newest time less 5 less 1. [0, 10) fires at a watermark of 9, so with a row at 15.
        running = streaming(job, READINGS)
        assert running.feed(*readings(8, 14)) == []
        assert running.feed(*readings(9)) == []  # exactly 5 behind the newest: in time
        assert columns_of(running.feed(*readings(15)), "start", "n") == [(0, 2)]
        assert running.feed(*readings(9)) == []
        assert [row["reason"] for row in running.late_rows] == ["late"]  # sideOutputLateData
        assert columns_of(running.close(), "start", "n") == [(10, 2)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`WatermarkStrategy.forMonotonousTimestamps()`")
    def test_with_monotonous_timestamps_the_next_row_fires_a_window(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=ordered()).window(tumbling(10)).aggregate(n=stats.count())

        # The watermark is the newest time less 1: 9 with the row at 10, which fires [0, 10).
        running = streaming(job, READINGS)
        assert running.feed(*readings(3, 9)) == []
        assert columns_of(running.feed(*readings(10)), "start", "n") == [(0, 2)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "a `WatermarkGenerator` that reads markers in the stream")
    def test_a_marker_fires_the_windows_before_it(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", change="change").window(tumbling(10)).aggregate(n=stats.count())

        # Flink's marker of 9 fires [0, 10); here it is 9 and a tick.
        running = streaming(job, "change string, k string, at bigint")
        assert running.feed(("insert", "a", 3), ("punctuate", None, 9)) == []
        assert columns_of(running.feed(("punctuate", None, 9 + 1)), "start", "n") == [(0, 1)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`withIdleness(d)`")
    def test_an_idle_source_holds_no_window_back(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            idle = ordered().with_idle(after=60)
            stream = events(rows, at="at", change="change", source="src", sources=["p", "q"], watermark=idle)
            return stream.window(tumbling(10)).aggregate(n=stats.count())

        # The least of both sources holds [0, 10) back, until q has been silent for 60.
        running = streaming(job, "change string, src string, at bigint")
        assert running.feed(("clock", None, 1000), ("insert", "q", 1), ("insert", "p", 2)) == []
        assert running.feed(("clock", None, 1010), ("insert", "p", 30)) == []
        assert columns_of(running.feed(("clock", None, 1065), ("insert", "p", 31)), "start", "n") == [(0, 2)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`stop --drain`")
    def test_a_drained_stream_fires_all_windows(self, spark: SparkSession, tmp_path: Path) -> None:
        rows = table(spark, READINGS, *readings(3))
        rows.write.parquet(str(tmp_path / "rows"))
        stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "rows"))
        query = events(stream, key="k", at="at", watermark=5).window(tumbling(10)).aggregate(n=stats.count())

        # A drained job emits a watermark at the end of time, which fires all windows.
        query.write(
            checkpoint=tmp_path / "checkpoint", results=tmp_path / "results", available_now=True, on_end="close"
        ).awaitTermination()
        assert spark.read.parquet(str(tmp_path / "results")).select("window.start", "n").collect() == [(0, 1)]


class TestWindows:
    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`keyBy(...)`", "`TumblingEventTimeWindows`, `SlidingEventTimeWindows`")
    def test_tumbling_and_sliding_windows_have_an_offset(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 0, 1.0), ("a", 7, 2.0), ("a", 12, 4.0), ("b", 7, 8.0))
        stream = events(rows, key="k", at="at")

        def sums(window: Any) -> list[tuple[Any, ...]]:
            """Return key, start, end and sum of each window that has rows."""
            return rows_of(stream.window(window).aggregate(x=stats.sum("x")), "k", "start", "end", "x")

        assert sums(tumbling(10)) == [("a", 0, 10, 3.0), ("a", 10, 20, 4.0), ("b", 0, 10, 8.0)]

        # getWindowStartWithOffset(7, 3, 10) = 7 - (7 - 3) % 10 = 3; of 0 it is -7
        assert sums(tumbling(10, 3)) == [("a", -7, 3, 1.0), ("a", 3, 13, 6.0), ("b", 3, 13, 8.0)]
        assert sums(hopping(10, 5)) == [
            ("a", -5, 5, 1.0),
            ("a", 0, 10, 3.0),
            ("a", 5, 15, 6.0),
            ("a", 10, 20, 4.0),
            ("b", 0, 10, 8.0),
            ("b", 5, 15, 8.0),
        ]
        assert sums(hopping(10, 5, 1))[:2] == [("a", -9, 1, 1.0), ("a", -4, 6, 1.0)]

    @recipe(FLINK_AND_BEAM, "`EventTimeSessionWindows.withGap(gap)`, `withDynamicGap(...)`")
    def test_sessions_have_one_gap_or_one_for_each_row(self, spark: SparkSession) -> None:
        # Windows [t, t + 5) merge if they intersect or touch: 0 and 5 do, 11 is one after the end of [5, 10).
        rows = table(spark, "k string, at bigint, gap bigint", ("a", 0, 20), ("a", 5, 5), ("a", 11, 5))
        query = events(rows, key="k", at="at").window(session(5)).aggregate(n=stats.count())
        assert rows_of(query, "start", "end", "n") == [(0, 10, 2), (11, 16, 1)]

        # With a gap of 20 the first window is [0, 20), which the others intersect.
        dynamic = events(rows, key="k", start="at", end=rows.at + rows.gap).window(session())
        assert rows_of(dynamic.aggregate(n=stats.count()), "start", "end", "n") == [(0, 20, 3)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`GlobalWindows` with a trigger", "`CountTrigger.of(2)`")
    def test_a_count_trigger_fires_with_every_second_row_over_all_so_far(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=5)
            return stream.window(global_windows(), emit=early(every_count(2))).aggregate(n=stats.count())

        # CountTrigger.of(2) fires at the second and the fourth row, over all rows so far.
        running = streaming(job, READINGS)
        assert running.feed(*readings(1)) == []
        assert columns_of(running.feed(*readings(2)), "n") == [(2,)]
        assert running.feed(*readings(3)) == []
        assert columns_of(running.feed(*readings(4)), "n") == [(4,)]

        # Five rows in one micro-batch: 6 and 8 in Flink, one result of all nine here.
        assert columns_of(running.feed(*readings(*range(5, 10))), "n") == [(9,)]

    @pytest.mark.nightly
    @recipe(
        FLINK_AND_BEAM,
        "an `Evictor` and a trigger on `GlobalWindows`: `CountEvictor`, `TimeEvictor`, `DeltaEvictor`",
        "`countWindow(n)`, `countWindow(n, slide)`",
    )
    def test_evictors_and_count_windows_are_row_windows(self, spark: SparkSession) -> None:
        prices = [(1, 10), (2, 11), (5, 12), (6, 14), (12, 13)]
        rows = table(spark, NUMBERS, *(("a", at, price) for at, price in prices))
        stream = events(rows, key="k", at="at", order="at")

        def members(window: Any) -> list[list[int]]:
            """Return the prices in each window, in the order in which these end."""
            query = stream.window(window).aggregate(x=stats.collect_list("x"))
            return [x for _, _, x in rows_of(query, "end", "start", "x")]

        # CountEvictor.of(3) with CountTrigger.of(2), which is countWindow(3, 2)
        assert members(last(3).trigger(2)) == [[10, 11], [11, 12, 14]]

        # countWindow(2) gives full windows alone; at the end of the stream the last batch comes besides
        assert members(batch(2)) == [[10, 11], [12, 14], [13]]

        # TimeEvictor.of(5) evicts what is at or before the newest time less 5: the row at 1 when that at 6 comes
        assert members(last(elapsed(5 - 1))) == [[10], [10, 11], [10, 11, 12], [11, 12, 14], [13]]
        assert members(last(elapsed(5))) == [[10], [10, 11], [10, 11, 12], [10, 11, 12, 14], [13]]

        # DeltaEvictor.of(3, new - old) evicts what is 3 or more below the newest
        assert members(last(delta("x", 3 - 1))) == [[10], [10, 11], [10, 11, 12], [12, 14], [12, 14, 13]]
        assert members(last(delta("x", 3)))[3] == [11, 12, 14]

    @recipe(FLINK_AND_BEAM, "`windowAll(...)`")
    def test_without_a_key_all_rows_are_in_one_window(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 1.0), ("b", 2, 2.0))
        query = events(rows, at="at").window(tumbling(10)).aggregate(x=stats.sum("x"))
        assert rows_of(query, "start", "x") == [(0, 3.0)]


class Mean(IncrementalAggregate[float, tuple[float, int], float]):
    """The accumulator of Flink's documentation: a sum and a count."""

    name, version = "recipes.mean", "1.0.0"

    def create_state(self) -> tuple[float, int]:
        return 0.0, 0

    def add_events(self, state: tuple[float, int], payloads: Sequence[float]) -> tuple[float, int]:
        return state[0] + sum(payloads), state[1] + len(payloads)

    def combine(self, state: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
        return state[0] + other[0], state[1] + other[1]

    def compute_result(self, state: tuple[float, int]) -> float:
        return state[0] / state[1]


class Reduced(IncrementalAggregate[float, list[float], float]):
    """`reduce(max)` as the page says: a state of no value or one."""

    name, version = "recipes.reduced", "1.0.0"

    def create_state(self) -> list[float]:
        return []

    def add_events(self, state: list[float], payloads: Sequence[float]) -> list[float]:
        return [max([*state, *payloads])]

    def combine(self, state: list[float], other: list[float]) -> list[float]:
        return [max([*state, *other])]

    def compute_result(self, state: list[float]) -> float:
        return state[0]


class MeanAndStart(Operator[float, str]):
    """`aggregate(a, ProcessWindowFunction)`: an aggregate, and then a function that gets the window."""

    name, version = "recipes.mean_and_start", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, rows: Sequence[Event[float]], window: Window) -> list[str]:
        mean = sum(row.payload for row in rows) / len(rows)
        return [f"{window.start}: {mean}"]


class WeightedSum:
    """An aggregate function of PyFlink's Table API."""

    def create_accumulator(self) -> list[float]:
        return [0.0]

    def accumulate(self, accumulator: list[float], x: float) -> None:
        accumulator[0] += 2 * x

    def retract(self, accumulator: list[float], x: float) -> None:
        accumulator[0] -= 2 * x

    def get_value(self, accumulator: list[float]) -> float:
        return accumulator[0]


class TestAggregates:
    @recipe(
        FLINK_AND_BEAM,
        "`AggregateFunction` of the DataStream API, with `add` and `getResult`",
        "`AggregateFunction` of the Table API, with `accumulate`, `get_value` and `retract`",
        "`reduce(f)`",
        "`aggregate(a, ProcessWindowFunction)`",
        "`ProcessWindowFunction`",
        "`createAccumulator`",
        "`add`",
        "`merge`",
        "`getResult`",
        "`retract` of PyFlink",
    )
    def test_aggregate_functions_and_process_window_functions_are_modules(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 1.0), ("a", 2, 4.0), ("a", 11, 8.0))
        windows = events(rows, key="k", at="at").window(tumbling(10))
        doubled = from_aggregate_function(WeightedSum, name="recipes.doubled", version="1.0.0")
        query = windows.aggregate(mean=module(Mean, "x"), most=module(Reduced, "x"), doubled=module(doubled, "x"))
        assert rows_of(query, "start", "mean", "most", "doubled") == [(0, 2.5, 4.0, 10.0), (10, 8.0, 8.0, 16.0)]
        texts = windows.apply(module(MeanAndStart, "x"))
        assert rows_of(texts, "value") == [("0: 2.5",), ("10: 8.0",)]


class TestLateRowsAndTriggers:
    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`allowedLateness(d)`")
    def test_a_late_row_within_the_allowed_lateness_fires_its_window_again(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=ordered(), late_policy=correct(5))
            return stream.window(tumbling(10)).aggregate(n=stats.count())

        # [0, 10) fires at a watermark of 9, again with each late row up to 9 + 5, and is dropped then.
        running = streaming(job, READINGS)
        running.feed(*readings(3))
        assert columns_of(running.feed(*readings(12)), "change", "start", "n") == [("insert", 0, 1)]
        changes = columns_of(running.feed(*readings(4)), "change", "start", "n")
        assert sorted(changes) == [("insert", 0, 2), ("retract", 0, 1)]
        running.feed(*readings(20))
        running.feed(*readings(5))
        assert len(running.late_rows) == 1

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "a row behind the watermark, none of whose windows has closed")
    def test_a_row_behind_the_watermark_of_an_open_window(self, streaming: StartsJob) -> None:
        def tumbled(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=ordered()).window(tumbling(10)).aggregate(n=stats.count())

        running = streaming(tumbled, READINGS)
        running.feed(*readings(7))
        running.feed(*readings(3))  # Flink counts it: [0, 10) is open
        assert columns_of(running.feed(*readings(10)), "start", "n") == [(0, 2)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "a row behind the watermark, none of whose windows has closed")
    def test_a_row_behind_the_watermark_of_an_open_session(self, streaming: StartsJob) -> None:
        def sessions(rows: DataFrame) -> Query:
            return events(rows, key="k", at="at", watermark=ordered()).window(session(10)).aggregate(n=stats.count())

        running = streaming(sessions, READINGS)
        running.feed(*readings(7))
        running.feed(*readings(3))  # Flink merges it into the session [7, 17); the page says that it is late here
        assert len(running.late_rows) == 1

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`FIRE_AND_PURGE`, `PurgingTrigger`")
    def test_a_purging_trigger_fires_with_the_rows_since_the_one_before(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=5)
            emit = early(every_count(2), refinement="discard")
            return stream.window(global_windows(), emit=emit).aggregate(n=stats.count())

        # PurgingTrigger.of(CountTrigger.of(2)): each firing has the rows since the one before.
        running = streaming(job, READINGS)
        assert columns_of(running.feed(*readings(1, 2)), "n") == [(2,)]
        assert columns_of(running.feed(*readings(3, 4)), "n") == [(2,)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`ContinuousProcessingTimeTrigger.of(d)`")
    def test_a_continuous_processing_time_trigger_fires_at_multiples_of_its_period(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", change="change", watermark=5)
            return stream.window(tumbling(100), emit=early(every=10)).aggregate(n=stats.count())

        # Registered for the next multiple of 10 on the machine's clock, here the readings of a clock in the input.
        running = streaming(job, "change string, k string, at bigint")
        assert running.feed(("clock", None, 3), ("insert", "a", 1)) == []
        assert running.feed(("clock", None, 9)) == []
        assert columns_of(running.feed(("clock", None, 10)), "n") == [(1,)]

        # Flink fires [1] again at 20; nothing has changed, and here no result comes, as the page says.
        assert running.feed(("clock", None, 20)) == []
        running.feed(("insert", "a", 2))
        assert columns_of(running.feed(("clock", None, 30)), "n") == [(2,)]

    @recipe(FLINK_AND_BEAM, "`ContinuousEventTimeTrigger.of(d)`")
    def test_a_continuous_event_time_trigger_is_a_cumulating_window(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, *readings(1, 5, 12))
        query = events(rows, key="k", at="at").window(cumulate(20, 10)).aggregate(n=stats.count())
        assert rows_of(query, "start", "end", "n") == [(0, 10, 2), (0, 20, 3)]


class TestJoins:
    """The bounds are between(-2, 5): a right row matches from 2 before a left one up to 5 after it, both included."""

    @pytest.fixture
    def sides(self, spark: SparkSession) -> tuple[EventStream, EventStream]:
        """Orders o1 to o4 and shipments s1 to s3, of which s1 matches o1 and o2, and s2 is a tick too early for o3."""
        orders = table(
            spark,
            "k string, at bigint, o string",
            *(("x", 100, "o1"), ("x", 104, "o2"), ("x", 200, "o3"), ("y", 100, "o4")),
        )
        shipments = table(
            spark,
            "k string, at bigint, s string",
            *(("x", 103, "s1"), ("x", 194, "s2"), ("y", 120, "s3")),
        )
        return events(orders, key="k", at="at"), events(shipments, key="k", at="at")

    @recipe(FLINK_AND_BEAM, "`intervalJoin(...).between(-a, b)`")
    def test_an_interval_join_is_a_join_of_extended_lifetimes(self, sides: tuple[EventStream, EventStream]) -> None:
        left, right = sides
        a = 2
        b = 5
        joined = left.extend(b).join(right.extend(a), left_columns=["o"], right_columns=["s"])
        assert rows_of(joined, "o", "s") == [("o1", "s1"), ("o2", "s1")]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "an outer interval join, `LEFT JOIN r ON ... AND r.t BETWEEN l.t - a AND l.t + b`")
    def test_an_outer_interval_join_extends_the_right_side_alone(self, sides: tuple[EventStream, EventStream]) -> None:
        left, right = sides
        a = 2
        b = 5
        joined = left.join(right.shift(-b).extend(a + b), "left", left_columns=["o"], right_columns=["s"])
        assert rows_of(joined, "o", "s", "start") == [
            ("o1", "s1", 100),
            ("o2", "s1", 104),
            ("o3", None, 200),
            ("o4", None, 100),
        ]

        # RIGHT JOIN: the sides swapped, and with them the bounds, as l.t BETWEEN r.t - b AND r.t + a
        swapped = right.join(left.shift(-a).extend(a + b), "left", left_columns=["s"], right_columns=["o"])
        assert rows_of(swapped, "s", "o") == [("s1", "o1"), ("s1", "o2"), ("s2", None), ("s3", None)]

        # FULL JOIN: the first, and of the right rows those without a match
        alone = right.join(left.shift(-a).extend(a + b), "anti", left_columns=["s"])
        assert rows_of(alone, "s") == [("s2",), ("s3",)]

    @recipe(FLINK_AND_BEAM, "`join(...).where(...).equalTo(...).window(...)`")
    def test_a_window_join_joins_rows_of_one_window(self, spark: SparkSession) -> None:
        # Flink's own example: tumbling windows of 2, orange at 0, 1, 2, 3, 4 and green at 0, 1, 3.
        orange = table(spark, "at bigint, o bigint", *((at, at) for at in (0, 1, 2, 3, 4)))
        green = table(spark, "at bigint, g bigint", *((at, at) for at in (0, 1, 3)))
        left = events(orange, at="at")
        right = events(green, at="at")
        tumbled = left.join(right, left_columns=["o"], right_columns=["g"], same_window=tumbling(2))
        assert rows_of(tumbled, "o", "g") == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 3)]

        # Sliding windows of 2 by 1: 1 and 1 are together in two windows, and twice in Flink.
        slid = left.join(right, left_columns=["o"], right_columns=["g"], same_window=hopping(2, 1))
        assert rows_of(slid, "o", "g") == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1), (2, 3), (3, 3), (4, 3)]

    @recipe(FLINK_AND_BEAM, "a temporal join, `FOR SYSTEM_TIME AS OF`")
    def test_a_temporal_join_has_the_version_of_the_time_of_each_row(self, spark: SparkSession) -> None:
        # Flink's own example of rates: an order at the very time of a version has that version.
        orders = table(
            spark,
            "k string, at bigint, o string",
            ("EUR", 5, "o0"),
            ("EUR", 10, "o1"),
            ("EUR", 11, "o2"),
            ("EUR", 30, "o3"),
        )
        rates = table(spark, "k string, at bigint, rate bigint", ("EUR", 10, 114), ("EUR", 20, 119))
        left = events(orders, key="k", at="at")
        right = events(rates, key="k", at="at", edge=True)
        joined = left.join(right, left_columns=["o"], right_columns=["rate"])
        assert rows_of(joined, "o", "rate") == [("o1", 114), ("o2", 114), ("o3", 119)]
        outer = left.join(right, "left", left_columns=["o"], right_columns=["rate"])
        assert rows_of(outer, "o", "rate")[0] == ("o0", None)

    @recipe(FLINK_AND_BEAM, "a lookup join with an external table")
    def test_a_lookup_join_is_a_join_of_spark_before_the_events(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 1.0), ("b", 2, 2.0))
        customers = table(spark, "k string, country string", ("a", "NZ"), ("c", "DE"))
        stream = events(rows.join(customers, "k"), key="country", at="at")
        assert rows_of(stream.window(tumbling(10)).aggregate(x=stats.sum("x")), "country", "x") == [("NZ", 1.0)]

    @recipe(FLINK_AND_BEAM, "a regular join of two tables without a time bound")
    def test_a_regular_join_is_a_join_of_events_without_an_end(self, spark: SparkSession) -> None:
        left_rows = table(
            spark, "k string, at bigint, ends bigint, o string", ("a", 1, None, "o1"), ("b", 2, None, "o2")
        )
        right_rows = table(spark, "k string, at bigint, ends bigint, s string", ("a", 90, None, "s1"))
        left = events(left_rows, key="k", start="at", end="ends")
        right = events(right_rows, key="k", start="at", end="ends")
        assert rows_of(left.join(right, left_columns=["o"], right_columns=["s"]), "o", "s") == [("o1", "s1")]


class TestSql:
    @recipe(FLINK_AND_BEAM, "`SUM(x) OVER (PARTITION BY k ORDER BY t RANGE BETWEEN d PRECEDING AND CURRENT ROW)`")
    def test_a_sum_over_a_range_is_one_of_trailing_windows(self, spark: SparkSession) -> None:
        # The row exactly 5 before the current one is in its range.
        rows = table(spark, READINGS, ("a", 1, 1.0), ("a", 6, 2.0), ("a", 7, 4.0), ("a", 7, 8.0))
        query = events(rows, key="k", at="at").window(trailing(5 + 1)).aggregate(x=stats.sum("x"))
        assert [(end - 1, x) for end, x in rows_of(query, "end", "x")] == [(1, 1.0), (6, 3.0), (7, 14.0)]

    @recipe(FLINK_AND_BEAM, "`SUM(x) OVER (... ROWS BETWEEN n PRECEDING AND CURRENT ROW)`")
    def test_a_sum_over_rows_is_one_of_last_rows(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 1, 1.0), ("a", 6, 2.0), ("a", 7, 4.0), ("a", 8, 8.0))
        query = events(rows, key="k", at="at", order="at").window(last(2 + 1)).aggregate(x=stats.sum("x"))
        assert rows_of(query, "end", "x") == [(2, 1.0), (7, 3.0), (8, 7.0), (9, 14.0)]

    @recipe(FLINK_AND_BEAM, "window Top-N, window deduplication")
    def test_window_top_n_ranks_rows_with_an_id_that_is_repeated_once(self, spark: SparkSession) -> None:
        rows = table(
            spark, "item string, at bigint, x double", ("A", 1, 4.0), ("B", 2, 2.0), ("C", 3, 5.0), ("C", 3, 5.0)
        )
        top = events(rows, id="item", at="at").window(tumbling(10)).apply(stats.top_k("x", k=2))
        assert rows_of(top, "rank", "value") == [(1, 5.0), (2, 4.0)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "a changelog stream of the Table API, with retractions")
    def test_a_changelog_retracts_the_result_that_it_replaces(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            return (
                events(rows, key="k", at="at", watermark=5)
                .window(tumbling(10), emit="eager")
                .aggregate(n=stats.count())
            )

        # +I[a, 1], then -U[a, 1] and +U[a, 2]
        running = streaming(job, READINGS)
        assert columns_of(running.feed(*readings(1)), "change", "n") == [("insert", 1)]
        assert sorted(columns_of(running.feed(*readings(2)), "change", "n")) == [("insert", 2), ("retract", 1)]


class Silence(StreamOperator[str, list[int], str]):
    """Flink's example of a process function: a count per key, emitted when nothing came for 60."""

    name, version = "recipes.silence", "1.0.0"

    def create_state(self) -> list[int]:
        return [0, 0]

    def on_event(self, state: list[int], payload: str, time: int) -> list[str]:
        state[0] += 1
        state[1] = time
        return []

    def next_time(self, state: list[int]) -> int:
        return state[1] + 60

    def on_time(self, state: list[int], time: int) -> list[str]:
        count = state[0]
        state[0] = 0
        return [f"{count} until {time}"]

    def is_empty(self, state: list[int]) -> bool:
        return state[0] == 0


class Orange(NamedTuple):
    """A row of the first stream."""

    x: str


class Green(NamedTuple):
    """A row of the second stream."""

    y: str


class CoGroup(Aggregate[Orange | Green, str]):
    """The two groups of a window, each sorted."""

    name, version = "recipes.co_group", "1.0.0"

    def compute_result(self, payloads: Sequence[Orange | Green]) -> str:
        oranges = sorted(payload.x for payload in payloads if isinstance(payload, Orange))
        greens = sorted(payload.y for payload in payloads if isinstance(payload, Green))
        return f"{' '.join(oranges)} | {' '.join(greens)}"


class TestProcessFunctions:
    @recipe(
        FLINK_AND_BEAM,
        "`KeyedProcessFunction`",
        "`ValueState`, `ListState`, `MapState`",
        "timers of event time",
        "a stateful `DoFn` with event-time timers",
    )
    def test_a_count_with_a_timeout_is_a_stream_operator(self, spark: SparkSession) -> None:
        rows = table(
            spark, "k string, at bigint, x string", ("a", 1, "x"), ("a", 50, "x"), ("a", 200, "x"), ("b", 20, "x")
        )
        query = events(rows, key="k", at="at", watermark=5).apply(module(Silence, "x"))
        assert rows_of(query, "k", "start", "value") == [
            ("a", 110, "2 until 110"),
            ("a", 260, "1 until 260"),
            ("b", 80, "1 until 80"),
        ]

    @recipe(FLINK_AND_BEAM, "timers of event time")
    def test_a_timer_comes_before_the_events_of_its_time(self, spark: SparkSession) -> None:
        rows = table(spark, "k string, at bigint, x string", ("a", 1, "x"), ("a", 61, "x"))
        query = events(rows, key="k", at="at", watermark=5).apply(module(Silence, "x"))

        # Flink's timer at 61 fires when the watermark has reached 61, so after the row at 61, which set a later one.
        assert rows_of(query, "value") == [("1 until 121",), ("1 until 61",)]

    @recipe(FLINK_AND_BEAM, "`coGroup(...).where(...).equalTo(...).window(...)`", "`connect(...)`", "`CoGroupByKey`")
    def test_a_co_group_is_an_aggregate_of_a_union(self, spark: SparkSession) -> None:
        orange = table(spark, "k string, at bigint, x string", ("a", 1, "o1"), ("b", 2, "o2"))
        green = table(spark, "k string, at bigint, y string", ("a", 3, "g1"), ("a", 4, "g2"))
        both = union(orange=events(orange, key="k", at="at"), green=events(green, key="k", at="at"))
        query = both.window(tumbling(10)).aggregate(groups=module(CoGroup, orange="x", green="y"))

        # coGroup calls its function with both groups of a key and a window, also when one is empty.
        assert rows_of(query, "k", "groups") == [("a", "o1 | g1 g2"), ("b", "o2 | ")]


class TestPatterns:
    @recipe(
        FLINK_AND_BEAM,
        "a CEP pattern `begin(...).followedBy(...).within(...)`, `MATCH_RECOGNIZE` from one row to another",
    )
    def test_followed_by_within_a_time_is_a_window_between_conditions(self, spark: SparkSession) -> None:
        # begin(a).followedBy(b).within(10): a at 1 and b at 8; the second a has its b after 11.
        kinds = (("k", 1, "a"), ("k", 5, "x"), ("k", 8, "b"), ("k", 20, "a"), ("k", 31, "b"))
        rows = table(spark, "k string, at bigint, kind string", *kinds)
        windows = between("kind = 'a'", "kind = 'b'", within=10, closed_only=True)
        stream = events(rows, key="k", at="at", order="at")
        query = stream.window(windows).aggregate(kinds=stats.collect_list("kind"))
        assert rows_of(query, "start", "end", "kinds") == [(1, 9, ["a", "x", "b"])]


class TestNullKeys:
    @pytest.mark.nightly
    def test_null_keys_meet_unless_they_are_left_out_of_one_side(self, spark: SparkSession) -> None:
        left_rows = table(spark, "k string, at bigint, o string", (None, 1, "o1"), ("a", 1, "o2"))
        right_rows = table(spark, "k string, at bigint, s string", (None, 1, "s1"), ("a", 1, "s2"))
        left = events(left_rows, key="k", at="at")
        right = events(right_rows, key="k", at="at")
        joined = left.join(right, left_columns=["o"], right_columns=["s"])
        assert rows_of(joined, "o", "s") == [("o1", "s1"), ("o2", "s2")]

        # Flink's inner join has (o2, s2) alone, and its left join o1 with a null besides.
        named = right.where("k IS NOT NULL")
        assert rows_of(left.join(named, left_columns=["o"], right_columns=["s"]), "o", "s") == [("o2", "s2")]
        outer = left.join(named, "left", left_columns=["o"], right_columns=["s"])
        assert rows_of(outer, "o", "s") == [("o1", None), ("o2", "s2")]
