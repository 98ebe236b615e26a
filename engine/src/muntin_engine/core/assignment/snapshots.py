"""Snapshot windows: from each endpoint of an event to the next."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.core.assignment.assigner import Assigner
from muntin_engine.core.assignment.marks import Marks
from muntin_engine.core.event_index import StoredEvent


class SnapshotAssigner(Assigner):
    """Windows between neighbouring endpoints. The frontier stays a boundary after the events that made it are gone."""

    def __init__(self) -> None:
        super().__init__()
        self._marks = Marks()

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime."""
        return start, end

    def add(self, event: StoredEvent) -> None:
        """Count both endpoints."""
        self._marks.add(event.start)
        self._marks.add(event.end)

    def remove(self, event: StoredEvent) -> None:
        """Stop counting both endpoints."""
        self._marks.remove(event.start)
        self._marks.remove(event.end)

    def overlapping(self, start: int, end: int, horizon: int) -> list[Window]:
        """Return the snapshots over a stretch."""
        place = self._marks.place(start + 1) - 1
        first = self._marks.at(place) if place >= 0 else start
        after = self._marks.place(end)
        last = self._marks.at(after) if after < len(self._marks) else end
        return [window for window in self._snapshots(first, last) if window.end > start and window.start < end]

    def closing(self, events: Iterable[StoredEvent], limit: int, horizon: int) -> list[Window]:
        """Return the snapshots from the frontier up to the limit."""
        return self._snapshots(self.frontier, limit)

    def frontier_at(self, limit: int) -> int:
        """Return the last endpoint at the limit or before."""
        if limit == INFINITY:
            return INFINITY
        place = self._marks.place(limit + 1) - 1
        return max(self.frontier, self._marks.at(place)) if place >= 0 else self.frontier

    def is_needed(self, event: StoredEvent) -> bool:
        """True if the event lasts past the frontier."""
        return event.until > self.frontier

    def first_open(self, events: Iterable[StoredEvent]) -> Window | None:
        """Return the earliest snapshot at or after the frontier with a member."""
        start = max(self.frontier, min((event.start for event in events if self.is_needed(event)), default=INFINITY))
        place = self._marks.place(start + 1)
        return Window(start, self._marks.at(place)) if place < len(self._marks) else None

    def next_end(self, events: Iterable[StoredEvent], after: int) -> int:
        """Return the next endpoint."""
        place = self._marks.place(after + 1)
        return self._marks.at(place) if place < len(self._marks) else INFINITY

    def earliest_start(self, punctuation: int) -> int:
        """Return the punctuation: a future event starts a snapshot no earlier."""
        return punctuation

    def _snapshots(self, first: int, last: int) -> list[Window]:
        begin = max(first, self.frontier)
        inner = list(self._marks.between(begin, last)) if last > begin else []
        if begin != EARLIEST and (not inner or inner[0] != begin):
            inner.insert(0, begin)
        place = self._marks.place(last)
        if place < len(self._marks) and self._marks.at(place) == last:
            inner.append(last)
        return [Window(start, end) for start, end in pairwise(inner)]
