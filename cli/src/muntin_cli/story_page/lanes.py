"""Lanes of bars that do not overlap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush


def lanes_of(bars: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each bar the number of its lane, the first that is free where it begins.

    Args:
        bars: The first tick of each, and the first one after it.

    Example:
        >>> lanes_of([(0, 10), (5, 15), (10, 20), (12, 14)])
        [0, 1, 0, 2]
    """
    lanes = [0] * len(bars)
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    count = 0
    for number in sorted(range(len(bars)), key=lambda number: (bars[number][0], number)):
        start, end = bars[number]
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        if free:
            lane = heappop(free)
        else:
            lane, count = count, count + 1
        lanes[number] = lane
        heappush(busy, (max(end, start + 1), lane))
    return lanes


class Stack:
    """Lanes of results that come and go: a result may take the place of retracted ones, which it then hides.

    Example:
        >>> stack = Stack()
        >>> stack.add(0, 0, 10), stack.add(1, 5, 15)
        (0, 1)
        >>> stack.retract(0)
        >>> stack.add(2, 0, 12), stack.hidden_by
        (0, {0: 2})
    """

    def __init__(self) -> None:
        self.hidden_by: dict[int, int] = {}
        self._lanes: list[list[tuple[int, int, int]]] = []
        self._gone: set[int] = set()

    def add(self, number: int, start: int, end: int) -> int:
        """Take a result, and return the number of its lane."""
        for place, lane in enumerate(self._lanes):
            first = bisect_left(lane, (start,))
            first -= first > 0 and lane[first - 1][1] > start
            last = bisect_left(lane, (max(end, start + 1),))
            covered = lane[first:last]
            if all(other in self._gone for _, _, other in covered):
                self.hidden_by.update((other, number) for _, _, other in covered)
                lane[first:last] = [(start, end, number)]
                return place
        self._lanes.append([(start, end, number)])
        return len(self._lanes) - 1

    def retract(self, number: int) -> None:
        """Take that a result is retracted; its bar stays until another one takes the place."""
        self._gone.add(number)
