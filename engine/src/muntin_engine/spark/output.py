"""The bucket side, second half: changes of the output to typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from muntin import INFINITY, ModuleContractError
from muntin.schemas import Field, ListOf, MapOf, Struct, spell
from muntin_engine.core.changes import OutputChange
from muntin_engine.spark.intake import RefusedRow
from muntin_engine.spark.job import Job

REFUSED: Final = pa.schema([("reason", pa.string()), ("message", pa.string()), ("row", pa.string())])
"""The columns of late and rejected rows."""

MOST_ROWS: Final = 100_000
"""How many rows one blob of output has at the most."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A change of the output with its key."""

    key: tuple[Any, ...]
    change: OutputChange


def result_tables(job: Job, output: Iterable[tuple[tuple[Any, ...], list[OutputChange]]]) -> Iterable[pa.Table]:
    """Yield the results of a batch as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's value is not of the type its class declares.
    """
    lines = [_Line(key, change) for key, changes in output for change in changes]
    for start in range(0, len(lines), MOST_ROWS):
        yield _result_table(job, lines[start : start + MOST_ROWS])


def refused_table(rows: Sequence[RefusedRow]) -> pa.Table:
    """Return late or rejected rows as a table."""
    columns = ([getattr(row, name) for row in rows] for name in REFUSED.names)
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=REFUSED)


def _result_table(job: Job, lines: Sequence[_Line]) -> pa.Table:
    columns = [*_key_columns(job, lines), *_time_columns(job, lines), *_value_columns(job, lines)]
    return pa.table(columns, schema=job.results)


def _key_columns(job: Job, lines: Sequence[_Line]) -> list[pa.Array]:
    types = [job.results.field(place).type for place in range(job.keys)]
    return [pa.array([line.key[place] for line in lines], of) for place, of in enumerate(types)]


def _time_columns(job: Job, lines: Sequence[_Line]) -> list[pa.Array]:
    changes = [line.change for line in lines]
    columns = [_extents(job, [(c.window.start, c.window.end) for c in changes])]
    if "lifetime" in job.results.names:
        columns.append(_extents(job, [(c.start, c.end) for c in changes]))
    if "event_id" in job.results.names:
        columns.append(pa.array([str(c.kind) for c in changes], pa.string()))
        columns.append(pa.array([c.id for c in changes], pa.int64()))
    return columns


def _extents(job: Job, extents: Sequence[tuple[int, int]]) -> pa.Array:
    """Return lifetimes as a struct column; an end at infinity is null."""
    starts = pa.array([start for start, _ in extents], pa.int64())
    ends = pa.array([None if end >= INFINITY else end for _, end in extents], pa.int64())
    fields = [pa.field("start", job.time_type), pa.field("end", job.time_type)]
    return pa.StructArray.from_arrays([starts.cast(job.time_type), ends.cast(job.time_type)], fields=fields)


def _value_columns(job: Job, lines: Sequence[_Line]) -> list[pa.Array]:
    values = [line.change.value for line in lines]
    first = len(job.results) - len(job.outputs)
    if not job.query.is_operator:
        columns = [[value[place] for value in values] for place in range(len(job.outputs))]
    elif isinstance(job.query.bindings[0].module.result_field().type, Struct):
        columns = [[_part(value, place, output.name) for value in values] for place, output in enumerate(job.outputs)]
    else:
        columns = [values]
    return [
        _column(job, column, output, job.results.field(first + place).type, place)
        for place, (column, output) in enumerate(zip(columns, job.outputs, strict=True))
    ]


def _column(job: Job, values: Sequence[Any], output: Field, arrow_type: pa.DataType, place: int) -> pa.Array:
    plain = plainer(output)
    try:
        if plain is not None:
            values = [None if value is None else plain(value) for value in values]
        if pa.types.is_timestamp(arrow_type) and values and isinstance(next((v for v in values if v is not None), None), int):
            return pa.array(values, pa.int64()).cast(arrow_type)
        return pa.array(values, arrow_type)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, KeyError) as error:
        module = job.query.bindings[0 if job.query.is_operator else place].module
        raise ModuleContractError(
            f"{module.name} {module.version} returned a value that is not what it declares: {error}\n"
            f"  declared: {spell(output)}\n  returned, for example: {next(iter(values), None)!r}"
        ) from error


def plainer(field: Field) -> Callable[[Any], Any] | None:
    """Return what turns a module's value into what Arrow takes; None where they are the same."""
    data_type = field.type
    if isinstance(data_type, Struct):
        parts = [(part.name, plainer(part)) for part in data_type.fields]
        return lambda value: {
            name: _plain(_part(value, place, name), convert) for place, (name, convert) in enumerate(parts)
        }
    if isinstance(data_type, ListOf):
        element = plainer(data_type.element)
        return list if element is None else lambda values: [_plain(value, element) for value in values]
    if isinstance(data_type, MapOf):
        convert = plainer(data_type.value)
        return lambda values: [(name, _plain(value, convert)) for name, value in values.items()]
    return None


def _plain(value: Any, convert: Callable[[Any], Any] | None) -> Any:
    return value if value is None or convert is None else convert(value)


def _part(value: Any, place: int, name: str) -> Any:
    if isinstance(value, dict):
        return value[name]
    return value[place] if isinstance(value, tuple) else getattr(value, name)
