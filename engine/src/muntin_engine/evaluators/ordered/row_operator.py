"""A row operator over windows of rows: its handlers are called as rows come and go, and time passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, cast

from muntin import INFINITY, RowOperator, Window
from muntin.modules.row_operator import HANDLERS
from muntin.rows import Action, ActionKind, MemberRow, RowsInWindow, RowWindows
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery, plain_of
from muntin_engine.core.returned_rows import listing
from muntin_engine.core.skipping import SKIPPED
from muntin_engine.evaluators.keyed.computation import ModuleComputation, WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import Edge
from muntin_engine.evaluators.ordered.follower import Follower
from muntin_engine.evaluators.ordered.rows_state import RowsState, inserted

_HANDLER_OF: Final = {
    ActionKind.TRIGGER: "on_trigger",
    ActionKind.FLUSH: "on_flush",
    ActionKind.FULL: "on_full",
    ActionKind.EMPTY: "on_empty",
    ActionKind.REMOVE: "on_remove",
}
"""The handlers that are told of a window, and of no row."""


class Handlers:
    """The handlers of a module, and its states.

    Attributes:
        defined: The names of the handlers that it defines.
        select: Makes the module's input of a row; `SKIPPED` if it does not accept that.
    """

    def __init__(self, query: EvaluatorQuery, computation: ModuleComputation, serializer: StateSerializer) -> None:
        (binding,) = query.bindings
        assert isinstance(binding.module, RowOperator), "only such modules have handlers"
        module = binding.module
        self.defined = frozenset(n for n in HANDLERS if getattr(type(module), n) is not getattr(RowOperator, n))
        self.select = binding.select
        evicted = module.evicted_field()
        of_evicted = None if evicted is None else plain_of(evicted)
        self._methods = {
            name: listing(getattr(module, name), of_evicted, evicted)
            if name == "on_evict"
            else listing(getattr(module, name), binding.plain, module.result_field())
            for name in self.defined
        }
        self._create, self._computation, self._serializer = module.create_state, computation, serializer
        self._new: list[bytes] | None = None

    def create_state(self, key: object) -> Any:
        """Return the state of a new key."""
        return self._computation.handle("create_state", key, ALWAYS, self._create)

    def is_new(self, state: Any, key: object) -> bool:
        """Return True if a state is as good as a new one."""
        if self._new is None:
            self._new = self._serializer.pack([[self.create_state(key)]], key, [ALWAYS])
        return self._serializer.pack([[state]], key, [ALWAYS]) == self._new

    def call(self, name: str, key: object, window: Window, *arguments: object) -> list[Any]:
        """Return the rows of a handler that the module defines."""
        return self._computation.handle(name, key, window, self._methods[name], *arguments)


class RowOperatorCalls(Follower[RowsState]):
    """Tells a module that follows rows what happens to them, and emits what it returns.

    Time advances tick by tick, so that each result lies where it happens.

    Cost: each row is a step of the windows, and costs what the handlers cost.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        windows: RowWindows,
        results: WindowResults,
        of_input: Progress,
        serializer: StateSerializer,
    ) -> None:
        """Prepare for a batch.

        Args:
            query: The query.
            windows: Its windows.
            results: Calls its module.
            of_input: The progress of the whole input after the batch.
            serializer: Tells a state of the module from a new one.
        """
        super().__init__()
        self._windows, self._of_input = windows, of_input
        self._handlers = Handlers(query, results.computations[0], serializer)
        self._stamper = results.stamper

    def follow(
        self, key: object, state: RowsState, released: Sequence[Edge], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the results, and leave those of the second output in `evicted`."""
        self._output: list[OutputChange] = []
        self._left: list[OutputChange] = []
        followed = FollowedKey(self._windows, self._handlers, key, state, self._emit)
        for edge in released:
            followed.take(edge.event)
        if now.watermark == INFINITY:
            followed.close(state.end(before, now, self._of_input))
        else:
            followed.advance(now.watermark)
        if now.watermark == INFINITY or followed.is_new:
            state.clear()
        self.evicted = self._left
        return self._output

    def _emit(self, state: RowsState, partition: Hashable, window: Window, rows: list[Any], name: str) -> None:
        """Emit the rows of a handler; those of the second output lie at the tick at which their cause left."""
        if name == "on_evict":
            self._left += [
                OutputChange(OutputKind.INSERT, 0, window, window.start, window.end, row, partition=partition)
                for row in rows
            ]
            return
        ends = name in ("on_trigger", "on_flush")
        self._output += inserted(state, window, self._stamper.rows(None, window, [rows]), partition, ends=ends)


class FollowedKey:
    """The windows of a key during a batch, and the module that follows them."""

    def __init__(
        self, windows: RowWindows, handlers: Handlers, key: object, state: RowsState, emit: Callable[..., None]
    ) -> None:
        """Go on with a key.

        Args:
            windows: The windows.
            handlers: The module.
            key: The key.
            state: Its state; changed in place.
            emit: Takes rows.
        """
        self._windows: Any = windows
        self._handlers, self._key, self._state, self._emit = handlers, key, state, emit
        by = windows.partition_by
        self._partition_at = None if by is None else windows.reads.index(by)
        if state.own is None:
            state.own = handlers.create_state(key)
        if state.rows is None:
            state.rows = windows.create_state()
        self._seen: dict[Hashable, dict[int, MemberRow[Any]]] = {
            partition: {seen.number: seen for row in rows.values() if (seen := self._see(row)) is not None}
            for partition, rows in state.members.items()
        }

    def take(self, event: StoredEvent) -> None:
        """Take the next row."""
        state, time = self._state, event.start
        self.advance(time)
        if self.is_new:
            state.rows, state.released = self._windows.create_state(), 0
            state.members, self._seen = {}, {}
        row, member = state.next_row(event)
        seen, is_inserted = self._see(member), False
        for action in self._windows.step(state.rows, row):
            if action.kind is ActionKind.INSERT:
                is_inserted = True
                state.members.setdefault(action.partition, {})[row.number] = member
                if seen is not None:
                    self._seen.setdefault(action.partition, {})[row.number] = seen
                    self._call("on_insert", action.partition, time, None, seen)
            else:
                self._do(action, time)
        if seen is not None and not is_inserted:
            partition = 0 if self._partition_at is None else row.values[self._partition_at]
            self._call("on_pass", partition, time, None, seen)

    def advance(self, tick: int) -> None:
        """Let time pass, tick by tick."""
        while (due := self._windows.next_tick(self._state.rows)) <= tick and due < INFINITY:
            for action in self._windows.advance(self._state.rows, due):
                self._do(action, due)

    def close(self, tick: int) -> None:
        """End the stream."""
        self.advance(tick)
        for action in self._windows.close(self._state.rows, tick):
            self._do(action, tick)

    @property
    def is_new(self) -> bool:
        """True if the windows and the module's state are as good as new ones."""
        state = self._state
        is_empty = not state.was_full and bool(self._windows.is_empty(state.rows))
        return is_empty and self._handlers.is_new(state.own, self._key)

    def _see(self, row: StoredEvent) -> MemberRow[Any] | None:
        payload = self._handlers.select(row.payload)
        return None if payload is SKIPPED else MemberRow(cast(int, row.id), row.start, payload)

    def _do(self, action: Action, time: int) -> None:
        kind, partition, numbers, extent = action
        if kind is not ActionKind.EVICT:
            self._call(_HANDLER_OF[kind], partition, time, extent)
        if kind is ActionKind.EVICT:
            self._leave(numbers, partition, time)
        elif kind in (ActionKind.FLUSH, ActionKind.REMOVE):
            self._leave([*self._state.members.get(partition, ())], partition, time)
            self._state.members.pop(partition, None)
            self._seen.pop(partition, None)

    def _leave(self, numbers: Iterable[int], partition: Hashable, time: int) -> None:
        members = self._state.members.get(partition, {})
        known = self._seen.get(partition, {})
        gone = []
        for number in numbers:
            del members[number]
            if (seen := known.pop(number, None)) is not None:
                gone.append(seen)
        if gone:
            self._call("on_evict", partition, time, None, gone)

    def _call(
        self,
        name: str,
        partition: Hashable,
        time: int,
        extent: Window | None,
        rows: MemberRow[Any] | Sequence[MemberRow[Any]] | None = None,
    ) -> None:
        """Call a handler, if the module defines it, and emit its rows."""
        if name not in self._handlers.defined:
            return
        self._state.was_full |= name == "on_full"
        window = Window(time, time + 1) if extent is None else extent
        view = RowsInWindow(self._seen, partition, time, extent)
        told = () if rows is None else (rows,)
        found = self._handlers.call(name, self._key, window, self._state.own, *told, view)
        if found:
            shown = None if self._partition_at is None or name == "on_empty" else partition
            self._emit(self._state, shown, window, found, name)
