"""The kept events of one side of a join, in order of key and start, and the search for those that overlap others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.coding import expanded
from muntin_engine.evaluators.arrays.stretch_table import EMPTY, StretchTable, concat

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

    Cost: adding rows sorts them, and copies the numbers of all that are kept. A search costs the logarithm of a key's
    events for each row, and a step for each event of the key that starts before the row ends and less than the longest
    lifetime before it starts.

    Attributes:
        rows: The events, from start to end, in the order of keys and starts.
    """

    def __init__(self) -> None:
        self.rows = EMPTY
        self._longest = 0

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: StretchTable) -> None:
        """Keep more events."""
        rows = rows.take(np.lexsort((rows.low, rows.keys)))
        at = self._between(rows.keys, np.minimum(rows.low, INFINITY - 1) + 1)[0]
        order = np.insert(np.arange(len(self)), at, len(self) + np.arange(len(rows)))
        self.rows = concat([self.rows, rows]).take(order)
        self._longest = max(self._longest, longest(rows.low, rows.high))

    def overlapping(self, rows: StretchTable) -> Iterator[Pairs]:
        """Yield the pairs of rows and kept events of the same key whose lifetimes overlap."""
        if not len(rows) or not len(self):
            return
        stops, lows, _ = self._between(rows.keys, rows.high)
        firsts = lows
        if self._longest < INFINITY:
            since = np.where(rows.low < EARLIEST + self._longest, EARLIEST, rows.low - self._longest)
            firsts = self._between(rows.keys, since + 1)[0]
        counts = np.maximum(stops - firsts, 0)
        totals, begin = np.cumsum(counts), 0
        while begin < len(rows):
            done = totals[begin - 1] if begin else 0
            end = max(begin + 1, int(np.searchsorted(totals, done + MOST_CANDIDATES, "right")))
            probes, within = expanded(counts[begin:end])
            probes += begin
            found = firsts[probes] + within
            is_pair = self.rows.high[found] > rows.low[probes]
            if is_pair.any():
                yield Pairs(probes[is_pair], found[is_pair])
            begin = end

    def forget(self, until: int) -> None:
        """Drop the events that end at a tick or before."""
        before, self.rows = len(self), self.rows.where(self.rows.high > until)
        if len(self) < before:
            self._longest = longest(self.rows.low, self.rows.high)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code, in the same order."""
        self.rows = self.rows.with_keys(places[self.rows.keys])

    def _between(self, codes: IntArray, ticks: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return for each key the first place whose start is at a tick or later, and where its events begin and end."""
        lows, highs = (np.searchsorted(self.rows.keys, codes, side) for side in ("left", "right"))
        low, high = lows, highs
        while (low < high).any():
            middle = (low + high) // 2
            is_before = (low < high) & (self.rows.low[np.minimum(middle, len(self) - 1)] < ticks)
            low, high = np.where(is_before, middle + 1, low), np.where(is_before | (low >= high), high, middle)
        return low, lows, highs
