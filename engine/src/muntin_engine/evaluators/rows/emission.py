"""Rows released in order, and the windows that they and time compute."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin import INFINITY, Window
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin_engine.core.changes import OutputChange, Progress, canonical
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.computation import ModuleComputation, Slide, SweptWindow, WindowResults
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.release import Release
from muntin_engine.evaluators.rows.key_state import Members, RowsKeyState, inserted


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

    def insert(self, number: int, row: StoredEvent) -> None:
        self.members[number] = self.entered[number] = row

    def evict(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            row = self.members.pop(number)
            if self.entered.pop(number, None) is None:
                self.left.append(row)

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

    def insert(self, number: int, row: StoredEvent) -> None:
        del number  # no row leaves by itself
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


class RowsEmission(Emission):
    """Releases rows that the watermark has passed, in order, and emits each window that is computed.

    Cost: sorting the released rows. Each is then a step of the windows, and each window costs what its modules cost:
    a constant per row for modules that slide, its members for the others.
    """

    follows_windows = False

    def __init__(self, query: EvaluatorQuery, windows: RowWindows, results: WindowResults, of_input: Progress) -> None:
        self._windows, self._of_input = windows, of_input
        self._results = results
        self._reads = [query.expressions[expression] for expression in windows.reads]
        self._release = Release(query)
        self._is_partitioned = windows.partition_by is not None
        modules = [computation.module for computation in results.computations]
        self._folds = windows.leaves_at_once and all(m.is_incremental and not m.is_time_sensitive for m in modules)

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that are computed."""
        del affected  # only what is released changes anything, and it is released once
        assert isinstance(state, RowsKeyState)
        windows, watermark = self._windows, now.watermark
        stored = state.windows_data
        rows = windows.create_state() if stored is None else windows.from_data(stored)
        self._output: list[OutputChange] = []
        self._open: dict[Hashable, _Open | _Folded] = {}
        for name, members in state.members.items():
            self._open[name] = _Open(members, self._results.slides(key))
        for name, states in state.states.items():
            self._open[name] = _Folded(key, self._results.computations, states)
        for event in self._release.take_out(state, watermark):
            state.released, state.newest = state.released + 1, event.start
            row = Row(state.released, event.start, tuple(canonical(read(event.payload)) for read in self._reads))
            self._take(windows.step(rows, row), key, state, event._replace(id=row.number))
        if watermark == INFINITY:
            self._take(windows.close(rows, state.end(before, now, self._of_input)), key, state)
        else:
            self._take(windows.advance(rows, watermark), key, state)
        is_over = watermark == INFINITY or windows.is_empty(rows)
        state.windows_data = None if is_over else windows.to_data(rows)
        kept = {} if is_over else self._open
        state.members = {name: window.members for name, window in kept.items() if isinstance(window, _Open)}
        state.states = {name: window.folded() for name, window in kept.items() if isinstance(window, _Folded)}
        state.schedule(windows, None if is_over else rows, watermark)
        return self._output

    def _take(
        self, actions: Iterable[Action], key: object, state: RowsKeyState, row: StoredEvent | None = None
    ) -> None:
        for kind, partition, numbers, window in actions:
            if kind is ActionKind.INSERT:
                assert row is not None, "a row is inserted when it comes"
                self._opened(partition, key).insert(numbers[0], row)
            elif kind is ActionKind.EVICT:
                window_of = self._open[partition]
                assert isinstance(window_of, _Open), "windows whose rows leave at once evict none"
                window_of.evict(numbers)
            elif kind is ActionKind.REMOVE:
                self._open.pop(partition, None)
            elif window is not None:
                results = self._opened(partition, key).computed(window)
                self._emit(key, state, partition, window, results)
                if kind is ActionKind.FLUSH:
                    del self._open[partition]

    def _opened(self, partition: Hashable, key: object) -> _Open | _Folded:
        found = self._open.get(partition)
        if found is None:
            made = _Folded(key, self._results.computations) if self._folds else _Open({}, self._results.slides(key))
            found = self._open[partition] = made
        return found

    def _emit(
        self, key: object, state: RowsKeyState, partition: Hashable, window: Window, results: Sequence[Any]
    ) -> None:
        self.windows_closed += 1
        shown = partition if self._is_partitioned else None
        self._output += inserted(state, window, self._results.stamper.rows(key, window, results), shown, ends=True)
