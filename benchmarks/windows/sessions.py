"""Sessions: rows of a key that are no further apart than a gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.windows import Aggregate, Bools, Ints, Rows, Windows, reduce_runs, table_of, ticks


@dataclass(frozen=True, slots=True)
class Session(Windows):
    """Sessions of rows. Two that are exactly the gap apart are in the same one.

    Attributes:
        gap: The longest time between neighbours.
    """

    counts_may_differ: ClassVar[bool] = True

    gap: int

    def __str__(self) -> str:
        return f"session {self.gap} s"

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Sort by key and time, and cut where neighbours are too far apart."""
        order, firsts, stops = self._runs(rows)
        value = reduce_runs(aggregate, rows.value[order], firsts, stops)
        return table_of(rows.key[order][firsts], rows.at[order][firsts], value)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Leave out the answers that begin as sessions do which a row could still prolong."""
        order, firsts, stops = self._runs(rows)
        key, at = rows.key[order], rows.at[order]
        is_open = at[stops - 1] + self.gap * MICROSECONDS >= watermark
        opened = set(zip(key[firsts][is_open].tolist(), at[firsts][is_open].tolist(), strict=True))
        names = zip(answers["key"].to_pylist(), ticks(answers["start"]).tolist(), strict=True)
        return np.array([name not in opened for name in names], np.bool_)

    def _runs(self, rows: Rows) -> tuple[Ints, Ints, Ints]:
        """Return the order of rows by key and time, and where in it each session begins and stops."""
        order: Ints = np.lexsort((rows.at, rows.key))
        key, at = rows.key[order], rows.at[order]
        begins = np.r_[True, (np.diff(key) != 0) | (np.diff(at) > self.gap * MICROSECONDS)]
        firsts = np.flatnonzero(begins)
        return order, firsts, np.r_[firsts[1:], len(key)]
