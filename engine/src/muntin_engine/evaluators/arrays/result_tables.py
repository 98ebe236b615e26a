"""Complete windows as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa

from muntin import INFINITY, TimestampPolicy
from muntin.columnar.arrays import Array, IntArray
from muntin.errors import ModuleFailedError
from muntin.schemas import Field, Scalar, ScalarKind, spell
from muntin_engine.evaluators.arrays.bound_form import forms_of
from muntin_engine.evaluators.arrays.coding import expanded
from muntin_engine.evaluators.arrays.key_table import At
from muntin_engine.evaluators.arrays.results import EVENT_ID, Closed, failing_window, form_results
from muntin_engine.evaluators.arrays.stretch_table import ROWS
from muntin_engine.time.changes import OutputKind
from muntin_engine.wire.result_columns import ResultColumns
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import as_times, extents

Output: TypeAlias = Callable[[int, Field, pa.DataType], pa.Array]
"""Returns the result column of a module, by its place."""

MOST_ROWS: Final = 250_000
"""Most rows of a blob of results."""

_LARGEST: Final = np.iinfo(np.int64).max

_FITTING: Final[Mapping[ScalarKind, str]] = {
    ScalarKind.BOOLEAN: "b",
    ScalarKind.INTEGER: "iu",
    ScalarKind.FLOAT: "fiu",
    ScalarKind.TIMESTAMP: "M",
    ScalarKind.DATE: "M",
    ScalarKind.INTERVAL: "m",
    ScalarKind.INSTANT: "iu",
}
"""The NumPy kinds of array that a type of result may come in; any type may come as objects."""


def closed_tables(task: TaskPayload, closed: Closed) -> Iterator[pa.Table]:
    """Yield complete windows as tables of the query's result schema; the end of one that never ends is null.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    place, windows, keys, values, _ = closed
    starts, ends, changes = windows.low, windows.high, dict[str, pa.Array]()
    if task.query.timestamps.is_set_by_module and values is not None:
        events = list(chain.from_iterable(values[0]))
        lifetimes = np.array([[event.start, event.end] for event in events], np.int64).reshape(-1, 2)
        changes["lifetime"] = extents(task, lifetimes[:, 0], np.ma.masked_equal(lifetimes[:, 1], INFINITY))
        values = [[[event.payload for event in rows] for rows in values[0]]]
    if EVENT_ID in windows.parts:
        results = windows.parts[ROWS].table
        output: Output = lambda number, *_: results.column(number)  # noqa: E731  # as the others are made by functions
        kinds = np.where(windows.weight > 0, OutputKind.INSERT, OutputKind.RETRACT)
        changes = {"change": pa.array(kinds, pa.string()), "event_id": pa.array(windows.parts[EVENT_ID].array)}
    elif values is None:
        output = form_columns(task, closed)
    else:
        output, of_row = _state_columns(task, closed, values)
        if of_row is not None:
            starts, ends, keys = starts[of_row], ends[of_row], keys.take(pa.array(of_row))
    columns = [keys.column(name) for name in task.key_names]
    yield from extent_tables(task, place, starts, ends, columns, output, changes)


