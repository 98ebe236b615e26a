"""Windows that are complete, as typed tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import INFINITY, ModuleContractError, TimestampPolicy
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.columnar.results import form_results
from muntin_engine.columnar.store import Closed
from muntin_engine.core.sliced.bucket import Complete
from muntin_engine.spark.arrays import MisfitError, to_arrow
from muntin_engine.spark.job import Job

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


def closed_tables(job: Job, complete: Complete[Closed]) -> Iterator[pa.Table]:
    """Yield complete windows as tables of the query's result schema.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    grid, closed = job.grids[complete.place], complete.output
    columns = {place: closed.keys.column(name) for place, name in enumerate(job.key_names)}
    origin = grid.window(0)
    starts = origin.start + closed.windows.windows * (grid.window(1).start - origin.start)
    ends = starts + origin.duration
    names = job.results.names
    columns[names.index("window")] = _extents(job, starts, ends)
    if job.query.timestamps is TimestampPolicy.POINT_AT_END:
        columns[names.index("lifetime")] = _extents(job, ends, ends + 1)
    if job.window_names:
        name = pa.scalar(job.window_names[complete.place], pa.string())
        columns[names.index("window_name")] = pa.repeat(name, len(starts))
    first = len(names) - len(job.outputs)
    for place, (form, output) in enumerate(zip(job.forms, job.outputs, strict=True)):
        results = form_results(form, place, closed.windows)
        columns[first + place] = _column(results, output, job.results.field(first + place).type, form.label)
    table = pa.table([columns[place] for place in range(len(names))], schema=job.results)
    yield from (table.slice(start, MOST_ROWS) for start in range(0, table.num_rows, MOST_ROWS))


def _extents(job: Job, starts: Any, ends: Any) -> pa.Array:
    fields = [pa.field("start", job.time_type), pa.field("end", job.time_type)]
    return pa.StructArray.from_arrays([pa.array(ticks).cast(job.time_type) for ticks in (starts, ends)], fields=fields)


def _column(results: Any, output: Field, arrow_type: pa.DataType, label: str) -> pa.Array:
    data, is_null = np.ma.getdata(results), np.ma.getmaskarray(results)
    kind = output.type.kind if isinstance(output.type, Scalar) else None
    if data.dtype == object or kind is None or kind not in _FITTING:
        return _checked(data, is_null, output, arrow_type, label)
    if data.dtype.kind not in _FITTING[kind]:
        raise _contract_error(label, f"an array of {data.dtype}", output)
    if kind is ScalarKind.INSTANT:
        is_null = is_null | (data >= INFINITY)
    return pa.array(data, mask=is_null if is_null.any() else None).cast(arrow_type)


def _checked(data: Any, is_null: Any, output: Field, arrow_type: pa.DataType, label: str) -> pa.Array:
    values = [None if missing else value for value, missing in zip(data.tolist(), is_null, strict=True)]
    try:
        return to_arrow(values, output, arrow_type)
    except MisfitError as error:
        raise _contract_error(label, str(error), output) from error


def _contract_error(label: str, found: str, output: Field) -> ModuleContractError:
    return ModuleContractError(
        f"{label} computed results that are not what it declares for {output.name!r}: {found}\n"
        "  return what the class declares in its brackets, or declare what it returns"
    )
