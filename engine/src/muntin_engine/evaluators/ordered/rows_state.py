"""The state of a key of row windows: the rows that wait for the watermark, and the windows of the released ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias, cast

from muntin import EARLIEST, INFINITY
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS, payloads_of
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import DelayBuffer, FollowerRecord
from muntin_engine.modules.abilities import states_replace_rows
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import ModuleState, NamedInput, StateReader, StateRow, payload_of
from muntin_engine.time.changes import canonical

LATER: Final = INFINITY - 1
"""A tick so late that a state's own rows, and not the tick, say where its windows may start."""

# Constants, as members of an enumeration take long to look up.
INSERT: Final = ActionKind.INSERT
"""The action by which a row comes into a window."""
EVICT: Final = ActionKind.EVICT
"""The action by which rows leave a window."""
ENDS_OF_WINDOWS: Final = ActionKind.FLUSH, ActionKind.REMOVE
"""The actions by which all rows leave a window."""

Members: TypeAlias = dict[Hashable, StoredEvent]
"""The rows in the window of a partition, by number, the oldest first."""


class _SavedWindows(NamedTuple):
    """The data of the windows that `RowsState.follower_data` wrote, and of the modules over them.

    Attributes:
        windows: The data of the state of the windows; None if it is as good as a new one.
        order: The number and the time of the last row that was released, whether `on_full` was called, and the number
            of the schema version.
        members: The members of each partition: the partition, their numbers, and their columns.
        partitions: The partitions that have states of modules in the place of rows.
        partition_states: The encoded states of these.
        module_state: The encoded state of a module that follows rows; empty without one.
    """

    windows: Any
    order: list[Any]
    members: list[Any]
    partitions: list[Hashable]
    partition_states: list[bytes]
    module_state: list[bytes]


