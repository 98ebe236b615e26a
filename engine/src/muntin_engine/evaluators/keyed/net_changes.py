"""The net changes of the events of one key in one batch."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import KeyEvents

Versions: TypeAlias = tuple[StoredEvent | None, StoredEvent | None]
"""An event before a batch and after it. None: it did not, or does not, exist."""


class NetChanges:
    """The net changes of events; the index stays as it is until `apply`.

    Attributes:
        inserted: New events that no other row can be about.
        touched: The other net changes by event: an event revised twice in a batch appears once.
        recut: The stretch of the axis in which windows are cut elsewhere than before; None if they are not.
    """

    recut: tuple[int, int] | None = None

    def __init__(self, state: KeyEvents) -> None:
        self.inserted: list[StoredEvent] = []
        self.touched: dict[Hashable, Versions] = {}
        self._state = state

    def apply(self) -> None:
        """Apply the changes to the index and the windows."""
        removed: list[StoredEvent] = []
        added = self.inserted
        if self.touched:  # most batches have insertions alone, which are not copied
            added = added.copy()
            for before, after in self.touched.values():
                if before is not None:
                    removed.append(before)
                if after is not None:
                    added.append(after)
        if removed or added:
            self._state.replace(removed, added)

    def current(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id as the batch has left it so far; None if there is none."""
        return self.touched[id][1] if id in self.touched else self._state.event(id)

    def put_new(self, id: Hashable, start: int, end: int, payload: tuple[Any, ...]) -> None:
        """Add an event."""
        event = StoredEvent(id, start, end, payload, *self._state.membership(start, end))
        self.touched[id] = (None, event)

    def put_end(self, event: StoredEvent, new_end: int) -> None:
        """Give an event another end."""
        before = self.touched[event.id][0] if event.id in self.touched else event
        since, until = self._state.membership(event.start, new_end)
        self.touched[event.id] = (before, event._replace(end=new_end, since=since, until=until))

    def delete(self, event: StoredEvent) -> None:
        """Remove an event."""
        before = self.touched[event.id][0] if event.id in self.touched else event
        if before is None:  # it came in this batch
            del self.touched[event.id]
        else:
            self.touched[event.id] = (before, None)
