"""Windows of one key that has all rows, the last of which come one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.question import Bools, Floats, Ints, Question, Rows, answer_table

LASTS: Final = 2_500
"""Microseconds that a row lasts. With a thousand rows a second, two or three live at a time."""

WIDTH: Final = 10
"""Seconds from one tumbling window to the next."""


@dataclass(frozen=True, slots=True)
class HotKey(Question):
    """The average over tumbling windows or snapshots of the first rows of the input, as if they were of one key.

    The watermark does not move: all rows are live, and all windows open. Results are emitted at once.

    Attributes:
        live: The number of rows at most.
        is_snapshot: True for snapshots, false for tumbling windows.
        single: The number of them that come in a micro-batch of their own, after all others have come in one.
    """

    live: int
    is_snapshot: bool
    single: int = 50

    def __str__(self) -> str:
        windows = "snapshots" if self.is_snapshot else f"tumbling {WIDTH} s"
        return f"{windows}, one key with {self.live:,} live events"

    def answers(self, rows: Rows) -> pa.Table:
        """Add up from edge to edge what lives there, whether edges are those of rows or of windows."""
        at = rows.at[: self.live]
        value = rows.value[: self.live]
        if self.is_snapshot:
            edges = np.unique(np.concatenate([at, at + LASTS]))
            starts, averages = _averages(edges[:-1], edges[1:], at, value)
        else:
            width = WIDTH * SECOND
            windows = np.arange(at.min() // width, (at.max() + LASTS) // width + 1) * width
            starts, averages = _averages(windows, windows + width, at, value)
        return answer_table(np.zeros(len(starts), np.int64), starts, averages)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """All rows are there, so all answers are what they will be."""
        return np.ones(len(answers), np.bool_)


def _averages(starts: Ints, ends: Ints, at: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Return the windows that have a row, and the average of the rows that overlap each."""
    order = np.argsort(at)
    at = at[order]
    totals = np.concatenate([[0.0], np.cumsum(value[order].astype(np.longdouble))])
    firsts = np.searchsorted(at + LASTS, starts, side="right")
    stops = np.searchsorted(at, ends)
    counts = stops - firsts
    has_rows = counts > 0
    averages = (totals[stops[has_rows]] - totals[firsts[has_rows]]) / counts[has_rows]
    return starts[has_rows], averages.astype(np.float64)
