"""Rows as values of a batch: the columns in which they came, and lists of rows that share these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretches.coding import expanded, members_of, stable_order
from muntin_engine.wire.blobs import from_blob, to_blob
from muntin_engine.wire.narrow_numbers import narrow_table, numbers_of


@dataclass(frozen=True, slots=True)
class RowValues:
    """The columns of rows, as they came. `take` moves places alone, as long as half of the rows are wanted.

    Attributes:
        whole: The columns of these rows and of others.
        places: The places of the rows among them.
    """

    whole: pa.Table
    places: IntArray

    @classmethod
    def of(cls, table: pa.Table) -> RowValues:
        """Return the rows of a table."""
        return cls(table.replace_schema_metadata(None).combine_chunks(), np.arange(len(table)))

    def __len__(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        """The size of the columns in bytes, and of the places."""
        size: int = self.whole.nbytes + self.places.nbytes
        return size

    @property
    def table(self) -> pa.Table:
        """The columns of these rows alone."""
        is_whole = len(self) == len(self.whole) and bool((self.places[1:] > self.places[:-1]).all())
        return self.whole if is_whole else self.whole.take(pa.array(self.places))

    def take(self, places: IntArray | slice) -> RowValues:
        """Return some of them."""
        some = RowValues(self.whole, self.places[places])
        return some if 2 * len(some) >= len(self.whole) else RowValues.of(some.table)

    def concat(self, more: Sequence[RowValues]) -> RowValues:
        """Return them and more."""
        every = [self, *more]
        before = np.cumsum([0, *(len(some.whole) for some in every)])
        places = np.concatenate([some.places + first for some, first in zip(every, before, strict=False)])
        return RowValues(pa.concat_tables([some.whole for some in every]).combine_chunks(), places)

    def reduce(self, codes: IntArray, size: int) -> RowValues:
        """Refuse: rows are not merged."""
        raise TypeError(f"{len(codes)} rows are not merged into {size}: a module lifts them")


TIMES: Final = ("start", "end")
"""The columns of rows that are times; points have no `end`."""

SOURCE: Final = "source"
"""The column of rows that says which source each is of, where late rows are wanted with it."""

MOST_CHUNKS: Final = 16
"""Columns of more chunks are copied into one."""

_NO_PAYLOAD: Final = "none"


Rows: TypeAlias = tuple[list[int], list[int], list[tuple[Any, ...]]]
"""Rows one by one: their starts, their ends and their payloads."""


class Shares(Protocol):
    """Stretches that lie in several places each."""

    def shares(self) -> tuple[IntArray, IntArray, int]:
        """Return the stretch and the place of each pair where one covers the other, and how many places there are."""
        ...


@dataclass(frozen=True, slots=True)
class RowLists:
    """A list of rows each.

    A list is made of runs of neighbouring rows. So lists are joined, and windows share them, without copying a row.

    Attributes:
        table: The columns of all rows: their `TIMES` in ticks, their `SOURCE` if that is wanted, then the payload as it
            came.
        firsts: The first row of each run.
        lengths: How many rows each run has.
        runs: How many runs each list has.
    """

    table: pa.Table
    firsts: IntArray
    lengths: IntArray
    runs: IntArray

    @classmethod
    def of(cls, table: pa.Table, counts: IntArray) -> RowLists:
        """Return lists of so many rows each, which lie side by side."""
        return cls(table, np.cumsum(counts) - counts, counts, np.ones(len(counts), np.int64))

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def nbytes(self) -> int:
        """About how many bytes the rows take, and their runs."""
        rows = self.table.nbytes * int(self.lengths.sum()) // max(1, len(self.table))
        return int(rows + self.firsts.nbytes + self.lengths.nbytes + self.runs.nbytes)

    @property
    def is_summed(self) -> bool:
        """False."""
        return False

    @property
    def times(self) -> tuple[IntArray, IntArray]:
        """The starts and the ends of all rows."""
        starts = self.table.column("start").to_numpy()
        return starts, self.table.column("end").to_numpy() if "end" in self.table.column_names else starts + 1

    def payload(self, places: IntArray, values_of: Callable[[pa.ChunkedArray], list[Any]]) -> list[list[Any]]:
        """Return the payload of rows, column by column.

        Args:
            places: The places of rows in the table; the values of a row that is in many windows are made once.
            values_of: Returns the values of a column.
        """
        beside = [name for name in (*TIMES, SOURCE) if name in self.table.column_names]
        columns = self.table.drop_columns(beside).columns
        if len(places) <= len(self.table):
            return [values_of(column.take(pa.array(places))) for column in columns]
        objects = (np.fromiter(values_of(column), np.object_, len(column)) for column in columns)
        return [values[places].tolist() for values in objects]

    def rows(self, places: IntArray, columns: Sequence[list[Any]]) -> Rows:
        """Return the starts, the ends and the payloads of rows, given their places and what `payload` returned."""
        starts, ends = (times[places].tolist() for times in self.times)
        return starts, ends, list(zip(*columns, strict=True)) if columns else [()] * len(places)

    def places(self) -> IntArray:
        """Return the places of the rows in the table, list by list."""
        owners, within = expanded(self.lengths)
        return self.firsts[owners] + within

    def take(self, places: IntArray | slice) -> RowLists:
        """Return some of them; if few rows are left, as a copy, so that the others can be freed."""
        runs = members_of(self.runs, places)
        firsts, lengths = self.firsts[runs], self.lengths[runs]
        some = RowLists(self.table, firsts, lengths, self.runs[places])
        return some.copied() if 2 * int(lengths.sum()) < len(self.table) else some

    def copied(self) -> RowLists:
        """Return the same lists side by side."""
        counts = np.bincount(np.repeat(np.arange(len(self)), self.runs), self.lengths, len(self)).astype(np.int64)
        return RowLists.of(self.table.take(pa.array(self.places())), counts)

    def concat(self, more: Sequence[RowLists]) -> RowLists:
        """Return them and more."""
        every = (self, *more)
        shifts = np.cumsum([0, *(len(lists.table) for lists in every[:-1])])
        table = pa.concat_tables([lists.table for lists in every])
        return RowLists(
            table.combine_chunks() if table.column(0).num_chunks > MOST_CHUNKS else table,
            np.concatenate([lists.firsts + shift for lists, shift in zip(every, shifts, strict=True)]),
            np.concatenate([lists.lengths for lists in every]),
            np.concatenate([lists.runs for lists in every]),
        )

    def reduce(self, codes: IntArray, size: int) -> RowLists:
        """Return the lists of each code joined, in their order."""
        of_runs = np.repeat(codes, self.runs)
        order = stable_order(of_runs, size)
        return RowLists(self.table, self.firsts[order], self.lengths[order], np.bincount(of_runs, minlength=size))

    def running(self, edges: Shares) -> RowLists:
        """Return for each wanted place the lists of the stretches that cover it."""
        stretches, places, size = edges.shares()
        return self.take(stretches).reduce(places, size)

    def to_blob(self) -> bytes:
        """Return the rows as bytes, list by list."""
        table = self.copied().table
        times = {name: table.column(name).to_numpy() for name in TIMES if name in table.column_names}
        payload = {name: table.column(name) for name in table.column_names if name not in TIMES}
        return to_blob(narrow_table(times, payload or {_NO_PAYLOAD: pa.nulls(len(table))}))

    @classmethod
    def from_blob(cls, blob: bytes, counts: IntArray) -> RowLists:
        """Undo `to_blob`, given how many rows each list has."""
        table = from_blob(blob)
        columns = dict(numbers_of(table))
        columns |= {name: table.column(name) for name in table.column_names if name not in (*TIMES, _NO_PAYLOAD)}
        return cls.of(pa.table(columns), counts)
