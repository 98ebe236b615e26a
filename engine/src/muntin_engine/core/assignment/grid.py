"""Hopping and tumbling windows: a fixed grid that no event changes."""

from __future__ import annotations

from collections.abc import Iterable

from muntin import EARLIEST, INFINITY, HoppingWindows, Window
from muntin_engine.core.assignment.assigner import Assigner
from muntin_engine.core.event_index import StoredEvent


class GridAssigner(Assigner):
    """Windows of one size at every multiple of a hop.

    Cost: arithmetic alone; listing windows takes time for each window listed, never for the gaps between events.
    """

    def __init__(self, specification: HoppingWindows) -> None:
        super().__init__()
        self._size = specification.size
        self._hop = specification.hop
        self._offset = specification.offset
        self._reach = specification.reach

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged by the reach."""
        return start, end if end == INFINITY else end + self._reach

    def overlapping(self, start: int, end: int, horizon: int) -> list[Window]:
        """Return the windows over a stretch; over one without an end, those that start before the horizon."""
        first = max(self._first_ending_after(start), self.frontier)
        stop = end if end != INFINITY else horizon
        return [Window(at, at + self._size) for at in range(first, stop, self._hop)]

    def closing(self, events: Iterable[StoredEvent], limit: int, horizon: int) -> list[Window]:
        """Return the windows of the events that end in time, each once."""
        starts: set[int] = set()
        stop = INFINITY if limit == INFINITY else limit - self._size + 1
        covered = EARLIEST
        for event in sorted(events, key=_since):
            first = max(self._first_ending_after(event.since), self.frontier, covered)
            last = min(event.until if event.until != INFINITY else horizon, stop)
            starts.update(range(first, last, self._hop))
            covered = max(covered, first + max(0, -(-(last - first) // self._hop)) * self._hop)
        return [Window(at, at + self._size) for at in sorted(starts)]

    def frontier_at(self, limit: int) -> int:
        """Return the start of the first window that ends after the limit."""
        return INFINITY if limit == INFINITY else max(self.frontier, self._first_ending_after(limit))

    def is_needed(self, event: StoredEvent) -> bool:
        """True if the membership reaches past the frontier and, with gaps between windows, into one."""
        first = max(self._first_ending_after(event.since), self.frontier)
        return first < event.until

    def first_open(self, events: Iterable[StoredEvent]) -> Window | None:
        """Return the earliest window at or after the frontier with a member."""
        firsts = (max(self._first_ending_after(event.since), self.frontier) for event in events if self.is_needed(event))
        start = min(firsts, default=None)
        return None if start is None else Window(start, start + self._size)

    def next_end(self, events: Iterable[StoredEvent], after: int) -> int:
        """Return the smallest end after a tick among the windows of the events."""
        starts = (max(self._first_ending_after(max(event.since, after)), self.frontier) for event in events)
        return min((start + self._size for start in starts), default=INFINITY)

    def earliest_start(self, punctuation: int) -> int:
        """Return the start of the first window that ends after the punctuation."""
        return self._first_ending_after(punctuation)

    def _first_ending_after(self, tick: int) -> int:
        if tick in (EARLIEST, INFINITY):
            return tick
        return (tick - self._size - self._offset) // self._hop * self._hop + self._hop + self._offset


def _since(event: StoredEvent) -> int:
    return event.since
