"""The state of a key with row windows: the rows that wait for the watermark, and the state of its windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias, cast

from muntin import EARLIEST, INFINITY, Window
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin_engine.core.changes import OutputChange, OutputKind, Progress, canonical
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS, payloads_of
from muntin_engine.evaluators.keyed.live_output import OutputRow
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import DelayBuffer

LATER: Final = INFINITY - 1
"""A tick so late that a state's own rows, and not the tick, say where its windows may start."""

INSERT: Final = ActionKind.INSERT
EVICT: Final = ActionKind.EVICT
LEAVING: Final = ActionKind.FLUSH, ActionKind.REMOVE
"""The actions that rows come by, leave by, and all leave by; members of an enumeration take long to look up."""

Members: TypeAlias = dict[Hashable, StoredEvent]
"""The rows in the window of a partition, by number, the oldest first."""


def folds(query: EvaluatorQuery) -> bool:
    """Return True if states of modules take the place of rows in windows."""
    modules = [binding.module for binding in query.bindings]
    leaves_at_once = cast(RowWindows, query.window).leaves_at_once
    return leaves_at_once and all(module.is_incremental and not module.is_time_sensitive for module in modules)


class RowsState(DelayBuffer):
    """The state of a key.

    Attributes:
        rows: The state of the windows; None if it is as good as a new one.
        released: The number of the last row that was released.
        newest: The time of that row.
        members: The rows in the window of each partition, where they are kept.
        states: The state of each module in the window of each partition, where these take the place of rows.
        own: The state of a module that follows the rows; None if there is none, or it is as good as a new one.
        was_full: True if that module's `on_full` was called, which the key must not forget.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key; see `KeyEvents`."""
        super().__init__(query, serial)
        self._windows = cast(RowWindows, query.window)
        self._reads = [query.expressions[expression] for expression in self._windows.reads]
        self._keeps_rows = not folds(query)
        self.rows: Any = None
        self.released = 0
        self.newest = EARLIEST
        self.members: dict[Hashable, Members] = {}
        self.states: dict[Hashable, list[object]] = {}
        self.own: Any = None
        self.was_full = False
        self._taken: list[StoredEvent] | None = None  # the rows released since the state was stored

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return self.rows is None and super().is_empty

    @property
    def held_count(self) -> int:
        """The number of rows that wait, or are in windows."""
        return super().held_count + sum(map(len, self.members.values()))

    @property
    def held_windows(self) -> int:
        """The number of partitions that are not removed."""
        return len(self.members) + len(self.states)

    def next_row(self, event: StoredEvent) -> tuple[Row, StoredEvent]:
        """Return a released event as the next row, with what the windows read of it, and by its number."""
        self.released, self.newest = self.released + 1, event.start
        if self._taken is not None:
            self._taken.append(event)
        read = tuple([canonical(read(event.payload)) for read in self._reads])
        return Row(self.released, event.start, read), event._replace(id=self.released)

    def done(
        self, actions: Iterable[Action], row: StoredEvent | None = None
    ) -> Iterator[tuple[Action, Sequence[StoredEvent]]]:
        """Do what the windows say to their rows, and yield each action with the rows that it is done to.

        Rows are there when their insertion is yielded, and gone when they are evicted; all rows of a window that is
        flushed or removed leave after that.

        Args:
            actions: What the windows say.
            row: The row that comes, by its number; None where time alone advances.
        """
        keeps, members = self._keeps_rows, self.members
        for action in actions:
            kind, partition, numbers, _ = action
            if kind is INSERT:
                assert row is not None, "a row is inserted when it comes"
                if keeps:
                    if partition not in members:
                        members[partition] = {}
                    members[partition][row.id] = row
                yield action, (row,)
            elif kind is EVICT:
                yield action, list(map(members[partition].pop, numbers))
            elif kind in LEAVING:
                yield action, [*members.get(partition, {}).values()]
                members.pop(partition, None)
                self.states.pop(partition, None)
            else:
                yield action, ()

    def end(self, before: Progress, now: Progress, of_input: Progress) -> int:
        """Return the tick at which the stream ends for the key, given its progress and that of the input.

        A key that is done ends with its own rows, and not with those of others, which a micro-batch may bring or not.
        """
        if of_input.watermark == INFINITY:
            return now.horizon
        return max(self.newest + 1, before.watermark, of_input.watermark)

    def clear(self) -> None:
        """Forget the windows, which are as good as new ones."""
        self.rows, self.members, self.states, self.own, self.was_full = None, {}, {}, None, False

    def next_tick(self) -> int:
        """Return the next tick at which something is done without a row."""
        return INFINITY if self.rows is None else self._windows.next_tick(self.rows)

    def earliest_start(self, watermark: int, of_new: int) -> int:
        """Return from where on windows may yet be computed, given what `LATER` gives for windows without rows."""
        first = next((event.start for event in self.events if event.is_member), INFINITY)
        if self.rows is None:
            return first
        if self._windows.earliest_start(self.rows, LATER) >= of_new:
            return first  # time moves it as that of a new key
        return min(first, self._windows.earliest_start(self.rows, watermark))

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        super().track()
        self._taken = []

    @property
    def tracks(self) -> bool:
        """True if the released rows are known, and make the windows what they are; not so the states of modules."""
        has_states = self.own is not None or bool(self.states)
        return self._taken is not None and self.rows is not None and not has_states and super().tracks

    def own_data(self, serializer: StateSerializer, key: object, *, is_whole: bool) -> list[object]:
        """Return the windows as plain data, rows column by column, or the rows that were released since."""
        if not is_whole:
            return _columns(self._taken or ())
        members = [[partition, list(rows), *_columns(rows.values())] for partition, rows in self.members.items()]
        packed = serializer.pack([*self.states.values()], key, [ALWAYS] * len(self.states))
        own = [] if self.own is None else serializer.pack([[self.own]], key, [ALWAYS])
        windows = None if self.rows is None else self._windows.to_data(self.rows)
        order = [self.released, self.newest, self.was_full, serializer.schema_version]
        return [windows, order, members, [*self.states], packed, own]

    def restore_own(
        self, stored: Sequence[tuple[Sequence[Any], int]], serializer: StateSerializer, key: object
    ) -> None:
        """Restore the windows; the rows that were released later go through them once more."""
        ((windows, order, members, partitions, packed, own), _), *later = stored
        self.released, self.newest, self.was_full, schema_version = order
        self.rows = None if windows is None else self._windows.from_data(windows)
        if partitions:
            states = serializer.unpack(packed, schema_version, key, [ALWAYS] * len(partitions))
            self.states = dict(zip(partitions, states, strict=True))
        if own:
            ((self.own,),) = serializer.unpack(own, schema_version, key, [ALWAYS])
        for partition, numbers, *columns in members:
            self.members[partition] = dict(zip(numbers, _events(numbers, *columns), strict=True))
        for columns, passed in later:
            if self.rows is None:  # all rows waited when it was stored
                self.rows = self._windows.create_state()
            for event in _events(columns[0], *columns):
                row, member = self.next_row(event)
                deque(self.done(self._windows.step(self.rows, row), member), maxlen=0)
            deque(self.done(self._windows.advance(self.rows, passed)), maxlen=0)


def _columns(rows: Iterable[StoredEvent]) -> list[object]:
    """Return rows column by column: their starts, their ends, and all their values."""
    events = list(rows)
    values = chain.from_iterable(event.payload for event in events)
    return [[event.start for event in events], [event.end for event in events], list(values)]


def _events(
    ids: Sequence[int], starts: Sequence[int], ends: Sequence[int], values: Sequence[Any]
) -> Iterable[StoredEvent]:
    """Yield rows from their columns."""
    payloads = payloads_of(values, len(values) // max(len(ids), 1), len(ids))
    return map(StoredEvent, ids, starts, ends, payloads, starts, ends)


def inserted(
    state: RowsState, window: Window, rows: Sequence[OutputRow], partition: Hashable, *, ends: bool
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
