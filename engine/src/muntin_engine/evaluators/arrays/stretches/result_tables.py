"""Windows with their results, how forms compute these from merged states, and how they become typed tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Module, TimestampPolicy, Window
from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin.errors import ModuleFailedError
from muntin.schemas import Field, Scalar, ScalarKind, spell
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm, first_failing, forms_of
from muntin_engine.evaluators.arrays.stretches.coding import expanded
from muntin_engine.evaluators.arrays.stretches.key_table import At, keys_in
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, Part, StretchTable
from muntin_engine.time.changes import Key, OutputKind
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar
from muntin_engine.wire.result_columns import ResultColumns
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import as_times, extents

EVENT_ID: Final = Part(-1, "event_id")
"""The part of results that may be retracted: their ids as events of the output."""


@dataclass(frozen=True, slots=True)
class ResultWindows:
    """Windows whose results are emitted: complete ones, or the changes of results. The pairs of a join have this form.

    Attributes:
        place: The place of their specification among the named windows of the query; 0 if it has none.
        windows: From start to end in ticks, with merged values. The weight of a result that is retracted is -1.
        keys: The key of each window.
        values: The results of modules that are called one by one, module by module; None of forms, whose results are
            computed only when they are written as columns.
        value_places: The place of each window's result among the values; None where each window has one of its own.
    """

    place: int
    windows: StretchTable
    keys: pa.Table
    values: Sequence[list[Any]] | None = None
    value_places: IntArray | None = None

    def __len__(self) -> int:
        """The number of windows."""
        return len(self.windows)

    def located(self, place: int) -> tuple[Key, Window]:
        """Return the key and the extent of the window at a place, for messages."""
        (key,) = keys_in(self.keys.slice(place, 1))
        return key, Window(int(self.windows.low[place]), int(self.windows.high[place]))

    @property
    def result_places(self) -> IntArray:
        """The place of each window's result among the values, also where each window has one of its own."""
        if self.value_places is None:
            return np.arange(len(self.windows))
        return self.value_places


def form_results(form: BoundForm, place: int, windows: StretchTable) -> Array:
    """Return a form's result for each window as an array, whose masked entries are null.

    The form does not see a window of which it left out all payloads: such a window has the form's `empty_result`.

    Args:
        form: The form.
        place: The place of the form among those of the query.
        windows: The windows, with the merged states of all forms.

    Raises:
        ModuleFailedError: The form raised an exception.
        ModuleContractError: The form returned another number of results.
    """
    payloads = windows.payloads(place)
    with_payloads = np.flatnonzero(payloads)
    if not len(with_payloads):
        empty = form.empty_result
        return np.ma.MaskedArray(np.full(len(payloads), empty, object), mask=empty is None)
    if len(with_payloads) == len(payloads):
        return _computed(form, place, windows, payloads)
    results = _computed(form, place, windows.take(with_payloads), payloads[with_payloads])
    return _between_empty_windows(results, with_payloads, length=len(payloads), empty=form.empty_result)


def _computed(form: BoundForm, place: int, windows: StretchTable, payloads: IntArray) -> Array:
    """Have a form compute the results of windows that have payloads.

    Args:
        form: The form.
        place: The place of the form among those of the query.
        windows: The windows, with their merged states.
        payloads: The number of payloads of each window.
    """
    components = {name: windows.parts[Part(place, name)].merged for name in form.stored}
    return form.results(components, payloads)


def _between_empty_windows(results: Array, places: IntArray, length: int, empty: object) -> Array:
    """Put results at their places, and the empty result at all others, as a type of array that holds both exactly.

    Args:
        results: The results of the windows that have payloads.
        places: The places of these windows.
        length: The number of all windows.
        empty: The result of the other windows; None is null.
    """
    data = np.ma.getdata(results)
    dtype: Any = data.dtype
    if empty is not None and data.dtype.kind == "U":
        dtype = object  # an array of text would cut off an empty result that is longer than all others
    elif isinstance(empty, float) and data.dtype.kind in "iu":
        dtype = np.float64  # whole numbers have no fraction and no NaN
    # First all windows get the empty result; a null has a zero under its mask.
    spread = np.zeros(length, dtype) if empty is None else np.full(length, empty, dtype)
    is_null = np.full(length, empty is None)
    spread[places] = data
    is_null[places] = np.ma.getmaskarray(results)
    return np.ma.MaskedArray(spread, mask=is_null)


