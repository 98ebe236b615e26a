"""Partial states as bytes: how they cross the shuffle, and how they lie in a checkpoint.

A blob has a table of keys and a table of partial states that number them, each as an Arrow stream. Whole numbers take
as few bytes as they need.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgpack
import numpy as np
import pyarrow as pa

from muntin.columnar import Sums
from muntin.columnar.arrays import Array
from muntin_engine.evaluators.columnar.partials import Collected, Part, Partials, Values
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.numbers import codes_array, narrow_table, numbers_of


def to_blob(keys: pa.Table, partials: Partials) -> bytes:
    """Return partial states, and the keys that their codes number, as bytes."""
    numbers = {"slice": partials.slices, "rows": partials.rows}
    if partials.lasts is not None:
        numbers["length"] = partials.lasts - partials.slices  # the same number for all points with a gap
    columns = {"key": codes_array(partials.keys, len(keys))}
    for part, values in partials.parts.items():
        if isinstance(values, np.ndarray) and values.dtype == np.int64 and not part.component.shape:
            numbers[_name(part)] = values
        else:
            columns[_name(part)] = _to_arrow(part, values)
    table = narrow_table(numbers, columns)
    blob: bytes = msgpack.packb([shuffle.to_blob(keys), shuffle.to_blob(table)])
    return blob


def from_blob(blob: bytes, parts: Sequence[Part]) -> tuple[pa.Table, Partials]:
    """Undo `to_blob`.

    Args:
        blob: The bytes.
        parts: The parts of the query's partial states.
    """
    keys, table = map(shuffle.from_blob, msgpack.unpackb(blob))
    numbers = numbers_of(table)
    values: dict[Part, Values] = {}
    for part in parts:
        if (name := _name(part)) in numbers:
            values[part] = numbers[name].view(part.component.dtype)
        elif name in table.column_names:
            values[part] = _from_arrow(part, table.column(name))
    slices, codes = numbers["slice"], _to_numpy(table.column("key")).astype(np.int64)
    lasts = slices + numbers["length"] if "length" in numbers else None
    return keys, Partials(slices, codes, numbers["rows"], values, lasts)


def _name(part: Part) -> str:
    return f"{part.form} {part.name}"


def _to_arrow(part: Part, values: Values) -> pa.Array:
    if isinstance(values, Collected):
        offsets = np.concatenate([[0], np.cumsum(values.counts)])
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(_plain(values.values)))
    if isinstance(values, Sums):
        named = {f"lane {number}": lane for number, lane in enumerate(values.lanes)}
        named |= {f"high {number}": lane for number, lane in enumerate(values.high)}
        named |= {} if values.odd is None else {"odd": values.odd}
        return pa.StructArray.from_arrays([_flat(part, lane) for lane in named.values()], list(named))
    return _flat(part, values)


def _flat(part: Part, values: Array) -> pa.Array:
    flat = pa.array(_plain(values.reshape(-1)))
    return pa.FixedSizeListArray.from_arrays(flat, int(np.prod(part.component.shape))) if part.component.shape else flat


def _from_arrow(part: Part, column: pa.ChunkedArray) -> Values:
    array = column.combine_chunks()
    if part.is_collected:
        values = _to_numpy(array.flatten()).view(part.component.dtype)
        return Collected(values, np.diff(_to_numpy(array.offsets)))
    if not part.component.is_exact:
        return _unflattened(part, array).view(part.component.dtype)
    arrays = {field.name: _unflattened(part, array.field(field.name)) for field in array.type}
    lanes, high = ([arrays[name] for name in arrays if name.startswith(kind)] for kind in ("lane", "high"))
    return Sums(tuple(lanes), tuple(high), arrays.get("odd"))


def _unflattened(part: Part, array: pa.Array) -> Array:
    return _to_numpy(array.flatten() if part.component.shape else array).reshape(len(array), *part.component.shape)


def _plain(values: Array) -> Array:
    return values.view(np.int64) if values.dtype.kind in "mM" else values


def _to_numpy(array: pa.Array | pa.ChunkedArray) -> Array:
    values: Array = array.to_numpy() if isinstance(array, pa.ChunkedArray) else array.to_numpy(zero_copy_only=False)
    return values
