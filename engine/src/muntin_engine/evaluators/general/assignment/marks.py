"""The distinct times at which events start or end, with the number of each (StreamInsight paper, section V)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence


class Marks:
    """A bag of ticks, in order.

    Changes are taken as they come; the order is brought up to date when it is next asked for.

    Cost: taking ticks in or out is linear in their number; then bringing the order up to date is linear in the
    number of distinct ticks, and finding a place logarithmic.
    """

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._ticks: list[int] = []
        self._is_in_order = True

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, ticks: Iterable[int]) -> None:
        """Count each tick once more."""
        known = len(self._counts)
        self._counts.update(ticks)
        self._is_in_order &= known == len(self._counts)

    def remove(self, ticks: Iterable[int]) -> None:
        """Count each tick once less."""
        for tick in ticks:
            if self._counts[tick] > 1:
                self._counts[tick] -= 1
            else:
                del self._counts[tick]
                self._is_in_order = False

    def place(self, tick: int) -> int:
        """Return the number of distinct ticks before one."""
        return bisect_left(self._ordered(), tick)

    def at(self, place: int) -> int:
        """Return the tick at a place in order."""
        return self._ordered()[place]

    def all(self) -> Sequence[int]:
        """Return the distinct ticks."""
        return self._ordered()

    def between(self, start: int, end: int) -> list[int]:
        """Return the distinct ticks in `[start, end)`."""
        return self._ordered()[self.place(start) : self.place(end)]

    def _ordered(self) -> list[int]:
        if not self._is_in_order:
            self._ticks = sorted(self._counts)
            self._is_in_order = True
        return self._ticks
