"""The kept events of one side of a join, in order of key and start, and the search for those that overlap others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.pairing.row_blobs import SideRows

MOST_CANDIDATES: Final = 4_000_000
"""At most so many candidates are looked at in one step, unless one row alone has more."""


def longest(starts: IntArray, ends: IntArray) -> int:
    """Return the longest of some lifetimes; `INFINITY` if one has no end."""
    if not len(ends) or ends.max() == INFINITY:
        return INFINITY if len(ends) else 0
    return int((ends - starts).max())


class Pairs(NamedTuple):
    """Pairs of rows that overlap.

    Attributes:
        probes: The place of each pair's row among those that were asked about.
        found: The place of its kept row.
    """

    probes: IntArray
    found: IntArray


class KeptRows:
    """Events of one side.

    Cost: adding rows sorts them, and copies the numbers of all that are kept, not their payload. A search costs the
    logarithm of a key's events for each row, and a step for each event of the key that starts before the row ends and
    less than the longest lifetime before it starts.
    """

    def __init__(self) -> None:
        empty = np.zeros(0, np.int64)
        self._codes = self._starts = self._ends = self._places = empty
        self._tables: list[pa.Table] = []
        self._longest = 0

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def codes(self) -> IntArray:
        """The codes of all keys that have events, ascending."""
        return np.unique(self._codes)

    def times(self, found: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the codes, starts and ends of some events."""
        return self._codes[found], self._starts[found], self._ends[found]

    def payload(self, found: IntArray) -> pa.Table:
        """Return the columns of some events."""
        return self._payload().take(pa.array(self._places[found]))

    def rows(self) -> SideRows:
        """Return all events."""
        return SideRows(self._codes, self._starts, self._ends, self._payload().take(pa.array(self._places)))

    def add(self, rows: SideRows) -> None:
        """Keep more events."""
        before = sum(map(len, self._tables))
        order = np.lexsort((rows.starts, rows.codes))
        codes, starts, ends = rows.codes[order], rows.starts[order], rows.ends[order]
        at = self._between(codes, np.minimum(starts, INFINITY - 1) + 1)[0]
        self._codes, self._starts = np.insert(self._codes, at, codes), np.insert(self._starts, at, starts)
        self._ends, self._places = np.insert(self._ends, at, ends), np.insert(self._places, at, order + before)
        self._tables.append(rows.payload)
        self._longest = max(self._longest, longest(starts, ends))

    def overlapping(self, rows: SideRows) -> Iterator[Pairs]:
        """Yield the pairs of rows and kept events of the same key whose lifetimes overlap."""
        if not len(rows) or not len(self):
            return
        stops, lows, _ = self._between(rows.codes, rows.ends)
        firsts = lows
        if self._longest < INFINITY:
            since = np.where(rows.starts < EARLIEST + self._longest, EARLIEST, rows.starts - self._longest)
            firsts = self._between(rows.codes, since + 1)[0]
        counts = np.maximum(stops - firsts, 0)
        totals, begin = np.cumsum(counts), 0
        while begin < len(rows):
            done = totals[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(totals, done + MOST_CANDIDATES, "right")))
            some = counts[begin:end]
            probes = np.repeat(np.arange(begin, end), some)
            offsets = np.arange(len(probes)) - np.repeat(np.cumsum(some) - some, some)
            found = np.repeat(firsts[begin:end], some) + offsets
            is_pair = self._ends[found] > rows.starts[probes]
            if is_pair.any():
                yield Pairs(probes[is_pair], found[is_pair])
            begin = end

    def forget(self, until: int) -> None:
        """Drop the events that end at a tick or before."""
        is_kept = self._ends > until
        if is_kept.all():
            return
        self._codes, self._starts, self._ends, self._places = (
            values[is_kept] for values in (self._codes, self._starts, self._ends, self._places)
        )
        if 2 * len(self) < sum(map(len, self._tables)):
            kept = np.sort(self._places)
            self._tables = [self._payload().take(pa.array(kept)).combine_chunks()]
            self._places = np.searchsorted(kept, self._places)
            self._longest = longest(self._starts, self._ends)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code, in the same order."""
        self._codes = places[self._codes]

    def _payload(self) -> pa.Table:
        if len(self._tables) > 1:
            self._tables = [pa.concat_tables(self._tables).combine_chunks()]
        return self._tables[0]

    def _between(self, codes: IntArray, ticks: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return for each key the first place whose start is at a tick or later, and where its events begin and end."""
        lows, highs = (np.searchsorted(self._codes, codes, side) for side in ("left", "right"))
        low, high = lows, highs
        while (low < high).any():
            middle = (low + high) // 2
            is_before = (low < high) & (self._starts[np.minimum(middle, len(self) - 1)] < ticks)
            low, high = np.where(is_before, middle + 1, low), np.where(is_before | (low >= high), high, middle)
        return low, lows, highs
