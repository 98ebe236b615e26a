"""Windows of columnar aggregates as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.columnar.arrays import Array
from muntin.errors import ModuleFailedError
from muntin.schemas import Field, Scalar, ScalarKind, spell
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.columnar.failing import failing_window
from muntin_engine.evaluators.columnar.results import form_results
from muntin_engine.evaluators.columnar.store import Closed
from muntin_engine.evaluators.columnar.window_closing import Windows
from muntin_engine.evaluators.over_slices.slice_bucket import Complete
from muntin_engine.evaluators.over_slices.window_tables import window_tables
from muntin_engine.exchange.arrays import Source
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.times import as_times

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


def closed_tables(task: TaskPayload, complete: Complete[Closed]) -> Iterator[pa.Table]:
    """Yield the windows of columnar aggregates as tables of the query's result schema.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    closed = complete.output
    keys = [closed.keys.column(name) for name in task.key_names]
    windows = closed.windows

    def at(row: int) -> tuple[Key, Window]:
        key = tuple(column[row].as_py() for column in keys)
        return key, task.grids[complete.place].windows.window(int(windows.windows[row]))

    yield from window_tables(task, complete.place, windows.windows, keys, form_columns(task, windows, at))


def form_columns(
    task: TaskPayload, windows: Windows, at: Callable[[int], tuple[Key, Window]]
) -> Callable[[int, Field, pa.DataType], pa.Array]:
    """Return the function that makes the result column of a module, by its place.

    Args:
        task: The query.
        windows: The merged states.
        at: Returns the key and the window of a row, for messages.
    """

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        form = task.forms[place]
        try:
            results = form_results(form, place, windows)
        except ModuleFailedError as failure:
            row = failing_window(form, place, windows)
            raise failure if row is None else failure.at(*at(row)) from failure.__cause__
        return _column(results, field, arrow_type, Source(task, form.label, at))

    return output


def _column(results: Array, output: Field, arrow_type: pa.DataType, source: Source) -> pa.Array:
    data, is_null = np.ma.getdata(results), np.ma.getmaskarray(results)
    kind = output.type.kind if isinstance(output.type, Scalar) else None
    if data.dtype == object or kind is None or kind not in _FITTING:
        values = [None if missing else value for value, missing in zip(data.tolist(), is_null, strict=True)]
        return source.column(values, output, arrow_type)
    if data.dtype.kind not in _FITTING[kind]:
        raise source.contract_error(f"{output.name!r} is an array of {data.dtype}, declared {spell(output)}")
    if kind is ScalarKind.INSTANT:
        is_null = is_null | (data >= INFINITY)
    if data.dtype.kind == "u" and kind is not ScalarKind.FLOAT:
        is_null = is_null | (data > _LARGEST)  # as `to_arrow` has it: what the column cannot hold is null
    column = pa.array(data, mask=is_null if is_null.any() else None)
    return as_times(column, arrow_type) if kind is ScalarKind.INSTANT else column.cast(arrow_type)
