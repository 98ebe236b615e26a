"""Exact sums on arrays, against fractions, which are slow and right."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import Component
from muntin.errors import ModuleDefinitionError
from muntin_engine.wire.sums import Sums

FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [1e308, -1e308, 1.7e308, 1e16, 1.0, -1e16, 5e-324, 0.1, -0.0, 2.0**970, 2.0**800, -(2.0**-1022)]
)
LISTS_OF_FLOATS = st.lists(FLOATS, min_size=1, max_size=8)
COUNTS = st.integers(1, 50) | st.sampled_from([2**20, 2**40 + 1, 2**53 - 1])

# Floats are compared by their `repr`: it tells 0.0 from -0.0, and NaN is like NaN.


def exact_sum(values: list[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def reference_quotient(values: list[float], divisor: int = 1) -> float:
    """Return the exact sum, divided and rounded once, as IEEE 754 has it where a value is infinite or NaN."""
    non_finite = {repr(value) for value in values if not isfinite(value)}
    if non_finite == {"inf"}:
        return inf
    if non_finite == {"-inf"}:
        return -inf
    if non_finite:
        return nan
    quotient = exact_sum(values) / divisor
    try:
        return float(quotient) + 0.0  # turns the -0.0 of a tiny negative quotient into 0.0
    except OverflowError:
        return inf if quotient > 0 else -inf


def total_of(values: list[float]) -> Sums:
    """Return a table of one sum: that of all values, added one by one from the last to the first."""
    sums = Sums.of(np.array(values))
    return sums.on_grid(len(sums)).each(lambda lane: np.cumsum(lane[::-1])[-1:])


@settings(max_examples=100)
@given(LISTS_OF_FLOATS, COUNTS)
def test_a_sum_and_a_mean_are_the_exact_ones_rounded(values: list[float], count: int) -> None:
    total = total_of(values)
    (rounded,) = total.rounded().tolist()
    (mean,) = total.over(np.array([count])).tolist()
    assert repr(rounded) == repr(reference_quotient(values))
    assert repr(mean) == repr(reference_quotient(values, count))


@given(LISTS_OF_FLOATS, LISTS_OF_FLOATS, LISTS_OF_FLOATS)
def test_the_sum_of_a_range_is_the_difference_of_two_running_totals(
    before: list[float], values: list[float], after: list[float]
) -> None:
    sums = Sums.of(np.array([*before, *values, *after]))
    totals = sums.on_grid(len(sums)).each(lambda lane: np.cumsum(np.concatenate([[0.0], lane])))

    start = len(before)
    stop = len(before) + len(values)
    difference = totals.each(lambda total: total[stop : stop + 1] - total[start : start + 1])
    (rounded,) = difference.rounded().tolist()
    assert repr(rounded) == repr(reference_quotient(values))


@given(st.lists(LISTS_OF_FLOATS, min_size=1, max_size=4))
def test_sums_become_exact_fractions_and_back(groups: list[list[float]]) -> None:
    sums = Sums.concat([total_of(group) for group in groups])
    fractions = sums.plain()
    assert fractions == [exact_sum(group) for group in groups]

    sums_again = Sums.from_plain(fractions)
    assert sums_again.plain() == fractions
    rounded = sums_again.rounded().tolist()
    assert list(map(repr, rounded)) == [repr(reference_quotient(group)) for group in groups]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([inf, 1.0], inf),
        ([-inf, inf], nan),
        ([nan, inf], nan),
        ([-inf, -inf, 1e308], -inf),
        ([1.0, -nan], nan),
    ],
)
def test_infinity_or_nan_is_the_sum_and_stays_it_as_plain_data(values: list[float], expected: float) -> None:
    total = total_of(values)
    (rounded,) = total.rounded().tolist()
    assert repr(rounded) == repr(expected)

    (half,) = Sums.from_plain(total.plain()).over(np.array([2])).tolist()
    assert repr(half) == repr(expected)


def test_tables_of_small_huge_and_infinite_sums_are_joined_in_their_order() -> None:
    small = Sums.of(np.array([1.0, 2.0]))
    infinite = Sums.of(np.array([1e308, inf]))
    huge = Sums.of(np.array([1e300, -1.5]))

    joined = Sums.concat([small, infinite, huge])
    assert len(joined) == 6
    assert joined.rounded().tolist() == [1.0, 2.0, 1e308, inf, 1e300, -1.5]
    assert joined.take(slice(1, 3)).rounded().tolist() == [2.0, 1e308]
    assert joined.take(np.array([5, 0])).rounded().tolist() == [-1.5, 1.0]


def test_vectors_are_summed_component_by_component() -> None:
    rows = np.array([[1e16, 0.1], [1.0, 0.2], [-1e16, 0.3]])
    sums = Sums.of(rows).on_grid(3).each(lambda lane: lane.sum(axis=0, keepdims=True))

    second_column = [0.1, 0.2, 0.3]
    assert sums.rounded().tolist() == [[1.0, reference_quotient(second_column)]]
    assert sums.over(np.array([3])).tolist() == [[1 / 3, reference_quotient(second_column, 3)]]
    assert Sums.from_plain(sums.plain(), shape=(2,)).plain() == sums.plain()


def test_a_plain_number_is_a_sum_too() -> None:
    assert Sums.from_plain([1, 0.5, Fraction(1, 3)]).rounded().tolist() == [1.0, 0.5, 1 / 3]


def test_a_table_without_sums_stays_empty() -> None:
    empty = Sums.of(np.empty(0))
    assert len(empty) == 0
    assert empty.rounded().tolist() == []
    assert len(empty.on_grid(0)) == 0


def test_negative_zeros_add_up_to_zero_without_a_sign() -> None:
    assert repr(total_of([-0.0, -0.0]).rounded().tolist()) == "[0.0]"


def test_sums_and_means_of_floats_are_exact() -> None:
    assert Component.mean().is_exact
    assert Component.sum("float32").is_exact
    assert not Component.sum("int64").is_exact


def test_integers_have_no_mean() -> None:
    with pytest.raises(ModuleDefinitionError, match="MEAN does not merge values of type int64"):
        Component.mean("int64")
