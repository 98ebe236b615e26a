"""Rows of a join as bytes: how they cross the shuffle, and how they lie in a checkpoint.

A part has the side of its rows, their keys, each once, and the rows with the numbers of their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgpack
import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.coding import encode
from muntin_engine.evaluators.arrays.lifting import key_rows
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.numbers import codes_array, narrow_table, numbers_of
from muntin_engine.exchange.task_payload import TaskPayload


@dataclass(frozen=True, slots=True)
class SideRows:
    """Events of one side.

    Attributes:
        codes: The code of each one's key.
        starts: Where each starts.
        ends: Where each ends.
        payload: A column for each column that the join has of them; a column of nulls where it has none, as a table
            without columns has no rows either.
    """

    codes: IntArray
    starts: IntArray
    ends: IntArray
    payload: pa.Table

    def __len__(self) -> int:
        return len(self.codes)

    def where(self, is_wanted: BoolArray) -> SideRows:
        """Return some of them."""
        if is_wanted.all():
            return self
        codes, starts, ends = (values[is_wanted] for values in (self.codes, self.starts, self.ends))
        return SideRows(codes, starts, ends, self.payload.filter(pa.array(is_wanted)))


def joined_rows(some: Sequence[SideRows]) -> SideRows:
    """Return rows of one side, of several parts, as one."""
    if len(some) == 1:
        return some[0]
    return SideRows(
        np.concatenate([rows.codes for rows in some]),
        np.concatenate([rows.starts for rows in some]),
        np.concatenate([rows.ends for rows in some]),
        pa.concat_tables([rows.payload for rows in some]),
    )


def lift_rows(task: TaskPayload, side: int, table: pa.Table) -> Iterator[BucketBlob]:
    """Yield the good rows of one side, a blob for each bucket that has any.

    Cost: a sort of the rows by bucket, and a pass over the keys of each.
    """
    given = task.inputs[side]
    buckets = table.column("bucket").to_numpy()
    order = np.argsort(buckets, kind="stable")
    ordered = table.take(pa.array(order)).combine_chunks()
    numbers, firsts = np.unique(buckets[order], return_index=True)
    for bucket, first, last in zip(numbers, firsts, [*firsts, len(order)][1:], strict=True):
        own = ordered.slice(first, last - first)
        columns = [own.column(name).combine_chunks() for name in given.key_names]
        coded = encode(columns, len(own))
        keys = key_rows([column.take(pa.array(coded.first)) for column in columns], coded.size)
        starts, ends = (own.column(name).to_numpy() for name in ("start", "end"))
        rows = SideRows(coded.codes, starts, ends, own.select(list(given.payload_names)))
        yield BucketBlob(int(bucket), to_blob([(side, keys, rows)]))


def to_blob(parts: Sequence[tuple[int, pa.Table, SideRows]]) -> bytes:
    """Return parts, each a side, keys and rows whose codes number them, as bytes."""
    packed = []
    for side, keys, rows in parts:
        numbers = {"start": rows.starts, "lasts": rows.ends - rows.starts}
        named = {f"i{place}": column for place, column in enumerate(rows.payload.columns)}
        table = narrow_table(numbers, {"key": codes_array(rows.codes, len(keys)), **named})
        packed.append([side, shuffle.to_blob(keys), shuffle.to_blob(table)])
    blob: bytes = msgpack.packb(packed)
    return blob


def from_blob(blob: bytes) -> Iterator[tuple[int, pa.Table, SideRows]]:
    """Yield the parts that `to_blob` wrote."""
    for side, keys, packed in msgpack.unpackb(blob):
        table = shuffle.from_blob(packed)
        numbers = numbers_of(table)
        named = [name for name in table.column_names if name[0] == "i"]
        payload = table.select(named).replace_schema_metadata(None) if named else pa.table({"i0": pa.nulls(len(table))})
        codes = table.column("key").to_numpy().astype(np.int64)
        yield (
            side,
            shuffle.from_blob(keys),
            SideRows(codes, numbers["start"], numbers["start"] + numbers["lasts"], payload),
        )
