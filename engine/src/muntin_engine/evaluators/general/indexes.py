"""The indexes of one key: its events, by membership, and its windows that were emitted or have a trigger state.

The *membership* of an event is an interval `[since, until)` of the axis: the event is a member of each window that
overlaps it. For snapshot and hopping windows that is the lifetime, extended by a reach; for count windows it is the one
tick that is counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

from muntin import EARLIEST, INFINITY, Window


class StoredEvent(NamedTuple):
    """An event of one key with its membership.

    Attributes:
        id: Its id; a serial number where the input has none.
        start: First tick of its lifetime.
        end: First tick after it.
        payload: The tuple of input values.
        since: First tick of its membership.
        until: First tick after it; equal to `since` for an event that is not a member of any window yet.
    """

    id: Hashable
    start: int
    end: int
    payload: tuple[Any, ...]
    since: int
    until: int

    @property
    def is_member(self) -> bool:
        """True if it can be a member of a window."""
        return self.since < self.until

    @property
    def is_filtered(self) -> bool:
        """True if a filter left it out: it is never a member, and is kept only so that its revisions find it."""
        return self.until == EARLIEST

    def filtered(self) -> StoredEvent:
        """Return it as left out by a filter."""
        return self._replace(since=EARLIEST, until=EARLIEST)

    @property
    def is_endless(self) -> bool:
        """True if its membership has no end."""
        return self.until == INFINITY


stored_event: Final = cast("Callable[[tuple[Any, ...]], StoredEvent]", partial(tuple.__new__, StoredEvent))
"""Makes an event from its fields without a Python call: a key's events are decoded in each batch that touches it."""

by_start: Final = attrgetter("start")
"""Sort key: the start of the lifetime."""

by_since: Final = attrgetter("since")
"""Sort key: the start of the membership."""

by_until: Final = attrgetter("until")
"""Sort key: the end of the membership."""

in_order: Final = attrgetter("until", "since")
"""Sort key: the order of events in an index."""

_MANY: Final = 32
"""At most one event or window in so many is inserted one by one; for more, the list is sorted."""


