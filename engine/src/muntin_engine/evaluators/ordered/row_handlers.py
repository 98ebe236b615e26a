"""Modules that follow the rows of row windows: the handlers that are called for what happens to rows and windows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, cast

from muntin import INFINITY, RowOperator, Window
from muntin.modules.row_operator import HANDLERS
from muntin.rows import Action, ActionKind, MemberRow, RowsInWindow
from muntin_engine.evaluators.keyed.computation import results_in_order
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS
from muntin_engine.evaluators.keyed.keyed_run import BatchStart
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import Edge
from muntin_engine.evaluators.ordered.rows_run import RowsRun
from muntin_engine.evaluators.ordered.rows_state import ENDS_OF_WINDOWS, EVICT, INSERT
from muntin_engine.modules.plain_results import listing, plain_of
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import OutputChange, OutputKind, Progress

_HANDLER_OF: Final = {
    ActionKind.TRIGGER: "on_trigger",
    ActionKind.FLUSH: "on_flush",
    ActionKind.FULL: "on_full",
    ActionKind.EMPTY: "on_empty",
    ActionKind.REMOVE: "on_remove",
}
"""The handlers that get a window, and no row."""


class Handlers:
    """The handlers of a module, and its states.

    Attributes:
        defined: The names of the handlers that it defines.
        select: Makes the module's input of a row; `SKIPPED` if it does not accept that.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        """Find the handlers of the only module of a query, and prepare to list the rows that each returns."""
        (binding,) = query.bindings
        module = binding.module
        assert isinstance(module, RowOperator), "only such modules have handlers"
        self.select = binding.select
        self._create = module.create_state
        # The `call` of the only module: it calls a method so that an exception inside it gets the key and the window.
        self._call = query.once(results_in_order).computations[0].call
        self._new_state: list[bytes] | None = None  # an encoded new state, once `is_new` has needed it

        defined: set[str] = set()
        for name in HANDLERS:
            if getattr(type(module), name) is not getattr(RowOperator, name):
                defined.add(name)
        self.defined = frozenset(defined)

        # The rows of `on_evict` are of another type than those of all other handlers.
        result_field = module.result_field()
        evicted_field = module.evicted_field()
        plain_evicted = None if evicted_field is None else plain_of(evicted_field)
        self._methods: dict[str, Any] = {}
        for name in defined:
            method = getattr(module, name)
            if name == "on_evict":
                self._methods[name] = listing(method, plain_evicted, evicted_field)
            else:
                self._methods[name] = listing(method, binding.plain, result_field)

    def create_state(self, key: object) -> Any:
        """Return the state of a new key."""
        return self._call("create_state", key, ALWAYS, self._create)

    def is_new(self, state: Any, key: object, serializer: StateSerializer) -> bool:
        """Return True if a state is as good as a new one: it is encoded as the same bytes."""
        if self._new_state is None:
            self._new_state = serializer.pack([[self.create_state(key)]], key, [ALWAYS])
        return serializer.pack([[state]], key, [ALWAYS]) == self._new_state

    def call(self, name: str, key: object, window: Window, *arguments: object) -> list[Any]:
        """Call a handler that the module defines, and return its rows."""
        return self._call(name, key, window, self._methods[name], *arguments)


