"""The query as lifting on the map side and the stores of buckets see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from muntin import Axis, Window
from muntin.axis import AnyAxis
from muntin_engine.core.changes import Key
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.errors import StateError
from muntin_engine.evaluators.slices.adaptive import AdaptivePolicy, Mode
from muntin_engine.evaluators.slices.groups import UnstorableError
from muntin_engine.evaluators.slices.modules import SlicedModule
from muntin_engine.state.codec import Codec
from muntin_engine.state.unstorable import unstorable


@dataclass(frozen=True)
class SlicedQuery:
    """A query whose modules keep Python states, as evaluation over slices needs it.

    Attributes:
        grids: Its slices: for each window specification, over the same slices.
        modules: Its modules.
        inputs: How many input columns it has.
        codec: How keys, states and rows are written.
        policy: Whether states are kept or rows.
        axis: What ticks measure; only messages depend on it.
    """

    grids: tuple[SliceGrid, ...]
    modules: tuple[SlicedModule, ...]
    inputs: int
    codec: Codec
    policy: AdaptivePolicy
    axis: AnyAxis = Axis.TICKS

    @classmethod
    def of(  # what a query is made of
        cls,
        grids: Sequence[SliceGrid],
        bindings: Sequence[Binding],
        inputs: int,
        codec: Codec,
        mode: Mode = "adaptive",
        axis: AnyAxis = Axis.TICKS,
    ) -> SlicedQuery:
        """Return a query.

        Args:
            grids: Its slices, as `SliceGrid.shared` gives them.
            bindings: Its modules; they see point events and no windows.
            inputs: How many input columns it has.
            codec: Knows the records in which keys, inputs and states come.
            mode: Whether states are kept or rows, where modules say how large a state is; for measuring.
            axis: What ticks measure; only messages depend on it.

        Raises:
            ModuleDefinitionError: A module does not define `combine`.
        """
        sizes = [getattr(binding.module, "state_bytes", None) for binding in bindings]
        declared = [size for size in sizes if size is not None]
        policy = AdaptivePolicy(sum(declared) if declared else None, mode)
        return cls(tuple(grids), tuple(map(SlicedModule, bindings)), inputs, codec, policy, axis)

    def extent(self, number: int) -> Window:
        """Return the extent of a slice: where a module failed if there is no window yet."""
        return self.grids[0].extent(number)

    def unstorable(self, failure: UnstorableError, keys: Sequence[Key]) -> StateError:
        """Return the error that says whose state it is that cannot be stored, given the keys that it numbers."""
        extent, module = self.extent(failure.slice), self.modules[failure.module].module
        spelled = self.axis.spell_interval(extent.start, extent.end)
        return unstorable(module, "a state", keys[failure.key], spelled, failure.reason)

    @property
    def has_gaps(self) -> bool:
        """True if a slice may be in no window."""
        return all(grid.stride > grid.slices for grid in self.grids)

    def is_gap(self, number: int) -> bool:
        """True for a slice that is in no window."""
        return not any(is_in_window(grid, number) for grid in self.grids)

    def rows_of(self, columns: Sequence[list[object]], count: int) -> list[Any]:
        """Return columns as rows; the row of a single column is its value."""
        if self.inputs == 1:
            return columns[0]
        return list(zip(*columns, strict=True)) if columns else [()] * count

    def columns_of(self, rows: list[Any]) -> list[list[object]]:
        """Return the columns that `rows_of` was given."""
        return [rows] if self.inputs == 1 else [[row[place] for row in rows] for place in range(self.inputs)]


def is_in_window(grid: SliceGrid, number: int) -> bool:
    """True unless a slice lies in a gap between windows."""
    return (number - grid.shift) % grid.stride < grid.slices
