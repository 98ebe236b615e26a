"""The buckets of keys: the same for a key in every process, whatever task has its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import canonical
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, numpy_array
from muntin_engine.wire.value_flags import flags

Hashes: TypeAlias = npt.NDArray[np.uint64]

_CODEC: Final = Codec()
_SHIFT: Final = np.uint64(33)
_FACTOR: Final = np.uint64(0xFF51AFD7ED558CCD)
"""The shift and the odd factor of a step of MurmurHash3's mixer."""

_NULL: Final = np.uint64(0x9E3779B97F4A7C15)
"""The hash of null."""


def buckets_of(keys: Sequence[pa.Array], length: int, count: int) -> IntArray:
    """Return the number of each key's bucket, from 0; keys that are equal in Spark's grouping have one bucket.

    A checkpoint keeps the state of a key in the key's bucket, so another way to choose buckets needs new checkpoints.

    Args:
        keys: The key columns; none where all rows are one group. Keys may repeat.
        length: The number of keys.
        count: The number of buckets.

    Cost: a few passes over numbers and times; each distinct text takes a call, as each value of a nested type does.

    Example:
        >>> buckets_of([pa.array([0.0, -0.0, 1.5])], 3, 16).tolist()
        [0, 0, 9]
    """
    if count == 1:
        return np.zeros(length, np.int64)
    mixed = np.zeros(length, np.uint64)
    for column in keys:
        mixed = (mixed ^ _hashes(column)) * _FACTOR
        mixed = (mixed ^ mixed >> _SHIFT) * _FACTOR
        mixed ^= mixed >> _SHIFT
    return (mixed % np.uint64(count)).astype(np.int64)


def by_bucket(rows: pa.Table, names: Sequence[str], count: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the number of each bucket that gets rows, from 0, with these rows in the order in which they came.

    A row with a problem may hold a key that has no bucket. Its values decide where it goes, and not its place among the
    rows: so it is in the same bucket however the rows are cut into tables.

    Args:
        rows: The rows, with their problems.
        names: The names of the key columns.
        count: The number of buckets.
    """
    if not len(rows):
        return
    is_good = flags(rows.column("problem").is_null())
    good_rows = rows if is_good.all() else rows.filter(arrow_array(is_good))
    keys = [good_rows.column(name).combine_chunks() for name in names]
    buckets = np.empty(len(rows), np.int64)
    buckets[is_good] = buckets_of(keys, len(good_rows), count)
    if not is_good.all():
        buckets[~is_good] = _buckets_of_bad_rows(rows.filter(arrow_array(~is_good)), names, count)

    # Numbers of 16 bits are ordered by counting, an order of magnitude faster than larger ones.
    order = np.argsort(buckets.astype(np.min_scalar_type(count - 1)), kind="stable")
    ordered_rows = rows.take(arrow_array(order)).combine_chunks()
    start = 0
    for bucket, row_count in enumerate(np.bincount(buckets).tolist()):
        if row_count:
            yield bucket, ordered_rows.slice(start, row_count)
            start += row_count


def _buckets_of_bad_rows(rows: pa.Table, names: Sequence[str], count: int) -> IntArray:
    """Return the number of the bucket of each row with a problem: by its times and its key, if they are readable.

    Args:
        rows: The rows.
        names: The names of the key columns.
        count: The number of buckets.
    """
    columns: list[pa.Array] = []
    for name in ("start", "end", *names):
        # A nested value may be one that Python cannot read, such as a time after the year 9999.
        if name in rows.column_names and not pa.types.is_nested(rows.schema.field(name).type):
            columns.append(rows.column(name).combine_chunks())
    return buckets_of(columns, len(rows), count)


def _hashes(column: pa.Array) -> Hashes:
    """Return the hash of each value; values that are equal in Spark's grouping have one hash."""
    is_null = numpy_array(column.is_null())
    return np.where(is_null, _NULL, _hashes_of_values(column))


def _hashes_of_values(column: pa.Array) -> Hashes:
    """Return the hash of each value; hashes under nulls are unspecified."""
    kind = column.type
    if pa.types.is_floating(kind):
        # In Spark's grouping 0.0 equals -0.0, which the addition turns into 0.0, and all NaNs are equal.
        floats = numpy_array(column.cast(pa.float64()), nulls=0.0) + 0.0
        return np.where(np.isnan(floats), np.nan, floats).view(np.uint64)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        numbers = column.cast(pa.int32()) if pa.types.is_date32(kind) else column  # Arrow casts no date to 64 bits
        hashes: Hashes = numpy_array(numbers.cast(pa.int64()), nulls=0).view(np.uint64)
        return hashes
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        # Texts repeat: each distinct one is hashed once.
        distinct_texts = column.cast(pa.binary()).fill_null(arrow_scalar(b"")).dictionary_encode()
        checksums: Hashes = np.array([crc32(text) for text in distinct_texts.dictionary.to_pylist()], np.uint64)
        places: IntArray = numpy_array(distinct_texts.indices)
        return checksums[places]
    packed_values = (_CODEC.pack(canonical(value)) for value in column.to_pylist())
    return np.fromiter(map(crc32, packed_values), np.uint64, len(column))
