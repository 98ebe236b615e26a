"""Rows as values of a batch: the columns in which they arrived, and lists of rows that share these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretches.blob_columns import BlobColumns, narrow_table, numbers_of
from muntin_engine.evaluators.arrays.stretches.coding import expanded, members_of, stable_order
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_table, numpy_array
from muntin_engine.wire.blobs import from_blob, to_blob


@dataclass(frozen=True, slots=True)
class RowValues:
    """The columns of rows, as they arrived. `take` copies no columns as long as half of their rows are still in use.

    Attributes:
        shared_table: The columns of these rows, and of other rows, which `take` has left out.
        places: The places of the rows among them.
    """

    shared_table: pa.Table
    places: IntArray

    @classmethod
    def of(cls, table: pa.Table) -> RowValues:
        """Wrap the rows of a table."""
        return cls(table.replace_schema_metadata(None).combine_chunks(), np.arange(len(table)))

    def __len__(self) -> int:
        return len(self.places)

    @property
    def nbytes(self) -> int:
        """The size of the columns in bytes, and of the places."""
        size: int = self.shared_table.nbytes + self.places.nbytes
        return size

    @property
    def table(self) -> pa.Table:
        """The columns of these rows alone."""
        has_all_rows = len(self) == len(self.shared_table)
        are_in_order = bool((self.places[1:] > self.places[:-1]).all())
        if has_all_rows and are_in_order:
            return self.shared_table
        return self.shared_table.take(arrow_array(self.places))

    def take(self, places: IntArray | slice) -> RowValues:
        """Select rows by their places; if few are selected, as a copy, so that the other rows can be freed."""
        selected = RowValues(self.shared_table, self.places[places])
        if 2 * len(selected) < len(self.shared_table):
            return RowValues.of(selected.table)
        return selected

    def followed_by(self, further: Sequence[RowValues]) -> RowValues:
        """Return these rows and, behind them, those of further batches."""
        batches = [self, *further]
        shift = 0  # the number of rows of the tables before
        places: list[IntArray] = []
        for batch in batches:
            places.append(batch.places + shift)
            shift += len(batch.shared_table)
        shared_table = pa.concat_tables([batch.shared_table for batch in batches]).combine_chunks()
        return RowValues(shared_table, np.concatenate(places))

    def encode(self, name: str, blob: BlobColumns) -> None:
        """Add the columns of rows to those of a blob, under the names that they have."""
        del name
        for column_name, column in zip(self.shared_table.column_names, self.table.columns, strict=True):
            blob.columns[column_name] = column

    def reduce(self, codes: IntArray, size: int) -> RowValues:
        """Refuse: rows are not merged."""
        raise TypeError(f"{len(codes)} rows are not merged into {size}: a module lifts them")


TIMES: Final = ("start", "end")
"""The columns of rows that are times; points have no `end`."""

SOURCE: Final = "source"
"""The column of rows that says which source each is of: late rows are kept with it."""

MOST_CHUNKS: Final = 16
"""Columns of more chunks are copied into one."""

_NO_PAYLOAD: Final = "none"
"""The name of a column of nulls, which stands for the payload where rows have none."""


class PlainRows(NamedTuple):
    """Rows as Python values.

    Attributes:
        starts: The start of each row.
        ends: The end of each row.
        payloads: The payload of each row.
    """

    starts: list[int]
    ends: list[int]
    payloads: list[tuple[Any, ...]]


class Shares(NamedTuple):
    """Which stretches cover which of n places, such as snapshots. There is an element for each such pair.

    Attributes:
        stretches: The stretch of each pair.
        places: The place of each pair.
        place_count: n.
    """

    stretches: IntArray
    places: IntArray
    place_count: int


class CoveringStretches(Protocol):
    """Stretches that cover several places each."""

    def shares(self) -> Shares:
        """Return which stretch covers which places."""
        ...


@dataclass(frozen=True, slots=True)
class RowLists:
    """n lists of rows.

    A list is made of runs of neighbouring rows. So lists are joined, and windows share them, without copying a row.

    Attributes:
        table: The columns of all rows: their `TIMES` in ticks, their `SOURCE` where late rows are kept, then their
            payload.
        firsts: The first row of each run.
        lengths: The number of rows of each run.
        runs: The number of runs of each list.
    """

    table: pa.Table
    firsts: IntArray
    lengths: IntArray
    runs: IntArray

    @classmethod
    def of(cls, table: pa.Table, counts: IntArray) -> RowLists:
        """Divide the rows of a table into lists: the first `counts[0]` rows, the next `counts[1]` rows, and so on."""
        # Each list is one run.
        firsts = np.cumsum(counts) - counts
        return cls(table, firsts, lengths=counts, runs=np.ones(len(counts), np.int64))

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def nbytes(self) -> int:
        """The bytes that the rows take, roughly, and their runs."""
        # The table may have rows of other lists, too: these lists' rows count by their share.
        rows = self.table.nbytes * int(self.lengths.sum()) // max(1, len(self.table))
        return int(rows + self.firsts.nbytes + self.lengths.nbytes + self.runs.nbytes)

    @property
    def is_summed(self) -> bool:
        """False: rows are not subtracted."""
        return False

    @property
    def is_collected(self) -> bool:
        """True: all rows are kept."""
        return True

    @property
    def times(self) -> tuple[IntArray, IntArray]:
        """The starts and the ends of all rows."""
        starts = numpy_array(self.table.column("start"))
        if "end" not in self.table.column_names:
            return starts, starts + 1  # points last a tick
        return starts, numpy_array(self.table.column("end"))

    def payload(self, places: IntArray, values_of: Callable[[pa.ChunkedArray], list[Any]]) -> list[list[Any]]:
        """Return the payload of rows as Python values, column by column.

        Args:
            places: The places of the rows in the table. A row of several windows may be among them several times.
            values_of: Returns the Python values of a column.
        """
        names_beside_payload = [name for name in (*TIMES, SOURCE) if name in self.table.column_names]
        columns = self.table.drop_columns(names_beside_payload).columns
        if len(places) <= len(self.table):
            return [values_of(column.take(arrow_array(places))) for column in columns]

        # Many rows are asked for several times: the Python values of each are made once.
        payload: list[list[Any]] = []
        for column in columns:
            values = np.fromiter(values_of(column), np.object_, len(column))
            payload.append(values[places].tolist())
        return payload

    def rows(self, places: IntArray, columns: Sequence[list[Any]]) -> PlainRows:
        """Return rows as Python values.

        Args:
            places: The places of the rows in the table.
            columns: The columns of their payloads, as `payload` returned them for the same places.
        """
        starts, ends = self.times
        payloads: list[tuple[Any, ...]] = [()] * len(places)
        if columns:  # a query may read no column: then payloads are empty
            payloads = list(zip(*columns, strict=True))
        return PlainRows(starts[places].tolist(), ends[places].tolist(), payloads)

    def places(self) -> IntArray:
        """Return the places of the rows in the table, list by list."""
        owners, within = expanded(self.lengths)
        return self.firsts[owners] + within

    def take(self, places: IntArray | slice) -> RowLists:
        """Select lists by their places; if few rows are selected, as a copy, so that the other rows can be freed."""
        runs = members_of(self.runs, places)  # a list is made of runs of neighbouring rows of the table
        selected = RowLists(self.table, self.firsts[runs], self.lengths[runs], self.runs[places])
        if 2 * int(selected.lengths.sum()) < len(self.table):
            return selected.copied()
        return selected

    def copied(self) -> RowLists:
        """Copy the rows, so that those of a list lie side by side."""
        list_of_run = np.repeat(np.arange(len(self)), self.runs)
        counts = np.bincount(list_of_run, self.lengths, len(self)).astype(np.int64)
        return RowLists.of(self.table.take(arrow_array(self.places())), counts)

    def followed_by(self, further: Sequence[RowLists]) -> RowLists:
        """Return these lists and, behind them, those of further batches."""
        batches = (self, *further)
        shift = 0  # the number of rows of the tables before
        firsts: list[IntArray] = []
        for batch in batches:
            firsts.append(batch.firsts + shift)
            shift += len(batch.table)
        table = pa.concat_tables([batch.table for batch in batches])
        if table.column(0).num_chunks > MOST_CHUNKS:  # to find rows in many chunks takes long
            table = table.combine_chunks()
        lengths = np.concatenate([batch.lengths for batch in batches])
        runs = np.concatenate([batch.runs for batch in batches])
        return RowLists(table, np.concatenate(firsts), lengths, runs)

    def reduce(self, codes: IntArray, size: int) -> RowLists:
        """Join the lists of each code, in their order; no row is copied.

        Args:
            codes: The code of each list.
            size: The number of codes.
        """
        run_codes = np.repeat(codes, self.runs)
        order = stable_order(run_codes, size)
        runs = np.bincount(run_codes, minlength=size)
        return RowLists(self.table, self.firsts[order], self.lengths[order], runs)

    def running(self, edges: CoveringStretches) -> RowLists:
        """Return for each place the joined lists of the stretches that cover it."""
        shares = edges.shares()
        return self.take(shares.stretches).reduce(shares.places, shares.place_count)

    def encode(self, name: str, blob: BlobColumns) -> None:
        """Add the encoded rows to the packed bytes of a blob: its columns have a row for each list of rows."""
        del name
        blob.packed.append(self.to_blob())

    def to_blob(self) -> bytes:
        """Encode the rows, list by list."""
        table = self.copied().table  # in which the rows of a list lie side by side
        times: dict[str, IntArray] = {}
        other_columns: dict[str, pa.ChunkedArray] = {}
        for name in table.column_names:
            if name in TIMES:
                times[name] = numpy_array(table.column(name))
            else:
                other_columns[name] = table.column(name)
        if not other_columns:  # a table of narrow numbers needs a column that says how many rows there are
            other_columns[_NO_PAYLOAD] = pa.nulls(len(table))
        return to_blob(narrow_table(times, other_columns))

    @classmethod
    def from_blob(cls, blob: bytes, counts: IntArray) -> RowLists:
        """Decode the rows that `to_blob` encoded.

        Args:
            blob: The encoded rows.
            counts: The number of rows of each list.
        """
        table = from_blob(blob)
        columns: dict[str, Any] = dict(numbers_of(table))
        for name in table.column_names:
            if name not in (*TIMES, _NO_PAYLOAD):
                columns[name] = table.column(name)
        return cls.of(arrow_table(columns), counts)
