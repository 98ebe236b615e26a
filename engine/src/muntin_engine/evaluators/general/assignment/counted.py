"""Count windows: from each distinct start (or end) over the next n of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from muntin import INFINITY, CountWindows, Window
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.assignment.marks import Marks
from muntin_engine.evaluators.general.event_index import EventIndex, StoredEvent


class CountAssigner(Assigner):
    """Windows over n distinct times. Membership is the one tick that is counted.

    A window may close before an earlier one. The times that only closed windows count are then forgotten, and a *break*
    is left at the next time that is not: no window reaches across it, since every window that did is closed.

    Cost: as `Marks`, plus the windows returned.
    """

    def __init__(self, specification: CountWindows) -> None:
        super().__init__()
        self._count = specification.count
        self._by_start = specification.by == "start"
        self._marks = Marks()
        self._breaks: list[int] = []

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the counted tick; an event that has not ended has no end to count."""
        counted = start if self._by_start else end
        return (counted, counted) if counted == INFINITY else (counted, counted + 1)

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Count the time of each."""
        self._marks.add(event.since for event in events if event.is_member)

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Stop counting them."""
        self._marks.remove(event.since for event in events if event.is_member)

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the windows with a counted time in a stretch."""
        first, stop = self._marks.place(start) - self._count + 1, self._marks.place(end)
        return self._windows(first, min(stop, self._marks.place(limit) - self._count + 1))

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows whose last counted time lies in `[after, limit)`."""
        first, stop = (self._marks.place(tick) - self._count + 1 for tick in (after, limit))
        return self._windows(first, stop)

    def frontier_at(self, limit: int) -> int:
        """Return the first time whose window is not complete before the limit."""
        if limit == INFINITY:
            return INFINITY
        place = max(self._marks.place(self.frontier), self._marks.place(limit) - self._count + 1)
        return max(self.frontier, min(limit, self._marks.at(place)) if place < len(self._marks) else limit)

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest window that is complete."""
        return next(self._found(0, len(self._marks)), None)

    def first_start(self, earliest: int) -> int:
        """Return the earliest time whose window is not closed, be it complete or not."""
        place = self._marks.place(self.frontier)
        return self._marks.at(place) if place < len(self._marks) else INFINITY

    def next_end(self, events: EventIndex, after: int) -> int:
        """Return one tick past the next counted time: a window's end comes right after its last time."""
        place = self._marks.place(after)
        return self._marks.at(place) + 1 if place < len(self._marks) else INFINITY

    def end_after(self, watermark: int) -> int:
        """Return the tick after the watermark: a window ends right after its last time."""
        return watermark + 1

    def release(
        self, events: Iterable[StoredEvent], movable: Sequence[StoredEvent], watermark: int
    ) -> list[StoredEvent]:
        """Return the events that only closed windows count, and leave breaks where they were."""
        needed = self._needed({event.since for event in movable}, watermark)
        return [event for event in events if event.is_member and event.since not in needed]

    def _needed(self, waiting: Iterable[int], watermark: int) -> set[int]:
        """Return the counted times that a window counts which may still change, and leave breaks where others were."""
        ticks, more = self._marks.all(), self._count - 1
        starts = [0, *(self._marks.place(tick) for tick in self._breaks)]
        needed: set[int] = set()
        for place in map(self._marks.place, sorted(waiting)):
            run = bisect_right(starts, place)
            stop = starts[run] if run < len(starts) else len(ticks)
            needed.update(ticks[max(place - more, starts[run - 1]) : min(place + more + 1, stop)])
        needed.update(ticks[max(self._marks.place(watermark) - more, starts[-1]) :])
        after_others = {after for before, after in pairwise(ticks) if after in needed and before not in needed}
        self._breaks = sorted(after_others | {tick for tick in self._breaks if tick in needed}) if more else []
        return needed

    def to_data(self) -> list[object]:
        """Return the frontier and the breaks."""
        return [self.frontier, *self._breaks]

    def restore(self, data: Sequence[Any]) -> None:
        """Go on from what `to_data` returned."""
        self.frontier, *self._breaks = data

    def _windows(self, first: int, stop: int) -> list[Window]:
        return list(self._found(first, stop))

    def _found(self, first: int, stop: int) -> Iterator[Window]:
        """Yield the windows whose first counted time has a place in `[first, stop)` and is not before the frontier."""
        begin = max(first, self._marks.place(self.frontier), 0)
        ticks, more, breaks = self._marks.all(), self._count - 1, self._breaks
        for place in range(begin, min(stop, len(ticks) - more)):
            start, last = ticks[place], ticks[place + more]
            if not breaks or bisect_right(breaks, start) == bisect_right(breaks, last):
                yield Window(start, last + 1)
