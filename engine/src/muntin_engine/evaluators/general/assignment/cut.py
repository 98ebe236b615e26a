"""The windows of a life of a key: those of another assigner, cut where the life is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from muntin import INFINITY, Window
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent


class CutAssigner(Assigner):
    """The windows of another assigner up to an end: none starts there or later, and none ends later.

    Cut windows ascend in start, and none of their ends lies before that of an earlier one.

    Cost: that of the other assigner, and a constant for each window.

    Attributes:
        end: The end.
        uncut: The other assigner.
    """

    def __init__(self, uncut: Assigner) -> None:
        self.end = INFINITY
        self.uncut = uncut

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event with a lifetime: a member of the windows that overlap this stretch."""
        return self.uncut.membership(start, end)

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        return self.uncut.memberships(starts, ends)

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Take note of new events."""
        self.uncut.add(events)

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Take note of removed events."""
        self.uncut.remove(events)

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the open windows that overlap `[start, end)` and end at `limit` or before, in order."""
        if limit < self.end:
            return self.uncut.overlapping(start, end, limit)
        if start >= self.end:
            return []
        return self._cut(self.uncut.overlapping(start, min(end, self.end), INFINITY))

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open windows of events that end after `after`, and at `limit` or before, in order."""
        if limit < self.end:
            return self.uncut.ending(events, after, limit, horizon)
        if after >= self.end:
            return []
        return self._cut(self.uncut.ending(events, after, INFINITY, min(horizon, self.end)))

    def frontier_at(self, limit: int) -> int:
        """Return the frontier once everything that ends at `limit` or before is closed."""
        return self.uncut.frontier_at(limit)

    def close(self, limit: int) -> None:
        """Close everything that ends at `limit` or before."""
        self.uncut.close(limit)
        self.frontier = self.uncut.frontier

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest open window that has a member and whose end is known."""
        first = self.uncut.first_open(earliest)
        return None if first is None else next(iter(self._cut([first])), None)

    def first_start(self, earliest: int) -> int:
        """Return the start of the earliest open window that a stored event is or may become a member of."""
        return self.uncut.first_start(earliest)

    def next_end(self, events: EventIndex, after: int) -> int:
        """Return a lower bound of the ends after `after` of open windows with a member."""
        return INFINITY if after >= self.end else min(self.uncut.next_end(events, after), self.end)

    def next_horizon(self, horizon: int) -> int:
        """Return the next horizon before which one more window starts; `INFINITY` if windows wait for events."""
        return INFINITY if horizon >= self.end else self.uncut.next_horizon(horizon)

    def start_after(self, watermark: int) -> int:
        """Return a lower bound of the starts of all windows that have future events alone."""
        return self.uncut.start_after(watermark)

    def end_after(self, watermark: int) -> int:
        """Return a lower bound of the ends of all windows that have future events alone."""
        return min(self.uncut.end_after(watermark), self.end)

    def release(
        self, events: Iterable[StoredEvent], movable: Sequence[StoredEvent], watermark: int
    ) -> list[StoredEvent]:
        """Return the events that only closed windows need, where windows close out of order."""
        return self.uncut.release(events, movable, watermark)

    @property
    def outlives_events(self) -> bool:
        """True if its state has to be kept for a key without events."""
        return self.uncut.outlives_events

    def to_data(self) -> list[object]:
        """Return its state without the events, as plain data: that of the other assigner."""
        return self.uncut.to_data()

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        self.uncut.restore(data)
        self.frontier = self.uncut.frontier

    def _cut(self, windows: Iterable[Window]) -> list[Window]:
        end = self.end
        return [window if window.end <= end else Window(window.start, end) for window in windows if window.start < end]
