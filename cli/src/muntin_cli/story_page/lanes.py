"""Lanes of bars that do not overlap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple


def lanes_of(bars: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each bar the number of its lane: the first lane that is free where the bar starts.

    Args:
        bars: First tick of each bar, and the first tick after it.

    Example:
        >>> lanes_of([(0, 10), (5, 15), (10, 20), (12, 14)])
        [0, 1, 0, 2]
    """
    lanes = [0] * len(bars)
    busy: list[tuple[int, int]] = []  # a heap of ends, each with its lane
    free: list[int] = []  # a heap of lanes
    lane_count = 0
    for number in sorted(range(len(bars)), key=lambda number: (bars[number][0], number)):
        start, end = bars[number]
        # Lanes whose last bar has ended are free again.
        while busy and busy[0][0] <= start:
            _, lane = heappop(busy)
            heappush(free, lane)
        if free:
            lane = heappop(free)
        else:
            lane = lane_count
            lane_count += 1
        lanes[number] = lane
        heappush(busy, (max(end, start + 1), lane))
    return lanes


class PlacedResult(NamedTuple):
    """A result in a lane; they are in order by their starts.

    Attributes:
        start: Start of its bar.
        end: End of its bar.
        number: Number of the result.
    """

    start: int
    end: int
    number: int


class Stack:
    """Lanes of results: a result may take the place of retracted results, which it then hides.

    Attributes:
        hidden_by: Number of the result that hides a retracted one, by the number of the retracted one.

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
        self._lanes: list[list[PlacedResult]] = []  # the visible results of each lane, in order
        self._retracted: set[int] = set()

    def add(self, number: int, start: int, end: int) -> int:
        """Place a result in the first lane where it overlaps retracted results alone, and return the lane's number."""
        for place, lane in enumerate(self._lanes):
            # Results of a lane do not overlap, so those that share a tick with the new one are neighbours.
            first = bisect_left(lane, (start,))
            if first > 0 and lane[first - 1].end > start:
                first -= 1  # the result before it starts earlier and reaches into it
            after_last = bisect_left(lane, (max(end, start + 1),))
            overlapped = [result.number for result in lane[first:after_last]]
            if self._retracted.issuperset(overlapped):
                self.hidden_by.update(dict.fromkeys(overlapped, number))
                lane[first:after_last] = [PlacedResult(start, end, number)]
                return place
        self._lanes.append([PlacedResult(start, end, number)])
        return len(self._lanes) - 1

    def retract(self, number: int) -> None:
        """Mark a result as retracted; its bar stays until another result takes its place."""
        self._retracted.add(number)
