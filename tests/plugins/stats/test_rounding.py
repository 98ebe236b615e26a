"""How far the array forms that round may be from the exact results of their modules."""

from __future__ import annotations

from itertools import chain
from math import inf, isfinite, isnan, nan, sqrt
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muntin_stats import Average, LinearTrend, Point, Sum, Variance
from tests.plugins.forms import equal_results, form_of, result, results_at_once, tree_result

REPEATABLY = settings(max_examples=60)

NOT_FINITE = st.sampled_from([inf, -inf, nan])
MODEST = st.floats(-1e140, 1e140) | st.sampled_from([1e16, -1e16, 1e16 + 2, 1.0, 0.1, 1e9 + 4, 1e9 + 7])
"""Floats whose squares are floats."""

WIDE = st.floats(-1e290, 1e290) | st.sampled_from([1e16, -1e16, 1e16 + 2, 1.0, 0.1, 5e-324, 1e-200, 2e-200, 1e280])
"""Floats whose distances are floats with room to spare; their squares often are not."""

EIGHTHS = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)
"""Floats whose sums are exact."""

RANDOMS = st.randoms(use_true_random=False)
CLOSE = 1e-12
"""The relative error of twelve digits."""


def form_and_module_results(module: Any, annotation: Any, payloads: list[Any], random: Random) -> tuple[Any, Any]:
    """Return the result of the array form, merged in a random order, and the exact one of the module.

    Raises:
        AssertionError: They are not of one type.
    """
    rounded = tree_result(form_of(module, annotation), payloads, random)
    exact = result(module, payloads)
    assert type(rounded) is type(exact)
    return rounded, exact


@REPEATABLY
@given(st.lists(EIGHTHS, min_size=1, max_size=20), RANDOMS)
def test_sums_of_a_window_are_right_to_the_bit_beside_a_window_with_a_large_value(
    values: list[float], random: Random
) -> None:
    for module in (Sum[float](), Average()):
        form = form_of(module, float)
        expected = result(module, values)

        state = form.add_events(form.create_state(), values)
        assert equal_results(form.compute_result(form.combine(form.create_state(), state)), expected)
        assert equal_results(tree_result(form, values, random), expected)
        beside_large_value = results_at_once(form, [[1e16, *values], values])[1]
        assert beside_large_value == expected


@REPEATABLY
@given(st.lists(EIGHTHS, min_size=1, max_size=20))
def test_sums_with_a_large_value_and_its_opposite_are_right_to_the_bit(values: list[float]) -> None:
    for module in (Sum[float](), Average()):
        form = form_of(module, float)
        state = form.add_events(form.create_state(), values)
        state_with_large_values = form.add_events(form.create_state(), [1e16, *values, -1e16])

        merged = form.combine(state_with_large_values, state)

        assert form.compute_result(merged) == result(module, [1e16, *values, -1e16, *values])


@REPEATABLY
@given(st.lists(EIGHTHS | NOT_FINITE, min_size=1, max_size=6), RANDOMS)
def test_infinity_and_nan_decide_sums_and_averages(values: list[float], random: Random) -> None:
    assume(not all(map(isfinite, values)))
    for module in (Sum[float](), Average()):
        rounded, exact = form_and_module_results(module, float, values, random)
        assert equal_results(rounded, exact)


@REPEATABLY
@given(st.lists(MODEST | st.none(), max_size=12), st.integers(0, 2), RANDOMS)
def test_a_variance_is_right_to_twelve_digits(payloads: list[float | None], ddof: int, random: Random) -> None:
    rounded, exact = form_and_module_results(Variance(ddof), float, payloads, random)
    if exact is not None:
        assert rounded == pytest.approx(exact, rel=CLOSE, abs=1e-300)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("far", [0.0, 1e9, -1e9, 1e15])
def test_a_variance_far_from_zero_is_right(far: float, seed: int) -> None:
    values = [far + 4, far + 7, far + 13, far + 16]
    assert result(form_of(Variance(), float), values) == 30.0
    assert tree_result(form_of(Variance(), float), values, Random(seed)) == pytest.approx(30.0, rel=1e-15)


def test_a_variance_of_many_values_far_from_zero_is_right() -> None:
    random = Random(3)
    values = [1e12 + random.random() for _ in range(5000)]
    assert result(form_of(Variance(), float), values) == pytest.approx(result(Variance(), values), rel=1e-13)


def test_a_variance_of_equal_numbers_is_zero() -> None:
    assert result(form_of(Variance(), float), [0.1] * 7) == 0.0


