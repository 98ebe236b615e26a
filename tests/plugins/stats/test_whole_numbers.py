"""Statistics of whole numbers beyond 2**53 and of decimals: exact, by integers, in every form.

The oracle is `statistics` of the standard library on fractions, and definitions written out on fractions.
"""

from __future__ import annotations

import statistics
from decimal import Decimal
from fractions import Fraction
from math import inf, isnan, isqrt, nan
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import ClipPolicy, Event, Window
from muntin_stats import (
    Average,
    AverageDifference,
    Correlation,
    Covariance,
    ExponentiallyWeightedAverage,
    Histogram,
    Left,
    LinearTrend,
    Median,
    Point,
    Quantile,
    Right,
    StandardDeviation,
    Sum,
    TimeWeightedAverage,
    Variance,
)
from tests.plugins.forms import form_of, result, results_at_once, tree_result

REPEATABLY = settings(max_examples=40)

LEAST = -(2**63)
MOST = 2**63 - 1
NOW = 1_700_000_000_000_000_001
"""Nanoseconds since 1970: floats near it are 256 apart."""

TIMES = [NOW, NOW + 10, NOW + 20, NOW + 30]
INTEGERS = st.integers(LEAST, MOST) | st.sampled_from([LEAST, MOST, *TIMES, 0, 1, -1, 3]) | st.integers(-1000, 1000)
PLACES = st.decimals(-(10**12), 10**12, places=6) | st.sampled_from([Decimal(LEAST), Decimal(MOST), Decimal("0.1")])


