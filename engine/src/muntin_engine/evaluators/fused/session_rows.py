"""Rows as they cross the shuffle where sessions have Python states: each with the stretch on which it counts.

A row is added to a state in its bucket and not before, since which rows are late is known there alone; so all rows that
a batch brings to a session are added in one call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.columnar.lifting import Rows
from muntin_engine.evaluators.fused.lifting import Fusing, bucket_order, by_bucket
from muntin_engine.evaluators.over_slices.bucket_blob import BucketBlob
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.numbers import codes_array, narrow_table, numbers_of
from muntin_engine.state.codec import Codec


@dataclass(frozen=True, slots=True)
class SessionRows:
    """n rows of a bucket.

    Attributes:
        slices: Where each starts.
        keys: The code of each row's key.
        lasts: Where each ends, with the gap after it.
        inputs: The inputs of the query, a column of n values each.
    """

    slices: IntArray
    keys: IntArray
    lasts: IntArray
    inputs: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.slices)

    def take(self, places: IntArray) -> SessionRows:
        """Return some of them."""
        inputs = tuple(column.take(pa.array(places)) for column in self.inputs)
        return SessionRows(self.slices[places], self.keys[places], self.lasts[places], inputs)

    def with_keys(self, keys: IntArray) -> SessionRows:
        """Return them under other codes."""
        return replace(self, keys=keys)


def concat_rows(parts: Sequence[SessionRows]) -> SessionRows:
    """Return the rows of all parts, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    return SessionRows(
        np.concatenate([part.slices for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.lasts for part in parts]),
        tuple(pa.concat_arrays(columns) for columns in zip(*(part.inputs for part in parts), strict=True)),
    )


def blobs_of_rows(fusing: Fusing, rows: Rows, codec: Codec) -> Iterator[BucketBlob]:
    """Yield the rows of a batch for each bucket that has any. Cost: a few passes over the rows."""
    if not len(rows):
        return
    order = bucket_order(rows)
    starts, until = rows.starts[order], fusing.until(rows.starts, rows.ends)[order]
    inputs = [column.take(pa.array(order)) for column in rows.inputs]
    for bucket, start, stop, keys, numbers in by_bucket(rows, order):
        some = starts[start:stop]
        columns = {"key": codes_array(numbers, len(keys))}
        columns |= {f"i{place}": column.slice(start, stop - start) for place, column in enumerate(inputs)}
        table = narrow_table({"start": some, "length": until[start:stop] - some}, columns)
        yield BucketBlob(bucket, codec.pack([shuffle.to_blob(keys), shuffle.to_blob(table)]))


def rows_of_blob(blob: bytes, codec: Codec) -> tuple[pa.Table, SessionRows]:
    """Return the keys of a blob, and its rows under the places of these."""
    keys, table = map(shuffle.from_blob, codec.unpack(blob))
    numbers = numbers_of(table)
    keyed, *inputs = (table.column(name).combine_chunks() for name in table.column_names if name not in numbers)
    starts = numbers["start"]
    codes = keyed.to_numpy().astype(np.int64)
    return keys, SessionRows(starts, codes, starts + numbers["length"], tuple(inputs))
