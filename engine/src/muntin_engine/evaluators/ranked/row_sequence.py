"""The order of rows on arrays: by key, by time, at one time by the query's order, and those alike in all by content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray, IntArray
from muntin.schemas.value_order import sorted_by_value
from muntin_engine.evaluators.arrays.stretches.coding import LARGEST_CODE, stable_order
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, StretchTable
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
from muntin_engine.wire.python_values import values_in
from muntin_engine.wire.value_flags import flags


@dataclass(frozen=True)
class RowSequence:
    """Puts rows into the order that `keyed.sequence.in_sequence` gives the events of a key.

    Cost: two sorts of numbers. Columns are looked at for rows of one key and time alone, and Python values are made of
    those alone that have one order as well.

    Attributes:
        columns: The names of the columns that order the rows of one time, the first one first.
        values_of: Returns the values of an input column.
    """

    columns: Sequence[str]
    values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in

    @classmethod
    def by_columns(
        cls, places: Sequence[int], values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in
    ) -> RowSequence:
        """Return the sequence by the columns at some places of the input.

        Args:
            places: The places, the first one first.
            values_of: Returns the values of an input column.
        """
        return cls([f"i{place}" for place in places], values_of)

    def sorted(self, rows: StretchTable) -> StretchTable:
        """Sort rows, of which each is a stretch."""
        by_time = rows.take(time_order(rows.low))
        in_order = by_time.take(stable_order(by_time.keys, int(by_time.keys.max(initial=0)) + 1))
        follows = (in_order.keys[1:] == in_order.keys[:-1]) & (in_order.low[1:] == in_order.low[:-1])
        if not follows.any():
            return in_order
        order = np.arange(len(in_order))
        tied, groups = _groups(follows)
        order[tied] = tied[self._order_of_ties(in_order.take(tied), groups)]
        return in_order.take(order)

    def _order_of_ties(self, rows: StretchTable, groups: IntArray) -> IntArray:
        """Return the places of rows in their order, group by group of those that have one key and time."""
        table = rows.parts[ROWS].table
        ranks = [_ranks(table.column(column)) for column in self.columns]
        order = np.lexsort((*reversed(ranks), groups))
        follows = groups[order][1:] == groups[order][:-1]
        for column_ranks in ranks:
            follows &= column_ranks[order][1:] == column_ranks[order][:-1]
        if follows.any():
            alike, groups_alike = _groups(follows)
            order[alike] = order[alike][self._order_by_content(table.take(arrow_array(order[alike])), groups_alike)]
        return order

    def _order_by_content(self, table: pa.Table, groups: IntArray) -> IntArray:
        """Return the places of rows by their values, group by group."""
        contents = list(zip(*map(self.values_of, table.columns), strict=True))
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        order: list[int] = []
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(groups)], strict=True):
            order += sorted_by_value(range(start, stop), contents.__getitem__)
        return np.array(order)


def time_order(times: IntArray) -> IntArray | slice:
    """Return the places of times in their order; a slice of all of them if they are in it already."""
    if (times[1:] >= times[:-1]).all():
        return slice(None)
    first = int(times.min())
    span = int(times.max()) - first + 1
    return np.argsort(times, kind="stable") if span > LARGEST_CODE else stable_order(times - first, span)


def _groups(follows: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the places of rows that have others of their group beside them, and the group of each of these.

    Args:
        follows: For each row but the first, True if it is in the group of the row before it.
    """
    is_in = np.append(False, follows) | np.append(follows, False)
    groups = np.cumsum(~np.append(False, follows))
    places = np.flatnonzero(is_in)
    return places, groups[places]


def _ranks(column: pa.ChunkedArray) -> IntArray:
    """Return numbers in the order of the values of a column; null comes first."""
    ranks: IntArray = numpy_array(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    return np.where(flags(column.is_null()), 0, ranks) if column.null_count else ranks
