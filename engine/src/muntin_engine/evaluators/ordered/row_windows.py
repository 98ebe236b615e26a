"""Windows of rows that modules aggregate: rows released in order, and the windows that they and time compute."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin import INFINITY, Window
from muntin.rows import Action, RowWindows
from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide, SweptWindow, WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.ordered.delay_buffer import Edge, Follower
from muntin_engine.evaluators.ordered.rows_state import EVICT, INSERT, LEAVING, Members, RowsState, folds, inserted


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


class RowAggregates(Follower[RowsState]):
    """Emits each window of rows that is computed.

    Cost: each row is a step of the windows, and each window costs what its modules cost: a constant per row for modules
    that slide, its members for the others.
    """

    def __init__(self, query: EvaluatorQuery, windows: RowWindows, results: WindowResults, of_input: Progress) -> None:
        """Prepare for a batch."""
        super().__init__()
        self._folds = folds(query)
        self._windows, self._results, self._of_input = windows, results, of_input
        self._is_partitioned = windows.partition_by is not None

    def follow(
        self, key: object, state: RowsState, released: Sequence[Edge], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that are computed."""
        windows, watermark = self._windows, now.watermark
        self._key, self._state = key, state
        self._output: list[OutputChange] = []
        self._open: dict[Hashable, _Open | _Folded] = {}
        if state.rows is None:
            state.rows = windows.create_state()
        for edge in released:
            row, member = state.next_row(edge.event)
            self._take(windows.step(state.rows, row), member)
        if watermark == INFINITY:
            self._take(windows.close(state.rows, state.end(before, now, self._of_input)))
        else:
            self._take(windows.advance(state.rows, watermark))
        for partition, window in self._open.items():
            if isinstance(window, _Folded):
                state.states[partition] = window.folded()
        if watermark == INFINITY or windows.is_empty(state.rows):
            state.clear()
        return self._output

    def _take(self, actions: Iterable[Action], row: StoredEvent | None = None) -> None:
        """Do what the windows say."""
        for (kind, partition, _, extent), rows in self._state.done(actions, row):
            if kind is INSERT:
                self._opened(partition).insert(rows[0])
            elif kind is EVICT:
                window = self._opened(partition)
                assert isinstance(window, _Open), "windows whose rows leave at once evict none"
                window.evict(rows)
            else:
                if extent is not None:
                    results = self._opened(partition).computed(extent)
                    found = self._results.stamper.rows(self._key, extent, results)
                    shown = partition if self._is_partitioned else None
                    self.windows_closed += 1
                    self._output += inserted(self._state, extent, found, shown, ends=True)
                if kind in LEAVING:
                    self._open.pop(partition, None)

    def _opened(self, partition: Hashable) -> _Open | _Folded:
        found = self._open.get(partition)
        if found is None:
            computations, state = self._results.computations, self._state
            if self._folds:
                found = _Folded(self._key, computations, state.states.get(partition))
            else:
                found = _Open(state.members.setdefault(partition, {}), self._results.slides(self._key))
            self._open[partition] = found
        return found
