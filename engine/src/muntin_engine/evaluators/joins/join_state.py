"""The state of one key of a join: the events of both sides, and the rows that were emitted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

from muntin_engine.evaluators.joins.left_timers import LeftTimers
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT, JoinQuery
from muntin_engine.evaluators.keyed.key_events import DECODED, KeyEvents
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer


class RowName(NamedTuple):
    """Names a row among those of a left event.

    Attributes:
        right_id: The id of the right event; None for a part of the left event alone.
        start: The start of the row.
    """

    right_id: Hashable
    start: int


class EmittedRow(NamedTuple):
    """A row that was emitted.

    Attributes:
        id: The id of the row in the output.
        end: The end of the row.
    """

    id: int
    end: int


EmittedRows: TypeAlias = dict[RowName, EmittedRow]
"""The rows of a left event that were emitted."""


class JoinState:
    """The state of one key.

    Attributes:
        sides: The events of each side.
        emitted: The rows that were emitted, by the id of their left event; none of events that are gone.
        left_timers: The watermarks that left events wait for, which are not stored; None until all were looked at.
    """

    held_windows = 0

    def __init__(self, query: JoinQuery, serial: int = 0) -> None:
        """Start a key without events.

        Args:
            query: The join.
            serial: The largest serial number that may be in use already, by this key or another.
        """
        left, right = query.sides
        self.sides = (KeyEvents(left, serial), KeyEvents(right, serial))
        self.emitted: dict[Hashable, EmittedRows] = {}
        self.left_timers: LeftTimers | None = None
        self._changed_left_ids: set[Hashable] | None = None  # since the last save; None if that is not tracked

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
        """The number of events if nearly all of the state's bytes are events; 0 if it has other things too."""
        if self.emitted or any(side.pending for side in self.sides):
            return 0
        return self.held_count

    def memory(self, size: int) -> int:
        """Return the memory of the state in bytes, roughly, if its records have `size` bytes."""
        timers_memory = 0 if self.left_timers is None else self.left_timers.memory
        return DECODED * size + timers_memory

    def next_serial(self) -> int:
        """Return an id that the output of this key has not used yet."""
        return self.sides[LEFT].next_serial()

    def put_emitted(self, left_id: Hashable, rows: EmittedRows) -> None:
        """Set the emitted rows of a left event; none to forget it."""
        if rows:
            self.emitted[left_id] = rows
        else:
            self.emitted.pop(left_id, None)
        if self._changed_left_ids is not None:
            self._changed_left_ids.add(left_id)

    def track(self) -> None:
        """Mark the state as saved; record changes from now on."""
        for side in self.sides:
            side.track()
        self._changed_left_ids = set()

    @property
    def tracks(self) -> bool:
        """True if the changes since the state was saved are recorded."""
        return self._changed_left_ids is not None

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data, or its difference to the saved state.

        Args:
            serializer: Turns payloads into plain data.
            key: The key, for errors.
            is_whole: True for the whole state, False for the difference.
        """
        emitted = self.emitted
        if not is_whole:
            # An event whose emitted rows are gone is written too, with none: its earlier record has some.
            emitted = {left_id: self.emitted.get(left_id, {}) for left_id in self._changed_left_ids or ()}
        emitted_data: list[object] = []
        for left_id, rows in emitted.items():
            row_data = [[*name, *row] for name, row in rows.items()]
            emitted_data.append([left_id, row_data])
        sides = [side.to_data(serializer, key, is_whole=is_whole) for side in self.sides]
        return [*sides, emitted_data]

    @classmethod
    def from_data(
        cls, query: JoinQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> JoinState:
        """Return the state that `to_data` wrote, with the differences after it.

        Args:
            query: The join.
            stored: The data of the whole state, then of each difference, in their order.
            serializer: Reads payloads.
            key: The key, for errors.
        """
        left_query, right_query = query.sides
        state = cls(query)
        state.sides = (
            KeyEvents.from_data(left_query, [record[LEFT] for record in stored], serializer, key),
            KeyEvents.from_data(right_query, [record[RIGHT] for record in stored], serializer, key),
        )
        # A later record of the rows of a left event replaces an earlier one; without rows, it removes it.
        for _left_data, _right_data, emitted_data in stored:
            for left_id, rows in emitted_data:
                emitted: EmittedRows = {}
                for right_id, start, id, end in rows:
                    emitted[RowName(right_id, start)] = EmittedRow(id, end)
                state.put_emitted(left_id, emitted)
        return state
