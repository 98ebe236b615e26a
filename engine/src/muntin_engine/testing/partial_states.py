"""Partial states, as Python objects and as arrays: what the map side makes of a row, and what becomes of windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from muntin.columnar.results import python_values
from muntin.testing import KeyedChange
from muntin_engine.columnar.forms import BoundForm
from muntin_engine.columnar.lifting import Rows, lift_rows
from muntin_engine.columnar.results import form_results
from muntin_engine.columnar.store import Closed, ColumnarStore
from muntin_engine.core.meter import Meter
from muntin_engine.core.sliced.grid import Grid, SliceGrid
from muntin_engine.core.sliced.lifting import GroupedRows, lift
from muntin_engine.core.sliced.runs import WindowRuns
from muntin_engine.core.sliced.sliced_query import SlicedQuery
from muntin_engine.core.sliced.states import StateStore
from muntin_engine.core.sliced.store import SliceStore
from muntin_engine.plan import Plan, windowed_query
from muntin_engine.testing.asked import Asked
from muntin_engine.testing.column_arrays import column_of

ResultRow: TypeAlias = tuple[int, int, tuple[Any, ...]]
"""The number of a key, that of a window, and the results of the modules."""


class PartialStates(Protocol):
    """What evaluation over slices needs besides the bucket."""

    def lift(self, step: KeyedChange) -> Iterator[bytes]:
        """Yield what the map side makes of a row."""
        ...

    def store(self) -> SliceStore[Any, Any]:
        """Return an empty store."""
        ...

    def rows(self, output: Any) -> Iterator[ResultRow]:
        """Yield the results of windows that are complete."""
        ...


class PythonStates:
    """States of modules that define `combine`."""

    def __init__(self, asked: Asked, plan: Plan, grids: Sequence[Grid]) -> None:
        bindings = windowed_query(plan, [Meter() for _ in plan.modules]).bindings
        slices = [grid for grid in grids if isinstance(grid, SliceGrid)]
        self._asked = asked
        self._query = SlicedQuery.of(slices, bindings, len(bindings), asked.codec)

    def lift(self, step: KeyedChange) -> Iterator[bytes]:
        """Yield what the map side makes of a row."""
        event = step.change.event
        columns = [[value] for value in self._asked.values(event.payload)]
        number = self._query.grids[0].slice_at(event.start)
        yield lift(self._query, GroupedRows([(self._asked.keys[step.key],)], [0], [number], [0, 1], columns))

    def store(self) -> StateStore:
        """Return an empty store."""
        return StateStore(self._query)

    def rows(self, output: WindowRuns) -> Iterator[ResultRow]:
        """Yield the results of windows that are complete."""
        for (key,), number, values in output.rows():
            yield key, number, values


class Arrays:
    """Components of columnar forms."""

    def __init__(self, asked: Asked, plan: Plan, grids: Sequence[Grid]) -> None:
        self._asked = asked
        self._grids = grids
        self._forms = [
            BoundForm(module.form, module.label, module.columns, module.known)
            for module in plan.modules
            if module.form is not None
        ]

    def lift(self, step: KeyedChange) -> Iterator[bytes]:
        """Yield what the map side makes of a row."""
        event, values = step.change.event, self._asked.values(step.change.event.payload)
        rows = Rows(
            np.zeros(1, np.int32),
            np.array([event.start], np.int64),
            None if self._asked.is_point else np.array([event.end], np.int64),
            [pa.array([self._asked.keys[step.key]], pa.int64())],
            [column_of(field, [value]) for field, value in zip(self._asked.inputs, values, strict=True)],
        )
        return (blob.blob for blob in lift_rows(self._grids[0], self._forms, rows))

    def store(self) -> ColumnarStore:
        """Return an empty store."""
        return ColumnarStore(self._grids, self._forms)

    def rows(self, output: Closed) -> Iterator[ResultRow]:
        """Yield the results of windows that are complete."""
        results = [python_values(form_results(form, place, output.windows)) for place, form in enumerate(self._forms)]
        keys, numbers = output.keys.column("k0").to_pylist(), output.windows.windows.tolist()
        for key, number, *values in zip(keys, numbers, *results, strict=True):
            yield key, number, tuple(values)
