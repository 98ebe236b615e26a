"""Everything the evaluator remembers of one key between micro-batches."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from muntin import Window
from muntin_engine.core.assignment import assigner_of
from muntin_engine.core.changes import InputChange
from muntin_engine.core.computation import OutputRow
from muntin_engine.core.event_index import EventIndex, StoredEvent
from muntin_engine.core.query import WindowedQuery
from muntin_engine.core.samples import Samples
from muntin_engine.core.window_index import StandingRow, WindowEntry, WindowIndex


class KeyState:
    """The indexes of one key.

    Attributes:
        events: The events an open window may need, or that may still be revised.
        windows: The windows that are out and may change, and how the axis is cut.
        parked: Revisions that came before their event, by id.
        samples: The times of an edge stream's samples.
    """

    def __init__(self, query: WindowedQuery) -> None:
        self.events = EventIndex()
        self.windows = WindowIndex(assigner_of(query.window), keeps_history=query.is_time_bound)
        self.parked: dict[Hashable, list[InputChange]] = {}
        self.samples = Samples()
        self._serial = 0

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return not len(self.events) and not len(self.windows) and not self.parked

    def next_serial(self) -> int:
        """Return a number this key has not used yet."""
        self._serial += 1
        return self._serial

    def forget(self, event: StoredEvent) -> None:
        """Drop an event that nothing needs any more."""
        self.events.remove(event)
        self.windows.assigner.remove(event)
        self.samples.discard(event.start)

    def to_data(self) -> list[Any]:
        """Return the state as plain data."""
        events = list(self.events)
        return [
            self.windows.assigner.frontier,
            self._serial,
            [event.id for event in events],
            [event.start for event in events],
            [event.end for event in events],
            [list(event.payload) for event in events],
            [list(change) for chain in self.parked.values() for change in chain],
            [_window_to_data(window, entry) for window, entry in self.windows.items()],
        ]

    @classmethod
    def from_data(cls, query: WindowedQuery, data: list[Any]) -> KeyState:
        """Return the state that `to_data` wrote."""
        frontier, serial, ids, starts, ends, payloads, parked, windows = data
        state = cls(query)
        assigner = state.windows.assigner
        assigner.frontier = frontier
        state._serial = serial
        events = [
            StoredEvent(id, start, end, tuple(payload), *assigner.membership(start, end))
            for id, start, end, payload in zip(ids, starts, ends, payloads, strict=True)
        ]
        state._restore_events(events, is_edge=query.is_edge)
        for id, start, end, payload, new_end in parked:
            state.parked.setdefault(id, []).append(InputChange(id, start, end, tuple(payload), new_end))
        for start, end, states, standing in windows:
            rows = [StandingRow(id, OutputRow(*row)) for id, *row in standing]
            state.windows.put(Window(start, end), WindowEntry(states, rows))
        return state

    def _restore_events(self, events: list[StoredEvent], *, is_edge: bool) -> None:
        self.events.add_all(events)
        for event in events:
            self.windows.assigner.add(event)
            if is_edge:
                self.samples.add(event.start, event.id)


def _window_to_data(window: Window, entry: WindowEntry) -> list[Any]:
    standing = [[out.id, out.row.start, out.row.end, out.row.value] for out in entry.standing]
    return [window.start, window.end, entry.states, standing]