def form_table(task: TaskPayload, closed: Closed) -> pa.Table:
    """Return the results of windows as columns `i0`, `i1` and so on, of the types of the query's result schema.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    output = form_columns(task, closed)
    types = list(task.results.types)[-len(task.outputs) :]
    outputs = enumerate(zip(task.outputs, types, strict=True))
    return pa.table({f"i{place}": output(place, field, of) for place, (field, of) in outputs})


def _state_columns(task: TaskPayload, closed: Closed, values: Sequence[list[Any]]) -> tuple[Output, IntArray | None]:
    """Return the function that makes a result column, and the window of each of its rows; None if each has one."""
    results = ModuleResults(task, values, lambda result: closed.at(int(np.flatnonzero(closed.results == result)[0])))
    of_row, taken = None, closed.of
    if results.counts is not None:
        of_row, number = expanded(results.counts[closed.results])
        taken = (np.cumsum(results.counts) - results.counts)[closed.results[of_row]] + number

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        column = results.column(place, field, arrow_type)
        return column if taken is None else column.take(pa.array(taken))

    return output, of_row


def form_columns(task: TaskPayload, closed: Closed) -> Output:
    """Return the function that makes the result column of a module, by its place, from merged states."""
    windows = closed.windows

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        form = task.once(forms_of)[place]
        try:
            results = form_results(form, place, windows)
        except ModuleFailedError as failure:
            row = failing_window(form, place, windows)
            raise failure if row is None else failure.at(*closed.at(row)) from failure.__cause__
        return _column(results, field, arrow_type, ResultColumns(task, form.label, closed.at))

    return output


def _column(results: Array, output: Field, arrow_type: pa.DataType, result_columns: ResultColumns) -> pa.Array:
    data, is_null = np.ma.getdata(results), np.ma.getmaskarray(results)
    kind = output.type.kind if isinstance(output.type, Scalar) else None
    if data.dtype == object or kind is None or kind not in _FITTING:
        values = [None if missing else value for value, missing in zip(data.tolist(), is_null, strict=True)]
        return result_columns.column(values, output, arrow_type)
    if data.dtype.kind not in _FITTING[kind]:
        raise result_columns.contract_error(f"{output.name!r} is an array of {data.dtype}, declared {spell(output)}")
    if kind is ScalarKind.INSTANT:
        is_null = is_null | (data >= INFINITY)
    if data.dtype.kind == "u" and kind is not ScalarKind.FLOAT and (data > _LARGEST).any():
        values = [None if missing else value for value, missing in zip(data.tolist(), is_null, strict=True)]
        return result_columns.column(values, output, arrow_type)  # which counts what the column cannot hold
    column = pa.array(data, mask=is_null if is_null.any() else None)
    return as_times(column, arrow_type) if kind is ScalarKind.INSTANT else column.cast(arrow_type)


class ModuleResults:
    """Results as columns.

    Attributes:
        counts: How many rows an operator has for each window; None of aggregates, which have one.
    """

    def __init__(self, task: TaskPayload, values: Sequence[list[Any]], at: At) -> None:
        """Take results.

        Args:
            task: The query.
            values: By module, its results; of an operator, the list of rows of each window.
            at: Returns the key and the window of a result.
        """
        self._task, self._values, self._at = task, values, at
        self._row: Field | None = None
        self.counts: IntArray | None = None
        if task.query.is_operator:
            self._row = task.query.bindings[0].module.result_field()
            counts = np.fromiter(map(len, values[0]), np.int64, len(values[0]))
            owners, _ = expanded(counts)
            self._values, self._at = [list(chain.from_iterable(values[0]))], lambda row: at(int(owners[row]))
            self.counts = counts

    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return a result column: of an aggregate, or of a field of an operator's rows.

        Raises:
            ModuleContractError: A result is not of the type that the module's class declares.
        """
        module = self._task.query.bindings[0 if self._row is not None else place].module
        result_columns = ResultColumns(self._task, f"{module.name} {module.version}", self._at)
        if self._row is None:
            return result_columns.column(self._values[place], field, arrow_type)
        (rows,) = self._values
        return result_columns.part(rows, self._row, place, field, arrow_type)


def extent_tables(  # what a row is made of
    task: TaskPayload,
    place: int,
    starts: IntArray,
    ends: IntArray,
    keys: Sequence[pa.Array],
    output: Output,
    changes: Mapping[str, pa.Array] | None = None,
) -> Iterator[pa.Table]:
    """Yield windows as tables of the query's result schema.

    Args:
        task: The query.
        place: Which of its specifications the windows are of.
        starts: Where the windows start.
        ends: Where they end; `INFINITY` where they do not.
        keys: The key columns.
        output: Returns the results of a module, by its place.
        changes: Further columns: what becomes of results that may change, or lifetimes that a module says itself.
    """
    ends = np.ma.masked_equal(ends, INFINITY)
    fields = list(task.results)
    columns = {field.name: column for field, column in zip(fields, keys, strict=False)} | dict(changes or {})
    columns["window"] = extents(task, starts, ends)
    if task.query.timestamps is TimestampPolicy.POINT_AT_END:
        columns["lifetime"] = extents(task, ends, ends + 1)
    if names := list(task.plan.named_windows):
        columns["window_name"] = pa.repeat(pa.scalar(names[place], pa.string()), len(starts))
    for number, field in enumerate(fields[len(fields) - len(task.outputs) :]):
        columns[field.name] = output(number, task.outputs[number], field.type)
    table = pa.table([columns[name] for name in task.results.names], schema=task.results)
    yield from (table.slice(start, MOST_ROWS) for start in range(0, table.num_rows, MOST_ROWS))