def failing_window(form: BoundForm, place: int, windows: StretchTable) -> int | None:
    """Return the place of a window whose result a form fails to compute; None if it fails only for several together.

    Cost: some twenty calls of the form, on half of the windows, a quarter and so on.

    Args:
        form: The form.
        place: The place of the form among those of the query.
        windows: The windows, for which the form failed.
    """

    def compute(start: int, stop: int) -> None:
        """Compute the results of the windows from `start` up to but not including `stop`."""
        form_results(form, place, windows.take(slice(start, stop)))

    return first_failing(len(windows), compute)


MOST_ROWS: Final = 250_000
"""A blob of results has at most so many rows."""

_LARGEST: Final = np.iinfo(np.int64).max
"""The largest whole number that a result column holds."""

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


def result_tables(task: TaskPayload, results: ResultWindows) -> Iterator[pa.Table]:
    """Write results as tables of the query's result schema; the end of a window that never ends is null.

    This is where results get their times.

    Args:
        task: The query.
        results: The windows with their results.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    result_columns = _columns_of(task, results)
    windows = results.windows
    keys = results.keys
    starts = windows.low
    ends = windows.high

    # Rows of an operator repeat the key and the times of their window.
    owners = result_columns.owners
    if owners is not None:
        keys = keys.take(arrow_array(owners))
        starts = starts[owners]
        ends = ends[owners]
    ends = np.ma.masked_equal(ends, INFINITY)

    # The fields of the schema begin with the key, and end with the results of the modules.
    outputs = task.plan.outputs
    fields = list(task.results)
    columns: dict[str, pa.Array] = {}
    for field, key_name in zip(fields, task.key_names, strict=False):
        columns[field.name] = keys.column(key_name)
    columns |= result_columns.further_columns()
    columns["window"] = extents(task, starts, ends)
    if task.query.timestamps is TimestampPolicy.POINT_AT_END:
        columns["lifetime"] = extents(task, ends, ends + 1)
    window_names = list(task.plan.named_windows)
    if window_names:
        window_name = arrow_scalar(window_names[results.place], pa.string())
        columns["window_name"] = pa.repeat(window_name, len(starts))
    result_fields = fields[len(fields) - len(outputs) :]  # none if there are no outputs, where `[-0:]` would be all
    for place, field in enumerate(result_fields):
        columns[field.name] = result_columns.column(place, outputs[place], field.type)

    # The columns in the order of the schema.
    table = pa.table([columns[name] for name in task.results.names], schema=task.results)
    for start in range(0, table.num_rows, MOST_ROWS):
        yield table.slice(start, MOST_ROWS)


def form_table(task: TaskPayload, results: ResultWindows) -> pa.Table:
    """Have forms compute the results of windows, as columns `i0`, `i1` and so on of the types of the result schema.

    Args:
        task: The query.
        results: The windows.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    form_columns = FormColumns(task, results)
    outputs = task.plan.outputs
    types = list(task.results.types)[-len(outputs) :]  # the last fields of the schema are the results of the modules
    columns: dict[str, pa.Array] = {}
    for place, (field, arrow_type) in enumerate(zip(outputs, types, strict=True)):
        columns[f"i{place}"] = form_columns.column(place, field, arrow_type)
    return pa.table(columns)


