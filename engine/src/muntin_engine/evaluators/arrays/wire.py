"""Batches as bytes: how they cross the shuffle, and how they lie in a checkpoint.

A blob has a table of keys and a table of partial states that number them, each as an Arrow stream. Whole numbers take
as few bytes as they need. What is no number of a stretch, such as rows and Python states, comes packed after these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgpack
import numpy as np
import pyarrow as pa

from muntin import INFINITY, Component
from muntin_engine.evaluators.arrays.row_lists import RowLists
from muntin_engine.evaluators.arrays.row_values import RowValues
from muntin_engine.evaluators.arrays.stretch_table import ROWS, Part, StretchTable
from muntin_engine.evaluators.arrays.values import Dense, from_arrow
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.numbers import codes_array, narrow_table, numbers_of


class Unpacked(NamedTuple):
    """A blob.

    Attributes:
        keys: Its keys, each once.
        batch: Its stretches, whose keys are places among these.
        packed: What comes after the tables.
    """

    keys: pa.Table
    batch: StretchTable
    packed: Sequence[bytes]


def to_blob(keys: pa.Table, batch: StretchTable, packed: Sequence[bytes] = ()) -> bytes:
    """Return a batch, and the keys that its codes number, as bytes."""
    numbers = {"low": batch.low, "weight": batch.weight}
    if not batch.are_points:
        is_endless = batch.high == INFINITY
        numbers["length"] = np.where(is_endless, 0, batch.high - batch.low)  # one number for all points with a gap
        numbers["endless"] = is_endless.astype(np.int64)
    columns = {"key": codes_array(batch.keys, len(keys))}
    for part, values in batch.parts.items():
        if isinstance(values, RowValues):
            columns |= dict(zip(values.whole.column_names, values.table.columns, strict=True))
        elif isinstance(values, RowLists):
            packed = [values.to_blob(), *packed]
        elif isinstance(values, Dense) and values.array.dtype == np.int64 and not values.component.shape:
            numbers[_name(part)] = values.array
        else:
            columns[_name(part)] = values.to_arrow()
    blob: bytes = msgpack.packb([*map(shuffle.to_blob, (keys, narrow_table(numbers, columns))), *packed])
    return blob


def from_blob(blob: bytes, parts: Mapping[Part, Component | None]) -> Unpacked:
    """Undo `to_blob`.

    Args:
        blob: The bytes.
        parts: The components of the query's partial states, and None for lists of rows. Columns of rows are those named
            `i` and something, and without parts there are rows, be it without a column.
    """
    keys_blob, table_blob, *packed = msgpack.unpackb(blob)
    keys, table = map(shuffle.from_blob, (keys_blob, table_blob))
    numbers, found = numbers_of(table), dict[Part, object]()
    for part, component in parts.items():
        name = _name(part)
        if component is None:
            lists, *packed = packed
            found[part] = RowLists.from_blob(lists, numbers["weight"])
        elif name in numbers:
            found[part] = Dense(component, numbers[name].view(component.dtype))
        elif name in table.column_names:
            found[part] = from_arrow(component, table.column(name))
    columns = [name for name in table.column_names if name[0] == "i"]
    if columns or not parts:
        found[ROWS] = RowValues.of(table.select(columns))
    low, codes = numbers["low"], table.column("key").to_numpy().astype(np.int64)
    high = low
    if "length" in numbers:
        high = np.where(numbers["endless"] > 0, INFINITY, low + numbers["length"])
    return Unpacked(keys, StretchTable(codes, low, high, numbers["weight"], found), packed)


def _name(part: Part) -> str:
    return f"{part.form} {part.name}"