class EventIndex:
    """The events of one key, and the changes since they were stored, if these are tracked.

    Cost: a search is logarithmic in the number of events, and finds as many as end within the longest membership of a
    stretch. They are a plain sorted list, so an insertion copies the memory behind its place; many insertions at once
    sort a list that is almost sorted.

    Attributes:
        ordered: The events, by end, then by start, of membership; callers only read it.
        gone: The ids of stored events that were removed or replaced; None if changes are not tracked.
        new: The events that are not stored, by id.
    """

    def __init__(self, events: Iterable[StoredEvent] = ()) -> None:
        """Make an index of events that are in its order already."""
        self.ordered = list(events)
        self._by_id: dict[Hashable, StoredEvent] | None = None
        self.gone: dict[Hashable, None] | None = None
        self.new: dict[Hashable, StoredEvent] = {}
        self._first: tuple[int, StoredEvent] | None = None  # of the memberships that end after a tick, one starts first
        self._longest: int | None = None  # no membership that has an end is longer

    def __len__(self) -> int:
        return len(self.ordered)

    def __iter__(self) -> Iterator[StoredEvent]:
        """Iterate in order of end, then start, of membership."""
        return iter(self.ordered)

    def get(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        if self._by_id is None:
            self._by_id = {event.id: event for event in self.ordered}
        return self._by_id.get(id)

    def replace(self, gone: Sequence[StoredEvent], new: Sequence[StoredEvent]) -> None:
        """Remove some events and insert others."""
        ordered, few = self.ordered, len(self.ordered) // _MANY
        if len(gone) <= few:
            for event in gone:
                place, end = (find(ordered, in_order(event), key=in_order) for find in (bisect_left, bisect_right))
                place = next((at for at in range(place, end) if ordered[at].id == event.id), end)
                del ordered[place : min(place + 1, end)]
        else:
            ids = {event.id for event in gone}
            self.ordered = ordered = [event for event in ordered if event.id not in ids]
        if len(new) <= few:
            for event in new:
                insort_right(ordered, event, key=in_order)
        else:
            ordered += new
            ordered.sort(key=in_order)
        self._note(gone, new)

    def forget(self, until: int, is_needed: Callable[[StoredEvent], bool] | None = None) -> list[StoredEvent]:
        """Remove the events whose membership ends at a tick or before, except those needed; return the removed."""
        candidates = self.until_at_most(until)
        if not candidates:
            return []
        kept = [] if is_needed is None else [event for event in candidates if is_needed(event)]
        if len(kept) == len(candidates):
            return []
        self.ordered[: len(candidates)] = kept
        forgotten = candidates
        if is_needed is not None and kept:
            forgotten = [event for event in candidates if not is_needed(event)]
        self._note(forgotten, ())
        return forgotten

    def follow(self) -> None:
        """Regard all events as stored, and track their changes from now on."""
        self.gone, self.new = {}, {}

    def _note(self, gone: Sequence[StoredEvent], new: Sequence[StoredEvent]) -> None:
        if self._first is not None:
            after, first = self._first
            first = min([first, *(event for event in new if event.until > after)], key=by_since)
            is_gone = first.until > after and any(event.since == first.since for event in gone)
            self._first = None if is_gone else (after, first)
        if self._longest is not None:
            self._longest = _longest_of(new, self._longest)
        if self.gone is not None:
            for event in gone:
                if self.new.pop(event.id, None) is None:
                    self.gone[event.id] = None
            self.new |= {event.id: event for event in new}
        if self._by_id is not None:
            for event in gone:
                self._by_id.pop(event.id, None)
            self._by_id |= {event.id: event for event in new}

    def overlapping(self, start: int, end: int) -> list[StoredEvent]:
        """Return the events whose membership shares a tick with `[start, end)`."""
        if self._longest is None:
            self._longest = _longest_of(self.ordered, 0)
        first = bisect_right(self.ordered, start, key=by_until)
        last = bisect_left(self.ordered, min(end + self._longest, INFINITY), first, key=by_until)
        endless = bisect_left(self.ordered, INFINITY, last, key=by_until)
        candidates = chain(islice(self.ordered, first, last), islice(self.ordered, endless, None))
        return [event for event in candidates if event.since < end and event.since < event.until]

    def until_after(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends after a tick."""
        return self.ordered[bisect_right(self.ordered, tick, key=by_until) :]

    def until_at_most(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends at a tick or before."""
        return self.ordered[: bisect_right(self.ordered, tick, key=by_until)]

    def last_end(self) -> int:
        """Return the greatest end of a member that has one; `EARLIEST` if none has."""
        endless = bisect_left(self.ordered, INFINITY, key=by_until)
        ending = map(self.ordered.__getitem__, range(endless - 1, -1, -1))
        return next((event.until for event in ending if event.is_member), EARLIEST)

    def earliest(self, after: int) -> int:
        """Return the least start of a membership that ends after a tick; `INFINITY` if there is none.

        Cost: constant while the event that starts first stays and does not end, and ticks ascend; otherwise linear.
        """
        if self._first is None or after < self._first[0] or self._first[1].until <= after:
            first = min(self.until_after(after), default=None, key=by_since)
            self._first = None if first is None else (after, first)
            return INFINITY if first is None else first.since
        return self._first[1].since


def _longest_of(events: Iterable[StoredEvent], least: int) -> int:
    """Return the length of the longest membership that has an end; the least that is given if all are shorter."""
    return max([least, *(event.until - event.since for event in events if event.until < INFINITY)])


class TriggerState(NamedTuple):
    """The trigger state of one window.

    Attributes:
        state: The trigger's own state; None once it is finished.
        is_finished: True if the trigger is not called again.
        clock: The clock reading at which the trigger is due.
        max_event_time: The max event time at which the trigger is due.
        firings: The number of firings so far.
        is_changed: True if the window's members changed since the last firing.
        since: The key's last serial number at that firing: events that came later have larger ones.
    """

    state: Any = None
    is_finished: bool = False
    clock: int = INFINITY
    max_event_time: int = INFINITY
    firings: int = 0
    is_changed: bool = False
    since: int = EARLIEST

    def wakes(self, clock: int, max_event_time: int) -> bool:
        """True if the trigger is due."""
        return self.clock <= clock or self.max_event_time <= max_event_time


by_extent: Final = attrgetter("start", "end")
"""Sort key: the order of windows."""


class Stretch(Protocol):
    """A stretch `[start, end)` of the axis."""

    @property
    def start(self) -> int:
        """Its first tick."""
        ...

    @property
    def end(self) -> int:
        """The first tick after it."""
        ...


T = TypeVar("T", bound=Stretch)


class OutputRow(NamedTuple):
    """One row of a window's output, with its lifetime."""

    start: int
    end: int
    value: Any


class LiveRow(NamedTuple):
    """An output event that has been emitted and not retracted."""

    id: int
    row: OutputRow


class WindowEntry(NamedTuple):
    """One window that has been emitted, or has a trigger state.

    Attributes:
        size: The number of its members; zero for a replaced window, which no longer exists but has live output.
        states: The state of each module, None for one without; empty while none is worth keeping.
        live: Its live output events.
        trigger_state: The state of the query's trigger; None without one.
    """

    size: int
    states: list[Any]
    live: list[LiveRow]
    trigger_state: TriggerState | None = None


NEW: Final = WindowEntry(0, [], [])
"""The entry of a window that is not in the index: no members and no output."""


class WindowIndex:
    """The windows of one key, ordered by start.

    Cost: reading and writing an entry takes constant time. What goes through the windows in order first puts new ones
    in their places: a few by a search each, many by sorting all.

    Attributes:
        entries: The entries by window, in no order; callers only read it.
        changed: The windows whose entries changed since they were stored; None if changes are not tracked.
    """

    def __init__(self, *, keeps_history: bool = False) -> None:
        """Make an index; one that keeps history has replaced windows too, whose output is shortened, not retracted."""
        self._keeps_history = keeps_history
        self.entries: dict[Window, WindowEntry] = {}
        self._order: list[Window] = []
        self._starts: list[int] = []
        self._new: set[Window] = set()  # those that the order does not have yet
        self._gone: set[Window] = set()  # those that it still has
        self._has_triggers = False
        self.changed: set[Window] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def items(self) -> list[tuple[Window, WindowEntry]]:
        """Return all entries in order."""
        return [(window, self.entries[window]) for window in self._in_order()]

    def get(self, window: Window) -> WindowEntry:
        """Return the entry of a window; `NEW` if it has none."""
        return self.entries.get(window, NEW)

    def put(self, window: Window, entry: WindowEntry) -> None:
        """Set the entry of a window; an entry without members and live rows is removed."""
        if not entry.size and not entry.live:
            self._discard(window)
            return
        if window in self._gone:
            self._gone.remove(window)
        elif window not in self.entries:
            self._new.add(window)
        self.entries[window] = entry
        self._has_triggers |= entry.trigger_state is not None
        if self.changed is not None:
            self.changed.add(window)

    def follow(self) -> None:
        """Regard all entries as stored, and track their changes from now on."""
        self.changed = set()

    def shown_in(self, stretches: Sequence[T]) -> list[tuple[Window, list[T]]]:
        """Return the windows with members that overlap some stretches `[start, end)`, each with its stretches.

        Cost: a binary search and the windows found, for each stretch; all windows, where replaced windows are kept.
        """
        order, starts, found = self._in_order(), self._starts, dict[int, list[T]]()
        for stretch in stretches:
            start = stretch.start
            for place in range(bisect_left(starts, stretch.end) - 1, -1, -1):
                window = order[place]
                if not self.entries[window].size:
                    continue
                if window.end > start:
                    found.setdefault(place, []).append(stretch)
                elif not self._keeps_history:
                    break
        return [(order[place], found[place]) for place in sorted(found)]

    def close(self, frontier: int, watermark: int, is_closed: Callable[[Window], bool] | None = None) -> int:
        """Remove the closed windows, and the final output of replaced windows.

        Args:
            frontier: Windows that start before it are closed.
            watermark: Where output is shortened and not retracted, rows that end at it or before are final.
            is_closed: Returns True for a later window that is closed too; None if no later one is.

        Returns:
            The number of windows that closed.
        """
        order = self._in_order()
        place = bisect_left(order, frontier, key=by_start)
        past, others = order[:place], filter(is_closed, order[place:]) if is_closed is not None else ()
        closed = [window for window in (*past, *others) if self.entries[window].size]
        for window in closed:
            self._discard(window)
        for window, entry in self.items() if self._keeps_history else ():
            if any(out.row.end <= watermark for out in entry.live):
                left = [out for out in entry.live if out.row.end > watermark]
                self.put(window, entry._replace(live=left))
        return len(closed)

    def unsettled(self) -> Iterable[int]:
        """Return, for each replaced window, the watermark at which all its output is final."""
        if not self._keeps_history:
            return ()
        return [max(out.row.end for out in entry.live) for entry in self.entries.values() if not entry.size]

    def wake_ups(self) -> tuple[int, int]:
        """Return the clock reading and the max event time at which the first trigger is due."""
        if not self._has_triggers:
            return INFINITY, INFINITY
        trigger_states = [entry.trigger_state for entry in self.entries.values() if entry.trigger_state is not None]
        if not trigger_states:
            return INFINITY, INFINITY
        return min(trigger_state.clock for trigger_state in trigger_states), min(
            trigger_state.max_event_time for trigger_state in trigger_states
        )

    def _discard(self, window: Window) -> None:
        if self.entries.pop(window, None) is not None:
            if window in self._new:
                self._new.remove(window)
            else:
                self._gone.add(window)
            if self.changed is not None:
                self.changed.add(window)

    def _in_order(self) -> list[Window]:
        order, starts = self._order, self._starts
        if len(self._new) + len(self._gone) > len(order) // _MANY:
            self._order = order = sorted(self.entries, key=by_extent)
            self._starts = [window.start for window in order]
        else:
            for window in self._gone:
                place = bisect_left(order, by_extent(window), key=by_extent)
                del order[place], starts[place]
            for window in self._new:
                place = bisect_left(order, by_extent(window), key=by_extent)
                order.insert(place, window)
                starts.insert(place, window.start)
        self._new.clear()
        self._gone.clear()
        return order
