"""Pairs of rows of a key whose times are near each other: a join of two streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.windows import Aggregate, Bools, Ints, Rows, Windows, table_of

IS_LEFT: Final = "value < 100"
"""The rows of the left stream: about half of all. The others are the right one."""


@dataclass(frozen=True, slots=True)
class Band(Windows):
    """Pairs of a left and a right row of a key, at most so far apart; `start` is the time of the left one.

    Attributes:
        reach: The most seconds from one to the other, either way.
    """

    reach: int

    @property
    def reads(self) -> int:
        """A row is read for either side."""
        return 2

    def __str__(self) -> str:
        return f"within {self.reach} s"

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Find the right rows around each left one by a search in those of its key, in order of time."""
        assert aggregate == "pairs", f"there is no {aggregate} of pairs"
        is_left = rows.value < 100
        left, right = (rows.of(some) for some in (is_left, ~is_left))
        order = np.lexsort((right.at, right.key))
        reach, first = self.reach * MICROSECONDS, rows.at.min()
        span = rows.at.max() - first + 2 * reach + 1  # so that keys are apart
        places = right.key[order] * span + right.at[order] - first
        wanted = left.key * span + left.at - first
        firsts, stops = np.searchsorted(places, wanted - reach), np.searchsorted(places, wanted + reach, side="right")
        counts = stops - firsts
        begin = np.repeat(np.cumsum(counts) - counts, counts)
        of_right: Ints = order[np.repeat(firsts, counts) + np.arange(counts.sum()) - begin]
        of_left = np.repeat(np.arange(len(left.key)), counts)
        return table_of(left.key[of_left], left.at[of_left], right.value[of_right])

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """A pair is there as soon as both rows are: all are complete."""
        return np.ones(len(answers), np.bool_)
