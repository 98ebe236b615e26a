"""The columnar evaluator in memory, for restart tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from muntin.columnar.results import python_values
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Key
from muntin_engine.evaluators.columnar.column_arrays import column_of
from muntin_engine.evaluators.columnar.lifting import Rows, lift_rows
from muntin_engine.evaluators.columnar.results import form_results
from muntin_engine.evaluators.columnar.store import Closed, ColumnarStore
from muntin_engine.evaluators.columnar.window_closing import Windows
from muntin_engine.evaluators.over_slices.in_memory import SlicesInMemory
from muntin_engine.exchange.bound_form import BoundForm, bound_forms
from muntin_engine.plan.plan import Plan
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec


class ArraysInMemory(SlicesInMemory):
    """Merges the components of columnar forms; a key is one integer, and each module reads one input of its own."""

    def __init__(self, plan: Plan, cells: Cells, codec: Codec) -> None:
        super().__init__(plan, cells, codec)
        self._plan = plan
        self._forms = bound_forms(plan, [Meter() for _ in plan.modules])

    def lift(self, key: Key, row: InputChange) -> Iterator[bytes]:
        """Return the partial states of a row."""
        return (blob.blob for blob in lift_rows(self.grids[0], self._forms, rows_of(self._plan, key, row)))

    def store(self) -> ColumnarStore:
        """Return an empty store."""
        return ColumnarStore(self.grids, self._forms)

    def results(self, output: Closed) -> Iterator[tuple[Key, int, tuple[object, ...]]]:
        """Return key, number and results of windows that are complete."""
        numbers = output.windows.windows.tolist()
        for number, (key, values) in zip(numbers, form_values(self._forms, output.windows, output.keys), strict=True):
            yield key, number, values


def rows_of(plan: Plan, key: Key, row: InputChange) -> Rows:
    """Return one row as arrays."""
    inputs = [module.known[0] for module in plan.modules]
    columns = [column_of(field, [value]) for field, value in zip(inputs, row.payload, strict=True)]
    return replace(row_without_inputs(plan, key, row), inputs=columns)


def row_without_inputs(plan: Plan, key: Key, row: InputChange) -> Rows:
    """Return the key and the lifetime of one row as arrays."""
    return Rows(
        np.zeros(1, np.int32),
        np.array([row.start], np.int64),
        None if plan.input.is_point else np.array([row.end], np.int64),
        [pa.array([part], pa.int64()) for part in key],
        [],
    )


def form_values(
    forms: Sequence[BoundForm], windows: Windows, keys: pa.Table
) -> Iterator[tuple[Key, tuple[object, ...]]]:
    """Yield the key and the results of each window."""
    results = [python_values(form_results(form, place, windows)) for place, form in enumerate(forms)]
    names = zip(*(column.to_pylist() for column in keys.columns), strict=True)
    for key, *values in zip(names, *results, strict=True):
        yield key, tuple(values)