class WindowColumns(ABC):
    """The result columns of windows.

    Attributes:
        owners: The place of the window of each row; None where each window is a row.
    """

    owners: IntArray | None = None

    @abstractmethod
    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return a result column.

        Args:
            place: The place of the column among the results of the query.
            field: The type that the module declares.
            arrow_type: The type of the column.

        Raises:
            ModuleFailedError: A module raised an exception.
            ModuleContractError: A result is not of the type that the module's class declares.
        """

    def further_columns(self) -> Mapping[str, pa.Array]:
        """Return further columns: the kind of change of each row and its id, or the lifetime that a module sets."""
        return {}


class FormColumns(WindowColumns):
    """Results that forms compute from merged states, all windows at once."""

    def __init__(self, task: TaskPayload, results: ResultWindows) -> None:
        """Take the windows of a query."""
        self._task = task
        self._results = results

    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Have the form of a module compute its results, as a column.

        Args:
            place: The place of the module among those of the query.
            field: The type of result that the module declares.
            arrow_type: The type of the column.
        """
        form = self._task.once(forms_of)[place]
        windows = self._results.windows
        try:
            results = form_results(form, place, windows)
        except ModuleFailedError as failure:
            failing_place = failing_window(form, place, windows)
            if failing_place is None:
                raise
            key, window = self._results.located(failing_place)
            raise failure.at(key, window) from failure.__cause__
        result_columns = ResultColumns(self._task, form.label, self._results.located)
        return _array_column(results, field, arrow_type, result_columns)


class StoredColumns(WindowColumns):
    """Results that may be retracted: they were stored as columns, with their ids."""

    def __init__(self, results: ResultWindows) -> None:
        """Take stored results."""
        self._windows = results.windows

    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Return the column that was stored for a module, which has its final type already."""
        del field, arrow_type
        return self._windows.parts[ROWS].table.column(place)

    def further_columns(self) -> Mapping[str, pa.Array]:
        """Return the kind of change of each row, and its id as an event of the output."""
        kinds = np.where(self._windows.weight > 0, OutputKind.INSERT, OutputKind.RETRACT)
        event_ids = self._windows.parts[EVENT_ID].array
        return {"change": arrow_array(kinds, pa.string()), "event_id": arrow_array(event_ids)}


class ModuleColumns(WindowColumns):
    """Results of modules that were called one by one: neighbouring windows of a key may share one."""

    def __init__(self, task: TaskPayload, results: ResultWindows, values: Sequence[list[Any]]) -> None:
        """Arrange the values of modules.

        Args:
            task: The query.
            results: The windows.
            values: The results of each module.
        """
        self._task = task
        self._results = results
        self._values = values
        self._value_places = results.value_places

    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Write the results of a module as a column.

        Args:
            place: The place of the module among those of the query.
            field: The type of result that the module declares.
            arrow_type: The type of the column.
        """
        module = self._task.query.bindings[place].module
        result_columns = _result_columns(self._task, module, self._located)
        column = result_columns.column(self._values[place], field, arrow_type)
        if self._value_places is None:
            return column
        return column.take(arrow_array(self._value_places))  # windows that share a result repeat it

    def _located(self, value_place: int) -> tuple[Key, Window]:
        """Return the key and the extent of the first window that has the value at a place, for messages."""
        windows_with_value = np.flatnonzero(self._results.result_places == value_place)
        return self._results.located(int(windows_with_value[0]))


