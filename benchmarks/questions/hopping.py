"""Windows of one length, one every hop."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from statistics import mean
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND, USUAL_PACE
from benchmarks.questions.question import Bools, Floats, Ints, Question, Rows, answer_table, ticks

Aggregate: TypeAlias = Literal["average", "max", "spread"]
"""The spread is the largest value less the smallest."""


@dataclass(frozen=True, slots=True)
class Hopping(Question):
    """An aggregate over hopping windows, tumbling where hop and size are the same.

    Attributes:
        size: Length of each.
        hop: From the start of one to the start of the next.
        aggregate: The aggregate of the values.
    """

    size: int
    hop: int
    aggregate: Aggregate = "average"

    def __str__(self) -> str:
        aggregate = "" if self.aggregate == "average" else f"{self.aggregate}, "
        if self.size == self.hop:
            return f"{aggregate}tumbling {self.size} s"
        return f"{aggregate}hopping {self.size} s / {self.hop} s"

    def answers(self, rows: Rows) -> pa.Table:
        """Add each row to each of its windows."""
        return hopping_answers(self, rows, rows.at + 1)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare ends with the watermark."""
        return ticks(answers["start"]) + self.size * SECOND <= watermark

    def slices_written(self) -> float:
        """Return the number of slices that a warm micro-batch touches and that outlive it, on average.

        A slice is the longest piece of which all windows are made. One whose windows are all complete when the batch
        ends is emitted and never written.
        """
        edges = [USUAL_PACE.start + number * USUAL_PACE.span for number in range(1, 6)]
        return mean(self._slices_open_at_end(start, end) for start, end in pairwise(edges))

    def _slices_open_at_end(self, start: int, end: int) -> int:
        """Return the number of the slices of a micro-batch that still have an open window when it ends.

        Args:
            start: The start of its event time, in seconds.
            end: The end of its event time.
        """
        width = gcd(self.size, self.hop)
        watermark = end - USUAL_PACE.delay - 1
        count = 0
        for slice_start in range(start // width * width, end, width):
            last_window_end = slice_start // self.hop * self.hop + self.size
            if last_window_end > max(slice_start, watermark):
                count += 1
        return count


def hopping_answers(windows: Hopping, rows: Rows, ends: Ints) -> pa.Table:
    """Return the answers over rows that last, by adding each row to each window that it overlaps."""
    size = windows.size * SECOND
    hop = windows.hop * SECOND
    first = int(rows.at.min() - size) // hop
    last = int(ends.max()) // hop
    table = _WindowTable(windows.aggregate, int(rows.key.max()) + 1, first, last - first + 1)
    most_windows_of_a_row = int(np.max((ends - 1) // hop - (rows.at - size) // hop))
    # Add each row to the last window that it overlaps, then to the last but one, and so on.
    for number in range(most_windows_of_a_row):
        window = (ends - 1) // hop - number
        is_member = window * hop + size > rows.at
        table.add(rows.key[is_member], window[is_member], rows.value[is_member])
    return table.answers(hop)


class _WindowTable:
    """A count and an aggregate for each key and window, in arrays in which a key has its windows side by side."""

    def __init__(self, aggregate: Aggregate, keys: int, first: int, windows: int) -> None:
        self._aggregate = aggregate
        self._first = first
        self._windows = windows
        self._counts = np.zeros(keys * windows, np.int64)
        self._totals = np.zeros(keys * windows)
        self._largest = np.full(keys * windows, -np.inf)
        self._smallest = np.full(keys * windows, np.inf)

    def add(self, keys: Ints, windows: Ints, values: Floats) -> None:
        """Add rows, each to one window of its key."""
        cells = keys * self._windows + (windows - self._first)
        np.add.at(self._counts, cells, 1)
        np.add.at(self._totals, cells, values)
        np.maximum.at(self._largest, cells, values)
        np.minimum.at(self._smallest, cells, values)

    def answers(self, hop: int) -> pa.Table:
        """Return the answers about the windows that have rows; window n starts at n times the hop."""
        cells = np.flatnonzero(self._counts)
        if self._aggregate == "average":
            values = self._totals[cells] / self._counts[cells]
        elif self._aggregate == "max":
            values = self._largest[cells]
        else:
            values = self._largest[cells] - self._smallest[cells]
        starts = (cells % self._windows + self._first) * hop
        return answer_table(cells // self._windows, starts, values)
