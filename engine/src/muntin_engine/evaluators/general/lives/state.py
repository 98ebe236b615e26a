"""The state of a key that has lives: each life has the state of a key, and its windows are cut where it is over."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment.assigner import Assigner
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_entry import WindowEntry
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer


class CutAssigner(Assigner):
    """The windows of another assigner up to an end: none starts there or later, and none ends later.

    Cut windows ascend in start, and none of their ends lies before that of an earlier one.

    Cost: that of the other assigner, and a constant for each window.

    Attributes:
        end: The end.
        uncut: The other assigner.
    """

    def __init__(self, uncut: Assigner) -> None:
        self.end = INFINITY
        self.uncut = uncut

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event with a lifetime: a member of the windows that overlap this stretch."""
        return self.uncut.membership(start, end)

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        return self.uncut.memberships(starts, ends)

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Take note of new events."""
        self.uncut.add(events)

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Take note of removed events."""
        self.uncut.remove(events)

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the open windows that overlap `[start, end)` and end at `limit` or before, in order."""
        if limit < self.end:
            return self.uncut.overlapping(start, end, limit)
        if start >= self.end:
            return []
        return self._cut(self.uncut.overlapping(start, min(end, self.end), INFINITY))

    def ending(self, events: Sequence[StoredEvent], after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open windows of events that end after `after`, and at `limit` or before, in order."""
        if limit < self.end:
            return self.uncut.ending(events, after, limit, horizon)
        if after >= self.end:
            return []
        return self._cut(self.uncut.ending(events, after, INFINITY, min(horizon, self.end)))

    def frontier_at(self, limit: int) -> int:
        """Return the frontier once everything that ends at `limit` or before is closed."""
        return self.uncut.frontier_at(limit)

    def close(self, limit: int) -> None:
        """Close everything that ends at `limit` or before."""
        self.uncut.close(limit)
        self.frontier = self.uncut.frontier

    def first_open(self, earliest: int) -> Window | None:
        """Return the earliest open window that has a member and whose end is known."""
        first = self.uncut.first_open(earliest)
        return None if first is None else next(iter(self._cut([first])), None)

    def first_start(self, earliest: int) -> int:
        """Return the start of the earliest open window that a stored event is or may become a member of."""
        return self.uncut.first_start(earliest)

    def next_end(self, events: EventIndex, after: int) -> int:
        """Return a lower bound of the ends after `after` of open windows with a member."""
        return INFINITY if after >= self.end else min(self.uncut.next_end(events, after), self.end)

    def next_horizon(self, horizon: int) -> int:
        """Return the next horizon before which one more window starts; `INFINITY` if windows wait for events."""
        return INFINITY if horizon >= self.end else self.uncut.next_horizon(horizon)

    def start_after(self, watermark: int) -> int:
        """Return a lower bound of the starts of all windows that have future events alone."""
        return self.uncut.start_after(watermark)

    def end_after(self, watermark: int) -> int:
        """Return a lower bound of the ends of all windows that have future events alone."""
        return min(self.uncut.end_after(watermark), self.end)

    def release(
        self, events: Iterable[StoredEvent], movable: Sequence[StoredEvent], watermark: int
    ) -> list[StoredEvent]:
        """Return the events that only closed windows need, where windows close out of order."""
        return self.uncut.release(events, movable, watermark)

    @property
    def outlives_events(self) -> bool:
        """True if its state has to be kept for a key without events."""
        return self.uncut.outlives_events

    def to_data(self) -> list[object]:
        """Return its state without the events, as plain data: that of the other assigner."""
        return self.uncut.to_data()

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        self.uncut.restore(data)
        self.frontier = self.uncut.frontier

    def _cut(self, windows: Iterable[Window]) -> list[Window]:
        end = self.end
        return [window if window.end <= end else Window(window.start, end) for window in windows if window.start < end]


class Span(NamedTuple):
    """The interval from the first start of some events to their last end."""

    start: int
    end: int


