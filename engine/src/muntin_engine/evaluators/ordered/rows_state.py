"""Row windows: the rows of a key that wait for the watermark, the state of its windows, and a micro-batch of them."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias, cast

from muntin import EARLIEST, INFINITY, TimestampPolicy, Window
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin_engine.evaluators.keyed.bucket import Start
from muntin_engine.evaluators.keyed.computation import results_in_order
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS, payloads_of
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import DelayBuffer, Edge, OrderedRun
from muntin_engine.modules.abilities import states_replace_rows
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.state.stored_bucket import HeldRow, ModuleState, NamedInput, StoredStates, payload_of
from muntin_engine.time.changes import OutputChange, OutputKind, Progress, canonical

LATER: Final = INFINITY - 1
"""A tick so late that a state's own rows, and not the tick, say where its windows may start."""

INSERT: Final = ActionKind.INSERT
EVICT: Final = ActionKind.EVICT
LEAVING: Final = ActionKind.FLUSH, ActionKind.REMOVE
"""The actions that rows come by, leave by, and all leave by; members of an enumeration take long to look up."""

Members: TypeAlias = dict[Hashable, StoredEvent]
"""The rows in the window of a partition, by number, the oldest first."""


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
        modules = [binding.module for binding in query.bindings]  # a reader of checkpoints has none
        self._keeps_rows = not modules or not states_replace_rows(self._windows, modules)
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

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield the rows that wait, those in the window of each partition, and the states of modules."""
        yield from super().held_rows(states, inputs)
        ((_, given),) = inputs
        for partition, rows in self.members.items():
            for row in rows.values():
                member = HeldRow("member", (), row.start, row.end, payload_of(given, row.payload), events=1)
                yield member._replace(partition=partition)
        whole = HeldRow("partition", (), EARLIEST, INFINITY, None)
        for partition, some in self.states.items():
            yield from states.rows(whole._replace(partition=partition), cast(Sequence[ModuleState], some))
        yield from states.rows(whole._replace(kind="key"), [] if self.own is None else [self.own])

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


class RowsRun(OrderedRun):
    """A micro-batch of windows that follow rows.

    Attributes:
        windows: The windows, as an automaton that rows and time drive.
        results: Compute the results of the modules.
    """

    state_class = RowsState
    state: RowsState

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self.windows, self.results = cast(RowWindows, query.window), query.once(results_in_order)
        self._is_aligned = query.timestamps is not TimestampPolicy.POINT_AT_END
        self._start_of_new = self.windows.earliest_start(self.windows.create_state(), LATER)

    @abstractmethod
    def take(self, event: StoredEvent) -> None:
        """Take the next row."""

    @abstractmethod
    def advance(self, tick: int) -> None:
        """Let time pass up to a tick."""

    @abstractmethod
    def do(self, actions: Iterable[Action], time: int, row: StoredEvent | None = None) -> bool:
        """Tell the modules what the windows do, and return True if a row comes into one.

        Args:
            actions: What they do.
            time: The tick.
            row: The row that comes, by its number; None if time alone advances.
        """

    @abstractmethod
    def is_new(self) -> bool:
        """True if the key can be forgotten: nothing of it differs from a new one."""

    def follow(self, released: Sequence[Edge], before: Progress, now: Progress) -> None:
        """Take the rows that are released, and let time pass."""
        state = self.state
        if state.rows is None:
            state.rows = self.windows.create_state()
        for edge in released:
            self.take(edge.event)
        if now.watermark < INFINITY:
            self.advance(now.watermark)
        else:
            end = self._end(before, now)
            self.advance(end)
            self.do(self.windows.close(state.rows, end), end)
        if now.watermark == INFINITY or self.is_new():
            state.clear()

    def _end(self, before: Progress, now: Progress) -> int:
        """Return the tick at which the stream ends for the key.

        A key that is done ends with its own rows and watermarks, and not with the rows of others, which a micro-batch
        may bring or not.
        """
        if self.now.watermark == INFINITY:
            return now.horizon
        return max(self.state.newest + 1, before.watermark, self.now.watermark, self.reached_by(self.work))

    def emit(self, window: Window, results: Sequence[Any], partition: Hashable, *, key: object, ends: bool) -> None:
        """Emit the results of a window.

        Args:
            window: The window.
            results: Those of each module.
            partition: Its partition; None where there are none.
            key: The key, for errors of aggregates.
            ends: True if they are all that is returned for the window, so that the last one ends it.
        """
        rows = self.results.stamper.rows(key, window, results)
        for place, (start, end, value) in enumerate(rows, 1):
            is_last, serial = ends and place == len(rows), self.state.next_serial()
            self.output.append(
                OutputChange(
                    *(OutputKind.INSERT, serial, window, start, end, value), partition=partition, ends_window=is_last
                )
            )

    def output_watermark(self, earliest: int) -> int:
        """Return the least start of a window that a row may yet be in; of points, what time has come to."""
        watermark = self.now.watermark
        if watermark in (EARLIEST, INFINITY) or not self._is_aligned:
            return watermark
        unborn = self.windows.earliest_start(self.windows.create_state(), watermark)
        return min(watermark, unborn, earliest)

    def timer_of(self, state: RowsState) -> KeyTimer:
        """Return when the next row is released, or time does something."""
        watermark = self.key_now.watermark
        bound = state.earliest_start(watermark, self._start_of_new) if self._is_aligned else INFINITY
        return KeyTimer(min(state.due(watermark), state.next_tick()), INFINITY, bound)


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
