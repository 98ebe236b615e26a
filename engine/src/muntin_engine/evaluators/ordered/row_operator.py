"""A row operator over windows of rows: its handlers are called as rows come and go, and time passes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, cast

from muntin import INFINITY, RowOperator, Window
from muntin.modules.row_operator import HANDLERS
from muntin.rows import Action, ActionKind, MemberRow, RowsInWindow, RowWindows
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery, plain_of
from muntin_engine.core.returned_rows import listing
from muntin_engine.core.skipping import SKIPPED
from muntin_engine.evaluators.keyed.computation import results_in_order
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import Edge, Follower
from muntin_engine.evaluators.ordered.rows_state import EVICT, INSERT, LEAVING, RowsState, inserted

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

    def __init__(self, query: EvaluatorQuery) -> None:
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
        self._create, self._call = module.create_state, query.once(results_in_order).computations[0].call
        self._new: list[bytes] | None = None

    def create_state(self, key: object) -> Any:
        """Return the state of a new key."""
        return self._call("create_state", key, ALWAYS, self._create)

    def is_new(self, state: Any, key: object, serializer: StateSerializer) -> bool:
        """Return True if a state is as good as a new one."""
        if self._new is None:
            self._new = serializer.pack([[self.create_state(key)]], key, [ALWAYS])
        return serializer.pack([[state]], key, [ALWAYS]) == self._new

    def call(self, name: str, key: object, window: Window, *arguments: object) -> list[Any]:
        """Return the rows of a handler that the module defines."""
        return self._call(name, key, window, self._methods[name], *arguments)


class RowOperatorCalls(Follower[RowsState]):
    """Tells a module that follows rows what happens to them, and emits what it returns.

    Time advances tick by tick, so that each result lies where it happens.

    Cost: each row is a step of the windows, and costs what the handlers cost.
    """

    def __init__(
        self, query: EvaluatorQuery, windows: RowWindows, of_input: Progress, serializer: StateSerializer
    ) -> None:
        """Prepare for a batch."""
        super().__init__()
        self._windows, self._of_input, self._serializer = windows, of_input, serializer
        self._handlers, self._stamper = query.once(Handlers), query.once(results_in_order).stamper
        by = windows.partition_by
        self._partition_at = None if by is None else windows.reads.index(by)

    def follow(
        self, key: object, state: RowsState, released: Sequence[Edge], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the results, and leave those of the second output in `evicted`."""
        self._key, self._state = key, state
        self._output: list[OutputChange] = []
        self._left: list[OutputChange] = []
        if state.own is None:
            state.own = self._handlers.create_state(key)
        if state.rows is None:
            state.rows = self._windows.create_state()
        self._seen: dict[Hashable, dict[int, MemberRow[Any]]] = {
            partition: {seen.number: seen for row in rows.values() if (seen := self._see(row)) is not None}
            for partition, rows in state.members.items()
        }
        for edge in released:
            self._take(edge.event)
        if now.watermark < INFINITY:
            self._advance(now.watermark)
        else:
            end = state.end(before, now, self._of_input)
            self._advance(end)
            self._do(self._windows.close(state.rows, end), end)
        if now.watermark == INFINITY or self._is_new():
            state.clear()
        self.evicted = self._left
        return self._output

    def _take(self, event: StoredEvent) -> None:
        """Take the next row."""
        state, time = self._state, event.start
        self._advance(time)
        if self._is_new():
            state.rows, state.released = self._windows.create_state(), 0
            state.members, self._seen = {}, {}
        row, member = state.next_row(event)
        seen = self._see(member)
        is_inserted = self._do(self._windows.step(state.rows, row), time, member, seen)
        if seen is not None and not is_inserted:
            partition = 0 if self._partition_at is None else row.values[self._partition_at]
            self._call("on_pass", partition, time, None, seen)

    def _advance(self, tick: int) -> None:
        """Let time pass, tick by tick."""
        while (due := self._windows.next_tick(self._state.rows)) <= tick and due < INFINITY:
            self._do(self._windows.advance(self._state.rows, due), due)

    def _is_new(self) -> bool:
        """True if the windows and the module's state are as good as new ones."""
        state = self._state
        is_empty = not state.was_full and bool(self._windows.is_empty(state.rows))
        return is_empty and self._handlers.is_new(state.own, self._key, self._serializer)

    def _see(self, row: StoredEvent) -> MemberRow[Any] | None:
        payload = self._handlers.select(row.payload)
        return None if payload is SKIPPED else MemberRow(cast(int, row.id), row.start, payload)

    def _do(
        self,
        actions: Iterable[Action],
        time: int,
        member: StoredEvent | None = None,
        seen: MemberRow[Any] | None = None,
    ) -> bool:
        """Tell the module what the windows do, and return True if a row comes into one.

        Args:
            actions: What they do.
            time: The tick.
            member: The row that comes, by its number; None if time alone advances.
            seen: The same as the module sees it; None if the module does not accept it.
        """
        is_inserted = False
        for (kind, partition, _, extent), rows in self._state.done(actions, member):
            if kind is INSERT:
                is_inserted = True
                if seen is not None:
                    self._seen.setdefault(partition, {})[seen.number] = seen
                    self._call("on_insert", partition, time, None, seen)
                continue
            if kind is not EVICT:
                self._call(_HANDLER_OF[kind], partition, time, extent)
            known = self._seen.get(partition, {})
            gone = [left for row in rows if (left := known.pop(cast(int, row.id), None)) is not None]
            if gone:
                self._call("on_evict", partition, time, None, gone)
            if kind in LEAVING:
                self._seen.pop(partition, None)
        return is_inserted

    def _call(
        self,
        name: str,
        partition: Hashable,
        time: int,
        extent: Window | None,
        told: MemberRow[Any] | Sequence[MemberRow[Any]] | None = None,
    ) -> None:
        """Call a handler, if the module defines it, and emit its rows.

        Those of the second output lie at the tick at which their cause left.
        """
        if name not in self._handlers.defined:
            return
        state = self._state
        state.was_full |= name == "on_full"
        window = Window(time, time + 1) if extent is None else extent
        arguments = () if told is None else (told,)
        view = RowsInWindow(self._seen, partition, time, extent)
        rows = self._handlers.call(name, self._key, window, state.own, *arguments, view)
        if not rows:
            return
        shown = None if self._partition_at is None or name == "on_empty" else partition
        if name == "on_evict":
            at = window.start
            self._left += [OutputChange(OutputKind.INSERT, 0, window, at, at + 1, row, partition=shown) for row in rows]
        else:
            stamped, ends = self._stamper.rows(None, window, [rows]), name in ("on_trigger", "on_flush")
            self._output += inserted(state, window, stamped, shown, ends=ends)