def root(square: Fraction) -> float:
    """Return the square root, by a root of integers with far more digits than a float has."""
    scale = 1 << 400
    return float(Fraction(isqrt(square.numerator * scale * scale // square.denominator), scale))


def slope(points: list[tuple[Any, Any]]) -> float:
    """Return the slope of the line of least squares, on fractions."""
    xs = [Fraction(x) for x, _ in points]
    ys = [Fraction(y) for _, y in points]
    x_mean = sum(xs) / len(xs)
    y_mean = sum(ys) / len(ys)
    rise = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return float(rise / sum((x - x_mean) ** 2 for x in xs))


AT_THE_ENDS = [
    # module, payloads, result
    (Average(), [MOST, LEAST], -0.5),
    (Average(), [MOST, MOST - 1, LEAST, LEAST + 1], -0.5),
    (Median(), [MOST, LEAST], -0.5),
    (Median(), [NOW - 1, -NOW], -0.5),
    (Quantile(0.5), [2**53 + 1, -(2**53)], 0.5),
    (Quantile(0.25), [LEAST, -1, MOST], -(2.0**62)),
    (Variance(), TIMES, 500 / 3),
    (Variance(ddof=0), TIMES, 125.0),
    (Variance(ddof=0), [MOST, MOST - 1], 0.25),
    (StandardDeviation(ddof=0), [NOW, NOW + 2], 1.0),
    (StandardDeviation(), TIMES, root(Fraction(500, 3))),
]
"""Modules, whole numbers, and the right result, worked out by hand."""


@pytest.mark.parametrize(("module", "values", "expected"), AT_THE_ENDS)
def test_whole_numbers_keep_all_their_digits(module: Any, values: list[int], expected: float) -> None:
    form = form_of(module, int)
    decimals = [Decimal(value) for value in values]
    another_window = [7, 9]

    assert result(module, values) == expected
    assert result(module, decimals) == pytest.approx(expected, rel=1e-15)
    assert result(form, values) == expected
    assert results_at_once(form, [values, another_window])[0] == expected
    for seed in range(5):
        assert tree_result(module, values, Random(seed)) == expected
        assert tree_result(form, values, Random(seed)) == expected


def test_whole_numbers_that_leave_a_window_leave_nothing_behind() -> None:
    modules: list[Any] = [Average(), Variance(), StandardDeviation(), Median()]
    for module in modules:
        state = module.add_events(module.create_state(), [LEAST, MOST, *TIMES])
        state = module.remove_events(state, [LEAST, MOST])
        assert module.compute_result(state) == result(module, TIMES)


@REPEATABLY
@given(st.lists(INTEGERS, min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_whole_numbers_are_rounded_once(values: list[int], random: Random) -> None:
    fractions = [Fraction(value) for value in values]
    variance = statistics.variance(fractions)
    expected = {
        Average(): float(statistics.mean(fractions)),
        Variance(): float(variance),
        StandardDeviation(): root(variance),
    }
    for module, value in expected.items():
        assert result(module, values) == value
        assert tree_result(form_of(module, int), values, random) == value


@REPEATABLY
@given(st.lists(PLACES, min_size=2, max_size=8))
def test_decimals_are_rounded_once(values: list[Decimal]) -> None:
    fractions = [Fraction(value) for value in values]
    assert result(Variance(), values) == float(statistics.variance(fractions))
    assert result(StandardDeviation(), values) == root(statistics.variance(fractions))
    assert result(Median(), values) == float(statistics.median(fractions))


@REPEATABLY
@given(st.lists(INTEGERS, min_size=1, max_size=12), st.sampled_from([0, 0.1, 0.25, 0.5, 0.9, 1]))
def test_a_quantile_of_whole_numbers_lies_linearly_between_two_of_them(values: list[int], q: float) -> None:
    quantile = result(Quantile(q), values)
    assert result(form_of(Quantile(q), int), values) == quantile

    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    rank = int(position)
    low = ordered[rank]
    high = ordered[min(rank + 1, len(ordered) - 1)]
    expected = low + (high - low) * Fraction(position - rank)
    assert quantile == pytest.approx(float(expected), rel=1e-15)
    if max(abs(low), abs(high)) > 2**53:
        assert quantile == float(expected)


@REPEATABLY
@given(st.lists(st.tuples(INTEGERS, INTEGERS), min_size=2, max_size=10, unique_by=lambda pair: pair[0]))
def test_a_trend_of_whole_numbers_is_rounded_once(pairs: list[tuple[int, int]]) -> None:
    points = [Point(x, y) for x, y in pairs]
    assert result(LinearTrend(), points) == slope(pairs)
    assert result(form_of(LinearTrend(), Point[int, int]), points) == slope(pairs)


@pytest.mark.parametrize("seed", range(5))
def test_a_trend_over_nanoseconds_keeps_the_digits_of_its_times(seed: int) -> None:
    of_integers = [Point(x, 3 * (x - NOW) + 7) for x in TIMES]
    of_floats = [Point(x, 1.5 * (x - NOW) + 0.25) for x in TIMES]
    of_decimals = [Point(x, Decimal("0.1") * (x - NOW)) for x in TIMES]

    assert result(LinearTrend(), of_integers) == 3.0
    assert result(LinearTrend(), of_floats) == 1.5
    assert result(LinearTrend(), of_decimals) == 0.1

    form_of_integers = form_of(LinearTrend(), Point[int, int])
    form_of_floats = form_of(LinearTrend(), Point[int, float])
    assert tree_result(form_of_integers, of_integers, Random(seed)) == 3.0
    assert tree_result(form_of_floats, of_floats, Random(seed)) == pytest.approx(1.5, rel=1e-14)


def test_a_trend_of_numbers_of_any_type_has_no_array_form() -> None:
    assert LinearTrend().columnar_form(LinearTrend.input_field()) is None


@pytest.mark.parametrize(
    ("module", "expected"), [(Covariance(), -2 * 500 / 3), (Correlation(), -1.0)], ids=["covariance", "correlation"]
)
def test_pairs_on_a_falling_line_over_nanoseconds_keep_the_digits_of_their_times(module: Any, expected: float) -> None:
    of_integers = [Point(x, -2 * (x - NOW) + MOST - 100) for x in TIMES]
    of_floats = [Point(x, -2.0 * (x - NOW)) for x in TIMES]

    assert result(module, of_integers) == expected
    assert result(module, of_floats) == expected

    form_of_integers = form_of(module, Point[int, int])
    form_of_floats = form_of(module, Point[int, float])
    assert result(form_of_integers, of_integers) == expected
    for seed in range(5):
        assert tree_result(form_of_integers, of_integers, Random(seed)) == expected
    assert tree_result(form_of_floats, of_floats, Random(1)) == pytest.approx(expected, rel=1e-14)


@REPEATABLY
@given(st.lists(st.tuples(INTEGERS, INTEGERS), max_size=10), st.randoms(use_true_random=False))
def test_pairs_of_whole_numbers_are_on_arrays_what_they_are_one_by_one(
    pairs: list[tuple[int, int]], random: Random
) -> None:
    points = [Point(x, y) for x, y in pairs]
    for module in (LinearTrend(), Covariance(), Covariance(ddof=0), Correlation()):
        assert tree_result(form_of(module, Point[int, int]), points, random) == result(module, points)


def test_an_average_over_time_of_whole_numbers_is_exact() -> None:
    window = Window(0, 10)
    average = TimeWeightedAverage()
    events = [Event(0, 5, MOST), Event(5, 10, LEAST)]

    state = average.add_events(average.create_state(window), events, window)

    assert average.compute_result(state, window) == -0.5


def test_an_average_over_time_needs_clipped_lifetimes_and_over_a_snapshot_it_is_the_sum() -> None:
    average = TimeWeightedAverage()
    assert average.accepted_clips == {ClipPolicy.FULL}
    assert result(form_of(average, int), [MOST, LEAST]) == -1.0


def test_a_whole_number_weighs_half_as_much_a_half_life_earlier() -> None:
    events = [Event(0, 1, LEAST), Event(5, 6, MOST)]
    expected = Fraction(2 * MOST + LEAST, 3)
    assert ExponentiallyWeightedAverage(half_life=5).compute_result(events, Window(0, 10)) == float(expected)


def test_a_whole_number_weighs_half_as_much_a_place_earlier() -> None:
    events = [Event(0, 1, -MOST), Event(5, 6, MOST - 1), Event(6, 7, 2)]
    expected = (Fraction(-MOST, 4) + Fraction(MOST - 1, 2) + 2) / Fraction(7, 4)
    assert ExponentiallyWeightedAverage(alpha=0.5).compute_result(events, Window(0, 10)) == float(expected)


def test_the_difference_of_two_averages_of_whole_numbers_is_exact() -> None:
    difference = AverageDifference()
    assert result(difference, [Left(MOST), Right(MOST - 1)]) == 1.0
    assert result(difference, [Left(Decimal("0.3")), Right(Decimal("0.1"))]) == 0.2
    assert result(difference, [Left(2**53 + 1), Right(float(2**53))]) == 1.0


def test_a_histogram_compares_whole_numbers_with_its_limits() -> None:
    histogram = Histogram([2**53 + 1])
    assert result(histogram, [2**53, 2**53 + 1, 2**53 + 2]) == [1, 2]


def test_whole_numbers_among_floats_are_summed_exactly() -> None:
    assert result(Sum(), [2**53 + 1, -(2.0**53)]) == 1.0
    assert result(Average(), [2**53 + 1, -(2.0**53)]) == 0.5
    assert result(Sum(), [10**400, 1.0]) == float("inf")
    assert result(Sum(), [10**400, -(10**400), 1.0]) == 1.0


def test_a_quantile_beyond_the_largest_float_is_infinite_as_an_average_is() -> None:
    for module in (Median(), Quantile(0.5), Average()):
        assert result(module, [10**400]) == inf
        assert result(module, [-(10**400), 1]) == -inf
        assert result(module, [10**400, 2 - 10**400]) == 1.0
    assert result(Quantile(0), [-(10**400), 1]) == -inf
    assert result(Quantile(1), [1.5, 10**400]) == inf


@pytest.mark.parametrize("whole_number", [2**60 + 1, 10**400], ids=["2**60 + 1", "10**400"])
def test_a_large_whole_number_beside_an_infinity_or_nan_has_a_quantile(whole_number: int) -> None:
    assert result(Quantile(0.5), [whole_number, inf]) == inf
    assert result(Quantile(0.5), [-inf, whole_number]) == -inf
    assert isnan(result(Quantile(0.5), [whole_number, nan]))
