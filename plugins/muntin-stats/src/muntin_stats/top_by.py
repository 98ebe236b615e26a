"""The rows whose other value is the largest or the smallest."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic

from muntin import IncrementalOperator
from muntin.frozen import subscriptable
from muntin_stats.order import sort_key_of, unsigned
from muntin_stats.parameters import flag, one_of, whole_number
from muntin_stats.ranked import K, R, Ranked, ranked


@subscriptable
@dataclass(frozen=True, slots=True)
class RankedRow(Generic[R, K]):
    """A row with its rank, 1 for the first, and the value it is ranked by."""

    rank: int
    value: R | None
    by: K


class TopBy(IncrementalOperator[Ranked[R, K] | None, list[Ranked[R, K]], RankedRow[R, K]]):
    """Return the `k` rows of a window whose `by` is the largest (or smallest), with their ranks.

    A row is one value, or a struct of several: `module("stats.top_by", F.struct("shop", "item"), "price", k=3)`.

    Args:
        k: Number of rows.
        largest: True for the largest, which come first; False for the smallest.
        ties: `"exact"`: exactly `k` rows, or as many as there are if fewer, with the ranks 1, 2, 3. Of rows with equal
            `by` the earlier one comes first, by time and the query's `events(order=...)`; in a query without an order,
            the one with the larger value (with the smaller one if the smallest come first). `"all"`: also the rows that
            tie with the `k`-th. Rows with equal `by` have equal ranks, as `RANK()` of SQL.

    Types: `Ranked(value, by)` of any type and an ordered one, to rows of `rank`, `value` and `by`. A query binds two
        columns.
    Nulls: a row whose `by` is null is skipped, and there is no row where there is nothing else. A value that is null
        comes last among equals.
    NaN: larger than any number.

    Laws: combining is exact, and the order in which rows come means nothing, unless the query names one. It cannot
        remove: the rows after the `k`-th are not in the state, so the engine uses slices, or rebuilds.

    Cost: up to `k` rows per window, and those that tie with the last; a call sorts them with the new rows. In a query
        that names an order, the members of a window are kept, and sorted for each result.

    Example:
        >>> best: TopBy[str, int] = TopBy(2)
        >>> sales = [Ranked("pear", 3), Ranked("fig", 9), Ranked("nut", None), Ranked("plum", 3)]
        >>> [(row.rank, row.value) for row in best.compute_result(best.add_events([], sales))]
        [(1, 'fig'), (2, 'plum')]
        >>> with_ties: TopBy[str, int] = TopBy(2, ties="all")
        >>> [(row.rank, row.value) for row in with_ties.compute_result(with_ties.add_events([], sales))]
        [(1, 'fig'), (2, 'plum'), (2, 'pear')]
    """

    name, version = "stats.top_by", "0.1.0"
    decimal_digits = 0

    def __init__(self, k: int, largest: bool = True, ties: str = "exact") -> None:
        self.k = whole_number("k", k, least=1)
        self.largest = flag("largest", largest)
        self.ties = one_of("ties", ties, ("exact", "all"))

    def with_order(self) -> TopBy[R, K]:
        """Return the module that breaks ties by the order of rows."""
        ordered_module = copy(self)
        ordered_module.reads_order = True
        return ordered_module

    def create_state(self) -> list[Ranked[R, K]]:
        """Return no rows."""
        return []

    def add_events(self, state: list[Ranked[R, K]], payloads: Sequence[Ranked[R, K] | None]) -> list[Ranked[R, K]]:
        """Return the first rows so far."""
        return self._first([*state, *ranked(payloads)])

    def combine(self, state: list[Ranked[R, K]], other: list[Ranked[R, K]]) -> list[Ranked[R, K]]:
        """Return the first rows of both states."""
        return self._first(state + other)

    def compute_result(self, state: list[Ranked[R, K]]) -> list[RankedRow[R, K]]:
        """Return the rows with their ranks."""
        rows: list[RankedRow[R, K]] = []
        for number, (value, by) in enumerate(state, 1):
            assert by is not None
            rank = number
            if self.ties == "all" and rows and sort_key_of(rows[-1].by) == sort_key_of(by):
                rank = rows[-1].rank
            rows.append(RankedRow(rank, unsigned(value), unsigned(by)))
        return rows

    def _first(self, rows: list[Ranked[R, K]]) -> list[Ranked[R, K]]:
        """Return the rows up to the `k`-th in order, and those that tie with it if ties are asked for."""
        if len(rows) > self.k:
            # By `by` alone first: values, which may be large records, are compared only among the rows that are left.
            sort_keys = [sort_key_of(row.by) for row in rows]
            last_key = sorted(sort_keys, reverse=self.largest)[self.k - 1]
            is_first = [key >= last_key if self.largest else key <= last_key for key in sort_keys]
            rows = list(compress(rows, is_first))
        rows = sorted(rows, key=self._sort_key, reverse=self.largest)
        return rows if self.ties == "all" else rows[: self.k]

    def _sort_key(self, row: Ranked[R, K]) -> tuple[Any, ...]:
        """Return the sort key of a row: its `by`, and then its value, unless the order of the query breaks ties."""
        if self.reads_order:  # equal rows stay in the order of the query
            return sort_key_of(row.by)
        # A null comes last among equals, also where the order is reversed.
        has_value = row.value is not None
        return (sort_key_of(row.by), has_value if self.largest else not has_value, sort_key_of(row.value))
