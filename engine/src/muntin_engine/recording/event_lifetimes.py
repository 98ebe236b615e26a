"""The lifetimes of the events of a story, found by the ticks at which they begin and end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator

from muntin import EARLIEST, INFINITY
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import Key


class EventLifetimes:
    """The events that are alive, each named by the number of the row that brought it."""

    def __init__(self) -> None:
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
        """Add an event, or give it another lifetime; one that does not end after its start is forgotten."""
        edges = self._edges_of_key[freeze(key)]
        previous = self._lifetimes.pop(event, None)
        if previous is not None:
            edges.remove(event, previous)
        if end > start:
            self._lifetimes[event] = (start, end)
            edges.add(event, (start, end))

    def cutting(self, key: Key, members: Collection[int], *ticks: int) -> set[int]:
        """Find the events of a key by which a window has its start or its end without being in it.

        At a tick where a member begins or ends, the window would have its edge without any other event.

        Args:
            key: The key.
            members: The events in the window.
            ticks: The start and the end of the window.

        Returns:
            The events that begin or end at a tick where no member does.
        """
        edges = self._edges_of_key[freeze(key)]
        cutting: set[int] = set()
        for tick in ticks:
            if tick >= INFINITY:  # no event ends there: it only has not ended yet
                continue
            events = edges.at(tick)
            if events.isdisjoint(members):
                cutting |= events
        return cutting

    def bounding(self, key: Key, event: int, start: int, end: int, *, is_clipped: bool) -> set[int]:
        """Find the events that begin or end where a part of an event does, and not the event itself.

        Args:
            key: The key.
            event: The event.
            start: The start of the part.
            end: The end of the part.
            is_clipped: True if the event ends where another one begins, however long that lasts.
        """
        edges = self._edges_of_key[freeze(key)]
        event_start, event_end = self._lifetimes.get(event, (EARLIEST, INFINITY))
        bounding: set[int] = set()
        if start > event_start and not is_clipped:
            # The part begins later than its event, because another event covered that until it ended.
            for other in edges.at(start):
                _, other_end = self._lifetimes[other]
                if other_end == start:
                    bounding.add(other)
        if end < event_end:
            # The part ends earlier than its event, because another event begins there.
            for other in edges.at(end):
                other_start, _ = self._lifetimes[other]
                if other_start == end:
                    bounding.add(other)
        return bounding

    def overlapping(self, key: Key, start: int, end: int) -> set[int]:
        """Find the events of a key that live in a part of the axis. Cost: a look at each event of the key."""
        overlapping: set[int] = set()
        for event in self._edges_of_key[freeze(key)].events():
            event_start, event_end = self._lifetimes[event]
            if event_start < end and event_end > start:
                overlapping.add(event)
        return overlapping


class _LifetimeEdges:
    """The events of a key by the ticks at which they begin or end."""

    def __init__(self) -> None:
        self._events_at: dict[int, set[int]] = defaultdict(set)

    def add(self, event: int, ticks: tuple[int, int]) -> None:
        for tick in ticks:
            self._events_at[tick].add(event)

    def remove(self, event: int, ticks: tuple[int, int]) -> None:
        for tick in ticks:
            self._events_at[tick].discard(event)

    def at(self, tick: int) -> set[int]:
        return self._events_at.get(tick, set())

    def events(self) -> set[int]:
        return set().union(*self._events_at.values())
