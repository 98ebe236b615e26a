"""Columns of a table as Python values, and rows of events as changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, cast

import pyarrow as pa

from muntin_engine.time.changes import InputChange
from muntin_engine.wire.arrow_arrays import numpy_array
from muntin_engine.wire.event_ids import needs_stand_ins, stand_ins

_change_of: Final = cast("Callable[[tuple[Any, ...]], InputChange]", partial(tuple.__new__, InputChange))
"""Makes a change of the tuple of its fields, without running a constructor in Python."""


def changes_of(table: pa.Table, payload_names: Sequence[str], side: int = 0) -> Iterator[InputChange]:
    """Turn the rows of a table into changes.

    Args:
        table: The rows of events, none of which has a problem.
        payload_names: The names of the columns that make the payload.
        side: The place of the input of the rows.
    """
    ids = _values(table, "id")
    if "id" in table.column_names and needs_stand_ins(table.column("id").type):
        ids = stand_ins(table.column("id"))
    fields = zip(  # in the order in which `InputChange` has them
        ids,
        _values(table, "start"),
        _values(table, "end"),
        tuples_of(table, payload_names),
        _values(table, "new_end"),
        _values(table, "source"),
        repeat(side),
        strict=False,  # a column that the table lacks is an endless run of None
    )
    return map(_change_of, fields)


def tuples_of(table: pa.Table, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return columns of a table row by row, as Python values."""
    if not names:
        return [()] * table.num_rows
    return list(zip(*columns_of(table, names), strict=True))


def columns_of(table: pa.Table, names: Sequence[str]) -> list[list[object]]:
    """Return columns of a table as Python values; the table must have each."""
    return [values_in(table.column(name)) for name in names]


def values_in(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column as Python values."""
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_number and not column.null_count:
        numbers: list[Any] = numpy_array(column).tolist()  # ten times as fast as by way of Arrow
        return numbers
    values: list[Any] = column.to_pylist()
    return values


def _values(table: pa.Table, name: str) -> Iterable[Any]:
    """Return a column as Python values; endless nulls if the table has no such column."""
    if name not in table.column_names:
        return repeat(None)
    return values_in(table.column(name))
