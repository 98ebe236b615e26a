"""Windows of one key that has all rows, which come one by one at last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.windows import Aggregate, Bools, Floats, Ints, Rows, Windows, table_of

LASTS: Final = 2_500
"""Microseconds that a row lasts. With a thousand rows a second, two or three live at a time."""

WIDTH: Final = 10
"""Seconds from one tumbling window to the next."""


@dataclass(frozen=True, slots=True)
class HotKey(Windows):
    """Tumbling windows or snapshots of the first rows of the input, as if they were of one key.

    The watermark does not move: all rows are live, and all windows open. Results are emitted at once.

    Attributes:
        live: How many rows there are at most.
        is_snapshot: True for snapshots, false for tumbling windows.
        single: How many of them come in a batch of their own, after all others have come in one.
    """

    live: int
    is_snapshot: bool
    single: int = 50

    def __str__(self) -> str:
        windows = "snapshots" if self.is_snapshot else f"tumbling {WIDTH} s"
        return f"{windows}, one key with {self.live:,} live events"

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Add up from edge to edge what lives there, whether edges are those of rows or of windows."""
        assert aggregate == "average", f"the {aggregate} of a hot key is in no work"
        at, value = rows.at[: self.live], rows.value[: self.live]
        starts, values = _snapshots(at, value) if self.is_snapshot else _tumbling(at, value)
        return table_of(np.zeros(len(starts), np.int64), starts, values)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """All rows are there, so all answers are what they will be."""
        return np.ones(len(answers), np.bool_)


def _snapshots(at: Ints, value: Floats) -> tuple[Ints, Floats]:
    edges = np.unique(np.concatenate([at, at + LASTS]))
    return _members(edges[:-1], edges[1:], at, value)


def _tumbling(at: Ints, value: Floats) -> tuple[Ints, Floats]:
    width = WIDTH * MICROSECONDS
    starts = np.arange(at.min() // width, (at.max() + LASTS) // width + 1) * width
    return _members(starts, starts + width, at, value)


def _members(starts: Ints, ends: Ints, at: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Return the windows that have a row, and the average of those that overlap each."""
    order = np.argsort(at)
    at, totals = at[order], np.concatenate([[0.0], np.cumsum(value[order].astype(np.longdouble))])
    firsts, stops = np.searchsorted(at + LASTS, starts, side="right"), np.searchsorted(at, ends)
    counts = stops - firsts
    some = counts > 0
    values = (totals[stops[some]] - totals[firsts[some]]) / counts[some]
    return starts[some], values.astype(np.float64)
