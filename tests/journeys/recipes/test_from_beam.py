"""What Beam gives on small streams, by its programming guide, and what its recipes on our page give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from pyspark.sql import DataFrame, SparkSession

import muntin_stats as stats
from muntin import Aggregate, Operator, calendar, correct, early, global_windows, hopping, session, tumbling
from muntin.progress import ordered
from muntin.triggers import every_count
from muntin_adapters import from_combine_fn
from muntin_adapters.combinators import catching
from muntin_engine import Query, events, module
from muntin_engine.testing.streaming import StartsJob
from tests.journeys.recipes.recipe import FLINK_AND_BEAM, READINGS, readings, recipe, rows_of, table


class MeanFn:
    """The average of Beam's programming guide."""

    def create_accumulator(self) -> tuple[float, int]:
        return 0.0, 0

    def add_input(self, accumulator: tuple[float, int], x: float) -> tuple[float, int]:
        return accumulator[0] + x, accumulator[1] + 1

    def merge_accumulators(self, accumulators: Iterable[tuple[float, int]]) -> tuple[float, int]:
        sums, counts = zip(*accumulators, strict=True)
        return sum(sums), sum(counts)

    def extract_output(self, accumulator: tuple[float, int]) -> float:
        return accumulator[0] / accumulator[1]


class Sorted(Operator[float, str]):
    """A `DoFn` after a `GroupByKey`: any number of rows for the values of a key and a window."""

    name, version = "recipes.sorted", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> list[str]:
        return [str(value) for value in sorted(payloads)]


class Inverse(Aggregate[float, float]):
    """A function that fails for zero."""

    name, version = "recipes.inverse", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return 1 / sum(payloads)


class TestWindows:
    @recipe(FLINK_AND_BEAM, "`FixedWindows`, `SlidingWindows`")
    def test_windows_of_fixed_and_sliding_windows_begin_at_multiples_of_the_period(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 0, 1.0), ("a", 59, 2.0), ("a", 60, 4.0))
        stream = events(rows, key="k", at="at")
        fixed = stream.window(tumbling(60)).aggregate(x=stats.sum("x"))
        assert rows_of(fixed, "start", "end", "x") == [(0, 60, 3.0), (60, 120, 4.0)]

        # SlidingWindows(60, 30): starts at multiples of the period
        sliding = stream.window(hopping(60, 30)).aggregate(x=stats.sum("x"))
        assert rows_of(sliding, "start", "x") == [(-30, 1.0), (0, 3.0), (30, 6.0), (60, 4.0)]

    @recipe(FLINK_AND_BEAM, "`CalendarWindows` of the Java SDK")
    def test_a_calendar_month_begins_at_midnight_of_its_zone(self, spark: SparkSession) -> None:
        # CalendarWindows.months(1).withTimeZone(America/New_York): May begins there at 04:00 UTC.
        rows = spark.sql(
            "SELECT timestamp'2024-05-01 03:59:00Z' AS at UNION ALL SELECT timestamp'2024-05-01 04:00:00Z'"
        )
        months = events(rows, at="at").window(calendar("month", zone="America/New_York")).aggregate(n=stats.count())
        counts = months.results().selectExpr("string(window.start) AS start", "n").orderBy("start").collect()
        assert [tuple(row) for row in counts] == [("2024-04-01 04:00:00", 1), ("2024-05-01 04:00:00", 1)]

    @recipe(FLINK_AND_BEAM, "`Sessions(gap)`")
    def test_sessions_that_touch_are_two_with_a_gap_that_is_a_tick_shorter(self, spark: SparkSession) -> None:
        # [0, 10) and [10, 20) touch and do not overlap, so Beam has two sessions; [10, 20) and [19, 29) are one.
        rows = table(spark, READINGS, *readings(0, 10, 19))
        stream = events(rows, key="k", at="at")
        with_the_gap = stream.window(session(10)).aggregate(n=stats.count())
        assert rows_of(with_the_gap, "n") == [(3,)]
        with_a_tick_less = stream.window(session(10 - 1)).aggregate(n=stats.count())
        assert rows_of(with_a_tick_less, "start", "n") == [(0, 1), (10, 2)]


