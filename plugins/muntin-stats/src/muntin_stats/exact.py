"""Sums of floats that keep every bit, so that taking a value out again undoes adding it.

A sum is held as an *expansion*: a few floats, largest first, whose exact sum is the exact sum of all that was added.
Each float is the remainder that the floats before it leave, rounded, so equal sums have equal expansions whatever the
order. Where values are multiplied, they are first written as integers over one denominator: a power of two for floats,
one for whole numbers, a power of ten for decimals.

Source: J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates, Discrete &
Computational Geometry 18 (1997), section 2, for expansions; `math.fsum` rounds their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, fsum, inf, isfinite, isqrt, lcm, ldexp
from sys import float_info
from typing import Any, Final

from muntin_stats.number import Number

_FLOATS: Final = frozenset({float})
_INTEGERS: Final = frozenset({int})
_MANTISSA: Final = float_info.mant_dig
_ROOT_BITS: Final = 64
"""The number of bits of a root that are computed; more than a float has, so that one more decides how it is rounded."""


def expand(values: Sequence[float]) -> list[float]:
    """Return the expansion of a sum; empty for zero.

    Args:
        values: Finite floats, in any order.

    Cost:
        One pass of `math.fsum` per term of the expansion and one more: for most values three.

    Example:
        >>> expand([1e16, 1.0]), expand([1e16, 1.0, -1e16])
        ([1e+16, 1.0], [1.0])
    """
    expansion: list[float] = []
    # Each float of the expansion is added to the terms, negated: what is left of their sum is the next float.
    terms = list(values)
    try:
        while remainder := fsum(terms):
            expansion.append(remainder)
            terms.append(-remainder)
    except OverflowError:
        return _expand_wide(values)
    return expansion


def _expand_wide(values: Sequence[float]) -> list[float]:
    """Return the expansion of a sum that may lie beyond the largest float: it then begins with several of these."""
    integers, scale = whole(values)
    expansion: list[float] = []
    remainder = sum(integers)  # in units of 1 / 2**scale, as the integers are
    while remainder:
        part = max(-float_info.max, min(float_info.max, nearest(remainder, 1 << scale)))
        expansion.append(part)
        numerator, denominator = part.as_integer_ratio()
        remainder -= (numerator << scale) // denominator
    return expansion


def whole(values: Sequence[float]) -> tuple[list[int], int]:
    """Return values as integers over a common power of two: each value is `integer / 2**scale`, exactly.

    Args:
        values: Finite floats, in any order.

    Raises:
        OverflowError: A value is infinite.
        ValueError: A value is NaN.

    Example:
        >>> whole([0.5, 3.0, 0.0])
        ([4503599627370496, 27021597764222976, 0], 53)
    """
    smallest = min(map(abs, values), default=1.0)
    if not smallest:
        # Zero has no last bit: look for the smallest value that is not zero.
        smallest = min(filter(None, map(abs, values)), default=1.0)
    _, exponent = frexp(smallest)
    scale = max(0, _MANTISSA - exponent)  # no value has a bit below the last one of the smallest
    try:
        factor = ldexp(1.0, scale)
        return [int(value * factor) for value in values], scale
    except (OverflowError, ValueError):
        return _whole_wide(values)


def _whole_wide(values: Sequence[float]) -> tuple[list[int], int]:
    """As `whole`, also where scaled values are beyond the largest float."""
    ratios = [float(value).as_integer_ratio() for value in values]
    largest = max(denominator for _, denominator in ratios)  # a power of two, as all of them are
    integers = [numerator * (largest // denominator) for numerator, denominator in ratios]
    return integers, largest.bit_length() - 1


def is_finite(value: Number) -> bool:
    """True unless a value is NaN or infinite; whole numbers and decimals of any size are neither.

    Example:
        >>> is_finite(1.0), is_finite(inf), is_finite(10**400)
        (True, False, True)
    """
    return not isinstance(value, float) or isfinite(value)


def over_one_denominator(values: Sequence[Any]) -> tuple[list[int], int]:
    """Return values as integers over a common denominator: each value is `integer / denominator`, exactly.

    Args:
        values: Finite floats, whole numbers and decimals, in any order.

    Raises:
        OverflowError: A value is infinite.
        ValueError: A value is NaN.

    Example:
        >>> from decimal import Decimal
        >>> over_one_denominator([2**63 - 1, 1]), over_one_denominator([Decimal("0.25"), 1])
        (([9223372036854775807, 1], 1), ([1, 4], 4))
    """
    if not values:
        return [], 1
    types = set(map(type, values))
    if types == _FLOATS:
        integers, scale = whole(values)
        return integers, 1 << scale
    if types == _INTEGERS:
        return list(values), 1
    ratios = [value.as_integer_ratio() for value in values]
    common = lcm(*(denominator for _, denominator in ratios))
    integers = [numerator * (common // denominator) for numerator, denominator in ratios]
    return integers, common


def nearest(numerator: int, denominator: int) -> float:
    """Return the float nearest to a ratio; infinite where no float is near.

    Example:
        >>> nearest(1, 3), nearest(-(10**400), 1)
        (0.3333333333333333, -inf)
    """
    try:
        return numerator / denominator + 0.0  # zero has no sign
    except OverflowError:
        return inf if (numerator > 0) == (denominator > 0) else -inf


def nearest_root(numerator: int, denominator: int) -> float:
    """Return the float nearest to the square root of a ratio that is not negative; infinite where none is near.

    Args:
        numerator: Zero or more.
        denominator: One or more.

    Example:
        >>> nearest_root(2, 1), nearest_root(10**616, 1), nearest_root(0, 1)
        (1.4142135623730951, 1e+308, 0.0)
    """
    # The ratio is scaled by 4**shift, so its root is scaled by 2**shift: to a whole number of about 64 bits.
    size = denominator.bit_length() - numerator.bit_length()
    shift = (size + 2 * _ROOT_BITS) // 2
    if shift >= 0:
        numerator <<= 2 * shift
    else:
        denominator <<= -2 * shift
    square, remainder = divmod(numerator, denominator)
    root = isqrt(square)
    # A last bit says whether the true root is larger than `root`: rounding needs to know no more than that.
    is_larger = remainder > 0 or root * root != square
    doubled = 2 * root + is_larger
    if shift >= 0:
        return nearest(doubled, 1 << shift + 1)
    return nearest(doubled << -shift - 1, 1)
