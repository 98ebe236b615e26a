"""Row windows: rows released in order, the windows that they and time compute, and what modules make of these."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from muntin import INFINITY, RowOperator, Window
from muntin.modules.row_operator import HANDLERS
from muntin.rows import Action, ActionKind, MemberRow, RowsInWindow
from muntin_engine.evaluators.keyed.bucket import Start
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide, SweptWindow, results_in_order
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import ALWAYS
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import Edge
from muntin_engine.evaluators.ordered.rows_state import EVICT, INSERT, LEAVING, Members, RowsRun
from muntin_engine.modules.abilities import states_replace_rows
from muntin_engine.modules.plain_results import listing, plain_of
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import OutputChange, OutputKind, Progress


@dataclass(slots=True)
class _Open:
    """The window of a partition during a batch.

    Attributes:
        members: Its rows.
        slides: The modules' states, as they go from one computation to the next.
        entered: The rows that came since it was last computed, and are still there.
        left: The rows that it had when it was last computed, and that are gone.
    """

    members: Members
    slides: list[Slide]
    entered: Members = field(default_factory=dict)
    left: list[StoredEvent] = field(default_factory=list)

    def insert(self, row: StoredEvent) -> None:
        self.entered[row.id] = row

    def evict(self, rows: Iterable[StoredEvent]) -> None:
        self.left += [row for row in rows if self.entered.pop(row.id, None) is None]

    def computed(self, window: Window) -> list[Any]:
        """Return the result of each module."""
        step = SweptWindow(window, self.members, list(self.entered.values()), self.left)
        self.entered, self.left = {}, []
        return [slide.result(step) for slide in self.slides]


@dataclass(slots=True)
class _Folded:
    """The window of a partition during a batch, where states of modules take the place of rows.

    Attributes:
        key: Whose window it is.
        computations: The modules.
        states: The state of each; None before the first row.
        entered: The rows that are not in the states yet.
    """

    key: object
    computations: Sequence[ModuleComputation]
    states: list[Any] | None = None
    entered: list[StoredEvent] = field(default_factory=list)

    def insert(self, row: StoredEvent) -> None:
        self.entered.append(row)

    def folded(self, window: Window | None = None) -> list[Any]:
        """Return the states with all rows."""
        known = self.states or [None] * len(self.computations)
        if self.states is None or self.entered:
            if window is None:
                window = Window(self.entered[0].start, self.entered[-1].start + 1)
            self.states = [
                computation.build(self.entered, self.key, window)
                if self.states is None
                else computation.add(state, self.entered, self.key, window)
                for computation, state in zip(self.computations, known, strict=True)
            ]
            self.entered = []
        return self.states or []

    def computed(self, window: Window) -> list[Any]:
        """Return the result of each module."""
        states = zip(self.computations, self.folded(window), strict=True)
        return [computation.result_of_state(state, self.key, window) for computation, state in states]


class AggregatesRun(RowsRun):
    """Emits each window of rows that is computed.

    Cost: each row is a step of the windows, and each window costs what its modules cost: a constant per row for modules
    that slide, its members for the others.
    """

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self._folds = states_replace_rows(self.windows, [binding.module for binding in query.bindings])

    def follow(self, released: Sequence[Edge], before: Progress, now: Progress) -> None:
        """Take the rows that are released, let time pass, and keep the states that took the place of rows."""
        self._open: dict[Hashable, _Open | _Folded] = {}
        super().follow(released, before, now)
        if self.state.rows is not None:
            folded = {partition: some for partition, some in self._open.items() if isinstance(some, _Folded)}
            self.state.states |= {partition: window.folded() for partition, window in folded.items()}

    def take(self, event: StoredEvent) -> None:
        """Take the next row."""
        row, member = self.state.next_row(event)
        self.do(self.windows.step(self.state.rows, row), event.start, member)

    def advance(self, tick: int) -> None:
        """Let time pass up to a tick."""
        self.do(self.windows.advance(self.state.rows, tick), tick)

    def is_new(self) -> bool:
        """True if the windows are as good as new ones."""
        return bool(self.windows.is_empty(self.state.rows))

    def do(self, actions: Iterable[Action], time: int, row: StoredEvent | None = None) -> bool:
        """Do what the windows say."""
        del time
        for (kind, partition, _, extent), rows in self.state.done(actions, row):
            if kind is INSERT:
                self._opened(partition).insert(rows[0])
            elif kind is EVICT:
                window = self._opened(partition)
                assert isinstance(window, _Open), "windows whose rows leave at once evict none"
                window.evict(rows)
            else:
                if extent is not None:
                    results = self._opened(partition).computed(extent)
                    shown = None if self.windows.partition_by is None else partition
                    self.result.windows_closed += 1
                    self.emit(extent, results, shown, key=self.key, ends=True)
                if kind in LEAVING:
                    self._open.pop(partition, None)
        return row is not None

    def _opened(self, partition: Hashable) -> _Open | _Folded:
        found = self._open.get(partition)
        if found is None:
            state = self.state
            if self._folds:
                found = _Folded(self.key, self.results.computations, state.states.get(partition))
            else:
                found = _Open(state.members.setdefault(partition, {}), self.results.slides(self.key))
            self._open[partition] = found
        return found


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


class HandlersRun(RowsRun):
    """Tells a module that follows rows what happens to them, and emits what it returns.

    Time advances tick by tick, so that each result lies where it happens.

    Cost: each row is a step of the windows, and costs what the handlers cost.
    """

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self._handlers, by = query.once(Handlers), self.windows.partition_by
        self._partition_at = None if by is None else self.windows.reads.index(by)

    def follow(self, released: Sequence[Edge], before: Progress, now: Progress) -> None:
        """Take the rows that are released, and let time pass; what `on_evict` returns is the second output."""
        state, self._left = self.state, list[OutputChange]()
        if state.own is None:
            state.own = self._handlers.create_state(self.key)
        self._seen: dict[Hashable, dict[int, MemberRow[Any]]] = {
            partition: {seen.number: seen for row in rows.values() if (seen := self._see(row)) is not None}
            for partition, rows in state.members.items()
        }
        super().follow(released, before, now)
        if self._left:
            self.result.evicted.append((self.key, self._left))

    def take(self, event: StoredEvent) -> None:
        """Take the next row."""
        state, time = self.state, event.start
        self.advance(time)
        if self.is_new():
            state.rows, state.released = self.windows.create_state(), 0
            state.members, self._seen = {}, {}
        row, member = state.next_row(event)
        seen = self._see(member)
        is_inserted = self.do(self.windows.step(state.rows, row), time, member, seen)
        if seen is not None and not is_inserted:
            partition = 0 if self._partition_at is None else row.values[self._partition_at]
            self._call("on_pass", partition, time, None, seen)

    def advance(self, tick: int) -> None:
        """Let time pass, tick by tick."""
        while (due := self.windows.next_tick(self.state.rows)) <= tick and due < INFINITY:
            self.do(self.windows.advance(self.state.rows, due), due)

    def is_new(self) -> bool:
        """True if the windows and the module's state are as good as new ones."""
        state = self.state
        is_empty = not state.was_full and bool(self.windows.is_empty(state.rows))
        return is_empty and self._handlers.is_new(state.own, self.key, self.serializer)

    def _see(self, row: StoredEvent) -> MemberRow[Any] | None:
        payload = self._handlers.select(row.payload)
        return None if payload is SKIPPED else MemberRow(cast(int, row.id), row.start, payload)

    def do(
        self,
        actions: Iterable[Action],
        time: int,
        row: StoredEvent | None = None,
        seen: MemberRow[Any] | None = None,
    ) -> bool:
        """Tell the module what the windows do, and return True if a row comes into one.

        Args:
            actions: What they do.
            time: The tick.
            row: The row that comes, by its number; None if time alone advances.
            seen: The same as the module sees it; None if the module does not accept it.
        """
        is_inserted = False
        for (kind, partition, _, extent), rows in self.state.done(actions, row):
            if kind is INSERT:
                is_inserted = True
                if seen is not None:
                    self._seen.setdefault(partition, {})[seen.number] = seen
                    self._call("on_insert", partition, time, None, seen)
                continue
            if kind is not EVICT:
                self._call(_HANDLER_OF[kind], partition, time, extent)
            known = self._seen.get(partition, {})
            gone = [left for some in rows if (left := known.pop(cast(int, some.id), None)) is not None]
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
        state = self.state
        state.was_full |= name == "on_full"
        window = Window(time, time + 1) if extent is None else extent
        arguments = () if told is None else (told,)
        view = RowsInWindow(self._seen, partition, time, extent)
        rows = self._handlers.call(name, self.key, window, state.own, *arguments, view)
        if not rows:
            return
        shown = None if self._partition_at is None or name == "on_empty" else partition
        if name == "on_evict":
            at = window.start
            self._left += [OutputChange(OutputKind.INSERT, 0, window, at, at + 1, row, partition=shown) for row in rows]
        else:
            self.emit(window, [rows], shown, key=None, ends=name in ("on_trigger", "on_flush"))


def rows_run(query: EvaluatorQuery, start: Start) -> RowsRun:
    """Begin a micro-batch of windows that follow rows."""
    is_told = isinstance(query.bindings[0].module, RowOperator)
    return HandlersRun(query, start) if is_told else AggregatesRun(query, start)
