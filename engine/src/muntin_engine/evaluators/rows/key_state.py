"""The state of a key with row windows: the rows that wait for the watermark, and the state of its windows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

from muntin import EARLIEST, INFINITY, Window
from muntin.rows import RowWindows
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.state_serializer import StateSerializer
from muntin_engine.evaluators.general.window_entry import OutputRow

ALL: Final = Window(EARLIEST, INFINITY)
"""Stands for a window that has not been computed yet, in messages about its state."""

LATER: Final = INFINITY - 1
"""A tick so late that a state's own rows, and not the tick, say where its windows may start."""

Members: TypeAlias = dict[Hashable, StoredEvent]
"""The rows in the window of a partition, by number, the oldest first."""


class RowsKeyState(KeyState):
    """The state of a key.

    Attributes:
        windows_data: The state of the windows as plain data; None if it is as good as a new one.
        released: The number of the last row that was released.
        newest: The time of that row.
        members: The rows in the window of each partition, where they are kept.
        states: The state of each module in the window of each partition, where these take the place of rows.
        own: The state of a module that follows the rows; None if there is none, or it is as good as a new one.
        was_full: True if that module's `on_full` was called, which the key must not forget.
        due: The next tick at which something is done without a row.
        bound: The least time of an output that the windows may yet make.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key."""
        super().__init__(query, serial)
        self.windows_data: Any = None
        self.released = 0
        self.newest = EARLIEST
        self.members: dict[Hashable, Members] = {}
        self.states: dict[Hashable, list[object]] = {}
        self.own: Any = None
        self.was_full = False
        self.due = self.bound = INFINITY

    @property
    def plain_count(self) -> int:
        """0: rows in windows are kept besides events."""
        return 0

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return self.windows_data is None and super().is_empty

    @property
    def held_count(self) -> int:
        """The number of rows that wait, or are in windows."""
        return super().held_count + sum(map(len, self.members.values()))

    @property
    def held_windows(self) -> int:
        """The number of partitions that are not removed."""
        return len(self.members) + len(self.states)

    def end(self, before: Progress, now: Progress, of_input: Progress) -> int:
        """Return the tick at which the stream ends for the key.

        A key that is done ends with its own rows, and not with those of others, which a micro-batch may bring or not.

        Args:
            before: The progress of the key before the micro-batch.
            now: Its progress after it.
            of_input: The progress of the whole input after it.
        """
        if of_input.watermark == INFINITY:
            return now.horizon
        return max(self.newest + 1, before.watermark, of_input.watermark)

    def schedule(self, windows: RowWindows, rows: Any, watermark: int) -> None:
        """Set when something is done next, and from where on windows may yet be computed.

        Args:
            windows: The windows.
            rows: Their state; None if it is as good as a new one.
            watermark: The watermark.
        """
        self.due = self.bound = INFINITY
        if rows is not None:
            self.due = windows.next_tick(rows)
            later = windows.earliest_start(rows, LATER)
            if later < windows.earliest_start(windows.create_state(), LATER):  # else time moves it as that of a new key
                self.bound = windows.earliest_start(rows, watermark)

    def to_data(self, serializer: StateSerializer, key: object) -> list[object]:
        """Return the state as plain data, rows column by column."""
        members = [
            [
                partition,
                list(rows),
                [row.start for row in rows.values()],
                [row.end for row in rows.values()],
                list(chain.from_iterable(row.payload for row in rows.values())),
            ]
            for partition, rows in self.members.items()
        ]
        packed = serializer.pack([*self.states.values()], key, [ALL] * len(self.states)) if self.states else []
        states = [[*self.states], packed, serializer.schema_version]
        own: list[Any] = []
        if self.own is not None:
            own = [serializer.pack([[self.own]], key, [ALL]), serializer.schema_version, self.was_full]
        order = [self.released, self.newest]
        return [super().to_data(serializer, key), self.windows_data, order, members, states, own]

    def changes(self, serializer: StateSerializer, key: object) -> None:
        """Return None: the state is written as a whole."""

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> RowsKeyState:
        """Return the state that `to_data` wrote."""
        ((waiting, windows_data, order, members, (partitions, packed, schema_version), own),) = stored
        state = super().from_data(query, [waiting], serializer, key)
        assert isinstance(state, RowsKeyState)
        state.windows_data, (state.released, state.newest) = windows_data, order
        if partitions:
            unpacked = serializer.unpack(packed, schema_version, key, [ALL] * len(partitions))
            state.states = dict(zip(partitions, unpacked, strict=True))
        if own:
            packed_own, written_by, state.was_full = own
            ((state.own,),) = serializer.unpack(packed_own, written_by, key, [ALL])
        for partition, numbers, starts, ends, values in members:
            width = len(values) // max(len(numbers), 1)
            payloads = (tuple(values[place * width : (place + 1) * width]) for place in range(len(numbers)))
            state.members[partition] = {
                number: StoredEvent(number, start, end, payload, start, end)
                for number, start, end, payload in zip(numbers, starts, ends, payloads, strict=True)
            }
        return state


def inserted(
    state: RowsKeyState, window: Window, rows: Sequence[OutputRow], partition: Hashable, *, ends: bool
) -> list[OutputChange]:
    """Return rows of the results as changes of the output.

    Args:
        state: The key, which numbers them.
        window: The window that they are of.
        rows: The rows.
        partition: Its partition; None where there are none.
        ends: True if they are all that is returned for a window, so that the last one ends it.
    """
    return [
        OutputChange(
            OutputKind.INSERT,
            state.next_serial(),
            window,
            row.start,
            row.end,
            row.value,
            partition=partition,
            ends_window=ends and place == len(rows),
        )
        for place, row in enumerate(rows, 1)
    ]