class HandlersRun(RowsRun):
    """Calls the handlers of a module that follows rows, and emits the rows that they return.

    Time advances tick by tick, so that each result lies where it happens.

    Cost: each row is a step of the windows, and costs what the handlers cost.
    """

    def __init__(self, query: EvaluatorQuery, start: BatchStart) -> None:
        """Begin a micro-batch."""
        super().__init__(query, start)
        self._handlers = query.once(Handlers)
        partition_by = self.windows.partition_by
        # The place of a row's partition among the values that the windows read of it; None without partitions.
        self._partition_place = None if partition_by is None else self.windows.reads.index(partition_by)
        # The members of each partition as the module gets them, by number, without those that it does not accept.
        self._member_rows: dict[Hashable, dict[int, MemberRow[Any]]] = {}
        # The rows of the second output.
        self._evicted: list[OutputChange] = []

    def process_released(self, released: Iterable[Edge], previous: Progress, progress: Progress) -> None:
        """Process the rows that are released, and let time pass; the rows of `on_evict` are the second output."""
        state = self.state
        self._evicted = []
        if state.module_state is None:
            state.module_state = self._handlers.create_state(self.key)

        # The members that the key has from earlier batches.
        self._member_rows = {}
        for partition, rows in state.members.items():
            member_rows: dict[int, MemberRow[Any]] = {}
            for row in rows.values():
                member_row = self._member_row(row)
                if member_row is not None:
                    member_rows[member_row.number] = member_row
            self._member_rows[partition] = member_rows
        super().process_released(released, previous, progress)
        if self._evicted:
            self.result.evicted.append((self.key, self._evicted))

    def process_row(self, event: StoredEvent) -> None:
        """Process the next released row."""
        state = self.state
        time = event.start
        self.advance(time)
        # A key that is as good as a new one begins anew, as it does when it was forgotten between two batches: the
        # numbers of rows must not depend on where batches end. The module's state equals a new one, and stays.
        if self.is_new():
            state.windows_state = self.windows.create_state()
            state.released_count = 0
            state.members = {}
            self._member_rows = {}
        row, numbered_event = state.next_row(event)
        member_row = self._member_row(numbered_event)
        is_inserted = self._process(self.windows.step(state.windows_state, row), time, numbered_event, member_row)
        if member_row is not None and not is_inserted:
            # Where rows are not partitioned, all are in the partition 0.
            partition = 0 if self._partition_place is None else row.values[self._partition_place]
            self._call("on_pass", partition, time, extent=None, argument=member_row)

    def advance(self, tick: int) -> None:
        """Let time pass up to a tick, with a stop at each tick at which the windows have something to do."""
        while True:
            due_tick = self.windows.next_tick(self.state.windows_state)
            if due_tick > tick or due_tick == INFINITY:
                return
            self.process_actions(self.windows.advance(self.state.windows_state, due_tick), due_tick)

    def is_new(self) -> bool:
        """Return True if the windows and the module's state are as good as new ones."""
        state = self.state
        if state.was_full or not self.windows.is_empty(state.windows_state):
            return False
        return self._handlers.is_new(state.module_state, self.key, self.serializer)

    def _member_row(self, row: StoredEvent) -> MemberRow[Any] | None:
        """Return a row as the module gets it; None if the module does not accept it."""
        payload = self._handlers.select(row.payload)
        return None if payload is SKIPPED else MemberRow(cast(int, row.id), row.start, payload)

    def process_actions(self, actions: Iterable[Action], time: int) -> None:
        """Apply the actions that time brings about, and call the handlers of the module."""
        self._process(actions, time)

    def _process(
        self,
        actions: Iterable[Action],
        time: int,
        row: StoredEvent | None = None,
        member_row: MemberRow[Any] | None = None,
    ) -> bool:
        """Apply actions of the windows, and call the handlers; return True if the row becomes a member.

        Args:
            actions: The actions.
            time: The tick.
            row: The row that comes, with its number for an id; None if time alone advances.
            member_row: The row as the module gets it; None if the module does not accept it.
        """
        is_inserted = False
        for (kind, partition, _, extent), rows in self.state.apply(actions, row):
            if kind is INSERT:
                is_inserted = True
                if member_row is not None:
                    self._member_rows.setdefault(partition, {})[member_row.number] = member_row
                    self._call("on_insert", partition, time, extent=None, argument=member_row)
                continue
            # The handler of a window is called while the window has its rows; `on_evict` then gets the rows that leave.
            if kind is not EVICT:
                self._call(_HANDLER_OF[kind], partition, time, extent)
            evicted = self._evict(partition, rows)
            if evicted:
                self._call("on_evict", partition, time, extent=None, argument=evicted)
            if kind in ENDS_OF_WINDOWS:
                self._member_rows.pop(partition, None)
        return is_inserted

    def _evict(self, partition: Hashable, rows: Sequence[StoredEvent]) -> list[MemberRow[Any]]:
        """Remove rows from a partition; return them as the module got them, without those that it did not accept."""
        member_rows = self._member_rows.get(partition, {})
        evicted: list[MemberRow[Any]] = []
        for row in rows:
            member_row = member_rows.pop(cast(int, row.id), None)
            if member_row is not None:
                evicted.append(member_row)
        return evicted

    def _call(
        self,
        name: str,
        partition: Hashable,
        time: int,
        extent: Window | None,
        argument: MemberRow[Any] | Sequence[MemberRow[Any]] | None = None,
    ) -> None:
        """Call a handler, if the module defines it, and emit its rows.

        The rows of `on_evict` go to the second output; each lies at the tick at which the members left.

        Args:
            name: The handler.
            partition: The partition.
            time: The tick.
            extent: The extent of the window, for handlers that get a window.
            argument: The row, or the rows, for handlers that get these.
        """
        if name not in self._handlers.defined:
            return
        state = self.state
        if name == "on_full":
            state.was_full = True  # the module knows it now, so the key is not as good as a new one
        window = Window(time, time + 1) if extent is None else extent
        arguments = () if argument is None else (argument,)
        view = RowsInWindow(self._member_rows, partition, time, extent)
        rows = self._handlers.call(name, self.key, window, state.module_state, *arguments, view)
        if not rows:
            return
        # `on_empty` is called for a marker, a row that computes the windows of all partitions, while none has a member:
        # so its rows are of no partition.
        has_partition = self._partition_place is not None and name != "on_empty"
        output_partition = partition if has_partition else None
        if name != "on_evict":
            ends_window = name in ("on_trigger", "on_flush")
            self.emit(window, [rows], output_partition, key=None, ends_window=ends_window)
            return
        # Rows of the second output are never changed: they need no ids.
        start = window.start
        for row in rows:
            change = OutputChange(
                OutputKind.INSERT,
                id=0,
                window=window,
                start=start,
                end=start + 1,
                value=row,
                partition=output_partition,
            )
            self._evicted.append(change)
