"""The distinct times at which something happens, with how often: the `#endpts` of SI-66."""

from __future__ import annotations

from collections.abc import Iterator

from sortedcontainers import SortedDict


class Marks:
    """A sorted bag of ticks.

    Cost: every method takes time logarithmic in the number of distinct ticks, plus the ticks it returns.
    """

    def __init__(self) -> None:
        self._counts: SortedDict = SortedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, tick: int) -> None:
        """Count a tick once more."""
        self._counts[tick] = self._counts.get(tick, 0) + 1

    def remove(self, tick: int) -> None:
        """Count a tick once less."""
        count = self._counts[tick] - 1
        if count:
            self._counts[tick] = count
        else:
            del self._counts[tick]

    def place(self, tick: int) -> int:
        """Return how many distinct ticks lie before one."""
        place: int = self._counts.bisect_left(tick)
        return place

    def at(self, place: int) -> int:
        """Return the tick at a place in order."""
        tick: int = self._counts.keys()[place]
        return tick

    def between(self, start: int, end: int) -> Iterator[int]:
        """Iterate over the distinct ticks in `[start, end)`."""
        found: Iterator[int] = self._counts.irange(start, end, inclusive=(True, False))
        return found
