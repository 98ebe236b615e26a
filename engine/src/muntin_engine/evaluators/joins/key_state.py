"""The state of a key of a join: the events of both sides, and the rows that were emitted of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from muntin_engine.evaluators.joins.join_query import JoinQuery
from muntin_engine.evaluators.keyed.key_events import DECODED, KeyEvents
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer

Name: TypeAlias = tuple[Hashable, int]
"""Names a row among those of a left event: the id of the right event, None for a part, and the row's start."""

Emitted: TypeAlias = dict[Name, tuple[int, int]]
"""The rows of a left event that were emitted: the id of each in the output, and its end."""


class JoinState:
    """The state of one key.

    Attributes:
        sides: The events of each side.
        emitted: The rows that were emitted, by the id of their left event; none of events that are gone.
    """

    held_windows = 0

    def __init__(self, query: JoinQuery, serial: int = 0) -> None:
        """Start a key.

        Args:
            query: The join.
            serial: The largest serial number that may be in use already, by this key or another.
        """
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

    def to_data(self, serializer: StateSerializer, key: object) -> list[object]:
        """Return the state as plain data."""
        return [*(side.to_data(serializer, key) for side in self.sides), _rows_to_data(self.emitted)]

    def changes(self, serializer: StateSerializer, key: object) -> list[object] | None:
        """Return the difference to the stored state, in the form of `to_data`; None if changes are not tracked."""
        if self._changed is None:
            return None
        sides = [side.changes(serializer, key) for side in self.sides]
        changed = {left: self.emitted.get(left, {}) for left in self._changed}
        return None if None in sides else [*sides, _rows_to_data(changed)]

    @classmethod
    def from_data(
        cls, query: JoinQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> JoinState:
        """Return the state that `to_data` wrote, with the `changes` after it."""
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


def _rows_to_data(rows: dict[Hashable, Emitted]) -> list[object]:
    return [
        [left, [[right, start, serial, end] for (right, start), (serial, end) in emitted.items()]]
        for left, emitted in rows.items()
    ]
