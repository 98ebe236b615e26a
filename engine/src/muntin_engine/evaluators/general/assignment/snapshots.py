"""Snapshot windows: from each endpoint of an event to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from muntin import EARLIEST, INFINITY, SnapshotWindows, Window
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.assignment.marks import Marks
from muntin_engine.evaluators.general.event_index import EventIndex, StoredEvent


class SnapshotAssigner(Assigner):
    """Windows between neighbouring endpoints. The frontier stays a boundary after the events that made it are gone.

    Cost: as `Marks`, plus the windows returned.
    """

    closes_in_order = True

    def __init__(self, specification: SnapshotWindows) -> None:
        super().__init__()
        del specification
        self._marks = Marks()

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime."""
        return start, end

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Count both endpoints of each that is a member."""
        self._marks.add(tick for event in events if event.is_member for tick in (event.start, event.end))

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Stop counting them."""
        self._marks.remove(tick for event in events if event.is_member for tick in (event.start, event.end))

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the snapshots over a stretch."""
        before, after = self._marks.place(start + 1) - 1, self._marks.place(end)
        first = self._marks.at(before) if before >= 0 else start
        last = self._marks.at(after) if after < len(self._marks) else end
        found = self._snapshots(max(first, self.frontier), min(last, limit))
        return [window for window in found if window.end > start and window.start < end]

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the snapshots between the frontier and the limit."""
        place = self._marks.place(after + 1) - 1
        first = self._marks.at(place) if place >= 0 else EARLIEST
        return self._snapshots(max(first, self.frontier), limit)

    def frontier_at(self, limit: int) -> int:
        """Return the last endpoint at the limit or before."""
        if limit == INFINITY:
            return INFINITY
        place = self._marks.place(limit + 1) - 1
        return max(self.frontier, self._marks.at(place)) if place >= 0 else self.frontier

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest snapshot at or after the frontier with a member."""
        start = self.first_start(earliest)
        place = self._marks.place(start + 1)
        return Window(start, self._marks.at(place)) if place < len(self._marks) else None

    def first_start(self, earliest: int) -> int:
        """Return the start of that snapshot."""
        return max(self.frontier, earliest)

    def next_end(self, events: EventIndex, after: int) -> int:
        """Return the next endpoint."""
        place = self._marks.place(after + 1)
        return self._marks.at(place) if place < len(self._marks) else INFINITY

    def _snapshots(self, first: int, last: int) -> list[Window]:
        """Return the snapshots in `[first, last]`; a first tick that is no endpoint is the frontier, or before all."""
        marks = self._marks.between(first, last + 1)
        if self.frontier == first != EARLIEST and marks[:1] != [first]:
            marks.insert(0, first)
        return [Window(start, end) for start, end in pairwise(marks)]