class TestTransforms:
    @recipe(FLINK_AND_BEAM, "`CombineFn`", "a `DoFn` after a `GroupByKey`")
    def test_a_combine_fn_is_an_aggregate_and_a_do_fn_an_operator(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 0, 3.0), ("a", 5, 1.0), ("b", 7, 4.0))
        windows = events(rows, key="k", at="at").window(tumbling(60))
        mean = from_combine_fn(MeanFn, name="recipes.mean_fn", version="1.0.0")
        assert rows_of(windows.aggregate(x=module(mean, "x")), "k", "x") == [("a", 2.0), ("b", 4.0)]
        assert rows_of(windows.apply(module(Sorted, "x")), "k", "value") == [("a", "1.0"), ("a", "3.0"), ("b", "4.0")]

    @recipe(FLINK_AND_BEAM, "`with_exception_handling()` of a `ParDo`")
    def test_a_failure_of_one_key_is_a_result_beside_those_of_the_others(self, spark: SparkSession) -> None:
        rows = table(spark, READINGS, ("a", 0, 2.0), ("b", 1, 0.0))
        query = events(rows, key="k", at="at").window(tumbling(60)).aggregate(x=module(catching(Inverse), "x"))

        # The main output has 0.5, and the failures b with its exception.
        results = {row.k: row.x for row in query.results().collect()}
        assert (results["a"].result, results["a"].error) == (0.5, None)
        assert results["b"].result is None
        assert "ZeroDivisionError" in str(results["b"].error)


class TestPanes:
    """Three elements, each a bundle, and the watermark past the end of the window."""

    @pytest.mark.cases(1)
    @pytest.mark.parametrize(
        ("refinement", "values"), [("accumulate", [3.0, 10.0, 15.0]), ("discard", [3.0, 7.0, 5.0])]
    )
    @recipe(
        FLINK_AND_BEAM,
        "`AfterWatermark(early=AfterCount(n))`",
        "`AccumulationMode.ACCUMULATING`, `DISCARDING`",
        "the index and timing of a pane",
    )
    def test_early_panes_accumulate_or_discard_what_earlier_panes_had(
        self, streaming: StartsJob, refinement: str, values: list[float]
    ) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=ordered())
            emit = early(every_count(2), refinement=refinement)
            return stream.window(tumbling(60), emit=emit).aggregate(x=stats.sum("x"))

        running = streaming(job, READINGS)
        panes = [
            *running.feed(("a", 0, 1.0), ("a", 1, 2.0)),
            *running.feed(("a", 2, 3.0), ("a", 3, 4.0)),
            *running.feed(("a", 4, 5.0)),
            *running.advance(60),
        ]
        assert [pane["x"] for pane in panes] == values
        assert [(pane["timing"], pane["firing"]) for pane in panes] == [("early", 0), ("early", 1), ("final", 2)]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`GlobalWindows` with a trigger")
    def test_a_trigger_on_a_global_window_fires_with_every_second_element(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=ordered())
            return stream.window(global_windows(), emit=early(every_count(2))).aggregate(x=stats.sum("x"))

        # Repeatedly(AfterCount(2)), accumulating
        running = streaming(job, READINGS)
        assert [pane["x"] for pane in running.feed(("a", 0, 1.0), ("a", 1, 2.0))] == [3.0]
        assert running.feed(("a", 100, 4.0)) == []
        assert [pane["x"] for pane in running.feed(("a", 101, 8.0))] == [15.0]

    @pytest.mark.nightly
    @recipe(FLINK_AND_BEAM, "`AfterWatermark(late=...)`, `allowed_lateness=d`", "late elements are dropped")
    def test_a_late_element_within_the_allowed_lateness_replaces_the_pane(self, streaming: StartsJob) -> None:
        def job(rows: DataFrame) -> Query:
            stream = events(rows, key="k", at="at", watermark=ordered(), late_policy=correct(10))
            return stream.window(tumbling(60)).aggregate(x=stats.sum("x"))

        # The on-time pane 1.0, the late pane 3.0 in its place, and an element beyond 60 + 10 that Beam drops.
        running = streaming(job, READINGS)
        running.feed(("a", 0, 1.0))
        assert [(row["change"], row["x"]) for row in running.feed(*readings(60))] == [("insert", 1.0)]
        late_pane = [(row["change"], row["x"]) for row in running.feed(("a", 5, 2.0))]
        assert sorted(late_pane) == [("insert", 3.0), ("retract", 1.0)]
        running.feed(*readings(70))
        assert running.feed(("a", 6, 9.0)) == []
        assert len(running.late_rows) == 1
