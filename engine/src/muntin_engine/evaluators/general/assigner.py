"""Assigners, which cut the axis into windows: their contract, and the one for any kind of windows.

It knows nothing of a kind but the methods of `WindowKind`. Kinds with faster ones are in `fast_assigners`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import Stretches, WindowKind
from muntin.windows.kind import first_open_window, next_frontier
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent


class FirstOpen(NamedTuple):
    """The first start and the first end of the open windows of a key.

    Attributes:
        start: The start of the first open window that a stored event is or may become a member of; `INFINITY` if there
            is none.
        end: The end of the first open window that has a member and whose end is known; `INFINITY` if there is none.
    """

    start: int
    end: int


class Assigner(ABC):
    """Cuts the axis into the windows of one key. It learns of events that come and go, as these may cut windows.

    Windows are ordered by start, and so by end too. Windows that start before the *frontier* are closed: they were
    emitted as final, and no method returns them. The *horizon* is the first tick after all ticks that the input has
    named. An event without an end is a member of windows without number: only those that start before the horizon
    exist so far.

    Attributes:
        frontier: The start of the earliest window that may still change.
        closes_in_order: True if a window that waits for the ends of members never closes before an earlier one, since
            the event that the earlier one waits for is a member of all windows up to its end.
    """

    closes_in_order: ClassVar[bool] = False
    frontier: int = EARLIEST

    @abstractmethod
    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event with a lifetime: the event is a member of the windows that overlap it.

        An empty membership means that the event is not a member of any window yet.
        """

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        pairs = list(map(self.membership, starts, ends))
        return [since for since, _ in pairs], [until for _, until in pairs]

    def add(self, events: Iterable[StoredEvent]) -> None:  # noqa: B027  # a grid does not depend on events
        """Add new events."""

    def remove(self, events: Iterable[StoredEvent]) -> None:  # noqa: B027
        """Remove events."""

    @abstractmethod
    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the open windows that overlap `[start, end)` and end at `limit` or before, in order.

        Callers do not ask for a stretch without an end where windows do not wait for events: there are infinitely many.
        """

    def over(self, stretches: Iterable[tuple[int, int]], limit: int) -> Iterable[Window]:
        """Yield the windows of `overlapping` for disjoint stretches in order; a window may come more than once."""
        for start, end in stretches:
            yield from self.overlapping(start, end, limit)

    @abstractmethod
    def ending(self, events: Sequence[StoredEvent], ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open windows of events that end after `ends_after`, and at `limit` or before, in order.

        A few windows without a member may be among them, in proportion to the number of events. An event without an end
        counts up to the horizon, unless windows wait for events.

        Args:
            events: The events.
            ends_after: The tick after which the windows end.
            limit: The last tick at which they end.
            horizon: The first tick after all ticks that the input has named.
        """

    def newly_visible(self, events: EventIndex, ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows of `ending` for all events of the key.

        Cost: that of `ending`, and one walk over the events, unless the assigner knows the windows without them.
        """
        still_open = events.until_after(self.frontier)
        return self.ending([event for event in still_open if event.since < limit], ends_after, limit, horizon)

    @abstractmethod
    def close(self, limit: int) -> None:
        """Close all windows that end at `limit` or before. The caller then drops the events of closed windows."""

    @abstractmethod
    def first_open(self, earliest: int) -> FirstOpen:
        """Return the first start and the first end of open windows.

        Args:
            earliest: The least start of a membership that ends after the frontier.
        """

    @abstractmethod
    def next_end(self, events: EventIndex, tick: int) -> int:
        """Return a lower bound of the ends after a tick of open windows with a member."""

    def next_horizon(self, horizon: int) -> int:
        """Return the least horizon before which one more window starts; `INFINITY` if windows wait for events."""
        return INFINITY

    def start_after(self, watermark: int) -> int:
        """Return a lower bound of the starts of all windows that have future events alone."""
        return watermark

    def release(
        self, events: Iterable[StoredEvent], movable: Sequence[StoredEvent], watermark: int
    ) -> list[StoredEvent]:
        """Return the events that only closed windows need, where windows close out of order; by default none.

        The caller drops these at once, and all other events when the frontier has passed them.

        Args:
            events: The events of the key.
            movable: The members whose end a legal change can still move.
            watermark: The watermark.
        """
        del events, movable, watermark
        return []

    @property
    def outlives_events(self) -> bool:
        """True if the state of the assigner has to be kept for a key without events."""
        return False

    def to_data(self) -> list[object]:
        """Return the state of the assigner without the events, as plain data."""
        return [self.frontier]

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        (self.frontier,) = data

    def end_after(self, watermark: int) -> int:
        """Return a lower bound of the ends of all windows that have future events alone."""
        return watermark


class GeneralAssigner(Assigner):
    """Cuts the windows of one key by a `WindowKind`.

    Cost: adding and removing events is linear in their number. The first call for windows after a change sorts the
    stretches; each call costs as much as the kind's `cut` up to the windows that are returned.

    Attributes:
        cut_at: A tick at which windows are cut: none starts there or later, and none ends later.
    """

    def __init__(self, kind: WindowKind) -> None:
        """Cut windows by a kind."""
        self._kind = kind
        self._counts: Counter[tuple[int, int]] = Counter()  # the number of events of each stretch
        self._carried: Any = None  # the data that the kind keeps of events that are forgotten
        self._cached_stretches: Stretches | None = None  # of the present counts; None after a change
        self.cut_at = INFINITY

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event: the start and the end of the stretch on which the kind counts it."""
        return self._kind.membership(start, end)

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Count the stretch of each event that is a member."""
        self._counts.update((event.since, event.until) for event in events if event.is_member)
        self._cached_stretches = None

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Stop counting the stretches of events."""
        for event in events:
            if event.is_member:
                stretch = (event.since, event.until)
                self._counts[stretch] -= 1
                if not self._counts[stretch]:
                    del self._counts[stretch]
        self._cached_stretches = None

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the open windows that start before `end` and end after `start`.

        The end may be at the start or before it: callers cut the stretch of a change at the horizon, and a change may
        concern only windows after the horizon, which do not exist yet.
        """
        # A range of at least one tick is asked for: in an empty one, `_open_windows` finds nothing.
        return list(self._open_windows(min(start, end - 1), end, ends_after=start, limit=limit))

    def uncut(self, start: int, end: int) -> list[Window]:
        """Return the open windows that overlap a stretch, as if there were no `cut_at`."""
        return [window for window in self._kind.cut(self._stretches(), start, end) if window.start >= self.frontier]

    def ending(self, events: Sequence[StoredEvent], ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open windows over the stretches of events, each once."""
        windows: list[Window] = []
        for start, end in sorted({(event.since, event.until) for event in events if event.is_member}):
            last = end
            if end == INFINITY and not self._kind.waits_for_events:
                last = horizon  # only windows that start before it exist so far
            # A late event that was moved to the watermark may start at the horizon: its stretch then has one tick.
            stop = max(last, start + 1)

            # Windows that end too early, or are listed already, need not be made again. Ends ascend with starts: so a
            # window that is not listed yet has the last tick of the last listed window, or lies after it.
            skipped_until = max(ends_after, self.frontier)
            if windows:
                skipped_until = max(skipped_until, windows[-1].end - 1)
            first = max(start, min(skipped_until, stop - 1))
            for window in self._open_windows(first, stop, ends_after=ends_after, limit=limit):
                is_new = not windows or window.start > windows[-1].start
                if is_new and window.start < last:
                    windows.append(window)
        return windows

    def close(self, limit: int) -> None:
        """Move the frontier to the first window that is or may be opened, and keep the data that the kind carries over.

        The kind carries over data of the past, since its events are forgotten after this.
        """
        frontier = next_frontier(self._kind, self._stretches(), limit)
        if frontier > self.frontier:
            self._carried = self._kind.carried(self._stretches(), frontier)
            self.frontier = frontier
            self._cached_stretches = None

    def first_open(self, earliest: int) -> FirstOpen:
        """Return the start and the end of the first window with a member.

        The start may be an earlier one: the kind says by `unborn` where a later event may still open a window.
        """
        unborn_start = max(self._kind.unborn(self._stretches()), self.frontier)
        if earliest == INFINITY:
            return FirstOpen(unborn_start, INFINITY)
        first_window = next(self._open_windows(max(earliest, self.frontier), INFINITY), None)
        if first_window is None:
            return FirstOpen(unborn_start, INFINITY)
        return FirstOpen(min(first_window.start, unborn_start), first_window.end)

    def next_end(self, events: EventIndex, tick: int) -> int:
        """Return the least end after a tick among the open windows that have a member."""
        # The first window that ends after the tick, with or without a member.
        first_start = self.frontier
        if tick > EARLIEST:
            first_window = next(self._open_windows(tick, INFINITY, ends_after=tick), None)
            if first_window is None:
                return INFINITY
            first_start = first_window.start

        # From there on, the first window that has a member.
        earliest = events.earliest(first_start)
        if earliest == INFINITY:
            return INFINITY
        window = next(self._open_windows(max(earliest, first_start, tick), INFINITY, ends_after=tick), None)
        return INFINITY if window is None else window.end

    def next_horizon(self, horizon: int) -> int:
        """Return the tick after the first start at the horizon or later."""
        if self._kind.waits_for_events or horizon >= self.cut_at:
            return INFINITY
        windows = self._kind.cut(self._stretches(), horizon, INFINITY)
        return next((window.start + 1 for window in windows if window.start >= horizon), INFINITY)

    def start_after(self, watermark: int) -> int:
        """Return the start of the first window that ends after the watermark; if windows wait, the watermark itself."""
        window = self._first_window_after(watermark)
        return watermark if window is None else window.start

    def end_after(self, watermark: int) -> int:
        """Return the end of the first window that ends after the watermark; a lower bound if windows wait for events.

        A future event starts at the watermark or after it, so its windows end after the watermark. But where boundaries
        may still move, such an event may end a window of earlier events at the watermark itself.
        """
        window = self._first_window_after(watermark)
        if window is not None:
            end = window.end
        elif self._kind.ends_move:
            end = watermark
        else:
            end = watermark + 1
        return min(end, self.cut_at)  # no window of a life goes on after the tick at which the life is over

    @property
    def outlives_events(self) -> bool:
        """True if the state that the kind carries over from the past still matters."""
        return self.frontier < INFINITY and self._kind.outlives(self._carried)

    def to_data(self) -> list[object]:
        """Return the frontier, and the state that the kind carries over from the past."""
        return [self.frontier, self._carried]

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        self.frontier, self._carried = data
        self._cached_stretches = None

    def _open_windows(
        self, start: int, end: int, ends_after: int = EARLIEST, limit: int = INFINITY
    ) -> Iterator[Window]:
        """Yield the open windows over `[start, end)` that end after `ends_after`, and at `limit` or before."""
        cut_at = self.cut_at
        if start >= end:
            return
        for uncut_window in self._kind.cut(self._stretches(), start, min(end, cut_at)):
            if uncut_window.start >= cut_at:
                return
            window = uncut_window if uncut_window.end <= cut_at else Window(uncut_window.start, cut_at)
            if window.end > limit:
                return  # ends ascend: all further windows end after the limit too
            if window.start >= self.frontier and window.end > ends_after:
                yield window

    def _first_window_after(self, watermark: int) -> Window | None:
        """Return the first window that ends after a watermark.

        Returns:
            None if windows wait for events, so that future events decide where they lie, or if the watermark is at the
            first or the last tick of the axis.
        """
        if self._kind.waits_for_events or watermark in (EARLIEST, INFINITY):
            return None
        return first_open_window(self._kind, self._stretches(), watermark)

    def _stretches(self) -> Stretches:
        """Return the stretches of the events, as the kind of windows takes them."""
        if self._cached_stretches is None:
            self._cached_stretches = Stretches(self._counts, self.frontier, self._carried)
        return self._cached_stretches
