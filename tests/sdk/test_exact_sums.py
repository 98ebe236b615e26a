"""Exact sums as fractions."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin.columnar.exact import added, exact_sum, exact_sums, nearest

FLOATS = st.lists(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e308, -1e308, 1e16, 1.0, -1e16, 5e-324, 0.1, -0.0, 2.0**-1022]),
    max_size=8,
)


@given(FLOATS, FLOATS)
def test_a_sum_is_that_of_fractions(some: list[float], others: list[float]) -> None:
    first, second = exact_sum(np.array(some)), exact_sum(np.array(others))
    assert first == sum(map(Fraction, some))
    assert added(first, second) == sum(map(Fraction, [*some, *others]))


@pytest.mark.parametrize(("values", "expected"), [([inf, 1.0], inf), ([-inf, inf], nan), ([nan, inf], nan)])
def test_what_is_not_finite_decides(values: list[float], expected: float) -> None:
    assert repr(nearest(exact_sum(np.array(values)))) == repr(expected)
    assert repr(nearest(added(values[0], exact_sum(np.array(values[1:]))))) == repr(expected)


def test_a_sum_beyond_the_largest_float_is_infinite() -> None:
    assert nearest(exact_sum(np.array([-1.7e308, -1.7e308]))) == -inf


def test_vectors_are_summed_place_by_place() -> None:
    rows = np.array([[[1e16, 0.5]], [[1.0, 0.25]], [[-1e16, 3.0]]])
    assert exact_sums(rows) == [[1, Fraction(15, 4)]]
