"""Row windows: the last rows of a key, at every so many of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.questions.question import Bools, Question, Rows, answer_table, averages_of_runs, ticks


@dataclass(frozen=True, slots=True)
class LastRows(Question):
    """The average of the last rows of each key in the order of their times, which differ.

    A window is named by the time of its newest row: several have the same oldest one. The first have fewer rows.

    Attributes:
        size: Rows in a window.
        every: Rows from one window to the next.
    """

    size: int
    every: int

    def __str__(self) -> str:
        return f"last {self.size} rows / {self.every} rows"

    def answers(self, rows: Rows) -> pa.Table:
        """Sort by key and time, and count the rows of each key."""
        order = np.lexsort((rows.at, rows.key))
        key = rows.key[order]
        first_of_keys = np.flatnonzero(np.r_[True, np.diff(key) != 0])
        rows_of_keys = np.diff(np.r_[first_of_keys, len(key)])
        first_of_key = np.repeat(first_of_keys, rows_of_keys)
        number_in_key = np.arange(len(key)) - first_of_key + 1
        # A window reaches back from its newest row, but not beyond the first row of the key.
        newest = np.flatnonzero(number_in_key % self.every == 0)
        oldest = np.maximum(first_of_key[newest], newest + 1 - self.size)
        value = averages_of_runs(rows.value[order], oldest, newest + 1)
        return answer_table(key[newest], rows.at[order][newest], value)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare newest rows with the watermark: one at it may still get another before it."""
        return ticks(answers["start"]) < watermark
