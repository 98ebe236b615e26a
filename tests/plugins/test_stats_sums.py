"""Aggregates that add up: count, sum, average, variance, linear trend."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, isnan, nan
from statistics import variance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin_stats import Average, Count, LinearTrend, Point, Sum, Variance

FLOATS = st.floats(-1e100, 1e100)


def result(module: Any, payloads: Sequence[Any], removed: Sequence[Any] = ()) -> Any:
    state = module.add_events(module.create_state(), payloads)
    return module.compute_result(module.remove_events(state, removed) if removed else state)


def test_count_without_an_input_counts_every_event() -> None:
    assert result(Count(), [None, None, None]) == 3


def test_count_with_skip_nulls_counts_values_alone() -> None:
    assert result(Count(skip_nulls=True), [None, 0, "", nan, None]) == 3
    assert result(Count(skip_nulls=True), [None]) == 0


def test_a_sum_has_the_type_of_its_numbers() -> None:
    assert repr(result(Sum(), [1, None, 2])) == "3"
    assert repr(result(Sum(), [1.5, 2.5])) == "4.0"
    assert repr(result(Sum(), [Decimal("1.10"), None, Decimal("2.20")])) == "Decimal('3.30')"


def test_the_sum_of_nothing_but_nulls_is_null() -> None:
    assert result(Sum(), [None, None]) is None
    assert result(Sum(), [None, 4], removed=[4]) is None
    assert result(Sum(), [4.5], removed=[4.5]) is None


def test_a_sum_of_zeros_is_zero_and_not_null() -> None:
    assert repr(result(Sum(), [0.0])) == "0.0"
    assert repr(result(Sum(), [0])) == "0"


def test_one_beside_ten_quadrillions_is_not_forgotten() -> None:
    assert result(Sum(), [1e16, 1.0, -1e16]) == 1.0
    assert result(Sum(), [1e16, 1.0], removed=[1e16]) == 1.0
    assert result(Average(), [1e16, 1.0, 3.0], removed=[1e16]) == 2.0
    assert result(Sum(), [0.1] * 10) == 1.0


def test_ints_of_any_size_are_summed_exactly() -> None:
    assert result(Sum(), [10**30, 1, -(10**30)]) == 1
    assert result(Sum(), [2**63 - 1, 1]) == 2**63


def test_decimals_are_summed_beyond_the_precision_of_the_context() -> None:
    assert str(result(Sum(), [Decimal("1e40"), Decimal("1e-10")])) == f"1{40 * '0'}.0000000001"
    assert result(Sum(), [Decimal("1e40"), Decimal("1e-10")], removed=[Decimal("1e40")]) == Decimal("1e-10")


def test_ints_among_floats_are_summed_as_floats() -> None:
    assert repr(result(Sum(), [1, 2.5])) == "3.5"


def test_a_nan_makes_a_sum_nan_until_it_is_removed() -> None:
    assert isnan(result(Sum(), [1.0, nan]))
    assert result(Sum(), [1.0, nan], removed=[nan]) == 1.0
    assert isnan(result(Average(), [inf, -inf]))
    assert result(Average(), [inf, -inf, 3.0], removed=[-inf, inf]) == 3.0


def test_an_average_skips_nulls() -> None:
    assert result(Average(), [1.0, None, 4.0]) == 2.5
    assert result(Average(), [7.0]) == 7.0
    assert result(Average(), [None]) is None


def test_an_average_of_decimals_has_as_many_digits_as_spark_divides_with() -> None:
    prices = [Decimal("0.10"), None, Decimal("0.20"), Decimal("0.15")]
    assert result(Average(), prices) == Decimal("0.15")
    assert result(Average(), [Decimal(1), Decimal(0), Decimal(0)]) == Decimal("0." + 38 * "3")
    assert result(Average(), [Decimal(2), Decimal(0), Decimal(0)]) == Decimal("0." + 37 * "6" + "7")
    assert result(Average(), [Decimal("1e30"), *prices], removed=[Decimal("1e30")]) == Decimal("0.15")
    assert result(Average(), prices, removed=prices) is None
    assert repr(result(Average(), [Decimal("0.5"), 1.0])) == "0.75"


def test_an_average_of_huge_floats_does_not_overflow() -> None:
    assert result(Average(), [1.7e308, 1.7e308, 1.7e308]) == 1.7e308


def test_the_variance_of_numbers_far_from_zero_is_right() -> None:
    assert result(Variance(), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]) == 30.0
    assert result(Variance(ddof=0), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16]) == 22.5
    assert result(Variance(), [1e16, 4.0, 7.0, 13.0, 16.0], removed=[1e16]) == 30.0


@pytest.mark.parametrize(("ddof", "expected"), [(0, 0.0), (1, None), (2, None)])
def test_the_variance_of_one_number_is_null_unless_it_is_the_whole_population(
    ddof: int, expected: float | None
) -> None:
    assert result(Variance(ddof), [5.0, None]) == expected


def test_the_variance_of_equal_numbers_is_zero() -> None:
    assert result(Variance(), [0.1, 0.1, 0.1]) == 0.0


def test_an_infinity_makes_a_variance_nan_until_it_is_removed() -> None:
    assert isnan(result(Variance(), [1.0, 3.0, inf]))
    assert result(Variance(), [1.0, 3.0, inf], removed=[inf]) == 2.0


def test_a_variance_beyond_the_largest_float_is_infinite() -> None:
    assert result(Variance(), [1e200, -1e200]) == inf


@given(st.lists(FLOATS, min_size=2, max_size=5))
def test_a_variance_is_the_exact_one_rounded(values: list[float]) -> None:
    assert result(Variance(), values) == float(variance(map(Fraction, values)))


def test_a_trend_is_the_slope_of_the_line_through_points() -> None:
    assert result(LinearTrend(), [Point(0.0, 1.0), Point(2.0, 5.0)]) == 2.0
    assert result(LinearTrend(), [Point(0.0, 0.0), Point(1.0, 1.0), Point(2.0, 0.0)]) == 0.0


def test_a_trend_over_microseconds_of_today_is_right() -> None:
    today = 1_700_000_000_000_000.0
    assert result(LinearTrend(), [Point(today + at, 3.0 * at + 1) for at in range(5)]) == 3.0


@pytest.mark.parametrize(
    "points",
    [[None], [Point(1.0, 2.0)], [Point(1.0, 2.0), Point(1.0, 3.0)], [Point(1.0, 2.0), Point(2.0, None)]],
)
def test_a_trend_through_fewer_than_two_distinct_x_is_null(points: list[Point | None]) -> None:
    assert result(LinearTrend(), points) is None


def test_a_trend_is_nan_while_a_coordinate_is() -> None:
    points = [Point(0.0, 0.0), Point(2.0, 1.0), Point(nan, 0.0)]
    assert isnan(result(LinearTrend(), points))
    assert result(LinearTrend(), points, removed=points[2:]) == 0.5
