"""Snapshots: stretches between neighbouring starts and ends of a key's rows, which last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.windows.lasting import ends_of
from benchmarks.windows.windows import Aggregate, Bools, Floats, Ints, Rows, Windows, table_of, ticks


class _Found(NamedTuple):
    """The snapshots that have a row."""

    key: Ints
    start: Ints
    end: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Snapshot(Windows):
    """Snapshots of rows that last for a pseudo-random time, which follows from when they start.

    Attributes:
        longest: Most seconds that a row lasts.
        is_revised: True if it is inserted without an end, which a second row then says.
    """

    counts_may_differ: ClassVar[bool] = True

    longest: int
    is_revised: bool = False

    def __str__(self) -> str:
        known = ", known from revisions" if self.is_revised else ""
        return f"snapshots, rows last up to {self.longest} s{known}"

    def ends(self, at: Ints) -> Ints:
        """Return when rows end that start at given times; all in microseconds."""
        return ends_of(at, self.longest)

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Add up what starts and what ends, from edge to edge."""
        assert aggregate == "average", f"the {aggregate} over snapshots is in no work"
        found = self._found(rows)
        return table_of(found.key, found.start, found.value)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Leave out the answers whose snapshots a row could still cut."""
        found = self._found(rows)
        is_open = found.end >= watermark
        opened = set(zip(found.key[is_open].tolist(), found.start[is_open].tolist(), strict=True))
        names = zip(answers["key"].to_pylist(), ticks(answers["start"]).tolist(), strict=True)
        return np.array([name not in opened for name in names], np.bool_)

    def _found(self, rows: Rows) -> _Found:
        """Return all snapshots with their averages, by key and start; sums are of 80 bits."""
        keys, edges = np.tile(rows.key, 2), np.concatenate([rows.at, self.ends(rows.at)])
        order = np.lexsort((edges, keys))
        keys, edges = keys[order], edges[order]
        signs = np.repeat([1, -1], len(rows.key))[order]
        counts = np.cumsum(signs)
        totals = np.cumsum((signs * np.tile(rows.value, 2)[order]).astype(np.longdouble))
        lasts = np.flatnonzero(np.r_[(keys[1:] != keys[:-1]) | (edges[1:] != edges[:-1]), True])
        some = lasts[:-1][counts[lasts[:-1]] > 0]  # of a key nothing is left after its last edge
        values = (totals[some] / counts[some]).astype(np.float64)
        return _Found(keys[some], edges[some], edges[some + 1], values)
