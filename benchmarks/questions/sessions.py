"""Sessions: rows of a key that are no further apart than a gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.question import Bools, Ints, Question, Rows, answer_table, are_named, averages_of_runs


@dataclass(frozen=True, slots=True)
class Session(Question):
    """The average over sessions of rows. Two rows that are exactly the gap apart are in the same one.

    Attributes:
        gap: The longest time between neighbours.
    """

    counts_may_differ: ClassVar[bool] = True

    gap: int

    def __str__(self) -> str:
        return f"session {self.gap} s"

    def answers(self, rows: Rows) -> pa.Table:
        """Sort by key and time, and cut where neighbours are too far apart."""
        order, firsts, stops = self._sessions(rows)
        value = averages_of_runs(rows.value[order], firsts, stops)
        return answer_table(rows.key[order][firsts], rows.at[order][firsts], value)

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Leave out the answers that begin as sessions do which a row could still prolong."""
        order, firsts, stops = self._sessions(rows)
        key = rows.key[order]
        at = rows.at[order]
        is_open = at[stops - 1] + self.gap * SECOND >= watermark
        return ~are_named(answers, key[firsts][is_open], at[firsts][is_open])

    def _sessions(self, rows: Rows) -> tuple[Ints, Ints, Ints]:
        """Return the order of rows by key and time, and where in it each session begins and stops."""
        order: Ints = np.lexsort((rows.at, rows.key))
        has_other_key = np.diff(rows.key[order]) != 0
        is_after_gap = np.diff(rows.at[order]) > self.gap * SECOND
        firsts = np.flatnonzero(np.r_[True, has_other_key | is_after_gap])
        stops = np.r_[firsts[1:], len(order)]
        return order, firsts, stops
