"""Columns of a table as Python values, and rows as changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, cast

import pyarrow as pa

from muntin_engine.core.changes import InputChange
from muntin_engine.wire.event_ids import needs_stand_ins, stand_ins

_change: Final = cast("Callable[[tuple[Any, ...]], InputChange]", partial(tuple.__new__, InputChange))
"""Makes a change of its fields, without a step in Python."""


def changes_of(table: pa.Table, payload_names: Sequence[str], side: int = 0) -> Iterator[InputChange]:
    """Return the rows of a table as changes; `payload_names` are the columns that make the payload."""
    payloads = tuples_of(table, payload_names)
    names = ("id", "start", "end", "new_end", "source")
    ids, starts, ends, new_ends, sources = (_values(table, name) for name in names)
    if "id" in table.column_names and needs_stand_ins(table.column("id").type):
        ids = stand_ins(table.column("id"))
    return map(_change, zip(ids, starts, ends, payloads, new_ends, sources, repeat(side), strict=False))


def tuples_of(table: pa.Table, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return some columns of a table row by row, as Python values."""
    return list(zip(*columns_of(table, names), strict=True)) if names else [()] * table.num_rows


def columns_of(table: pa.Table, names: Sequence[str]) -> list[list[object]]:
    """Return some columns of a table as Python values; each is in it."""
    return [list(_values(table, name)) for name in names]


def _values(table: pa.Table, name: str) -> Iterable[object]:
    """Return a column as Python values; endless nulls if the table has no such column."""
    if name not in table.column_names:
        return repeat(None)
    return values_in(table.column(name))


def values_in(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column as Python values; numbers without nulls by way of NumPy, which is ten times as fast."""
    is_plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values: list[Any] = column.to_numpy().tolist() if is_plain and not column.null_count else column.to_pylist()
    return values
