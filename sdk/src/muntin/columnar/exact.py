"""Exact sums of floats as fractions, which are rounded only when a result is made of them."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite
from typing import Any, Final, TypeAlias

import numpy as np

from muntin.columnar.arrays import FloatArray

ExactSum: TypeAlias = Fraction | float
"""The sum of floats: a fraction, or a float if it is not finite."""

_MOST: Final = 2**26
"""The largest number of 27-bit halves whose sum is a whole number up to 2**53, so that a float holds it exactly."""


def exact_sum(values: FloatArray) -> ExactSum:
    """Return the sum of the floats of an array with one axis.

    Example:
        >>> exact_sum(np.array([1e16, 1.0, -1e16])), exact_sum(np.array([1.0, np.inf]))
        (Fraction(1, 1), inf)
    """
    if len(values) > _MOST:
        # The sums of halves below are exact only for so many values.
        return added(exact_sum(values[:_MOST]), exact_sum(values[_MOST:]))
    is_finite = np.isfinite(values)
    if not is_finite.all():
        with np.errstate(invalid="ignore"):  # the sum of infinities of both signs is NaN
            return float(values[~is_finite].sum())

    # A float is a whole number of 53 bits, its mantissa, times a power of two. The mantissas of one power are added up
    # in two halves of at most 27 bits, because `bincount` adds in floats: so each sum stays exact.
    fractions, exponents = np.frexp(values.astype(np.float64))
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    least_exponent = int(exponents.min(initial=0))
    powers = exponents - least_exponent
    upper_sums = np.bincount(powers, mantissas >> 26).tolist()
    lower_sums = np.bincount(powers, mantissas & (2**26 - 1)).tolist()

    # Add up the sums of all powers as one whole number, in units of the smallest power.
    total = 0
    for power, (upper, lower) in enumerate(zip(upper_sums, lower_sums, strict=True)):
        mantissa_sum = (int(upper) << 26) + int(lower)
        total += mantissa_sum << power
    return total * Fraction(2) ** (least_exponent - 53)


def exact_sums(values: FloatArray) -> Any:
    """Return the exact sums along the first axis: a single one, or nested lists of them if there are other axes."""
    columns = values.reshape(len(values), -1).T
    sums = np.fromiter(map(exact_sum, columns), object, len(columns))
    return sums.reshape(values.shape[1:]).tolist()


def added(first: ExactSum, second: ExactSum) -> ExactSum:
    """Return the exact sum of two sums, or of plain numbers."""
    not_finite = [value for value in (first, second) if isinstance(value, float) and not isfinite(value)]
    if not_finite:
        return sum(not_finite)  # a fraction does not change an infinity or NaN
    return Fraction(first) + Fraction(second)


def nearest(exact: ExactSum) -> float:
    """Return the float nearest to a sum; infinite if the sum is beyond the largest float. A zero has no sign."""
    try:
        return float(exact) + 0.0  # which makes 0.0 of -0.0
    except OverflowError:
        return inf if exact > 0 else -inf