class OperatorColumns(ModuleColumns):
    """The rows of an operator: any number for each window."""

    def __init__(self, task: TaskPayload, results: ResultWindows, values: Sequence[list[Any]]) -> None:
        """Arrange the rows of an operator.

        Args:
            task: The query.
            results: The windows.
            values: The results of the only module, the operator: lists of rows, which are events if the operator says
                how long its rows last.
        """
        super().__init__(task, results, values)
        (row_lists,) = values
        counts = np.fromiter(map(len, row_lists), np.int64, len(row_lists))
        self._lists_of_rows, _ = expanded(counts)
        """For each row of the lists, the place of its list."""
        self._rows = list(chain.from_iterable(row_lists))
        self._events: list[Any] | None = None
        if task.query.timestamps.is_set_by_module:
            self._events = self._rows
            self._rows = [event.payload for event in self._events]

        # `owners` has for each row of the output the place of its window.
        value_places = results.result_places
        self.owners, within = expanded(counts[value_places])
        # `_row_places` has for each row of the output its place in `_rows`. It is None if no two windows share a list:
        # then the output has just these rows. Windows that share a list have all rows of it, each.
        self._row_places: IntArray | None = None
        if results.value_places is not None:
            first_rows = np.cumsum(counts) - counts
            self._row_places = first_rows[value_places[self.owners]] + within

    def column(self, place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        """Write a field of the rows as a column.

        Args:
            place: The place of the field in the rows of the operator.
            field: The type of the field that the operator declares.
            arrow_type: The type of the column.
        """
        module = self._task.query.bindings[0].module
        result_columns = _result_columns(self._task, module, self._located_row)
        column = result_columns.part(self._rows, module.result_field(), place, field, arrow_type)
        if self._row_places is None:
            return column
        return column.take(arrow_array(self._row_places))  # windows that share a list repeat its rows

    def further_columns(self) -> Mapping[str, pa.Array]:
        """Return the lifetimes of rows, if the operator sets them."""
        if self._events is None:
            return {}
        # There is one lifetime for each row of the output: windows do not share lists if the operator sets lifetimes.
        starts = np.array([event.start for event in self._events], np.int64)
        ends = np.array([event.end for event in self._events], np.int64)
        return {"lifetime": extents(self._task, starts, np.ma.masked_equal(ends, INFINITY))}

    def _located_row(self, row: int) -> tuple[Key, Window]:
        """Return the key and the extent of the first window that has the row at a place, for messages."""
        return self._located(int(self._lists_of_rows[row]))


def _columns_of(task: TaskPayload, results: ResultWindows) -> WindowColumns:
    """Return the result columns of windows, by where their results come from."""
    if EVENT_ID in results.windows.parts:
        return StoredColumns(results)
    if results.values is None:
        return FormColumns(task, results)
    if task.query.is_operator:
        return OperatorColumns(task, results, results.values)
    return ModuleColumns(task, results, results.values)


def _result_columns(task: TaskPayload, module: Module, locate: At) -> ResultColumns:
    """Return the maker of result columns of a module that is called one by one."""
    return ResultColumns(task, f"{module.name} {module.version}", locate)


def _array_column(results: Array, output: Field, arrow_type: pa.DataType, result_columns: ResultColumns) -> pa.Array:
    """Return the results of a form as a column: as an array if the type allows it, otherwise value by value.

    Args:
        results: The results, whose masked entries are null.
        output: The type of result that the module declares.
        arrow_type: The type of the column.
        result_columns: Converts results value by value.

    Raises:
        ModuleContractError: A result is not of the declared type.
    """
    data = np.ma.getdata(results)
    is_null = np.ma.getmaskarray(results)

    # Objects, and types that no array has, are converted value by value.
    kind = output.type.kind if isinstance(output.type, Scalar) else None
    if data.dtype == object or kind is None or kind not in _FITTING:
        return result_columns.column(_values(data, is_null), output, arrow_type)
    if data.dtype.kind not in _FITTING[kind]:
        raise result_columns.contract_error(f"{output.name!r} is an array of {data.dtype}, declared {spell(output)}")
    if kind is ScalarKind.INSTANT:  # a time that never comes is null
        is_null = is_null | (data >= INFINITY)
    if data.dtype.kind == "u" and kind is not ScalarKind.FLOAT and (data > _LARGEST).any():
        # An unsigned number may be too large for a column of whole numbers. Where values are converted one by one, such
        # results become null and are counted.
        return result_columns.column(_values(data, is_null), output, arrow_type)
    column = arrow_array(data, mask=is_null if is_null.any() else None)
    if kind is ScalarKind.INSTANT:
        return as_times(column, arrow_type)
    return column.cast(arrow_type)


def _values(data: Array, is_null: BoolArray) -> list[Any]:
    """Return an array as Python values, with None for each null."""
    return [None if null else value for value, null in zip(data.tolist(), is_null, strict=True)]
