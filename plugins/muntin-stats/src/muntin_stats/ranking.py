"""Sorted numbers, in which the value of any rank can be looked up."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, isinf, nan

from muntin_stats.order import ordinary

_FEW = 16
"""Up to one in so many is taken out one by one; above that, all in one pass."""


@dataclass(slots=True)
class Ranking:
    """Numbers from the smallest to the largest; NaN comes last and is only counted.

    Attributes:
        numbers: Without NaN, in order.
        nans: How many NaN.
    """

    numbers: list[float] = field(default_factory=list)
    nans: int = 0

    def __len__(self) -> int:
        return len(self.numbers) + self.nans

    def add(self, values: Sequence[float]) -> None:
        """Put values in. Cost: a merge; what is in order already is not sorted again."""
        numbers = ordinary(values)
        self.nans += len(values) - len(numbers)
        self.numbers += numbers
        self.numbers.sort()

    def remove(self, values: Sequence[float]) -> None:
        """Take values out. Cost: a search for each of a few, one pass for many."""
        numbers = ordinary(values)
        self.nans -= len(values) - len(numbers)
        if len(numbers) * _FEW < len(self.numbers):
            self._remove_each(numbers)
        else:
            self._remove_all(numbers)

    def _remove_each(self, numbers: Sequence[float]) -> None:
        for number in numbers:
            del self.numbers[bisect_left(self.numbers, number)]

    def _remove_all(self, numbers: Sequence[float]) -> None:
        left = Counter(self.numbers)
        left.subtract(numbers)
        self.numbers = list(left.elements())

    def quantile(self, q: float) -> float:
        """Return the quantile `q`, interpolated linearly between the closest ranks."""
        position = q * (len(self) - 1)
        rank = floor(position)
        low = self._at(rank)
        return low if rank == position else _between(low, self._at(rank + 1), position - rank)

    def _at(self, rank: int) -> float:
        return self.numbers[rank] if rank < len(self.numbers) else nan


def _between(low: float, high: float, fraction: float) -> float:
    if low == high:
        return low
    if isinf(high - low):
        return low * (1 - fraction) + high * fraction
    return low + (high - low) * fraction
