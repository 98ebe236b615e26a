"""Exact sums on arrays, against fractions, which are slow and right."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite, nan
from typing import Any

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
SOME = st.lists(FLOATS, min_size=1, max_size=8)
COUNTS = st.integers(1, 50) | st.sampled_from([2**20, 2**40 + 1, 2**53 - 1])


def quotient(values: list[float], divisor: int = 1) -> float:
    odd = {repr(value) for value in values if not isfinite(value)}
    if odd:
        return float(odd.pop()) if len(odd) == 1 else nan
    exact = sum(map(Fraction, values), Fraction(0)) / divisor
    try:
        return float(exact) + 0.0
    except OverflowError:
        return inf if exact > 0 else -inf


def added(sums: Sums) -> Sums:
    """Return the sum of all, added one by one from the last to the first."""
    return sums.on_grid(len(sums)).each(lambda lane: np.cumsum(lane[::-1])[-1:])


@settings(max_examples=100)
@given(SOME, COUNTS)
def test_a_sum_and_a_mean_are_the_exact_ones_rounded(values: list[float], count: int) -> None:
    sums = added(Sums.of(np.array(values)))
    assert repr(float(sums.rounded()[0])) == repr(quotient(values))
    assert repr(float(sums.over(np.array([count]))[0])) == repr(quotient(values, count))


@given(SOME, SOME, SOME)
def test_what_is_taken_back_leaves_no_trace(first: list[float], second: list[float], third: list[float]) -> None:
    values = Sums.of(np.array([*first, *second, *third]))
    totals = values.on_grid(len(values)).each(lambda lane: np.cumsum(np.concatenate([[0.0], lane])))
    start = len(first)
    stop = len(first) + len(second)
    within = totals.each(lambda total: total[stop : stop + 1] - total[start : start + 1])
    assert repr(float(within.rounded()[0])) == repr(quotient(second))


@given(st.lists(SOME, min_size=1, max_size=4))
def test_sums_become_plain_data_and_back(groups: list[list[float]]) -> None:
    sums = Sums.concat([added(Sums.of(np.array(group))) for group in groups])
    assert sums.plain() == [sum(map(Fraction, group), Fraction(0)) for group in groups]
    assert Sums.from_plain(sums.plain()).plain() == sums.plain()
    assert [repr(value) for value in Sums.from_plain(sums.plain()).rounded().tolist()] == [
        repr(quotient(group)) for group in groups
    ]


@pytest.mark.parametrize("values", [[inf, 1.0], [-inf, inf], [nan, inf], [-inf, -inf, 1e308], [1.0, -nan]])
def test_what_is_not_finite_decides(values: list[float]) -> None:
    sums = added(Sums.of(np.array(values)))
    assert repr(float(sums.rounded()[0])) == repr(quotient(values))
    (back,) = Sums.from_plain(sums.plain()).over(np.array([2])).tolist()
    assert repr(back) == repr(quotient(values))


def test_groups_of_all_sizes_are_summed_apart_and_side_by_side() -> None:
    tables = [Sums.of(np.array([1.0, 2.0])), Sums.of(np.array([1e308, inf])), Sums.of(np.array([1e300, -1.5]))]
    together = Sums.concat(tables)
    assert len(together) == 6
    assert together.rounded().tolist() == [1.0, 2.0, 1e308, inf, 1e300, -1.5]
    assert together.take(slice(1, 3)).rounded().tolist() == [2.0, 1e308]
    assert together.take(np.array([5, 0])).rounded().tolist() == [-1.5, 1.0]


def test_vectors_are_summed_place_by_place() -> None:
    rows = np.array([[1e16, 0.1], [1.0, 0.2], [-1e16, 0.3]])
    sums = Sums.of(rows).on_grid(3).each(lambda lane: lane.sum(axis=0, keepdims=True))
    assert sums.rounded().tolist() == [[1.0, quotient([0.1, 0.2, 0.3])]]
    assert sums.over(np.array([3])).tolist() == [[quotient([1.0], 3), quotient([0.1, 0.2, 0.3], 3)]]
    assert Sums.from_plain(sums.plain(), (2,)).plain() == sums.plain()


def test_a_plain_number_is_a_sum_too() -> None:
    assert Sums.from_plain([1, 0.5, Fraction(1, 3)]).rounded().tolist() == [1.0, 0.5, 1 / 3]


def test_nothing_has_the_sum_zero() -> None:
    empty: Any = Sums.of(np.empty(0))
    assert (len(empty), empty.rounded().tolist(), len(empty.on_grid(0))) == (0, [], 0)
    assert repr(added(Sums.of(np.array([-0.0, -0.0]))).rounded().tolist()) == "[0.0]"


def test_only_floats_have_a_mean() -> None:
    assert Component.mean().is_exact
    assert Component.sum("float32").is_exact
    assert not Component.sum("int64").is_exact
    with pytest.raises(ModuleDefinitionError, match="MEAN does not merge values of type int64"):
        Component.mean("int64")
