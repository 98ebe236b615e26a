"""The index of the events of one key, by membership.

The *membership* of an event is an interval `[since, until)` of the axis: the event is a member of each window that
overlaps it. For snapshot and hopping windows that is the lifetime, extended by a reach; for count windows it is the one
tick that is counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, cast

from muntin import EARLIEST, INFINITY


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
        """Return the event as left out by a filter."""
        return self._replace(since=EARLIEST, until=EARLIEST)

    @property
    def is_endless(self) -> bool:
        """True if its membership has no end."""
        return self.until == INFINITY


stored_event: Final = cast("Callable[[tuple[Any, ...]], StoredEvent]", partial(tuple.__new__, StoredEvent))
"""Makes an event from its fields without a Python call: a key's events are decoded in each batch that touches it."""

by_id: Final = itemgetter(0)
"""The id of an event, which is its first field."""

by_payload: Final = attrgetter("payload")
"""The payload of an event."""

by_start: Final = attrgetter("start")
"""Sort key: the start of the lifetime."""

by_since: Final = attrgetter("since")
"""Sort key: the start of the membership."""

by_until: Final = attrgetter("until")
"""Sort key: the end of the membership."""

in_order: Final = attrgetter("until", "since")
"""Sort key: the order of events in an index."""

MANY: Final = 32
"""New items are put into a sorted list one by one if they are at most one in so many; else they are sorted into it."""

_FEW_TO_SCAN: Final = 32
"""So many events are looked at one by one rather than searched."""


class _Replacement(NamedTuple):
    """A change of an index.

    Attributes:
        old_events: The events that were removed.
        new_events: The events that were added.
    """

    old_events: Sequence[StoredEvent]
    new_events: Sequence[StoredEvent]


class _FirstMembership(NamedTuple):
    """The membership that starts first among those that end after a tick.

    Attributes:
        tick: The tick.
        event: The event of that membership.
    """

    tick: int
    event: StoredEvent


