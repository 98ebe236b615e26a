"""Exact sums against fractions, which are slow and right."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from sys import float_info

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin_stats.exact import expand, nearest, whole
from muntin_stats.total import Total

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
"""Any finite ones, from the smallest to the largest."""

FEW = st.lists(FLOATS, max_size=6)


def exact(values: list[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


@given(FEW)
def test_an_expansion_has_the_exact_sum(values: list[float]) -> None:
    assert exact(expand(values)) == exact(values)


@given(FEW)
def test_an_expansion_does_not_depend_on_the_order(values: list[float]) -> None:
    assert expand(values) == expand(values[::-1]) == expand(sorted(values))


@given(FEW, FEW)
def test_what_is_added_and_taken_out_leaves_no_trace(kept: list[float], gone: list[float]) -> None:
    assert Total.of(kept) + Total.of(gone) - Total.of(gone) == Total.of(kept)


@given(FEW, st.integers(1, 2**70))
def test_a_quotient_is_rounded_once(values: list[float], divisor: int) -> None:
    quotient = exact(values) / divisor
    assert Total.of(values).over(divisor) == nearest(quotient.numerator, quotient.denominator)


@given(FEW)
def test_integers_over_a_power_of_two_are_the_values(values: list[float]) -> None:
    integers, scale = whole(values)
    assert [Fraction(integer, 2**scale) for integer in integers] == list(map(Fraction, values))


def test_the_largest_and_the_smallest_float_are_in_one_sum() -> None:
    assert expand([float_info.max, 5e-324]) == [float_info.max, 5e-324]
    assert expand([5e-324, float_info.max, -float_info.max]) == [5e-324]


def test_a_sum_beyond_the_largest_float_is_infinite_until_it_comes_back() -> None:
    twice = Total.of([1.7e308, 1.7e308])
    assert twice.rounded == inf
    assert twice.over(2) == 1.7e308
    assert (twice - Total.of([1.7e308])).rounded == 1.7e308


def test_zero_has_an_empty_expansion() -> None:
    assert expand([]) == expand([0.0, -0.0]) == expand([2.5, -2.5]) == []
    assert Total().rounded == 0.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [([inf, 1.0], inf), ([-inf, inf], nan), ([nan, inf], nan), ([-inf, -inf], -inf)],
)
def test_what_is_not_finite_decides_the_sum_while_it_is_there(values: list[float], expected: float) -> None:
    total = Total.of([2.5]) + Total.of(values)
    assert str(total.rounded) == str(expected)
    assert (total - Total.of(values)).rounded == 2.5


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_only_finite_values_are_integers_over_a_power_of_two(value: float) -> None:
    with pytest.raises((OverflowError, ValueError)):
        whole([1.0, value])


def test_the_nearest_float_to_a_negative_ratio_too_large_is_minus_infinity() -> None:
    assert nearest(10**400, -3) == nearest(-(10**400), 3) == -inf
    assert nearest(-(10**400), -3) == inf
