"""Row windows: the last rows of a key, at every so many of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.windows.windows import Aggregate, Bools, Rows, Windows, reduce_runs, table_of, ticks


@dataclass(frozen=True, slots=True)
class LastRows(Windows):
    """The last rows of each key in the order of their times, which differ. The first windows have fewer rows.

    A window is named by the time of its newest row: several have the same oldest one.

    Attributes:
        size: Rows in a window.
        every: Rows from one window to the next.
    """

    size: int
    every: int

    def __str__(self) -> str:
        return f"last {self.size} rows / {self.every} rows"

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Sort by key and time, and count the rows of each key."""
        order = np.lexsort((rows.at, rows.key))
        key = rows.key[order]
        firsts = np.flatnonzero(np.r_[True, np.diff(key) != 0])
        place = np.arange(len(key))
        begins = np.repeat(firsts, np.diff(np.r_[firsts, len(key)]))
        newest = np.flatnonzero((place - begins + 1) % self.every == 0)
        oldest = np.maximum(begins[newest], newest + 1 - self.size)
        value = reduce_runs(aggregate, rows.value[order], oldest, newest + 1)
        return table_of(key[newest], rows.at[order][newest], value)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare newest rows with the watermark: one at it may still get another before it."""
        return ticks(answers["start"]) < watermark
