"""The order of rows on arrays: by key, by time, at one time by the query's order, and those alike in all by content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
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

    Cost: two sorts of numbers. The columns that order rows are read only of rows that share their key and time with
    another row. Python values are made only of those rows that are equal in these columns, too.

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
        """Return the sequence that orders rows of one time by columns of the input.

        Args:
            places: The places of the columns among the inputs of the query; the first one decides first.
            values_of: Returns the values of an input column.
        """
        return cls([f"i{place}" for place in places], values_of)  # input columns are named `i0`, `i1` and so on

    def sorted(self, rows: StretchTable) -> StretchTable:
        """Sort rows by key, by time, by the columns of the sequence, and at last by content.

        Args:
            rows: The rows, each a stretch of one tick.
        """
        by_time = rows.take(time_order(rows.low))
        key_limit = int(by_time.keys.max(initial=0)) + 1
        in_order = by_time.take(stable_order(by_time.keys, key_limit))  # rows of a key stay in the order of time

        # Only rows that have one key and one time need a look at their columns.
        is_tied = (in_order.keys[1:] == in_order.keys[:-1]) & (in_order.low[1:] == in_order.low[:-1])
        if not is_tied.any():
            return in_order

        # Tied rows change places among each other; all other rows stay where they are.
        order = np.arange(len(in_order))
        tied_places, groups = _tied_rows(is_tied)
        order_of_ties = self._order_of_ties(in_order.take(tied_places), groups)
        order[tied_places] = tied_places[order_of_ties]
        return in_order.take(order)

    def _order_of_ties(self, rows: StretchTable, groups: IntArray) -> IntArray:
        """Return the places of rows in their order, group by group.

        Args:
            rows: The rows.
            groups: The group of each row: rows of one group have one key and one time.
        """
        table = rows.parts[ROWS].table
        ranks = [_ranks(table.column(name)) for name in self.columns]
        order = np.lexsort((*reversed(ranks), groups))  # by group, then by each column: `lexsort` takes them backwards

        # Rows that are equal in all these columns are ordered by their content.
        is_tied = groups[order][1:] == groups[order][:-1]
        for column_ranks in ranks:
            is_tied &= column_ranks[order][1:] == column_ranks[order][:-1]
        if is_tied.any():
            tied_places, tied_groups = _tied_rows(is_tied)
            places_in_table = order[tied_places]
            content_order = self._order_by_content(table.take(arrow_array(places_in_table)), tied_groups)
            order[tied_places] = places_in_table[content_order]
        return order

    def _order_by_content(self, table: pa.Table, groups: IntArray) -> IntArray:
        """Return the places of rows in the order of their values, group by group.

        Args:
            table: The rows, group by group.
            groups: The group of each row.
        """
        contents = list(zip(*map(self.values_of, table.columns), strict=True))
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1])).tolist()
        order: list[int] = []
        for start, stop in pairwise([*starts, len(groups)]):
            order += sorted_by_value(range(start, stop), contents.__getitem__)
        return np.array(order)


def time_order(times: IntArray) -> IntArray | slice:
    """Return the places of times from the earliest to the latest; a slice of all if they are in that order already."""
    if (times[1:] >= times[:-1]).all():
        return slice(None)
    first = int(times.min())
    span = int(times.max()) - first + 1
    if span > LARGEST_CODE:
        return np.argsort(times, kind="stable")
    return stable_order(times - first, span)


def _tied_rows(is_tied: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the places of the rows that are tied with another row, and for each of them the number of its group.

    Args:
        is_tied: For each row after the first, whether it is tied with the row before it. Tied neighbours are a group.
    """
    is_tied_with_previous = np.append(False, is_tied)
    is_tied_with_next = np.append(is_tied, False)
    groups = np.cumsum(~is_tied_with_previous)
    places = np.flatnonzero(is_tied_with_previous | is_tied_with_next)
    return places, groups[places]


def _ranks(column: pa.ChunkedArray) -> IntArray:
    """Return numbers in the order of the values of a column; equal values have one number, and null comes first."""
    ranks: IntArray = numpy_array(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    if not column.null_count:
        return ranks
    return np.where(flags(column.is_null()), 0, ranks)  # Arrow ranks from 1
