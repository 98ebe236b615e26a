"""The contract of assigners, which cut the axis into windows, and the simplest one: a grid that no event changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import HoppingWindows
from muntin_engine.core.window_grid import WindowGrid
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent, by_since, by_until


class Assigner(ABC):
    """Cuts the axis into the windows of one key. Events may cut windows, so it is told of all that come and go.

    Windows are ordered by start, and so by end too. Windows that start before the *frontier* are closed: they were
    emitted as final, and no method returns them. The *horizon* is the first tick after all that the input has named:
    of an event without an end, the windows that start before it exist so far.

    Attributes:
        frontier: The start of the earliest window that may still change.
        closes_in_order: True if a window that waits for the ends of members never closes before an earlier one, since
            the event that the earlier one waits for is a member of all windows up to its end.
    """

    closes_in_order: ClassVar[bool] = False
    frontier: int = EARLIEST

    @abstractmethod
    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event with a lifetime: a member of the windows that overlap this stretch.

        An empty stretch: it is not a member of any window yet.
        """

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        pairs = list(map(self.membership, starts, ends))
        return [since for since, _ in pairs], [until for _, until in pairs]

    def add(self, events: Iterable[StoredEvent]) -> None:  # noqa: B027  # a grid does not depend on events
        """Take note of new events."""

    def remove(self, events: Iterable[StoredEvent]) -> None:  # noqa: B027
        """Take note of removed events."""

    @abstractmethod
    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the open windows that overlap `[start, end)` and end at `limit` or before, in order.

        There are infinitely many over a stretch without an end, unless windows wait for events.
        """

    def over(self, stretches: Iterable[tuple[int, int]], limit: int) -> Iterable[Window]:
        """Yield the windows of `overlapping` for each of some disjoint stretches in order; one may come repeatedly."""
        for start, end in stretches:
            yield from self.overlapping(start, end, limit)

    @abstractmethod
    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open windows of events that end after `after`, and at `limit` or before, in order.

        A few windows without a member may be among them, in proportion to the number of events. An event without an end
        counts up to the horizon, unless windows wait for events.
        """

    def newly_visible(self, events: EventIndex, after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows of `ending` for all events of the key.

        Cost: that of `ending`, and one walk over the events, unless the assigner knows the windows without them.
        """
        still_open = events.until_after(self.frontier)
        return self.ending([event for event in still_open if event.since < limit], after, limit, horizon)

    @abstractmethod
    def frontier_at(self, limit: int) -> int:
        """Return the frontier once everything that ends at `limit` or before is closed."""

    def close(self, limit: int) -> None:
        """Close everything that ends at `limit` or before. The caller then drops the events of closed windows."""
        self.frontier = self.frontier_at(limit)

    @abstractmethod
    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest open window that has a member and whose end is known.

        Args:
            earliest: The least start of a membership that ends after the frontier.
        """

    @abstractmethod
    def first_start(self, earliest: int) -> int:
        """Return the start of the earliest open window that a stored event is or may become a member of.

        Args:
            earliest: As for `first_open`.
        """

    @abstractmethod
    def next_end(self, events: EventIndex, after: int) -> int:
        """Return a lower bound of the ends after `after` of open windows with a member."""

    def next_horizon(self, horizon: int) -> int:
        """Return the next horizon before which one more window starts; `INFINITY` if windows wait for events."""
        return INFINITY

    def start_after(self, watermark: int) -> int:
        """Return a lower bound of the starts of all windows that have future events alone."""
        return watermark

    def release(
        self, events: Iterable[StoredEvent], movable: Sequence[StoredEvent], watermark: int
    ) -> list[StoredEvent]:
        """Return the events that only closed windows need, where windows close out of order.

        The others are kept until the frontier passes them; by default all are.
        """
        del events, movable, watermark
        return []

    @property
    def outlives_events(self) -> bool:
        """True if its state has to be kept for a key without events."""
        return False

    def to_data(self) -> list[object]:
        """Return its state without the events, as plain data."""
        return [self.frontier]

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        (self.frontier,) = data

    def end_after(self, watermark: int) -> int:
        """Return a lower bound of the ends of all windows that have future events alone."""
        return watermark


_FEW_WINDOWS: Final = 4
"""Up to so many windows per event are listed whether or not they have members; of more, those with members alone."""


class GridAssigner(Assigner):
    """Windows of one size at every multiple of a hop.

    Cost: arithmetic alone; listing windows takes time for each window listed, never for the gaps between events.

    Attributes:
        has_gaps: True if an event may lie between two windows.
    """

    closes_in_order = True

    def __init__(self, specification: HoppingWindows) -> None:
        self._size = specification.size
        self._hop = specification.hop
        self._reach = specification.reach
        self.has_gaps = specification.hop > specification.size
        self._next_start = WindowGrid.of(specification).next_start

    def copy(self) -> GridAssigner:
        """Return another one with the same frontier: each key has one."""
        made = object.__new__(GridAssigner)
        made.__dict__.update(self.__dict__)
        return made

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, extended by the reach; an empty stretch for an event between two windows."""
        until = end if end == INFINITY else end + self._reach
        if self.has_gaps and self._next_start(start) >= until:
            return start, start
        return start, until

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the lifetimes themselves, unless there are gaps between windows, or a reach."""
        if self.has_gaps or self._reach:
            return super().memberships(starts, ends)
        return starts, ends

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the windows over a stretch."""
        first = max(self._next_start(start), self.frontier)
        size = self._size
        return [Window(start, start + size) for start in range(first, min(end, self._past(limit)), self._hop)]

    def over(self, stretches: Iterable[tuple[int, int]], limit: int) -> list[Window]:
        """Return the windows over some stretches, each once."""
        least, past, starts = self.frontier, self._past(limit), list[int]()
        for start, end in stretches:
            starts += range(max(self._next_start(start), least), min(end, past), self._hop)
            least = starts[-1] + self._hop if starts else least
        size = self._size
        return [Window(start, start + size) for start in starts]

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows of events, each once."""
        if not events:
            return []
        past = self._past(limit)
        first = max(self._next_start(max(after, min(map(by_since, events)))), self.frontier)
        last = max(map(by_until, events))
        if last == INFINITY:
            last = max([horizon, *[event.until for event in events if event.until < INFINITY]])
        stop = min(last, past)
        starts: Iterable[int] = range(first, stop, self._hop)
        if (stop - first) // self._hop > _FEW_WINDOWS * len(events):
            starts = self._starts(events, first, past, horizon)
        size = self._size
        return [Window(start, start + size) for start in starts]

    def frontier_at(self, limit: int) -> int:
        """Return the start of the first window that ends after the limit."""
        return max(self.frontier, self._next_start(limit))

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest window at or after the frontier with a member."""
        start = max(self._next_start(earliest), self.frontier)
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
        return self._next_start(watermark) + self._size

    def _starts(self, events: Sequence[StoredEvent], first: int, past: int, horizon: int) -> list[int]:
        """Return the starts of the windows of events and of no others, in order."""
        starts: list[int] = []
        for event in sorted(events, key=by_since):
            begin = max(self._next_start(event.since), first)
            until = horizon if event.until == INFINITY else event.until
            starts += range(begin, min(until, past), self._hop)
            first = max(begin, starts[-1] + self._hop) if starts else begin
        return starts

    def _past(self, limit: int) -> int:
        """Return a tick after the start of every window that ends at the limit or before."""
        return INFINITY if limit == INFINITY else limit - self._size + 1
