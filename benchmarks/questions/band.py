"""Pairs of rows of a key whose times are near each other: a join of two streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.question import Bools, Question, Rows, answer_table

IS_LEFT: Final = "value < 100"
"""The rows of the left stream: about half of all. The others are the right one."""


@dataclass(frozen=True, slots=True)
class Band(Question):
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
        return f"pairs within {self.reach} s"

    def answers(self, rows: Rows) -> pa.Table:
        """Find the right rows around each left one by a search in those of its key, in order of time."""
        left = rows.where(rows.value < 100)
        right = rows.where(~(rows.value < 100))
        order = np.lexsort((right.at, right.key))

        # Keys and times become one number, in which the rows of different keys are further apart than the reach.
        reach = self.reach * SECOND
        earliest = rows.at.min()
        key_width = rows.at.max() - earliest + 2 * reach + 1
        right_places = right.key[order] * key_width + right.at[order] - earliest
        left_places = left.key * key_width + left.at - earliest

        # The right rows near a left one are a run, from its first to before its stop; one pair for each row of it.
        firsts = np.searchsorted(right_places, left_places - reach)
        stops = np.searchsorted(right_places, left_places + reach, side="right")
        counts = stops - firsts
        of_left = np.repeat(np.arange(len(left.key)), counts)
        number_in_left = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        of_right = order[np.repeat(firsts, counts) + number_in_left]
        return answer_table(left.key[of_left], left.at[of_left], right.value[of_right])

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """A pair is there as soon as both rows are: all are complete."""
        return np.ones(len(answers), np.bool_)