class EventIndex:
    """The events of one key, and their changes since they were saved, if these are tracked.

    The index of the StreamInsight paper by the ends of events. Events lie in a list in order of the end, then of the
    start, of their membership; new events wait beside the list until something goes through the events in order.

    Cost: an insertion is constant. The next walk in order first puts new events in their places: a few by a search
    each, many by sorting them with all events that end after the first of them. A search is then logarithmic in the
    number of events, and returns as many as end within the longest membership of a stretch.

    Attributes:
        size: The number of events.
        tracks: True if changes are tracked.
    """

    # Defaults of the class: a key is decoded in each batch that touches it, and few keys need all of these.
    tracks = False
    _unordered_until = INFINITY  # no membership of the unordered events ends before it
    _by_id: dict[Hashable, StoredEvent] | None = None
    _first: _FirstMembership | None = None  # the last answer of `earliest`, as long as it holds
    _longest: int | None = None  # no membership that has an end is longer

    def __init__(self, events: list[StoredEvent]) -> None:
        """Make an index of events that are in its order already; the list belongs to the index from now on."""
        self._ordered = events
        self.size = len(events)
        self._unordered: list[StoredEvent] = []  # new events that the order does not have yet
        self._changes: list[_Replacement] = []  # since the events were saved

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[StoredEvent]:
        """Iterate in order of end, then start, of membership."""
        return iter(self.ordered)

    @property
    def ordered(self) -> list[StoredEvent]:
        """The events, by end, then by start, of membership; callers only read it.

        New events wait beside the order, and are put in their places here.
        """
        ordered = self._ordered
        new_events = self._unordered
        if not new_events:
            return ordered
        if len(new_events) <= len(ordered) // MANY:
            for event in new_events:
                insort_right(ordered, event, key=in_order)
        else:
            # Events before the first new one are in their places already. If rows come in order of time, these are most
            # events.
            first_place = bisect_right(ordered, min(map(in_order, new_events)), key=in_order)
            ordered[first_place:] = sorted(ordered[first_place:] + new_events, key=in_order)
        if self._longest is not None:
            self._longest = _longest_of(new_events, self._longest)
        self._unordered = []
        self._unordered_until = INFINITY
        return ordered

    def get(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        if self._by_id is None:
            self._by_id = {event.id: event for event in self.ordered}
        return self._by_id.get(id)

    def replace(self, old_events: Sequence[StoredEvent], new_events: Sequence[StoredEvent]) -> None:
        """Remove events and insert others."""
        if old_events:
            self._remove(old_events)
        if new_events:
            self._unordered += new_events
            self._unordered_until = min(self._unordered_until, *map(by_until, new_events))
        self.size = len(self._ordered) + len(self._unordered)
        self._record_change(old_events, new_events)

    def _remove(self, events: Sequence[StoredEvent]) -> None:
        """Remove events from the order: a few by a search each, many in one walk."""
        ordered = self.ordered
        if len(events) > len(ordered) // MANY:
            removed_ids = {event.id for event in events}
            self._ordered = [event for event in ordered if event.id not in removed_ids]
            return
        for event in events:
            # Events of equal memberships are neighbours in the order; the id tells them apart.
            rank = in_order(event)
            first = bisect_left(ordered, rank, key=in_order)
            end = bisect_right(ordered, rank, key=in_order)
            for place in range(first, end):
                if ordered[place].id == event.id:
                    del ordered[place]
                    break

    def forget(self, until: int, is_needed: Callable[[StoredEvent], bool] | None = None) -> list[StoredEvent]:
        """Remove the events whose membership ends at a tick or before, and return those that were removed.

        Args:
            until: The tick.
            is_needed: Returns True for an event that stays all the same; None if none stays.
        """
        past_events = self.until_at_most(until)
        needed_events: list[StoredEvent] = []
        forgotten_events = past_events
        if is_needed is not None and past_events:
            needed_events = [event for event in past_events if is_needed(event)]
            if needed_events:  # else nothing is copied: the common case
                forgotten_events = [event for event in past_events if not is_needed(event)]
        if forgotten_events:
            # Past events are the first in the order: `until_at_most` has put all of them there.
            self._ordered[: len(past_events)] = needed_events
            self.size -= len(forgotten_events)
            self._record_change(forgotten_events, ())
        return forgotten_events

    def track(self) -> None:
        """Mark all events as saved; record changes from now on."""
        self.tracks = True
        self._changes = []

    def changes(self) -> tuple[list[Hashable], list[StoredEvent]]:
        """Return the ids of the saved events that are gone or replaced, and the events that are not saved."""
        gone_ids: dict[Hashable, None] = {}  # in the order in which they went
        unsaved: dict[Hashable, StoredEvent] = {}
        for old_events, new_events in self._changes:
            for event in old_events:
                # An event that came and went between two saves is not written at all.
                if unsaved.pop(event.id, None) is None:
                    gone_ids[event.id] = None
            unsaved.update(zip(map(by_id, new_events), new_events, strict=True))
        return list(gone_ids), list(unsaved.values())

    def _record_change(self, old_events: Sequence[StoredEvent], new_events: Sequence[StoredEvent]) -> None:
        """Record a change for the next save, and bring the events by id and the first membership up to date."""
        if self.tracks:
            self._changes.append(_Replacement(old_events, new_events))
        if self._first is not None:
            self._update_first(old_events, new_events)
        if self._by_id is not None:
            for event in old_events:
                self._by_id.pop(event.id, None)
            self._by_id.update(zip(map(by_id, new_events), new_events, strict=True))

    def _update_first(self, old_events: Sequence[StoredEvent], new_events: Sequence[StoredEvent]) -> None:
        """Bring the membership that starts first up to date, or drop it where another event may be the first."""
        assert self._first is not None
        tick, first = self._first
        if new_events and min(map(by_since, new_events)) < first.since:
            new_candidates = [event for event in new_events if event.until > tick]
            first = min([first, *new_candidates], key=by_since)
        # Starts are compared and not events: that is cheaper, and an answer that is dropped in vain is only found anew.
        may_be_gone = first.since in map(by_since, old_events)
        self._first = None if may_be_gone else _FirstMembership(tick, first)

    def overlapping(self, start: int, end: int) -> list[StoredEvent]:
        """Return the events whose membership shares a tick with `[start, end)`."""
        first = bisect_right(self.ordered, start, key=by_until)
        candidates = self._candidates_before(end, first)
        return [event for event in candidates if event.since < end and event.since < event.until]

    def _candidates_before(self, tick: int, first: int) -> Iterable[StoredEvent]:
        """Return the events whose membership starts before a tick, and some others, in order.

        Args:
            tick: The tick.
            first: The place from which on events are looked for, in the order of all events.
        """
        ordered = self.ordered
        if len(ordered) - first <= _FEW_TO_SCAN:
            return ordered[first:]
        # No membership with an end is longer than `_longest`: one that starts before `tick` ends before their sum.
        if self._longest is None:
            self._longest = _longest_of(ordered, 0)
        last = bisect_left(ordered, min(tick + self._longest, INFINITY), first, key=by_until)
        endless = bisect_left(ordered, INFINITY, last, key=by_until)  # the first membership without an end
        return chain(ordered[first:last], ordered[endless:])

    def first_until_after(self, tick: int) -> StoredEvent | None:
        """Return the event whose membership ends first after a tick; None if none does."""
        ordered = self.ordered
        place = bisect_right(ordered, tick, key=by_until)
        return ordered[place] if place < len(ordered) else None

    def put_in_order(self, events: Iterable[StoredEvent]) -> list[StoredEvent]:
        """Return events of the index in its order, also where their memberships are equal."""
        events_by_rank: dict[tuple[int, int], list[StoredEvent]] = {}
        for event in events:
            events_by_rank.setdefault(in_order(event), []).append(event)
        ordered = self.ordered
        sorted_events: list[StoredEvent] = []
        for rank in sorted(events_by_rank):
            equal_events = events_by_rank[rank]
            if len(equal_events) > 1:
                ids = {event.id for event in equal_events}
                first = bisect_left(ordered, rank, key=in_order)
                end = bisect_right(ordered, rank, key=in_order)
                equal_events = [event for event in ordered[first:end] if event.id in ids]
            sorted_events += equal_events
        return sorted_events

    def until_after(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends after a tick."""
        ordered = self.ordered
        return ordered[bisect_right(ordered, tick, key=by_until) :]

    def endless(self) -> list[StoredEvent]:
        """Return the events whose membership has no end."""
        return self.until_after(INFINITY - 1)

    def until_at_most(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends at a tick or before."""
        # New events need not be put in order while each of their memberships ends after the tick.
        ordered = self._ordered if tick < self._unordered_until else self.ordered
        return ordered[: bisect_right(ordered, tick, key=by_until)]

    def last_end(self) -> int:
        """Return the greatest end of a member that has one; `EARLIEST` if none has."""
        ordered = self.ordered
        endless = bisect_left(ordered, INFINITY, key=by_until)  # the first membership without an end
        for place in range(endless - 1, -1, -1):
            if ordered[place].is_member:
                return ordered[place].until
        return EARLIEST

    def earliest(self, tick: int) -> int:
        """Return the least start of a membership that ends after a tick; `INFINITY` if there is none.

        Cost: constant while the event that starts first stays and does not end, and ticks ascend; otherwise as many
        events as end within the longest membership after the start of the one that ends first.
        """
        if self._first is not None:
            earlier_tick, first = self._first
            # What ends after the later tick also ends after the earlier one. So if the membership that started first
            # has not ended by the later tick, it is still the first.
            if earlier_tick <= tick < first.until:
                return first.since
        ordered = self.ordered
        first_place = bisect_right(ordered, tick, key=by_until)
        if first_place == len(ordered):
            self._first = None
            return INFINITY
        first_to_end = ordered[first_place]
        candidates = self._candidates_before(first_to_end.since, first_place)
        first = min(chain([first_to_end], candidates), key=by_since)
        self._first = _FirstMembership(tick, first)
        return first.since


def _longest_of(events: Iterable[StoredEvent], least: int) -> int:
    """Return the length of the longest membership that has an end; `least` if all are shorter."""
    lengths = [event.until - event.since for event in events if event.until < INFINITY]
    return max([least, *lengths])


def union(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge stretches that overlap or touch; return disjoint ones that cover the same ticks, in order.

    Args:
        stretches: The start and the end of each stretch.

    Example:
        >>> union([(4, 6), (0, 3), (2, 4)])
        [(0, 6)]
    """
    disjoint: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if not disjoint:
            disjoint.append((start, end))
            continue
        last_start, last_end = disjoint[-1]
        if start <= last_end:
            disjoint[-1] = (last_start, max(end, last_end))
        else:
            disjoint.append((start, end))
    return disjoint
