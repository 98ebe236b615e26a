"""A temporal join, and the state of a key of it: the events of both sides, and the rows that were emitted of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from muntin import JoinKind
from muntin_engine.core.evaluator_query import EvaluatorQuery, MakesOnce
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import DECODED, KeyEvents
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.join_plan import Condition

Name: TypeAlias = tuple[Hashable, int]
"""Names a row among those of a left event: the id of the right event, None for a part, and the row's start."""

Emitted: TypeAlias = dict[Name, tuple[int, int]]
"""The rows of a left event that were emitted: the id of each in the output, and its end."""


@dataclass(frozen=True)
class JoinQuery(MakesOnce):
    """A temporal join.

    Attributes:
        kind: The kind of the join.
        sides: The two inputs: how their events come, and what becomes of late rows. Their windows mean nothing.
        columns: The columns of the output, each as the side that it is of and its place in that side's payload.
        is_eager: True if rows are emitted at once, and retracted when they change.
        condition: The condition on the payloads of a left and a right event; None if all meet.
    """

    kind: JoinKind
    sides: tuple[EvaluatorQuery, EvaluatorQuery]
    columns: tuple[tuple[int, int], ...]
    is_eager: bool = False
    condition: Condition | None = None

    @cached_property
    def emits_at_once(self) -> bool:
        """True if a row of the output never changes once its events are there: pairs of events whose ends stay."""
        return self.kind is JoinKind.INNER and not any(side.event_ends_move for side in self.sides)

    @cached_property
    def waits(self) -> bool:
        """True if a row of the output may have to wait for a watermark although its events are there."""
        return not self.is_eager and not self.emits_at_once

    def met(self, left: StoredEvent, rights: list[StoredEvent]) -> list[StoredEvent]:
        """Return the right events that meet the condition with a left one."""
        meet = self.condition
        return rights if meet is None else [right for right in rights if meet(left.payload, right.payload)]

    def value(self, left: StoredEvent, right: StoredEvent | None) -> tuple[Any, ...]:
        """Return the columns of a row; those of the right side are null where it has no right event."""
        given = (left.payload, None if right is None else right.payload)
        return tuple(None if (own := given[side]) is None else own[place] for side, place in self.columns)


class JoinState:
    """The state of one key.

    Attributes:
        sides: The events of each side.
        emitted: The rows that were emitted, by the id of their left event; none of events that are gone.
    """

    held_windows = 0

    def __init__(self, query: JoinQuery, serial: int = 0) -> None:
        """Start a key, with the largest serial number that may be in use already, by this key or another."""
        left, right = query.sides
        self.sides = (KeyEvents(left, serial), KeyEvents(right, serial))
        self.emitted: dict[Hashable, Emitted] = {}
        self._changed: set[Hashable] | None = None

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return all(side.is_empty for side in self.sides)

    @property
    def serial(self) -> int:
        """The largest serial number in use."""
        return max(side.serial for side in self.sides)

    @property
    def held_count(self) -> int:
        """The number of events that are kept."""
        return sum(side.held_count for side in self.sides)

    @property
    def plain_count(self) -> int:
        """The number of events, if no emitted and no waiting rows are kept; otherwise 0."""
        return 0 if self.emitted or any(side.pending for side in self.sides) else self.held_count

    def memory(self, size: int) -> int:
        """Return the memory that it takes in bytes, roughly, if its records have so many bytes."""
        return DECODED * size

    def next_serial(self) -> int:
        """Return an id that the output of this key has not used yet."""
        return self.sides[0].next_serial()

    def put(self, left: Hashable, emitted: Emitted) -> None:
        """Remember the rows of a left event; none to forget it."""
        if emitted:
            self.emitted[left] = emitted
        else:
            self.emitted.pop(left, None)
        if self._changed is not None:
            self._changed.add(left)

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        for side in self.sides:
            side.track()
        self._changed = set()

    @property
    def tracks(self) -> bool:
        """True if the changes since the state was stored are known."""
        return self._changed is not None

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data, or its difference to the stored state."""
        rows = self.emitted if is_whole else {left: self.emitted.get(left, {}) for left in self._changed or ()}
        emitted = [
            [left, [[right, start, serial, end] for (right, start), (serial, end) in emitted.items()]]
            for left, emitted in rows.items()
        ]
        return [*(side.to_data(serializer, key, is_whole=is_whole) for side in self.sides), emitted]

    @classmethod
    def from_data(
        cls, query: JoinQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> JoinState:
        """Return the state that `to_data` wrote, with the differences after it."""
        state = cls(query)
        left, right = (
            KeyEvents.from_data(side, [record[place] for record in stored], serializer, key)
            for place, side in enumerate(query.sides)
        )
        state.sides = (left, right)
        for *_, rows in stored:
            for id, emitted in rows:
                state.put(id, {(other, start): (serial, end) for other, start, serial, end in emitted})
        return state
