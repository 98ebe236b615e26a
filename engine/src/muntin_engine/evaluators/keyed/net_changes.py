"""The net changes of the events of one key in one batch."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import KeyEvents


class EventChange(NamedTuple):
    """The change of an event by a batch.

    Attributes:
        previous: The event before the batch; None if it did not exist.
        present: The event after the batch; None if it does not exist.
    """

    previous: StoredEvent | None
    present: StoredEvent | None


class NetChanges:
    """The net changes of events; the index stays as it is until `apply`.

    Attributes:
        inserted: New events that no other row can be about.
        changes_by_id: The other net changes by the id of their event: an event revised twice in a batch appears once.
        changed_bounds: The start and the end of the stretch of the axis in which windows have other bounds than before
            the batch, although no event there changed; None if there is none.
    """

    changed_bounds: tuple[int, int] | None = None

    def __init__(self, state: KeyEvents) -> None:
        """Collect changes of the events of a key; there are none yet."""
        self.inserted: list[StoredEvent] = []
        self.changes_by_id: dict[Hashable, EventChange] = {}
        self._state = state

    def apply(self) -> None:
        """Apply the changes to the state of the key: its index of events, and its windows."""
        old_events: list[StoredEvent] = []
        new_events = self.inserted
        if self.changes_by_id:  # most batches have insertions alone, which are not copied
            new_events = new_events.copy()
            for previous, present in self.changes_by_id.values():
                if previous is not None:
                    old_events.append(previous)
                if present is not None:
                    new_events.append(present)
        if old_events or new_events:
            self._state.replace(old_events, new_events)

    def current(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id as the batch has left it so far; None if there is none."""
        change = self.changes_by_id.get(id)
        return self._state.event(id) if change is None else change.present

    def put_new(self, id: Hashable, start: int, end: int, payload: tuple[Any, ...]) -> None:
        """Record that the batch brings an event."""
        event = StoredEvent(id, start, end, payload, *self._state.membership(start, end))
        self.changes_by_id[id] = EventChange(previous=None, present=event)

    def put_end(self, event: StoredEvent, new_end: int) -> None:
        """Record that the batch gives an event another end."""
        since, until = self._state.membership(event.start, new_end)
        present = event._replace(end=new_end, since=since, until=until)
        self.changes_by_id[event.id] = EventChange(self._previous_version(event), present)

    def delete(self, event: StoredEvent) -> None:
        """Record that the batch removes an event."""
        previous = self._previous_version(event)
        if previous is None:  # it came in this batch
            del self.changes_by_id[event.id]
        else:
            self.changes_by_id[event.id] = EventChange(previous, present=None)

    def _previous_version(self, event: StoredEvent) -> StoredEvent | None:
        """Return an event as it was before the batch; None if the batch brought it."""
        change = self.changes_by_id.get(event.id)
        return event if change is None else change.previous
