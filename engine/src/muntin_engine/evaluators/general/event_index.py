"""EventIndex: the events that a window may still need, ordered by end, then start.

What is indexed is an event's *membership*: the stretch `[since, until)` of the axis that makes it a member of each
window the stretch overlaps. For the plain overlap rule that is its lifetime; a reach prolongs it, and a count
window's membership is the one tick that is counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
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
        until: First tick after it; equal to `since` for an event that is a member of nothing yet.
    """

    id: Hashable
    start: int
    end: int
    payload: tuple[Any, ...]
    since: int
    until: int

    @property
    def is_member(self) -> bool:
        """True if some window may have it."""
        return self.since < self.until

    @property
    def is_filtered(self) -> bool:
        """True if a filter left it out: it is a member of nothing for good, and kept for its revisions alone."""
        return self.until == EARLIEST

    def filtered(self) -> StoredEvent:
        """Return it as left out by a filter."""
        return self._replace(since=EARLIEST, until=EARLIEST)

    @property
    def is_endless(self) -> bool:
        """True if it has not stopped being a member."""
        return self.until == INFINITY


stored_event: Final = cast("Callable[[tuple[Any, ...]], StoredEvent]", partial(tuple.__new__, StoredEvent))
"""Makes an event of its fields, without a step in Python: a key's events are read in every batch that touches it."""

by_start: Final = attrgetter("start")
"""An event's order by its lifetime."""

by_since: Final = attrgetter("since")
"""An event's order among those that become members."""

by_until: Final = attrgetter("until")
"""An event's order among those that stop being members."""

_in_order: Final = attrgetter("until", "since")


class EventIndex:
    """The events of one key.

    A key is decoded once per batch and its events change at most twice in one, so they lie in a plain sorted list.

    Cost: finding a place takes time logarithmic in the number of events; changing the index is linear in it, with
    the small constant of sorting a list that is almost sorted.
    """

    def __init__(self, events: Iterable[StoredEvent] = ()) -> None:
        """Take in events that are in order already, as iterating over an index gives them."""
        self._ordered = list(events)
        self._by_id: dict[Hashable, StoredEvent] | None = None

    def __len__(self) -> int:
        return len(self._ordered)

    def __iter__(self) -> Iterator[StoredEvent]:
        """Iterate in order of end, then start, of membership."""
        return iter(self._ordered)

    def get(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        if self._by_id is None:
            self._by_id = {event.id: event for event in self._ordered}
        return self._by_id.get(id)

    def replace(self, gone: Sequence[StoredEvent], new: Sequence[StoredEvent]) -> None:
        """Forget some events and take in others."""
        if gone:
            ids = {event.id for event in gone}
            self._ordered = [event for event in self._ordered if event.id not in ids]
        if new:
            self._ordered += new
            self._ordered.sort(key=_in_order)
        self._by_id = None

    def forget(self, until: int, is_needed: Callable[[StoredEvent], bool] | None = None) -> list[StoredEvent]:
        """Forget the events whose membership ends at a tick or before, except those needed; return the forgotten."""
        candidates = self.until_at_most(until)
        if not candidates:
            return []
        kept = [] if is_needed is None else [event for event in candidates if is_needed(event)]
        if len(kept) == len(candidates):
            return []
        self._ordered[: len(candidates)] = kept
        self._by_id = None
        return [event for event in candidates if is_needed is None or not is_needed(event)] if kept else candidates

    def overlapping(self, start: int, end: int) -> list[StoredEvent]:
        """Return the events whose membership shares a tick with `[start, end)`."""
        return [event for event in self.until_after(start) if event.since < end and event.since < event.until]

    def until_after(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends after a tick."""
        return self._ordered[self._place(tick) :]

    def until_at_most(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends at a tick or before."""
        return self._ordered[: self._place(tick)]

    def last_end(self) -> int:
        """Return the greatest end of a member that has one; `EARLIEST` if none has."""
        ending = (self._ordered[place] for place in range(self._place(INFINITY - 1) - 1, -1, -1))
        return next((event.until for event in ending if event.is_member), EARLIEST)

    def earliest(self, after: int) -> int:
        """Return the least start of a membership that ends after a tick; `INFINITY` if there is none."""
        return min(map(by_since, self.until_after(after)), default=INFINITY)

    def _place(self, tick: int) -> int:
        return bisect_right(self._ordered, tick, key=by_until)
