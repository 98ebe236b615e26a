"""The assigner for any kind of windows: it knows nothing of the kind but the methods of `WindowKind`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import Stretches, WindowKind
from muntin.windows.kind import first_open_window, next_frontier
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent


class GeneralAssigner(Assigner):
    """Cuts the windows of one key by a `WindowKind`.

    Cost: adding and removing events is linear in their number. The first call for windows after a change sorts the
    stretches; each call costs as much as the kind's `cut` up to the windows that are returned.
    """

    def __init__(self, kind: WindowKind) -> None:
        self._kind = kind
        self._counts: Counter[tuple[int, int]] = Counter()
        self._carried: Any = None
        self._known: Stretches | None = None

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch on which the kind counts an event."""
        return self._kind.membership(start, end)

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Count the stretch of each that is a member."""
        self._counts.update((event.since, event.until) for event in events if event.is_member)
        self._known = None

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Stop counting them."""
        for event in events:
            if event.is_member:
                stretch = (event.since, event.until)
                self._counts[stretch] -= 1
                if not self._counts[stretch]:
                    del self._counts[stretch]
        self._known = None

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the open windows that start before the end of a stretch and end after its start.

        The stretch may be empty: an event without an end that gets one changes windows that were not there yet.
        """
        return list(self._open(min(start, end - 1), end, start, limit))

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open windows over the stretches of events, each once."""
        found: list[Window] = []
        for start, end in sorted({(event.since, event.until) for event in events if event.is_member}):
            stop = horizon if end == INFINITY and not self._kind.waits_for_events else end
            if start >= stop:
                continue
            # Ends ascend: what ends later than a tick has that tick, or its last one here, or starts after it.
            ended = max(after, self.frontier, found[-1].end - 1 if found else EARLIEST)
            for window in self._open(max(start, min(ended, stop - 1)), stop, after, limit):
                if not found or window.start > found[-1].start:
                    found.append(window)
        return found

    def frontier_at(self, limit: int) -> int:
        """Return the start of the first window that is still open or may yet be opened."""
        return next_frontier(self._kind, self._stretches(), limit)

    def close(self, limit: int) -> None:
        """Move the frontier, and keep what the kind carries over from the past."""
        frontier = self.frontier_at(limit)
        if frontier > self.frontier:
            self._carried = self._kind.carried(self._stretches(), frontier)
            self.frontier = frontier
            self._known = None

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest open window that has a member."""
        if earliest == INFINITY:
            return None
        return next(self._open(max(earliest, self.frontier), INFINITY, EARLIEST, INFINITY), None)

    def first_start(self, earliest: int) -> int:
        """Return the start of that window, or of an earlier one that may yet be opened."""
        first = self.first_open(earliest)
        unborn = max(self._kind.unborn(self._stretches()), self.frontier)
        return unborn if first is None else min(first.start, unborn)

    def next_end(self, events: EventIndex, after: int) -> int:
        """Return the least end after a tick among the open windows that have a member."""
        lowest = self.frontier
        if after > EARLIEST:
            first = next(self._open(after, INFINITY, after, INFINITY), None)
            if first is None:
                return INFINITY
            lowest = first.start
        earliest = events.earliest(lowest)
        if earliest == INFINITY:
            return INFINITY
        found = next(self._open(max(earliest, lowest, after), INFINITY, after, INFINITY), None)
        return INFINITY if found is None else found.end

    def next_horizon(self, horizon: int) -> int:
        """Return the tick after the first start at the horizon or later."""
        if self._kind.waits_for_events:
            return INFINITY
        windows = self._kind.cut(self._stretches(), horizon, INFINITY)
        return next((window.start + 1 for window in windows if window.start >= horizon), INFINITY)

    def start_after(self, watermark: int) -> int:
        """Return the watermark; where windows do not wait, the start of the first one that ends after it."""
        first = self._first_waiting(watermark)
        return watermark if first is None else first.start

    def end_after(self, watermark: int) -> int:
        """Return the tick after the watermark, which a window with a later event has; or the end of that window.

        Where a boundary may still move, a later event may end a window of earlier ones at the watermark itself.
        """
        first = self._first_waiting(watermark)
        if first is not None:
            return first.end
        return watermark if self._kind.ends_move else watermark + 1

    @property
    def outlives_events(self) -> bool:
        """True if what the kind carries over from the past still matters."""
        return self.frontier < INFINITY and self._kind.outlives(self._carried)

    def to_data(self) -> list[object]:
        """Return the frontier, and what the kind carries over from the past."""
        return [self.frontier, self._carried]

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        self.frontier, self._carried = data
        self._known = None

    def _open(self, start: int, end: int, after: int, limit: int) -> Iterator[Window]:
        """Yield the open windows over a stretch that end after a tick, and at a limit or before."""
        for window in self._kind.cut(self._stretches(), start, end) if start < end else ():
            if window.end > limit:
                return
            if window.start >= self.frontier and window.end > after:
                yield window

    def _first_waiting(self, watermark: int) -> Window | None:
        """Return the first window that ends after a watermark, where windows are there before events are."""
        if self._kind.waits_for_events or watermark in (EARLIEST, INFINITY):
            return None
        return first_open_window(self._kind, self._stretches(), watermark)

    def _stretches(self) -> Stretches:
        if self._known is None:
            self._known = Stretches(self._counts, self.frontier, self._carried)
        return self._known
