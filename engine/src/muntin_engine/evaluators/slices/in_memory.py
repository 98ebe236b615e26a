"""The sliced evaluator in memory, for restart tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.over_slices.in_memory import SlicesInMemory
from muntin_engine.evaluators.slices.runs import WindowRuns, rows_of_results
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.state_lifting import GroupedRows, lift
from muntin_engine.evaluators.slices.states import StateStore
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec


class StatesInMemory(SlicesInMemory):
    """Merges the states of modules that define `combine`."""

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        super().__init__(plan, cells, codec)
        bindings = plan.evaluator_query([Meter() for _ in plan.modules]).bindings
        slices = [grid for grid in self.grids if isinstance(grid, SliceGrid)]
        self._is_operator = plan.is_operator
        self._query = SlicedQuery.of(slices, bindings, len(plan.input.columns.payload), codec)

    def lift(self, key: Key, row: InputChange) -> Iterator[bytes]:
        """Return the partial states of a row."""
        number = self._query.grids[0].slice_at(row.start)
        yield lift(self._query, GroupedRows([key], [0], [number], [0, 1], [[value] for value in row.payload]))

    def store(self) -> StateStore:
        """Return an empty store."""
        return StateStore(self._query)

    def results(self, output: WindowRuns) -> Iterator[tuple[Key, int, tuple[Any, ...]]]:
        """Return key, number and results of windows that are complete."""
        for key, number, results in output.rows():
            for row in rows_of_results(results, is_operator=self._is_operator):
                yield key, number, row
