"""The bucket side, second half: changes of the output to typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from muntin import INFINITY, ModuleContractError
from muntin.safe_text import safe_repr
from muntin.schemas import Field, Struct
from muntin_engine.core.changes import OutputChange
from muntin_engine.core.keys import Key
from muntin_engine.spark.arrays import MisfitError, first_misfit, part_of, to_arrow
from muntin_engine.spark.job import Job

MOST_ROWS: Final = 100_000
"""How many rows one blob of output has at the most; fewer if they take more than `MOST_BYTES`."""

MOST_BYTES: Final = 32 * 2**20


@dataclass(frozen=True, slots=True)
class _Line:
    """A change of the output with its key."""

    key: Key
    change: OutputChange


def result_tables(job: Job, output: Iterable[tuple[Key, Sequence[OutputChange]]]) -> Iterator[pa.Table]:
    """Yield the results of a batch as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's value is not of the type its class declares.
    """
    lines = [_Line(key, change) for key, changes in output for change in changes]
    for start in range(0, len(lines), MOST_ROWS):
        table = _result_table(job, lines[start : start + MOST_ROWS])
        rows = max(1, table.num_rows * MOST_BYTES // max(table.nbytes, 1))
        yield from (table.slice(place, rows) for place in range(0, table.num_rows, rows))


def _result_table(job: Job, lines: Sequence[_Line]) -> pa.Table:
    columns = _context(job, lines) | _outputs(job, lines)
    return pa.table([columns[place] for place in range(len(job.results))], schema=job.results)


def _context(job: Job, lines: Sequence[_Line]) -> dict[int, pa.Array]:
    """Return the columns that are no module's, by place."""
    makers: Mapping[str, Callable[[], pa.Array]] = {
        "window": lambda: _extents(job, [(line.change.window.start, line.change.window.end) for line in lines]),
        "lifetime": lambda: _extents(job, [(line.change.start, line.change.end) for line in lines]),
        "change": lambda: pa.array([str(line.change.kind) for line in lines], pa.string()),
        "event_id": lambda: pa.array([line.change.id for line in lines], pa.int64()),
        "new_end": lambda: _times(job, [line.change.new_end for line in lines]),
        "timing": lambda: pa.array([str(line.change.timing) for line in lines], pa.string()),
        "pane": lambda: pa.array([line.change.pane for line in lines], pa.int64()),
    }
    keys, last = len(job.keys), len(job.results) - len(job.outputs)
    columns = {place: _key_column(job, lines, place) for place in range(keys)}
    return columns | {place: makers[job.results.field(place).name]() for place in range(keys, last)}


def _key_column(job: Job, lines: Sequence[_Line], place: int) -> pa.Array:
    return pa.array([line.key[place] for line in lines], job.results.field(place).type)


def _extents(job: Job, extents: Sequence[tuple[int, int]]) -> pa.Array:
    """Return lifetimes as a struct column; an end at infinity is null."""
    fields = [pa.field("start", job.time_type), pa.field("end", job.time_type)]
    return pa.StructArray.from_arrays([_times(job, ticks) for ticks in zip(*extents, strict=True)], fields=fields)


def _times(job: Job, ticks: Sequence[int | None]) -> pa.Array:
    return pa.array([None if tick is None or tick >= INFINITY else tick for tick in ticks], job.time_type)


def _outputs(job: Job, lines: Sequence[_Line]) -> dict[int, pa.Array]:
    """Return the columns of the modules' results, by place."""
    first = len(job.results) - len(job.outputs)
    columns = enumerate(zip(job.outputs, _values(job, lines), strict=True))
    return {first + place: _column(job, lines, place, field, values) for place, (field, values) in columns}


def _values(job: Job, lines: Sequence[_Line]) -> Iterator[list[Any]]:
    """Yield the values of each result column: one per aggregate, or the parts of an operator's rows."""
    values = [line.change.value for line in lines]
    row = job.query.bindings[0].module.result_field().type
    if not job.query.is_operator:
        yield from map(list, zip(*values, strict=True))
    elif isinstance(row, Struct):
        for place in range(len(row.fields)):
            yield [_part(job, line, row, place) for line in lines]
    else:
        yield values


def _part(job: Job, line: _Line, row: Struct, place: int) -> Any:
    try:
        return part_of(line.change.value, row, place)
    except MisfitError as error:
        raise _contract_error(job, line, 0, error) from error


def _column(job: Job, lines: Sequence[_Line], place: int, field: Field, values: Sequence[Any]) -> pa.Array:
    arrow_type = job.results.field(len(job.results) - len(job.outputs) + place).type
    try:
        return to_arrow(values, field, arrow_type)
    except MisfitError as error:
        found = first_misfit(values, field, arrow_type)
        if found is None:
            raise  # a value that fits now and did not before
        raise _contract_error(job, lines[found], 0 if job.query.is_operator else place, error) from error


def _contract_error(job: Job, line: _Line, place: int, error: MisfitError) -> ModuleContractError:
    module, window = job.query.bindings[place].module, line.change.window
    return ModuleContractError(
        f"{module.name} {module.version} returned a value that is not what it declares: {error}\n"
        f"  key: {safe_repr(line.key)}\n  window: {job.query.axis.spell_interval(window.start, window.end)}\n"
        "  return what the class declares in its brackets, or declare what it returns"
    )
