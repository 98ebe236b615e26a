"""The keys of a bucket, numbered; and keys as tables of columns, and as Python values for messages."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from typing import Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import Window
from muntin.columnar.arrays import IntArray
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import Key, canonical
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar
from muntin_engine.wire.python_values import tuples_of

FEW_KEYS: Final = 1024
"""With up to so many keys none is forgotten."""

OBJECTS: Final = 100
"""The memory of a key besides its columns, roughly: its name, its code, and their place in a dict."""

NO_KEYS: Final = "none"
"""The name of the only column of keys that have no columns: a table without columns would have no rows."""

At: TypeAlias = Callable[[int], tuple[Key, Window]]
"""Returns the key and the window of a call, or of a result, by its place among all; for messages."""


def named_keys(columns: Sequence[pa.Array], length: int) -> pa.Table:
    """Return keys as a table of `k0`, `k1` and so on, or of `NO_KEYS` if they have no columns."""
    named = {f"k{place}": column for place, column in enumerate(columns)}
    return pa.table(named or {NO_KEYS: pa.nulls(length)})


def key_names(keys: pa.Table) -> list[str]:
    """Return the names of the key columns of a table."""
    return [name for name in keys.column_names if name != NO_KEYS]


def key_columns(keys: pa.Table) -> list[pa.Array]:
    """Return the key columns of a table that `named_keys` made."""
    return [keys.column(name).combine_chunks() for name in key_names(keys)]


def keys_in(keys: pa.Table) -> list[Key]:
    """Return the keys of a table as Python values."""
    return tuples_of(keys, key_names(keys))


class HoldsKeys(Protocol):
    """The store of a bucket, which holds the codes of keys."""

    def used_codes(self) -> IntArray:
        """Return the codes of the keys of which the store holds something, ascending."""
        ...

    def renumber(self, new_codes: IntArray) -> None:
        """Replace the code of each key by `new_codes[code]`."""
        ...


class KeyTable:
    """Numbers the keys of a bucket, in the order in which they first arrive: the number of a key is its code.

    Cost: a look-up in a dict for each key of a batch, however many rows it has.
    """

    def __init__(self) -> None:
        """Start without keys."""
        self._codes: dict[Hashable, int] = {}
        self._tables: list[pa.Table] = []
        self._keys_before_forgetting = FEW_KEYS
        """With up to so many keys, `forget_unused` does nothing."""

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """The bytes that keys take in memory, roughly: in a dict, as objects, and as columns."""
        columns: int = sum(table.nbytes for table in self._tables)
        return OBJECTS * len(self) + 2 * columns

    def codes(self, keys: pa.Table) -> IntArray:
        """Return the code of each of the keys; new keys are added, and get the next codes.

        Two keys that are equal as in Spark's grouping, such as 0.0 and -0.0, have one code. The table keeps the key as
        `canonical` writes it, so that it does not matter which of the two came first.
        """
        previous_count = len(self._codes)
        code_of = self._codes
        # `setdefault` gives a new key the next code: the number of keys so far.
        codes = np.fromiter((code_of.setdefault(name, len(code_of)) for name in _names(keys)), np.int64, len(keys))
        if len(code_of) > previous_count:
            # Of equal new keys, the first one is added.
            _, first_rows = np.unique(codes, return_index=True)
            new_rows = first_rows[codes[first_rows] >= previous_count]
            self._tables.append(_canonical(keys.take(arrow_array(new_rows))))
        return codes

    def take(self, codes: IntArray) -> pa.Table:
        """Return the key of each code, as a table."""
        return self.table().take(arrow_array(codes))

    def table(self) -> pa.Table:
        """Return all keys in the order of their codes."""
        if len(self._tables) != 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0]

    def count(self, codes: Sequence[IntArray]) -> int:
        """Count the distinct keys of several blobs. This takes a byte for each key of the bucket.

        Args:
            codes: The codes of the keys of each blob.
        """
        occurs = np.zeros(len(self), np.bool_)
        for blob_codes in codes:
            occurs[blob_codes] = True
        return int(np.count_nonzero(occurs))

    def forget_unused(self, store: HoldsKeys) -> None:
        """Forget the keys of which a store holds nothing any more, and number the others anew.

        This is done only once the number of keys has doubled since the last time: its cost, which is that of a look at
        the whole store, is spread over as many new keys.

        Args:
            store: The store, in which the codes of keys are replaced.
        """
        if len(self) <= self._keys_before_forgetting:
            return
        used_codes = store.used_codes()
        store.renumber(self.keep(used_codes))
        self._keys_before_forgetting = max(FEW_KEYS, 2 * len(used_codes))

    def keep(self, codes: IntArray) -> IntArray:
        """Forget all keys except those of the codes given, and number these anew.

        Args:
            codes: The codes of the keys to keep, ascending.

        Returns:
            For each previous code the new one; -1 for a forgotten key.
        """
        new_codes = np.full(len(self), -1, np.int64)
        new_codes[codes] = np.arange(len(codes))
        names = list(self._codes)  # a dict keeps the order of its entries: the name of each code stands at that place
        self._tables = [self.take(codes).combine_chunks()] if self._tables else []
        self._codes = {names[code]: new_code for new_code, code in enumerate(codes.tolist())}
        return new_codes


def _names(keys: pa.Table) -> Iterable[Hashable]:
    """Yield the name of each key: a value that has a hash. Two names are equal if, and only if, their keys are."""
    if not keys.num_columns:
        return repeat((), len(keys))
    columns = [_storage(column).to_pylist() for column in keys.columns]
    # Lists and dicts have no hash; NaN does not equal itself in Python, but does as a key.
    if any(pa.types.is_nested(part) or pa.types.is_floating(part) for part in keys.schema.types):
        return (freeze(canonical(key)) for key in zip(*columns, strict=True))
    return columns[0] if len(columns) == 1 else zip(*columns, strict=True)


def _canonical(keys: pa.Table) -> pa.Table:
    """Replace the values of keys by those that `canonical` has for all equal ones, such as 0.0 for -0.0."""
    for place, (name, column) in enumerate(zip(keys.column_names, keys.columns, strict=True)):
        if pa.types.is_floating(column.type):
            positive_zeros = pc.add(column, arrow_scalar(0.0, column.type))  # -0.0 + 0.0 is 0.0
            keys = keys.set_column(place, name, positive_zeros)
        elif pa.types.is_nested(column.type):
            values = [canonical(value) for value in column.to_pylist()]
            keys = keys.set_column(place, name, arrow_array(values, column.type))
    return keys


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the type that Arrow stores it as: times as integers, text as bytes.

    Python values of these are made faster; and Spark has times and texts that Python cannot hold.
    """
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64())
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_string(column.type):
        return column.cast(pa.binary())
    return column
