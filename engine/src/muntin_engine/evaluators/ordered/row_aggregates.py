"""Aggregates over row windows: each window that rows or time compute, with the results of the modules."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from muntin import Window
from muntin.rows import Action
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.keyed_run import BatchStart
from muntin_engine.evaluators.keyed.sweep import SweptWindow
from muntin_engine.evaluators.ordered.delay_buffer import Edge
from muntin_engine.evaluators.ordered.rows_run import RowsRun
from muntin_engine.evaluators.ordered.rows_state import ENDS_OF_WINDOWS, EVICT, INSERT, Members
from muntin_engine.modules.abilities import states_replace_rows
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import Progress


@dataclass(slots=True)
class _WindowOfRows:
    """The window of a partition during a batch.

    Attributes:
        members: Its rows.
        slides: The modules' states, as they go from one computation to the next.
        entered: The rows that came since the window was last computed, and are still there.
        departed: The rows that the window had when it was last computed, and that are gone.
    """

    members: Members
    slides: list[Slide]
    entered: Members = field(default_factory=dict)
    departed: list[StoredEvent] = field(default_factory=list)

    def insert(self, row: StoredEvent) -> None:
        """Record a row that came, for the next computation."""
        self.entered[row.id] = row

    def evict(self, rows: Iterable[StoredEvent]) -> None:
        """Record rows that left, for the next computation."""
        for row in rows:
            # A row that came after the last computation is in no module's state.
            if self.entered.pop(row.id, None) is None:
                self.departed.append(row)

    def results(self, window: Window) -> list[Any]:
        """Compute the window: return the result of each module, and record rows anew for the next computation."""
        entered = list(self.entered.values())
        step = SweptWindow(window, members=self.members, entered=entered, departed=self.departed)
        self.entered = {}
        self.departed = []
        return [slide.result(step) for slide in self.slides]


@dataclass(slots=True)
class _WindowOfStates:
    """The window of a partition during a batch, where states of modules take the place of rows.

    Attributes:
        key: The key of the partition.
        computations: The modules.
        states: The state of each; None before the first row.
        entered: The rows that are not in the states yet.
    """

    key: object
    computations: Sequence[ModuleComputation]
    states: list[Any] | None = None
    entered: list[StoredEvent] = field(default_factory=list)

    def insert(self, row: StoredEvent) -> None:
        """Record a row that came, which the next computation adds to the states."""
        self.entered.append(row)

    def folded_states(self, window: Window | None = None) -> list[Any]:
        """Add the rows that came to the states of the modules, and return these.

        Args:
            window: The window, for errors of modules; by default the stretch of the rows that are added.
        """
        if not self.entered and self.states is not None:
            return self.states
        if window is None:
            window = Window(self.entered[0].start, self.entered[-1].start + 1)
        states: list[Any] = []
        for place, computation in enumerate(self.computations):
            if self.states is None:
                states.append(computation.build(self.entered, self.key, window))
            else:
                states.append(computation.add(self.states[place], self.entered, self.key, window))
        self.states = states
        self.entered = []
        return states

    def results(self, window: Window) -> list[Any]:
        """Add the rows that came to the states of the modules, and return the result of each module."""
        states = self.folded_states(window)
        results: list[Any] = []
        for computation, state in zip(self.computations, states, strict=True):
            results.append(computation.result_of_state(state, self.key, window))
        return results


class AggregatesRun(RowsRun):
    """Emits each window of rows that is computed.

    Cost: each row is a step of the windows, and each window costs what its modules cost: a constant per row for modules
    that slide, its members for the others.
    """

    def __init__(self, query: EvaluatorQuery, start: BatchStart) -> None:
        """Begin a micro-batch."""
        super().__init__(query, start)
        modules = [binding.module for binding in query.bindings]
        self._has_states = states_replace_rows(self.windows, modules)
        self._open_windows: dict[Hashable, _WindowOfRows | _WindowOfStates] = {}  # of the present key, by partition

    def process_released(self, released: Iterable[Edge], previous: Progress, progress: Progress) -> None:
        """Process the rows that are released, let time pass, and keep the states that took the place of rows."""
        self._open_windows = {}
        super().process_released(released, previous, progress)
        if self.state.windows_state is None:
            return  # the windows were forgotten
        for partition, window in self._open_windows.items():
            if isinstance(window, _WindowOfStates):
                self.state.states[partition] = window.folded_states()

    def process_row(self, event: StoredEvent) -> None:
        """Process the next released row."""
        row, member = self.state.next_row(event)
        self.process_actions(self.windows.step(self.state.windows_state, row), event.start, member)

    def advance(self, tick: int) -> None:
        """Let time pass up to a tick."""
        self.process_actions(self.windows.advance(self.state.windows_state, tick), tick)

    def is_new(self) -> bool:
        """Return True if the windows are as good as new ones."""
        return bool(self.windows.is_empty(self.state.windows_state))

    def process_actions(self, actions: Iterable[Action], time: int, row: StoredEvent | None = None) -> None:
        """Apply actions of the windows, and emit the windows that are computed.

        Args:
            actions: The actions.
            time: The tick.
            row: The row that comes, with its number for an id; None if time alone advances.
        """
        del time
        for (kind, partition, _, extent), rows in self.state.apply(actions, row):
            if kind is INSERT:
                (inserted_row,) = rows
                self._open_window(partition).insert(inserted_row)
                continue
            if kind is EVICT:
                window = self._open_window(partition)
                assert isinstance(window, _WindowOfRows), "windows whose rows leave at once evict none"
                window.evict(rows)
                continue

            # Any other action computes the window if it has an extent. Those in `ENDS_OF_WINDOWS` empty the window
            # after that.
            if extent is not None:
                results = self._open_window(partition).results(extent)
                output_partition = None if self.windows.partition_by is None else partition
                self.result.windows_closed += 1
                self.emit(extent, results, output_partition, key=self.key, ends_window=True)
            if kind in ENDS_OF_WINDOWS:
                self._open_windows.pop(partition, None)

    def _open_window(self, partition: Hashable) -> _WindowOfRows | _WindowOfStates:
        """Return the window of a partition during the batch; it is made when the batch first needs it."""
        window = self._open_windows.get(partition)
        if window is not None:
            return window
        state = self.state
        if self._has_states:
            states = state.states.get(partition)
            if states == []:  # the serializer returns an empty list for states that are all None
                states = [None] * len(self.results.computations)
            window = _WindowOfStates(self.key, self.results.computations, states)
        else:
            window = _WindowOfRows(state.members.setdefault(partition, {}), self.results.slides(self.key))
        self._open_windows[partition] = window
        return window
