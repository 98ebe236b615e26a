"""The output of keys as typed tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import EARLIEST, INFINITY, RowOperator, Window
from muntin.errors.safe_text import safe_repr
from muntin.schemas import Field
from muntin_engine.time.changes import Key, OutputChange
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.result_columns import ResultColumns
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import as_times, extents

MOST_ROWS: Final = 100_000
"""The largest number of rows of a table; a table of more than `MOST_BYTES` is divided further."""

MOST_BYTES: Final = 32 * 2**20


class _OutputColumns(NamedTuple):
    """The columns of one of the two outputs of a query.

    Attributes:
        schema: All columns: first those of `lead_columns`, then those of the modules.
        outputs: The columns of the modules.
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
    row_field = task.query.bindings[0].module.result_field() if is_operator else None
    return _tables(task, output, _OutputColumns(schema=task.results, outputs=task.plan.outputs, row=row_field))


def evicted_tables(task: TaskPayload, output: Iterable[tuple[Key, Sequence[OutputChange]]]) -> Iterator[pa.Table]:
    """Yield the second output, what `on_evict` returned, as tables; nothing if the query has no such output.

    Raises:
        ModuleContractError: The module returned a row that is not of the type that its class declares, or any row
            where it declares none.
    """
    module = task.query.bindings[0].module
    if isinstance(module, RowOperator) and task.evicted is not None:
        columns = _OutputColumns(schema=task.evicted, outputs=task.plan.evicted, row=module.evicted_field())
        yield from _tables(task, output, columns)
        return
    # The module declares no such rows: the first one is refused.
    for key, changes in output:
        first_change = changes[0]
        raise _undeclared_output(task, key, first_change)


def _tables(
    task: TaskPayload, output: Iterable[tuple[Key, Sequence[OutputChange]]], output_columns: _OutputColumns
) -> Iterator[pa.Table]:
    """Yield the changes of an output as tables."""
    keyed_changes = [(key, change) for key, changes in output for change in changes]
    schema = output_columns.schema
    for start in range(0, len(keyed_changes), MOST_ROWS):
        table_changes = keyed_changes[start : start + MOST_ROWS]
        results = _result_arrays(task, table_changes, output_columns)
        lead_fields = list(schema)[: len(schema) - len(results)]
        columns = lead_columns(task, table_changes, lead_fields)
        yield from in_pieces(pa.table([*columns, *results], schema=schema))


def _undeclared_output(task: TaskPayload, key: Key, change: OutputChange) -> Exception:
    """Return the error of a module whose `on_evict` returned a row, although its class declares none."""
    module = task.query.bindings[0].module
    results = ResultColumns(task, f"{module.name} {module.version}", lambda _row: (key, change.window))
    return results.contract_error(f"on_evict returned {safe_repr(change.value)}, declared None", place=0)


def in_pieces(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table in pieces of at most `MOST_BYTES`, roughly."""
    piece_rows = max(1, table.num_rows * MOST_BYTES // max(table.nbytes, 1))
    for start in range(0, table.num_rows, piece_rows):
        yield table.slice(start, piece_rows)


def lead_columns(
    task: TaskPayload, keyed_changes: Sequence[tuple[Key, OutputChange]], fields: Sequence[pa.Field]
) -> list[pa.Array]:
    """Return the columns of changes before their results: the keys, and columns such as `window` and `change`."""
    keys = [key for key, _ in keyed_changes]
    changes = [change for _, change in keyed_changes]
    key_count = len(task.keys)
    columns: list[pa.Array] = []
    for place, field in enumerate(fields[:key_count]):
        columns.append(arrow_array([key[place] for key in keys], field.type))
    for field in fields[key_count:]:
        if field.name == "window":
            columns.append(_extents(task, [(change.window.start, change.window.end) for change in changes]))
        elif field.name == "lifetime":
            columns.append(_extents(task, [(change.start, change.end) for change in changes]))
        elif field.name == "new_end":
            new_ends = arrow_array(_finite(change.new_end for change in changes), pa.int64())
            columns.append(as_times(new_ends, field.type))
        else:
            attribute = _ATTRIBUTE_OF[field.name]
            columns.append(arrow_array(list(map(attrgetter(attribute), changes)), field.type))
    return columns


_ATTRIBUTE_OF: Final = {
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
    starts, ends = zip(*stretches, strict=True)
    return extents(task, arrow_array(_finite(starts), pa.int64()), arrow_array(_finite(ends), pa.int64()))


def _finite(ticks: Iterable[int | None]) -> list[int | None]:
    """Replace the ends of the axis by None."""
    return [None if tick is None or tick >= INFINITY or tick == EARLIEST else tick for tick in ticks]


def _result_arrays(
    task: TaskPayload, keyed_changes: Sequence[tuple[Key, OutputChange]], output_columns: _OutputColumns
) -> list[pa.Array]:
    """Return the columns of results: one per aggregate, or one per field of an operator's rows or of a join's.

    There is at least one change.
    """

    def key_and_window(row: int) -> tuple[Key, Window]:
        """Return the key and the window of a row, for errors."""
        key, change = keyed_changes[row]
        return key, change.window

    schema = output_columns.schema
    fields = list(schema)[len(schema) - len(output_columns.outputs) :]
    values = [change.value for _, change in keyed_changes]
    if task.plan.join is not None:
        join_columns = zip(*values, strict=True)
        return [arrow_array(column, field.type) for column, field in zip(join_columns, fields, strict=True)]

    def results_of(module: Any) -> ResultColumns:
        """Return what makes columns of a module's results; errors name the module."""
        return ResultColumns(task, f"{module.name} {module.version}", key_and_window)

    bindings = task.query.bindings
    row_field = output_columns.row
    arrays: list[pa.Array] = []
    for place, (output, field) in enumerate(zip(output_columns.outputs, fields, strict=True)):
        if row_field is None:  # each column has the results of an aggregate
            results = results_of(bindings[place].module)
            arrays.append(results.column([value[place] for value in values], output, field.type))
        else:  # each column has a field of the rows of the operator, which is the only module
            results = results_of(bindings[0].module)
            arrays.append(results.part(values, row_field, place, output, field.type))
    return arrays
