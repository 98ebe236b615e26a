"""Hopping and tumbling windows: a fixed grid that no event changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from muntin import INFINITY, HoppingWindows, Window
from muntin_engine.core.window_grid import WindowGrid
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.event_index import EventIndex, StoredEvent, by_since, by_until

_FEW: Final = 4
"""How many windows per event are listed before looking which of them have members."""


class GridAssigner(Assigner):
    """Windows of one size at every multiple of a hop.

    Cost: arithmetic alone; listing windows takes time for each window listed, never for the gaps between events.
    """

    closes_in_order = True

    def __init__(self, specification: HoppingWindows) -> None:
        super().__init__()
        self._size = specification.size
        self._hop = specification.hop
        self._reach = specification.reach
        self._has_gaps = specification.hop > specification.size
        self._next_start = WindowGrid.of(specification).next_start

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged by the reach; nothing for an event between two windows."""
        until = end if end == INFINITY else end + self._reach
        if self._has_gaps and self._next_start(start) >= until:
            return start, start
        return start, until

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the lifetimes themselves, unless there are gaps between windows, or a reach."""
        if self._has_gaps or self._reach:
            return super().memberships(starts, ends)
        return starts, ends

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the windows over a stretch."""
        first = max(self._next_start(start), self.frontier)
        return self._windows(range(first, min(end, self._past(limit)), self._hop))

    def over(self, stretches: Iterable[tuple[int, int]], limit: int) -> list[Window]:
        """Return the windows over some stretches, each once."""
        least, past, starts = self.frontier, self._past(limit), list[int]()
        for start, end in stretches:
            starts += range(max(self._next_start(start), least), min(end, past), self._hop)
            least = starts[-1] + self._hop if starts else least
        return self._windows(starts)

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows of events, each once."""
        if not events:
            return []
        lowest = max(self._next_start(after), self.frontier)
        past = self._past(limit)
        first = max(self._next_start(min(map(by_since, events))), lowest)
        untils = {horizon if until == INFINITY else until for until in map(by_until, events)}
        stop = min(max(untils), past)
        if (stop - first) // self._hop <= _FEW * len(events):
            return self._windows(range(first, stop, self._hop))
        return self._windows(self._starts(events, first, past, horizon))

    def frontier_at(self, limit: int) -> int:
        """Return the start of the first window that ends after the limit."""
        return max(self.frontier, self._next_start(limit))

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest window at or after the frontier with a member."""
        start = self.first_start(earliest)
        return None if start == INFINITY else Window(start, start + self._size)

    def first_start(self, earliest: int) -> int:
        """Return the start of that window."""
        return max(self._next_start(earliest), self.frontier)

    def next_end(self, events: EventIndex, after: int) -> int:
        """Return the smallest end after a tick among the windows of the events."""
        lowest = max(self._next_start(after), self.frontier)
        earliest = events.earliest(lowest)
        return INFINITY if earliest == INFINITY else max(self._next_start(earliest), lowest) + self._size

    def next_horizon(self, horizon: int) -> int:
        """Return the tick after the first start at the horizon or later."""
        return self._next_start(horizon + self._size - 1) + 1

    def start_after(self, watermark: int) -> int:
        """Return the start of the first window that ends after the watermark."""
        return self._next_start(watermark)

    def end_after(self, watermark: int) -> int:
        """Return the end of that window."""
        return self.start_after(watermark) + self._size

    def _starts(self, events: Sequence[StoredEvent], first: int, past: int, horizon: int) -> list[int]:
        """Return the starts of the windows of events and of no others, in order."""
        starts: list[int] = []
        for event in sorted(events, key=by_since):
            begin = max(self._next_start(event.since), first)
            until = horizon if event.until == INFINITY else event.until
            starts += range(begin, min(until, past), self._hop)
            first = max(begin, starts[-1] + self._hop) if starts else begin
        return starts

    def _windows(self, starts: Iterable[int]) -> list[Window]:
        return [Window(start, start + self._size) for start in starts]

    def _past(self, limit: int) -> int:
        """Return a tick after the start of every window that ends at the limit or before."""
        return INFINITY if limit == INFINITY else limit - self._size + 1
