"""Windows that are complete, as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import INFINITY, ModuleContractError, ModuleFailedError, TimestampPolicy, Window
from muntin.safe_text import safe_repr
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.columnar.failing import failing_window
from muntin_engine.columnar.results import form_results
from muntin_engine.columnar.store import Closed
from muntin_engine.core.keys import Key
from muntin_engine.core.sliced.bucket import Complete
from muntin_engine.core.sliced.runs import WindowRuns
from muntin_engine.spark.arrays import MisfitError, first_misfit, to_arrow
from muntin_engine.spark.job import Job

_LARGEST: Final = np.iinfo(np.int64).max

MOST_ROWS: Final = 250_000
"""How many rows a blob of results has at the most."""

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


@dataclass(frozen=True, slots=True)
class _Source:
    """Where results come from, for an error to say.

    Attributes:
        job: The query.
        label: The module, by name and version.
        at: Returns the key and the window of a result, by its place.
    """

    job: Job
    label: str
    at: Callable[[int], tuple[Key, Window]]

    def contract_error(self, output: Field, found: str, place: int | None = None) -> ModuleContractError:
        """Return the error that says what a module computed instead of what it declares, and where if that is known."""
        where = ""
        if place is not None:
            key, window = self.at(place)
            spelled = self.job.query.axis.spell_interval(window.start, window.end)
            where = f"  key: {safe_repr(key)}\n  window: {spelled}\n"
        return ModuleContractError(
            f"{self.label} computed results that are not what it declares for {output.name!r}: {found}\n{where}"
            "  return what the class declares in its brackets, or declare what it returns"
        )


def closed_tables(job: Job, complete: Complete[Closed]) -> Iterator[pa.Table]:
    """Yield the windows of columnar aggregates as tables of the query's result schema.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    closed = complete.output
    keys = [closed.keys.column(name) for name in job.key_names]

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        form, windows = job.forms[place], closed.windows

        def at(row: int) -> tuple[Key, Window]:
            key = tuple(column[row].as_py() for column in keys)
            return key, job.grids[complete.place].windows.window(int(windows.windows[row]))

        try:
            results = form_results(form, place, windows)
        except ModuleFailedError as failure:
            row = failing_window(form, place, windows)
            raise failure if row is None else failure.at(*at(row)) from failure.__cause__
        return _column(results, field, arrow_type, _Source(job, form.label, at))

    yield from _tables(job, complete.place, closed.windows.windows, keys, output)


def run_tables(job: Job, complete: Complete[WindowRuns]) -> Iterator[pa.Table]:
    """Yield the windows of modules that keep Python states as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    runs = complete.output
    firsts, counts = np.array(runs.firsts, np.int64), np.subtract(runs.lasts, runs.firsts)
    places = np.repeat(np.arange(len(firsts)), counts)
    within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = list(zip(*runs.keys, strict=True)) if job.keys else []
    keys = [pa.array(column, key).take(pa.array(places)) for column, key in zip(columns, job.keys, strict=True)]

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        def at(run: int) -> tuple[Key, Window]:
            return runs.keys[run], job.grids[complete.place].windows.window(runs.firsts[run])

        module = job.query.bindings[place].module
        source = _Source(job, f"{module.name} {module.version}", at)
        return _strict(runs.values[place], field, arrow_type, source).take(pa.array(places))

    yield from _tables(job, complete.place, firsts[places] + within, keys, output)


def _tables(
    job: Job,
    place: int,
    windows: Any,
    keys: Sequence[pa.Array],
    output: Callable[[int, Field, pa.DataType], pa.Array],
) -> Iterator[pa.Table]:
    """Yield rows with their context.

    Args:
        job: The query.
        place: Which of its specifications the windows are of.
        windows: Their numbers.
        keys: The key columns.
        output: Returns the results of a module, by its place.
    """
    names = job.results.names
    columns = dict(enumerate(keys))
    columns |= {names.index(name): column for name, column in _context(job, place, windows).items()}
    first = len(names) - len(job.outputs)
    for number, field in enumerate(job.outputs):
        columns[first + number] = output(number, field, job.results.field(first + number).type)
    table = pa.table([columns[number] for number in range(len(names))], schema=job.results)
    yield from (table.slice(start, MOST_ROWS) for start in range(0, table.num_rows, MOST_ROWS))


def _context(job: Job, place: int, windows: Any) -> dict[str, pa.Array]:
    """Return the columns that are neither keys nor a module's."""
    grid = job.grids[place].windows
    starts = grid.start(windows)
    ends = starts + grid.size
    context = {"window": _extents(job, starts, ends)}
    if job.query.timestamps is TimestampPolicy.POINT_AT_END:
        context["lifetime"] = _extents(job, ends, ends + 1)
    if job.window_names:
        context["window_name"] = pa.repeat(pa.scalar(job.window_names[place], pa.string()), len(starts))
    return context


def _extents(job: Job, starts: Any, ends: Any) -> pa.Array:
    fields = [pa.field("start", job.time_type), pa.field("end", job.time_type)]
    return pa.StructArray.from_arrays([pa.array(ticks).cast(job.time_type) for ticks in (starts, ends)], fields=fields)


def _column(results: Any, output: Field, arrow_type: pa.DataType, source: _Source) -> pa.Array:
    data, is_null = np.ma.getdata(results), np.ma.getmaskarray(results)
    kind = output.type.kind if isinstance(output.type, Scalar) else None
    if data.dtype == object or kind is None or kind not in _FITTING:
        values = [None if missing else value for value, missing in zip(data.tolist(), is_null, strict=True)]
        return _strict(values, output, arrow_type, source)
    if data.dtype.kind not in _FITTING[kind]:
        raise source.contract_error(output, f"an array of {data.dtype}")
    if kind is ScalarKind.INSTANT:
        is_null = is_null | (data >= INFINITY)
    if data.dtype.kind == "u" and kind is not ScalarKind.FLOAT:
        is_null = is_null | (data > _LARGEST)  # as `to_arrow` has it: what the column cannot hold is null
    return pa.array(data, mask=is_null if is_null.any() else None).cast(arrow_type)


def _strict(values: Sequence[Any], output: Field, arrow_type: pa.DataType, source: _Source) -> pa.Array:
    try:
        return to_arrow(values, output, arrow_type)
    except MisfitError as error:
        raise source.contract_error(output, str(error), first_misfit(values, output, arrow_type)) from error
