"""The output of keys as typed tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import pyarrow as pa

from muntin import EARLIEST, INFINITY, RowOperator
from muntin.safe_text import safe_repr
from muntin.schemas import Field
from muntin_engine.time.changes import Key, OutputChange
from muntin_engine.wire.result_columns import ResultColumns
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import as_times, extents

MOST_ROWS: Final = 100_000
"""The largest number of rows of a table; a table of more than `MOST_BYTES` is divided further."""

MOST_BYTES: Final = 32 * 2**20


class _Output(NamedTuple):
    """The columns of an output.

    Attributes:
        schema: All of them.
        outputs: Those of the modules, which are the last ones.
        row: The type of an operator's row; None where each column is of an aggregate.
    """

    schema: pa.Schema
    outputs: Sequence[Field]
    row: Field | None


def result_tables(task: TaskPayload, output: Iterable[tuple[Key, Sequence[OutputChange]]]) -> Iterator[pa.Table]:
    """Yield the results of a batch as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's value is not of the type its class declares.
    """
    is_operator = task.plan.join is None and task.query.is_operator
    row = task.query.bindings[0].module.result_field() if is_operator else None
    return _tables(task, output, _Output(task.results, task.outputs, row))


def evicted_tables(task: TaskPayload, output: Iterable[tuple[Key, Sequence[OutputChange]]]) -> Iterator[pa.Table]:
    """Yield the second output, what `on_evict` returned, as tables; nothing if the query has no such output.

    Raises:
        ModuleContractError: The module returned a row that is not of the type that its class declares, or any row
            where it declares none.
    """
    module = task.query.bindings[0].module
    if isinstance(module, RowOperator) and task.evicted is not None:
        yield from _tables(task, output, _Output(task.evicted, task.plan.evicted, module.evicted_field()))
        return
    for key, (change, *_) in output:
        label, found = f"{module.name} {module.version}", safe_repr(change.value)
        results = ResultColumns(task, label, lambda _, key=key, change=change: (key, change.window))  # type: ignore[misc]
        raise results.contract_error(f"on_evict returned {found}, declared None", 0)


def _tables(
    task: TaskPayload, output: Iterable[tuple[Key, Sequence[OutputChange]]], shape: _Output
) -> Iterator[pa.Table]:
    keyed = [(key, change) for key, changes in output for change in changes]
    for start in range(0, len(keyed), MOST_ROWS):
        some = keyed[start : start + MOST_ROWS]
        outputs = _outputs(task, some, shape)
        columns = lead_columns(task, some, list(shape.schema)[: len(shape.schema) - len(outputs)])
        yield from in_pieces(pa.table([*columns, *outputs], schema=shape.schema))


def in_pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table in pieces of at most `MOST_BYTES`, roughly."""
    rows = max(1, table.num_rows * MOST_BYTES // max(table.nbytes, 1))
    yield from (table.slice(place, rows) for place in range(0, table.num_rows, rows))


def lead_columns(
    task: TaskPayload, keyed: Sequence[tuple[Key, OutputChange]], fields: Sequence[pa.Field]
) -> list[pa.Array]:
    """Return the columns of changes before their results: the keys, and columns such as `window` and `change`."""
    keys, changes = [key for key, _ in keyed], [change for _, change in keyed]
    columns = [
        pa.array([key[place] for key in keys], field.type) for place, field in enumerate(fields[: len(task.keys)])
    ]
    for field in fields[len(task.keys) :]:
        if field.name == "window":
            columns.append(_extents(task, [(change.window.start, change.window.end) for change in changes]))
        elif field.name == "lifetime":
            columns.append(_extents(task, [(change.start, change.end) for change in changes]))
        elif field.name == "new_end":
            new_ends = pa.array(_finite(change.new_end for change in changes), pa.int64())
            columns.append(as_times(new_ends, field.type))
        else:
            columns.append(pa.array(list(map(attrgetter(_READ[field.name]), changes)), field.type))
    return columns


_READ: Final = {
    "change": "kind",
    "event_id": "id",
    "timing": "timing",
    "firing": "firing",
    "partition": "partition",
    "ends_window": "ends_window",
}
"""The attributes of changes by the names of their columns."""


def _extents(task: TaskPayload, stretches: Sequence[tuple[int, int]]) -> pa.Array:
    """Return stretches of the axis as a struct column; an end of `INFINITY` and a start of `EARLIEST` are null."""
    starts, ends = (pa.array(_finite(ticks), pa.int64()) for ticks in zip(*stretches, strict=True))
    return extents(task, starts, ends)


def _finite(ticks: Iterable[int | None]) -> list[int | None]:
    return [None if tick is None or tick >= INFINITY or tick == EARLIEST else tick for tick in ticks]


def _outputs(task: TaskPayload, keyed: Sequence[tuple[Key, OutputChange]], shape: _Output) -> list[pa.Array]:
    """Return the columns of results: one per aggregate, or one per part of an operator's rows or of a join's."""
    fields = list(shape.schema)[len(shape.schema) - len(shape.outputs) :]
    values = [change.value for _, change in keyed]
    if task.plan.join is not None:
        of_columns = zip(zip(*values, strict=True), fields, strict=True)
        return [pa.array(column, field.type) for column, field in of_columns]
    columns = []
    for place, (output, field) in enumerate(zip(shape.outputs, fields, strict=True)):
        module = task.query.bindings[0 if shape.row is not None else place].module
        label = f"{module.name} {module.version}"
        results = ResultColumns(task, label, lambda row: (keyed[row][0], keyed[row][1].window))
        if shape.row is None:
            columns.append(results.column([value[place] for value in values], output, field.type))
        else:
            columns.append(results.part(values, shape.row, place, output, field.type))
    return columns
