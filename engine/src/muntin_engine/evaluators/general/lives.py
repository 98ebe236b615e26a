"""Keys that are forgotten after silence: the state of such a key, which has lives.

A life begins with an event, and is over when the key has been silent for as long as the query says: an event that
starts then begins another life. Each life has the state of a key, and its windows are cut where it is over.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.evaluators.general.assigner import GeneralAssigner
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_index import WindowEntry
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.evaluators.keyed.live_output import LiveRow
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import NamedInput, StateReader, StateRow
from muntin_engine.time.changes import OutputChange


class Span(NamedTuple):
    """The interval from the first start of events to their last end.

    Attributes:
        start: The first start.
        end: The last end; `INFINITY` if an event has none.
    """

    start: int
    end: int


class LifeState(KeyState):
    """The state of one life of a key.

    Attributes:
        number: A number that no other life of the key has.
        span: The span of all its events, also of the forgotten ones.
        forgotten_span: The span of the events that are no longer kept; None if all are.
        life_assigner: The assigner of its windows, which cuts them where the life is over.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Begin a life, which has no events yet."""
        super().__init__(query, serial)
        self.number = serial  # each new life of a key gets a new serial number of the key
        self.span = Span(EARLIEST, INFINITY)
        self.forgotten_span: Span | None = None
        self.life_assigner = GeneralAssigner(query.window)
        self.assigner = self.life_assigner
        self._silence = query.forget_keys_after or 0

    @property
    def over_at(self) -> int:
        """The tick at which the life is over: an event that starts there begins another one."""
        return INFINITY if self.span.end == INFINITY else self.span.end + self._silence

    def set_span(self, span: Span) -> None:
        """Set the span of the life's events, and cut its windows at the tick at which the life is over then."""
        self.span = span
        self.life_assigner.cut_at = self.over_at

    def record_forgotten(self, events: Iterable[StoredEvent]) -> None:
        """Record that the index has forgotten events for good; they still extend the life."""
        spans = [Span(event.start, event.end) for event in events]
        if not spans:
            return
        if self.forgotten_span is not None:
            spans.append(self.forgotten_span)
        self.forgotten_span = Span(min(span.start for span in spans), max(span.end for span in spans))

    def to_life_data(self, serializer: StateSerializer, key: object, *, is_whole: bool) -> list[object]:
        """Return the life as plain data: the fields of `_LifeRecord`.

        Args:
            serializer: Encodes the states of modules.
            key: The key, for errors.
            is_whole: False for the difference to the saved life.
        """
        is_whole = is_whole or not self.tracks  # a life that began in this batch was never saved
        forgotten_span = None if self.forgotten_span is None else list(self.forgotten_span)
        state = self.to_data(serializer, key, is_whole=is_whole)
        return list(_LifeRecord(is_whole, self.number, list(self.span), forgotten_span, state))


class _LifeRecord(NamedTuple):
    """The parts of a life that `to_life_data` wrote.

    Attributes:
        is_whole: True if `state` is all of the life; False for the difference to the record before.
        number: The number of the life among those of its key.
        span: The span of the life.
        forgotten_span: The span that `LifeState.forgotten_span` has.
        state: The data of the state.
    """

    is_whole: bool
    number: int
    span: list[int]
    forgotten_span: list[int] | None
    state: list[Any]


class KeyLives(KeyState):
    """The state of a key: its lives in order, and the rows that wait for others of their event.

    Its own index has the events that a filter left out, which belong to no life.

    Attributes:
        lives: The lives that are not over and that later rows or windows depend on.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Begin a key, which has no lives yet."""
        super().__init__(query, serial)
        self.lives: list[LifeState] = []

    def keep_ids(self, insertions: Iterable[OutputChange], live_ids: Mapping[int, int]) -> None:
        """Give live rows the ids that they have in the output.

        A batch may retract a row and insert an equal one: both changes are left out, and the row stays in the output
        under the id that it had (see `netted`).

        Args:
            insertions: The insertions that are left out.
            live_ids: The id of the row that stays, by the id of the insertion.
        """
        for window in {change.window for change in insertions}:
            for life in self.lives:
                entry = life.windows.get(window)
                live_rows: list[LiveRow] = []
                for live_row in entry.live_rows:
                    id = live_ids.get(live_row.id, live_row.id)
                    live_rows.append(live_row._replace(id=id))
                if live_rows:
                    life.windows.put(window, entry._replace(live_rows=live_rows))

    @property
    def plain_count(self) -> int:
        """0: besides the events that this property would count, the key has those of each life."""
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
        entries: list[tuple[Window, WindowEntry]] = []
        for life in self.lives:
            entries += life.entries
        return entries

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the content of the state; `entries` has the windows of all lives."""
        yield from super().state_rows(states, inputs)
        for life in self.lives:
            yield from KeyEvents.state_rows(life, states, inputs)

    def event(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        for life in reversed(self.lives):  # rows are mostly about the events of the last life
            event = life.events.get(id)
            if event is not None:
                return event
        return self.events.get(id)  # it may be one that a filter left out

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data: the data that any key has, and those of each life."""
        lives = [life.to_life_data(serializer, key, is_whole=is_whole) for life in self.lives]
        return [super().to_data(serializer, key, is_whole=is_whole), lives]

    def track(self) -> None:
        """Mark the state as saved; record changes from now on."""
        super().track()
        for life in self.lives:
            life.track()

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> KeyLives:
        """Return the state that `to_data` wrote, with the differences that were written after it."""
        state = super().from_data(query, [key_data for key_data, _ in stored], serializer, key)
        assert isinstance(state, KeyLives)

        # Of each life the last whole record, and the differences after it.
        records_by_life: dict[int, list[Any]] = {}
        for _, lives in stored:
            for life_data in lives:
                record = _LifeRecord(*life_data)
                earlier_records = [] if record.is_whole else records_by_life[record.number]
                records_by_life[record.number] = [*earlier_records, record.state]

        # The last record names all lives that are left.
        _, last_lives = stored[-1]
        for life_data in last_lives:
            record = _LifeRecord(*life_data)
            life = LifeState.from_data(query, records_by_life[record.number], serializer, key)
            life.number = record.number
            life.set_span(Span(*record.span))
            if record.forgotten_span is not None:
                life.forgotten_span = Span(*record.forgotten_span)
            state.lives.append(life)
        return state
