"""The lifetimes of the events of a story, looked up by the ticks at which events begin and end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator

from muntin import EARLIEST, INFINITY
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import Key


class EventLifetimes:
    """The events that are alive, each named by the number of the row that brought it."""

    def __init__(self) -> None:
        """Begin without events."""
        self._lifetimes: dict[int, tuple[int, int]] = {}
        self._edges_of_key: dict[Hashable, _LifetimeEdges] = defaultdict(_LifetimeEdges)

    def __contains__(self, event: int) -> bool:
        return event in self._lifetimes

    def start_of(self, event: int) -> int:
        """Return the start of an event."""
        return self._lifetimes[event][0]

    def items(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield each event with its start and its end."""
        yield from self._lifetimes.items()

    def put(self, key: Key, event: int, start: int, end: int) -> None:
        """Add an event, or change its lifetime; an event is removed if it no longer ends after its start.

        Args:
            key: The key of the event.
            event: The number of the row that brought the event.
            start: The start of the lifetime.
            end: The end of the lifetime.
        """
        edges = self._edges_of_key[freeze(key)]
        previous = self._lifetimes.pop(event, None)
        if previous is not None:
            edges.remove(event, previous)
        if end > start:
            self._lifetimes[event] = (start, end)
            edges.add(event, (start, end))

    def cutting_events(self, key: Key, members: Collection[int], *ticks: int) -> set[int]:
        """Find the events of a key that are not in a window, and set where it starts or ends.

        These begin or end at the start or the end of the window, at a tick where no member begins or ends. If a member
        does, the window would start or end there also without the other events.

        Args:
            key: The key.
            members: The events in the window.
            ticks: The start and the end of the window.
        """
        edges = self._edges_of_key[freeze(key)]
        cutting_events: set[int] = set()
        for tick in ticks:
            if tick >= INFINITY:  # an event with this end has not ended yet
                continue
            events = edges.at(tick)
            if events.isdisjoint(members):
                cutting_events |= events
        return cutting_events

    def bounding_events(self, key: Key, event: int, start: int, end: int, *, is_clipped: bool) -> set[int]:
        """Find the other events because of which a part of an event begins or ends where it does.

        A join may emit only parts of an event: those during which another event matches, or none does.

        Args:
            key: The key.
            event: The event.
            start: The start of the part.
            end: The end of the part.
            is_clipped: True if the join ends the event for good where another one begins, so that no part begins where
                another event ends.
        """
        edges = self._edges_of_key[freeze(key)]
        event_start, event_end = self._lifetimes.get(event, (EARLIEST, INFINITY))
        bounding_events: set[int] = set()
        if start > event_start and not is_clipped:
            # The part begins later than its event: until then another event overlapped the event.
            for other in edges.at(start):
                _, other_end = self._lifetimes[other]
                if other_end == start:
                    bounding_events.add(other)
        if end < event_end:
            # The part ends earlier than its event: another event begins there.
            for other in edges.at(end):
                other_start, _ = self._lifetimes[other]
                if other_start == end:
                    bounding_events.add(other)
        return bounding_events

    def overlapping_events(self, key: Key, start: int, end: int) -> set[int]:
        """Find the events of a key that are alive at any tick from a start on and before an end.

        Cost: a look at each event of the key.
        """
        overlapping_events: set[int] = set()
        for event in self._edges_of_key[freeze(key)].events():
            event_start, event_end = self._lifetimes[event]
            if event_start < end and event_end > start:
                overlapping_events.add(event)
        return overlapping_events


class _LifetimeEdges:
    """The events of a key by the ticks at which they begin or end."""

    def __init__(self) -> None:
        """Begin without events."""
        self._events_at: dict[int, set[int]] = defaultdict(set)

    def add(self, event: int, ticks: tuple[int, int]) -> None:
        """Add an event with its start and its end."""
        for tick in ticks:
            self._events_at[tick].add(event)

    def remove(self, event: int, ticks: tuple[int, int]) -> None:
        """Remove an event with its start and its end."""
        for tick in ticks:
            self._events_at[tick].discard(event)

    def at(self, tick: int) -> set[int]:
        """Return the events that begin or end at a tick."""
        return self._events_at.get(tick, set())

    def events(self) -> set[int]:
        """Return all events."""
        return set().union(*self._events_at.values())