class RowsState(DelayBuffer):
    """The state of a key.

    Attributes:
        windows_state: The state of the windows; None if it is as good as a new one.
        released_count: The number of rows that were released, which is the number of the last one.
        newest: The time of that row.
        members: The rows in the window of each partition, where they are kept.
        states: The state of each module in the window of each partition, where these take the place of rows.
        module_state: The state of a module that follows the rows; None if there is none, or it is as good as a new one.
        was_full: True if that module's `on_full` was called, which the key must not forget.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key without windows; these begin with its first released row."""
        super().__init__(query, serial)
        self._windows = cast(RowWindows, query.window)
        self._reads = [query.expressions[expression] for expression in self._windows.reads]
        modules = [binding.module for binding in query.bindings]  # a reader of checkpoints has none
        self._keeps_rows = not modules or not states_replace_rows(self._windows, modules)
        self.windows_state: Any = None
        self.released_count = 0
        self.newest = EARLIEST
        self.members: dict[Hashable, Members] = {}
        self.states: dict[Hashable, list[object]] = {}
        self.module_state: Any = None
        self.was_full = False
        self._released_since_save: list[StoredEvent] | None = None  # None if changes are not tracked

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return self.windows_state is None and super().is_empty

    @property
    def held_count(self) -> int:
        """The number of rows that wait, or are in windows."""
        return super().held_count + sum(map(len, self.members.values()))

    @property
    def held_windows(self) -> int:
        """The number of partitions that are not removed."""
        return len(self.members) + len(self.states)

    def next_row(self, event: StoredEvent) -> tuple[Row, StoredEvent]:
        """Number a released event; return it as the next row of the windows, and as an event with the number as its id.

        This changes the state: it counts the row.
        """
        self.released_count += 1
        self.newest = event.start
        if self._released_since_save is not None:
            self._released_since_save.append(event)
        values = tuple([canonical(read(event.payload)) for read in self._reads])
        number = self.released_count
        return Row(number, event.start, values), event._replace(id=number)

    def apply(
        self, actions: Iterable[Action], row: StoredEvent | None = None
    ) -> Iterator[tuple[Action, Sequence[StoredEvent]]]:
        """Apply the actions of the windows to their rows, and yield each action with the rows that enter or leave.

        When an insertion is yielded, the row is a member already; when an eviction is yielded, the rows are members no
        more. A window that is flushed or removed has its rows when that is yielded, and none after it.

        Args:
            actions: The actions.
            row: The row that comes, with its number for an id; None where time alone advances.
        """
        members = self.members
        for action in actions:
            kind, partition, numbers, _ = action
            if kind is INSERT:
                assert row is not None, "a row is inserted when it comes"
                if self._keeps_rows:
                    if partition not in members:
                        members[partition] = {}
                    members[partition][row.id] = row
                yield action, (row,)
            elif kind is EVICT:
                yield action, list(map(members[partition].pop, numbers))
            elif kind in ENDS_OF_WINDOWS:
                yield action, list(members.get(partition, {}).values())
                members.pop(partition, None)
                self.states.pop(partition, None)
            else:
                yield action, ()

    def clear(self) -> None:
        """Forget the windows and the states of modules: the caller knows that they are as good as new ones.

        The number of the last row stays. Only handlers of modules see it, and `HandlersRun` resets it for these.
        """
        self.windows_state = None
        self.members = {}
        self.states = {}
        self.module_state = None
        self.was_full = False

    def next_tick(self) -> int:
        """Return the next tick at which time does something to the windows without a row."""
        return INFINITY if self.windows_state is None else self._windows.next_tick(self.windows_state)

    def earliest_start(self, watermark: int, start_without_rows: int) -> int:
        """Return the earliest start of windows that may yet be computed from the rows of the key.

        The start of windows without rows advances with the watermark. A row in a window may hold the earliest start
        back, until the row leaves.

        Args:
            watermark: The watermark of the key.
            start_without_rows: The earliest start of windows without rows, as if the watermark were at `LATER`. At that
                tick, any earlier start is due to a row.
        """
        # The row that waits and starts first: the events of a buffer are in the order of their starts.
        first_waiting = next((event.start for event in self.events if event.is_member), INFINITY)
        if self.windows_state is None:
            return first_waiting
        if self._windows.earliest_start(self.windows_state, LATER) >= start_without_rows:
            # No row holds the start back. The start of windows without rows is the same for all keys, and
            # `RowsRun.output_watermark` takes it into account.
            return first_waiting
        return min(first_waiting, self._windows.earliest_start(self.windows_state, watermark))

    def track(self) -> None:
        """Mark the state as saved; record changes from now on."""
        super().track()
        self._released_since_save = []

    @property
    def tracks(self) -> bool:
        """True if the rows that were released since the save are recorded, and the state follows from them."""
        is_recorded = self._released_since_save is not None and super().tracks
        # `clear` drops the windows. The rows before it, applied again when the key is read, would bring them back.
        has_windows = self.windows_state is not None
        # States of modules do not follow from rows alone: the modules would have to be called again.
        has_states = self.module_state is not None or bool(self.states)
        return is_recorded and has_windows and not has_states

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the rows that wait, those in the window of each partition, and the states of modules."""
        yield from super().state_rows(states, inputs)
        ((_, input_identity),) = inputs
        for partition, rows in self.members.items():
            for row in rows.values():
                value = payload_of(input_identity, row.payload)
                yield StateRow(
                    "member", key=(), start=row.start, end=row.end, value=value, events=1, partition=partition
                )
        for partition, module_states in self.states.items():
            partition_row = StateRow("partition", key=(), start=EARLIEST, end=INFINITY, value=None, partition=partition)
            yield from states.rows(partition_row, cast(Sequence[ModuleState], module_states))
        if self.module_state is not None:
            key_row = StateRow("key", key=(), start=EARLIEST, end=INFINITY, value=None)
            yield from states.rows(key_row, [self.module_state])

    def follower_data(self, serializer: StateSerializer, key: object, *, is_whole: bool) -> list[object]:
        """Return the windows as plain data, or the columns of the rows that were released since the save.

        The windows are the fields of `_SavedWindows`.
        """
        if not is_whole:
            return _columns(self._released_since_save or ())
        members: list[object] = []
        for partition, rows in self.members.items():
            members.append([partition, list(rows), *_columns(rows.values())])
        module_state: list[bytes] = []
        if self.module_state is not None:  # as the state of the only module in one window
            module_state = serializer.pack([[self.module_state]], key, [ALWAYS])
        windows = _SavedWindows(
            windows=None if self.windows_state is None else self._windows.to_data(self.windows_state),
            order=[self.released_count, self.newest, self.was_full, serializer.schema_version],
            members=members,
            partitions=list(self.states),
            partition_states=serializer.pack(list(self.states.values()), key, [ALWAYS] * len(self.states)),
            module_state=module_state,
        )
        return list(windows)

    def restore_follower(self, stored: Sequence[FollowerRecord], serializer: StateSerializer, key: object) -> None:
        """Restore the windows as they were saved whole; then pass the rows that were released later through them."""
        whole, *changes = stored
        saved = _SavedWindows(*whole.data)
        self.released_count, self.newest, self.was_full, schema_version = saved.order
        self.windows_state = None if saved.windows is None else self._windows.from_data(saved.windows)
        if saved.partitions:
            windows = [ALWAYS] * len(saved.partitions)
            states = serializer.unpack(saved.partition_states, schema_version, key, windows)
            self.states = dict(zip(saved.partitions, states, strict=True))
        if saved.module_state:
            ((self.module_state,),) = serializer.unpack(saved.module_state, schema_version, key, [ALWAYS])
        for partition, numbers, *columns in saved.members:
            self.members[partition] = dict(zip(numbers, _events(numbers, *columns), strict=True))

        for change in changes:
            if self.windows_state is None:  # no row had been released when the windows were saved
                self.windows_state = self._windows.create_state()
            starts, ends, values = change.data
            # `next_row` numbers the events: any ids will do here.
            for event in _events(ids=starts, starts=starts, ends=ends, values=values):
                row, numbered_event = self.next_row(event)
                self._apply_again(self._windows.step(self.windows_state, row), numbered_event)
            self._apply_again(self._windows.advance(self.windows_state, change.released_before))

    def _apply_again(self, actions: Iterable[Action], row: StoredEvent | None = None) -> None:
        """Apply actions whose results were emitted in an earlier batch."""
        for _ in self.apply(actions, row):
            pass  # `apply` does its work as it is iterated over


def _columns(rows: Iterable[StoredEvent]) -> list[object]:
    """Return rows column by column: their starts, their ends, and all their values."""
    events = list(rows)
    starts = [event.start for event in events]
    ends = [event.end for event in events]
    values = list(chain.from_iterable(event.payload for event in events))
    return [starts, ends, values]


def _events(
    ids: Sequence[int], starts: Sequence[int], ends: Sequence[int], values: Sequence[Any]
) -> Iterable[StoredEvent]:
    """Yield rows from their columns; `values` has all values of the first row, then those of the second, and so on."""
    width = len(values) // max(len(ids), 1)
    payloads = payloads_of(values, width, len(ids))
    return map(StoredEvent, ids, starts, ends, payloads, starts, ends)
