"""The values of stretches: lifted from rows before the shuffle, then merged, and made results of, in buckets."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.stretch_codec import ColumnFormat, StretchFormat
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, Groups, StretchTable, alike, concat
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, lift_each, lift_rows
from muntin_engine.evaluators.arrays.values.sliding_windows import SlidingWindows
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.time.slice_grid import SliceGrid


class StretchValues(StretchFormat):
    """A kind of values. It keeps nothing itself: what it needs to know of a bucket is handed to it.

    Attributes:
        with_late_rows: True if the rows travel beside their partial states, because late rows are kept.
    """

    def __init__(self, *, with_late_rows: bool) -> None:
        """Describe values; see the attribute."""
        self.with_late_rows = with_late_rows

    @abstractmethod
    def lift_into_slices(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield for each bucket the values of the slices, or runs of slices, that rows are merged into."""

    @abstractmethod
    def lift_each(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield for each bucket the value of each row."""

    def without_late_rows(self, stretches: StretchTable) -> StretchTable:
        """Drop the rows that travelled beside stretches only in case these are late."""
        return stretches.without(LISTS) if self.with_late_rows else stretches

    def lift_groups(self, rows: StretchTable, groups: Groups, keys: KeyTable) -> StretchTable:
        """Merge each group of stretches that arrived into one: rows of their own, or partial states of rows."""
        return self.merge(rows, groups, keys)

    def merge(self, stretches: StretchTable, groups: Groups, keys: KeyTable) -> StretchTable:
        """Merge each group of stretches into one; the value of a group's first stretch may be changed in place."""
        del keys
        return stretches.reduce(groups)

    def merge_alike(self, tables: Sequence[StretchTable], keys: KeyTable) -> StretchTable:
        """Merge stretches of one key that have the same ends; values of the earlier tables may be changed in place."""
        stretches = concat(tables)
        return self.merge(stretches, alike(stretches), keys)

    def results(self, windows: StretchTable, keys: KeyTable) -> list[list[Any]] | None:
        """Return the results of windows, module by module; None if they are computed only when columns are written."""
        del windows, keys
        return None

    def sliding_windows(self, keys: KeyTable) -> Sequence[SlidingWindows]:
        """Return the makers of windows from one to the next, one for each specification; none if windows are merged."""
        del keys
        return ()

    def of_slices(self, slices: StretchTable) -> StretchTable:
        """Return slices with the values that sliding windows push: the state, or the rows, of each for every module."""
        return slices

    def bytes_of_objects(self, written_bytes: int) -> int:
        """Estimate the memory of Python objects among the values, given the bytes that are written of them."""
        del written_bytes
        return 0


class FormComponents(ColumnFormat, StretchValues):
    """Components of columnar forms: they are merged as arrays, and results are computed as columns."""

    def __init__(
        self, forms: Sequence[BoundForm], grids: Sequence[SliceGrid] = (), gap: int = 1, *, with_late_rows: bool = False
    ) -> None:
        """Describe the components of a query.

        Args:
            forms: The forms of the query.
            grids: The windows of each specification, over slices that all of them share; none of sessions and
                snapshots.
            gap: How far the stretch of an event reaches past its last tick: by the gap of sessions, otherwise by 1
                tick.
            with_late_rows: True if the rows travel with the components, because late rows are kept.
        """
        ColumnFormat.__init__(self, forms)
        StretchValues.__init__(self, with_late_rows=with_late_rows)
        self._grids = grids
        self._gap = gap

    def lift_into_slices(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the components of slices for each bucket."""
        slices = self._grids[0]  # all grids have the same slices
        return lift_rows(slices, self.forms, rows, with_rows=self.with_late_rows)

    def lift_each(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the components of each row for each bucket."""
        return lift_each(self._gap, rows, self.forms, with_rows=self.with_late_rows)
