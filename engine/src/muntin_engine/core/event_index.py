"""EventIndex: the events that a window may still need, ordered by end, then start (SI-67).

What is indexed is an event's *membership*: the stretch `[since, until)` of the axis that makes it a member of each
window the stretch overlaps. For the plain overlap rule that is its lifetime; a reach prolongs it, and a count
window's membership is the one tick that is counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from sortedcontainers import SortedKeyList


class StoredEvent:
    """An event of one key with its membership.

    Attributes:
        id: Its id; a serial number where the input has none.
        start: First tick of its lifetime.
        end: First tick after it.
        payload: The tuple of input values.
        since: First tick of its membership.
        until: First tick after it; equal to `since` for an event that is a member of nothing yet.
    """

    __slots__ = ("end", "id", "payload", "since", "start", "until")

    def __init__(self, id: Hashable, start: int, end: int, payload: tuple[Any, ...], since: int, until: int) -> None:
        self.id = id
        self.start = start
        self.end = end
        self.payload = payload
        self.since = since
        self.until = until

    def __repr__(self) -> str:
        return f"StoredEvent({self.id!r}, [{self.start}, {self.end}), {self.payload!r})"


def _order(event: StoredEvent) -> tuple[int, int]:
    return event.until, event.since


class EventIndex:
    """The events of one key.

    Cost: adding, removing and finding take time logarithmic in the number of events; `overlapping` also takes time
    for each event whose membership ends after the stretch begins.
    """

    def __init__(self, events: Iterable[StoredEvent] = ()) -> None:
        self._by_id: dict[Hashable, StoredEvent] = {event.id: event for event in events}
        self._ordered: SortedKeyList = SortedKeyList(self._by_id.values(), key=_order)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[StoredEvent]:
        """Iterate in order of end, then start, of membership."""
        return iter(self._ordered)

    def get(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        return self._by_id.get(id)

    def add_all(self, events: Iterable[StoredEvent]) -> None:
        """Take in new events."""
        new = list(events)
        self._by_id.update((event.id, event) for event in new)
        self._ordered.update(new)

    def remove(self, event: StoredEvent) -> None:
        """Forget an event."""
        del self._by_id[event.id]
        self._ordered.remove(event)

    def overlapping(self, start: int, end: int) -> list[StoredEvent]:
        """Return the events whose membership shares a tick with `[start, end)`."""
        return [event for event in self.until_after(start) if event.since < end and event.since < event.until]

    def until_after(self, tick: int) -> Iterator[StoredEvent]:
        """Iterate over the events whose membership ends after a tick."""
        found: Iterator[StoredEvent] = self._ordered.irange_key(min_key=(tick + 1, _LEAST))
        return found

    def until_at_most(self, tick: int) -> list[StoredEvent]:
        """Return the events whose membership ends at a tick or before."""
        return list(self._ordered.irange_key(max_key=(tick + 1, _LEAST), inclusive=(True, False)))


_LEAST = -(2**64)
"""Below every tick."""