class LifeState(KeyState):
    """The state of one life of a key.

    Attributes:
        number: A number that no other life of the key has.
        span: The span of all its events, also of those that are no longer kept.
        settled: The span of those that are no longer kept; None if all are.
        cut: The assigner of its windows.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start it, with the largest serial number that may be in use already, by this key or another."""
        super().__init__(query, serial)
        assert query.forget_keys_after is not None, "keys of this query have no lives"
        self._age = query.forget_keys_after
        self.number = serial
        self.settled: Span | None = None
        self.cut = CutAssigner(self.assigner)
        self.assigner = self.cut
        self.span = Span(EARLIEST, INFINITY)

    @property
    def span(self) -> Span:
        """The span of its events."""
        return self._span

    @span.setter
    def span(self, span: Span) -> None:
        self._span = span
        self.cut.end = self.over_at

    @property
    def over_at(self) -> int:
        """The tick at which it is over: an event that starts there begins another life, and windows are cut there."""
        return INFINITY if self._span.end == INFINITY else self._span.end + self._age

    def forgot(self, events: Iterable[StoredEvent]) -> None:
        """Hear that the index has forgotten events for good; they count on for how long the life lasts."""
        known = [Span(event.start, event.end) for event in events]
        if known:
            known += [] if self.settled is None else [self.settled]
            self.settled = Span(min(span.start for span in known), max(span.end for span in known))


class KeyLives(KeyState):
    """The state of a key: its lives in order, and what waits to become part of one.

    Its own index has the events that a filter left out, which are of no life.

    Attributes:
        lives: The lives that are not over, and of which something matters.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start it, with the largest serial number that may be in use already, by this key or another."""
        super().__init__(query, serial)
        self.lives: list[LifeState] = []
        self._query = query

    @property
    def plain_count(self) -> int:
        """0: each life keeps its own."""
        return 0

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return not self.lives and super().is_empty

    @property
    def held_count(self) -> int:
        """The number of events that are kept."""
        return self.events.size + sum(life.held_count for life in self.lives)

    @property
    def held_windows(self) -> int:
        """The number of windows that are kept."""
        return sum(life.held_windows for life in self.lives)

    @property
    def entries(self) -> list[tuple[Window, WindowEntry]]:
        """The windows that are kept, each with its entry."""
        return list(chain.from_iterable(life.entries for life in self.lives))

    def event(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        found = (state.events.get(id) for state in (*reversed(self.lives), self))
        return next((event for event in found if event is not None), None)

    @property
    def age(self) -> int:
        """For how long the key may be silent before its next event begins a new life."""
        age = self._query.forget_keys_after
        assert age is not None, "keys of this query have no lives"
        return age

    def new_life(self) -> LifeState:
        """Return a life without events."""
        return LifeState(self._query, self.next_serial())

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data: what a key has, and each life with that; new lives are there as a whole."""
        lives: list[object] = []
        for life in self.lives:
            is_new = is_whole or not life.tracks
            settled, data = life.settled and list(life.settled), life.to_data(serializer, key, is_whole=is_new)
            lives.append([is_new, life.number, list(life.span), settled, data])
        return [super().to_data(serializer, key, is_whole=is_whole), lives]

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        super().track()
        for life in self.lives:
            life.track()

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> KeyLives:
        """Return the state that `to_data` wrote, with the differences after it."""
        state = super().from_data(query, [own for own, _ in stored], serializer, key)
        assert isinstance(state, KeyLives)
        parts: dict[int, list[Any]] = {}
        for _, lives in stored:
            for is_whole, number, *_, data in lives:
                parts[number] = [data] if is_whole else [*parts[number], data]
        for _, number, span, settled, _ in stored[-1][1]:
            life = LifeState.from_data(query, parts[number], serializer, key)
            life.number, life.span = number, Span(*span)
            life.settled = None if settled is None else Span(*settled)
            state.lives.append(life)
        return state
