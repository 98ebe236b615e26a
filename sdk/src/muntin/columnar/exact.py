"""Exact sums of floats as fractions, rounded once where a result is made of them."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite
from typing import Any, Final, TypeAlias

import numpy as np

from muntin.columnar.arrays import FloatArray

ExactSum: TypeAlias = Fraction | float
"""The sum of floats: a fraction, or a float where it is not finite."""

_MOST: Final = 2**26
"""The largest number of 27-bit halves whose sum is a whole number below 2**53, so that a float holds it."""


def exact_sum(values: FloatArray) -> ExactSum:
    """Return the sum of the floats of an array with one axis.

    Example:
        >>> exact_sum(np.array([1e16, 1.0, -1e16])), exact_sum(np.array([1.0, np.inf]))
        (Fraction(1, 1), inf)
    """
    if len(values) > _MOST:
        # Of more values a sum of halves might lose a bit.
        return added(exact_sum(values[:_MOST]), exact_sum(values[_MOST:]))
    is_finite = np.isfinite(values)
    if not is_finite.all():
        with np.errstate(invalid="ignore"):  # infinities of both signs are NaN
            return float(values[~is_finite].sum())

    # A float is a whole number of 53 bits times a power of two. Those of one power are added up in two halves, as
    # `bincount` adds floats: each half of a sum stays below 2**53 and is exact.
    fractions, exponents = np.frexp(values.astype(np.float64))
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    least = int(exponents.min(initial=0))
    upper_sums = np.bincount(exponents - least, mantissas >> 26).tolist()
    lower_sums = np.bincount(exponents - least, mantissas & 2**26 - 1).tolist()

    # The smallest exponent is one: all sums are whole multiples of its power of two.
    total = 0
    for power, (upper, lower) in enumerate(zip(upper_sums, lower_sums, strict=True)):
        total += (int(upper) << 26) + int(lower) << power
    return total * Fraction(2) ** (least - 53)


def exact_sums(values: FloatArray) -> Any:
    """Return the sums along the first axis: one, or nested lists of them where there are other axes."""
    columns = values.reshape(len(values), -1).T
    return np.fromiter(map(exact_sum, columns), object, len(columns)).reshape(values.shape[1:]).tolist()


def added(first: ExactSum, second: ExactSum) -> ExactSum:
    """Return the sum of two sums, or of plain numbers."""
    not_finite = [value for value in (first, second) if isinstance(value, float) and not isfinite(value)]
    return sum(not_finite) if not_finite else Fraction(first) + Fraction(second)


def nearest(exact: ExactSum) -> float:
    """Return the float nearest to a sum; infinite where none is near. Zero has no sign."""
    try:
        return float(exact) + 0.0
    except OverflowError:
        return inf if exact > 0 else -inf