@REPEATABLY
@given(st.lists(MODEST | NOT_FINITE, max_size=5), st.integers(0, 2), RANDOMS)
def test_infinity_and_nan_make_a_variance_nan_or_null(values: list[float], ddof: int, random: Random) -> None:
    assume(not all(map(isfinite, values)))
    rounded, exact = form_and_module_results(Variance(ddof), float, values, random)
    assert equal_results(rounded, exact)
    assert exact is None or isnan(exact)


@pytest.mark.parametrize("values", [[1e200, -1e200], [1.7e308, -1.7e308, 1.7e308, 1.0, -1.7e308, 3.0]])
def test_a_variance_beyond_the_largest_float_is_infinite(values: list[float]) -> None:
    for seed in range(20):
        assert tree_result(form_of(Variance(), float), values, Random(seed)) == inf


def test_the_variance_of_one_number_of_any_size_is_null_or_zero() -> None:
    assert result(form_of(Variance(), float), [1.7e308]) is None
    assert result(form_of(Variance(ddof=0), float), [1.7e308]) == 0.0


def slope_scale(points: list[Point[float, float]]) -> float:
    """Return the spread of y over that of x, which is what the error of a slope is relative to."""
    xs = [point.x for point in points if point.x is not None]
    ys = [point.y for point in points if point.y is not None]
    return sqrt(result(Variance(0), ys) / result(Variance(0), xs))


@REPEATABLY
@given(
    st.lists(st.tuples(EIGHTHS, EIGHTHS), min_size=1, max_size=12),
    st.sampled_from([0.0, 1e9, 1.7e15, -1e12]),
    st.sampled_from([0.0, 1e9, -1.7e15]),
    RANDOMS,
)
def test_a_trend_is_right_to_twelve_digits(
    pairs: list[tuple[float, float]], origin_x: float, origin_y: float, random: Random
) -> None:
    points = [Point(origin_x + right, origin_y + up) for right, up in pairs]
    rounded, exact = form_and_module_results(LinearTrend(), Point[float, float], points, random)
    if exact is not None:
        assert abs(rounded - exact) <= CLOSE * slope_scale(points)


@REPEATABLY
@given(st.lists(st.none() | st.builds(Point, EIGHTHS | st.none(), EIGHTHS | st.none()), max_size=6), RANDOMS)
def test_a_trend_skips_points_with_a_null(points: list[Point[float, float] | None], random: Random) -> None:
    rounded, exact = form_and_module_results(LinearTrend(), Point[float, float], points, random)
    if exact is not None:
        assert rounded == pytest.approx(exact, rel=1e-9, abs=1e-9)


@REPEATABLY
@given(st.lists(st.builds(Point, WIDE, WIDE), min_size=2, max_size=8), RANDOMS)
def test_a_trend_of_any_size_is_right_to_ten_digits(points: list[Point[float, float]], random: Random) -> None:
    xs = [point.x or 0.0 for point in points]
    ys = [point.y or 0.0 for point in points]
    rounded, exact = form_and_module_results(LinearTrend(), Point[float, float], points, random)
    if exact is not None:
        width = max(xs) - min(xs)
        height = max(ys) - min(ys)
        assume(width > 1e-290)
        assume(abs(exact) < inf)
        assert abs(rounded - exact) <= 1e-10 * max(height / width, abs(exact))


@REPEATABLY
@given(st.lists(st.builds(Point, EIGHTHS | NOT_FINITE, EIGHTHS | NOT_FINITE), min_size=1, max_size=4), RANDOMS)
def test_infinity_and_nan_make_a_trend_nan(points: list[Point[float, float]], random: Random) -> None:
    coordinates = [coordinate or 0.0 for coordinate in chain.from_iterable(points)]  # none is None, as the type allows
    assume(not all(map(isfinite, coordinates)))
    rounded, exact = form_and_module_results(LinearTrend(), Point[float, float], points, random)
    assert isnan(rounded)
    assert isnan(exact)


@pytest.mark.parametrize(
    "points",
    [
        [Point(0.0, nan)],
        [Point(0.0, inf)],
        [Point(inf, 0.0)],
        [Point(nan, 0.0), Point(1.0, 0.0)],
        [Point(1.0, 2.0), Point(1.0, nan)],
    ],
)
def test_a_trend_through_one_x_is_nan_rather_than_null_where_a_coordinate_is(points: list[Point[float, float]]) -> None:
    form = form_of(LinearTrend(), Point[float, float])
    assert isnan(result(LinearTrend(), points))
    assert isnan(result(form, points))
    assert isnan(results_at_once(form, [points])[0])
