"""Sorted numbers, in which the value of any rank can be looked up."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isinf, nan
from typing import Final

from muntin_stats.exact import is_finite, nearest
from muntin_stats.number import Number
from muntin_stats.order import ordinary

_FEW = 16
"""Numbers are removed by a search for each if fewer than one in 16 goes; otherwise all are removed in one pass."""

LARGEST_WHOLE: Final = 2**53
"""Each whole number up to this size is a float."""


@dataclass(slots=True)
class Ranking:
    """Numbers from the smallest to the largest; NaN comes last and is only counted.

    Attributes:
        numbers: Numbers without NaN, in order.
        nans: Number of NaNs.
    """

    numbers: list[Number] = field(default_factory=list)
    nans: int = 0

    def __len__(self) -> int:
        return len(self.numbers) + self.nans

    def add(self, values: Sequence[Number]) -> None:
        """Insert values. Cost: a sort of the values, and a merge."""
        numbers = ordinary(values)
        self.nans += len(values) - len(numbers)
        self.numbers += numbers
        self.numbers.sort()  # Timsort merges the sorted numbers with the new ones

    def remove(self, values: Sequence[Number]) -> None:
        """Remove values. Cost: a search for each of a few, one pass for many."""
        numbers = ordinary(values)
        self.nans -= len(values) - len(numbers)
        if len(numbers) * _FEW < len(self.numbers):
            self._remove_each(numbers)
        else:
            self._remove_all(numbers)

    def _remove_each(self, numbers: Sequence[Number]) -> None:
        """Remove numbers one by one, each found by bisection."""
        for number in numbers:
            del self.numbers[bisect_left(self.numbers, number)]

    def _remove_all(self, numbers: Sequence[Number]) -> None:
        """Remove numbers in one pass over the ranking."""
        counts = Counter(self.numbers)
        counts.subtract(numbers)
        self.numbers = list(counts.elements())  # a counter keeps the order in which it met the numbers

    def quantile(self, q: float) -> float:
        """Return the quantile `q`, interpolated linearly between the closest ranks; the ranking is not empty."""
        position = q * (len(self) - 1)
        rank = floor(position)
        low = self._at(rank)
        if rank == position:
            return nearest(low, 1) if isinstance(low, int) else float(low)
        return between(low, self._at(rank + 1), position - rank)

    def _at(self, rank: int) -> Number:
        """Return the number of a rank, counted from 0; NaNs have the last ranks."""
        return self.numbers[rank] if rank < len(self.numbers) else nan


def between(low: Number, high: Number, fraction: float) -> float:
    """Interpolate linearly between two numbers, as a float.

    Floats are interpolated as floats, and so are whole numbers that floats hold: a column gives the same results
    whether it is of whole numbers or of floats. All other numbers are interpolated exactly, and rounded once; the
    result is infinite where no float is near.

    Example:
        >>> between(10, 20, 0.25), between(-(2**63), 2**63 - 1, 0.5)
        (12.5, -0.5)
    """
    if type(low) is float and type(high) is float:
        return _between_floats(low, high, fraction)
    if _is_held_by_floats(low) and _is_held_by_floats(high):
        return _between_floats(float(low), float(high), fraction)
    if not (is_finite(low) and is_finite(high)):
        # All finite numbers are equally far from an infinity, also those that are too large for a float.
        return _between_floats(_not_finite_or_zero(low), _not_finite_or_zero(high), fraction)
    distance = Fraction(high) - Fraction(low)
    exact = Fraction(low) + distance * Fraction(fraction)
    return nearest(exact.numerator, exact.denominator)


def _is_held_by_floats(number: Number) -> bool:
    """Return True for a float, and for a whole number that is equal to one."""
    if isinstance(number, int):
        return abs(number) <= LARGEST_WHOLE
    return isinstance(number, float)


def _not_finite_or_zero(number: Number) -> float:
    """Return NaN or an infinity as it is, and zero for a finite number."""
    return 0.0 if is_finite(number) else float(number)


def _between_floats(low: float, high: float, fraction: float) -> float:
    """Interpolate linearly between two floats."""
    if low == high:
        return low  # the difference of two equal infinities would be NaN
    if isinf(high - low):  # their distance is beyond the largest float
        return low * (1 - fraction) + high * fraction
    return low + (high - low) * fraction
