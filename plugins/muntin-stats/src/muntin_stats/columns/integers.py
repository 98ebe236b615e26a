"""Exact sums of whole numbers and of their products: as sums of 32 bits each, which 64 bits hold for many payloads.

A number of 64 bits is written as its *parts*: 32 bits each, the lowest first, of which the last has the sign. A product
has four parts. Parts are summed one by one, without carries; sliding windows can subtract them again.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from muntin_stats.columns.arrays import Array, Floats, Integers
from muntin_stats.exact import nearest

_BITS: Final = 32
_LOW: Final = 2**_BITS - 1
_LARGEST_WHOLE: Final = 2**53
"""Each whole number up to this size is a float, so a quotient of two of them is rounded once."""


def parts_of(numbers: Integers) -> Integers:
    """Return the two parts of each number, along the last axis.

    Example:
        >>> parts_of(np.array([2**32 + 5, -1])).tolist()
        [[5, 1], [4294967295, -1]]
    """
    return np.stack([numbers & _LOW, numbers >> _BITS], axis=-1)


def product_parts(first: Integers, second: Integers) -> Integers:
    """Return the four parts of each product, along the last axis; all four have the product's sign.

    Each part is below 3 * 2**32, so sums of parts are exact for up to 700 million payloads.

    Example:
        >>> product_parts(np.array([2**32 + 5, -3]), np.array([2**32, 7])).tolist()
        [[0, 5, 1, 0], [-21, 0, 0, 0]]
    """
    low, high = _halves(first)
    other_low, other_high = _halves(second)
    # Multiplication as on paper, with halves of 32 bits for digits: each product of two fits 64 bits without a sign.
    lows = low * other_low
    crosswise = low * other_high
    other_crosswise = high * other_low
    highs = high * other_high
    # The lower half of each product goes into one part, and its upper half into the next part. Nothing is carried.
    parts = [
        lows & _LOW,
        (lows >> _BITS) + (crosswise & _LOW) + (other_crosswise & _LOW),
        (crosswise >> _BITS) + (other_crosswise >> _BITS) + (highs & _LOW),
        highs >> _BITS,
    ]
    signs = np.where((first < 0) == (second < 0), 1, -1)
    return np.stack(parts, axis=-1).astype(np.int64) * signs[:, np.newaxis]


def _halves(numbers: Integers) -> tuple[Any, Any]:
    """Return the lower and the upper half of the size of each number, without its sign."""
    # `abs` leaves the least number, -2**63, as it is: read without a sign, its bits are 2**63, which is its size.
    sizes = np.abs(numbers).view(np.uint64)
    return sizes & _LOW, sizes >> _BITS


def totals_of(parts: Integers) -> Array:
    """Return the numbers whose parts lie along the last axis: as int64 if all of them fit, or else as Python ints.

    Example:
        >>> totals_of(np.array([[5, 1], [4294967295, -1]])).tolist()
        [4294967301, -1]
        >>> totals_of(np.array([[0, 2**32]])).tolist()
        [18446744073709551616]
    """
    # Carry what exceeds 32 bits of each part on to the next one.
    carried = parts.copy()  # the parts are the engine's
    last = parts.shape[-1] - 1
    for place in range(last):
        carried[:, place + 1] += carried[:, place] >> _BITS
        carried[:, place] &= _LOW
    # A number fits 64 bits if all bits above the lowest 64 repeat the sign bit.
    low = carried[:, 0]
    high = carried[:, 1]
    if last == 1:
        # Two parts are a whole number of 64 bits if the upper one has 32.
        fits = high == (high << _BITS) >> _BITS
    else:
        sign = -(high >> (_BITS - 1))  # 0 or -1, as `high` has been cut to 32 bits
        fits = (carried[:, last] == sign) & (carried[:, 2:last] == (sign & _LOW)[:, np.newaxis]).all(axis=1)
    if fits.all():
        return low | (high << _BITS)
    # Some number is wider than 64 bits: Python's ints hold any, by Horner's rule from the highest part down.
    total: Array = carried[:, last].astype(object)
    for place in range(last - 1, -1, -1):
        total = total * (_LOW + 1) + carried[:, place].astype(object)
    return total


def joint_spread(counts: Integers, products: Array, first: Array, second: Array) -> Array:
    """Return, for each window, the exact sum of the products of both distances from the averages, times the count.

    Args:
        counts: Numbers of payloads.
        products: Sums of the products of both coordinates.
        first: Sums of the first coordinate.
        second: Sums of the second coordinate; for a variance, of the first one again.

    Returns:
        An array of int64 if all spreads fit, or else of Python ints.
    """
    largest = max(_largest_size(counts) * _largest_size(products), _largest_size(first) * _largest_size(second))
    spread: Array
    if largest < 2**62:  # no product overflows, and neither does their difference
        spread = counts * products - first * second
    else:
        spread = counts.astype(object) * products.astype(object) - first.astype(object) * second.astype(object)
    return spread


def _largest_size(numbers: Array) -> int:
    """Return the size of the number furthest from zero; 0 of none."""
    if not len(numbers):
        return 0
    return max(abs(int(numbers.min())), abs(int(numbers.max())))


def quotients(numerators: Array, denominators: Array) -> Floats:
    """Return ratios of whole numbers, each rounded once; 0.0 where the denominator is not positive.

    Example:
        >>> quotients(np.array([2**62 + 1, 1, 5]), np.array([2**62, 3, 0])).tolist()
        [1.0, 0.3333333333333333, 0.0]
    """
    is_positive = (denominators > 0).astype(bool)  # comparing Python ints gives objects
    divisors = np.where(is_positive, denominators, 1)
    are_floats = is_positive & _fit_floats(numerators) & _fit_floats(divisors)
    ratios = np.zeros(len(numerators))
    ratios[are_floats] = numerators[are_floats].astype(np.float64) / divisors[are_floats].astype(np.float64)
    # Numbers that no float holds are divided one by one, which is slow and rare.
    for place in np.flatnonzero(is_positive & ~are_floats).tolist():
        ratios[place] = nearest(int(numerators[place]), int(divisors[place]))
    return ratios


def _fit_floats(numbers: Array) -> Array:
    """Return which whole numbers a float holds exactly, as far as their size tells."""
    fit: Array = ((numbers <= _LARGEST_WHOLE) & (numbers >= -_LARGEST_WHOLE)).astype(bool)
    return fit
