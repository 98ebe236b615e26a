"""Partial states as bytes: how they cross the shuffle, and how they lie in a checkpoint.

A blob has a table of keys and a table of partial states that number them, each as an Arrow stream.
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

_HEAD = ("slice", "key", "rows")


def to_blob(keys: pa.Table, partials: Partials) -> bytes:
    """Return partial states, and the keys that their codes number, as bytes."""
    columns = {"slice": partials.slices, "key": partials.keys.astype(np.int32), "rows": partials.rows}
    arrays = {name: pa.array(values) for name, values in columns.items()}
    if partials.lasts is not None:
        arrays["last"] = pa.array(partials.lasts)
    arrays |= {_name(part): _to_arrow(part, values) for part, values in partials.parts.items()}
    blob: bytes = msgpack.packb([shuffle.to_blob(keys), shuffle.to_blob(pa.table(arrays))])
    return blob


def from_blob(blob: bytes, parts: Sequence[Part]) -> tuple[pa.Table, Partials]:
    """Undo `to_blob`.

    Args:
        blob: The bytes.
        parts: The parts of the query's partial states.
    """
    keys, table = map(shuffle.from_blob, msgpack.unpackb(blob))
    slices, codes, rows = (_to_numpy(table.column(name)) for name in _HEAD)
    held = {part: table.column(_name(part)) for part in parts if _name(part) in table.column_names}
    lasts = _to_numpy(table.column("last")) if "last" in table.column_names else None
    values = {part: _from_arrow(part, column) for part, column in held.items()}
    return keys, Partials(slices, codes, rows, values, lasts)


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
