"""Bars and verdicts."""

from __future__ import annotations

import pytest

from benchmarks.bars import Growth, Measure, Rate, Times
from benchmarks.question import Question
from benchmarks.windows import Hopping
from tests.benchmarks.build import QUESTION, summary_of

FAST = summary_of(4, 1, 1)
SLOW = summary_of(9, 3, 3)


@pytest.mark.parametrize(("at_least", "is_met"), [(2.5, True), (2.6, False)])
def test_end_to_end_compares_rates(at_least: float, is_met: bool) -> None:
    bar = Times("a", "b", Measure.END_TO_END, at_least)
    verdict = bar.judge({("a", QUESTION): FAST, ("b", QUESTION): SLOW})
    assert verdict.measured == pytest.approx(2.5)
    assert verdict.is_met is is_met


def test_warm_batches_are_compared_by_their_seconds() -> None:
    verdict = Times("a", "b", Measure.WARM_BATCH, 3).judge({("a", QUESTION): FAST, ("b", QUESTION): SLOW})
    assert (verdict.bar, verdict.measured, verdict.is_met) == ("a >= 3 x b per warm batch", 3, True)


def test_a_bar_without_figures_is_neither_met_nor_missed() -> None:
    for bar in (Times("a", "b", Measure.END_TO_END, 1), Growth("a", Measure.WARM_BATCH, 2), Rate("b", 5)):
        verdict = bar.judge({("a", QUESTION): FAST})
        assert (verdict.measured, verdict.is_met) == (None, None)
    assert (
        Times("a", "b", Measure.WARM_BATCH, 1).judge({("a", QUESTION): summary_of(4), ("b", QUESTION): SLOW}).is_met
        is None
    )


@pytest.mark.parametrize(("last", "is_met"), [(1.4, True), (1.6, False)])
def test_growth_is_the_worst_window_over_the_first(last: float, is_met: bool) -> None:
    questions = [Question("average", Hopping(600, hop)) for hop in (600, 60, 1)]
    times = (1.0, 0.5, last)
    figures = {("a", question): summary_of(5, time) for question, time in zip(questions, times, strict=True)}
    verdict = Growth("a", Measure.WARM_BATCH, 1.5).judge(figures)
    assert (verdict.measured, verdict.is_met) == (last, is_met)


def test_state_written_is_counted_per_slice_that_outlives_the_batch() -> None:
    short, long = Question("average", Hopping(10, 10)), Question("average", Hopping(6000, 10))
    assert Measure.WRITTEN.of(short, FAST) == 25
    assert Measure.WRITTEN.of(long, FAST) == 0.5


def test_a_rate_is_rows_per_second() -> None:
    verdict = Rate("a", 500).judge({("a", QUESTION): FAST})
    assert (verdict.bar, verdict.measured, verdict.is_met) == ("a >= 500 rows/s", 500, True)


def test_processor_time_is_compared_by_rows() -> None:
    busy, idle = summary_of(4, 1, 1, cpu_seconds=6.0), summary_of(9, 3, cpu_seconds=2.0)
    verdict = Times("a", "b", Measure.PROCESSOR, 1).judge({("a", QUESTION): idle, ("b", QUESTION): busy})
    assert (verdict.measured, verdict.is_met) == (2, True)
    assert Times("a", "b", Measure.PROCESSOR, 1).judge({("a", QUESTION): FAST, ("b", QUESTION): busy}).is_met is None
