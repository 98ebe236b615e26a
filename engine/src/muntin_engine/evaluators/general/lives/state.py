"""The state of a key that has lives: each life has the state of a key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Self

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment.cut import CutAssigner
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_entry import WindowEntry
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer


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
        """Start a life.

        Args:
            query: The query.
            serial: Numbers up to this one were used already.
        """
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

    def with_life(self, written: Sequence[Any]) -> Self:
        """Take on the number and the spans that were written of a life, and return it."""
        self.number, span, settled = written
        self.span = Span(*span)
        self.settled = None if settled is None else Span(*settled)
        return self


class KeyLives(KeyState):
    """The state of a key: its lives in order, and what waits to become part of one.

    Its own index has the events that a filter left out, which are of no life.

    Attributes:
        lives: The lives that are not over, and of which something matters.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key.

        Args:
            query: The query.
            serial: Numbers up to this one were used already, by this key or another.
        """
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

    def to_data(self, serializer: StateSerializer, key: object) -> list[object]:
        """Return the state as plain data: what a key has, and each life with that."""
        lives = [[True, *_written(life), life.to_data(serializer, key)] for life in self.lives]
        return [super().to_data(serializer, key), lives]

    def changes(self, serializer: StateSerializer, key: object) -> list[object] | None:
        """Return the difference to the stored state; lives that are not stored yet are in it as a whole."""
        own = super().changes(serializer, key)
        if own is None:
            return None
        lives: list[object] = []
        for life in self.lives:
            changes = life.changes(serializer, key)
            data = life.to_data(serializer, key) if changes is None else changes
            lives.append([changes is None, *_written(life), data])
        return [own, lives]

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        super().track()
        for life in self.lives:
            life.track()

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> KeyLives:
        """Return the state that `to_data` wrote, with the `changes` after it."""
        state = super().from_data(query, [own for own, _ in stored], serializer, key)
        assert isinstance(state, KeyLives)
        parts: dict[int, list[Any]] = {}
        for _, lives in stored:
            for is_whole, number, *_, data in lives:
                parts[number] = [data] if is_whole else [*parts[number], data]
        for _, *written, _ in stored[-1][1]:
            life = LifeState.from_data(query, parts[written[0]], serializer, key)
            assert isinstance(life, LifeState)
            state.lives.append(life.with_life(written))
        return state


def _written(life: LifeState) -> list[object]:
    """Return the number and the spans of a life as plain data."""
    return [life.number, list(life.span), None if life.settled is None else list(life.settled)]
