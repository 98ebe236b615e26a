"""Hopping windows over rows that last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.hopping import Hopping, hopping_answers
from benchmarks.questions.question import Bools, Ints, Question, Rows

SPREAD: Final = 1_000_003
"""Rows whose times are equal modulo it last equally long."""

FACTOR: Final = 7_919


def ends_of(at: Ints, longest: int) -> Ints:
    """Return when rows end that start at given times, in microseconds, and last for so many seconds at most."""
    return at + 1 + at % SPREAD * FACTOR % (longest * SECOND)


@dataclass(frozen=True, slots=True)
class LastingHops(Question):
    """The average over hopping windows of rows that last for a pseudo-random time, which follows from their start.

    Attributes:
        size: Length of each.
        hop: From the start of one to the start of the next.
        longest: Most seconds that a row lasts.
        is_revised: True if a row is inserted without an end, which a second row then says.
        is_speculative: True if results are emitted before the watermark, and retracted where they change.
    """

    size: int
    hop: int
    longest: int = 30
    is_revised: bool = False
    is_speculative: bool = False

    def __str__(self) -> str:
        speculative = ", speculative" if self.is_speculative else ""
        revised = ", known from revisions" if self.is_revised else ""
        return f"{Hopping(self.size, self.hop)}{speculative}, rows last up to {self.longest} s{revised}"

    def answers(self, rows: Rows) -> pa.Table:
        """Add each row to each window that it overlaps."""
        return hopping_answers(Hopping(self.size, self.hop), rows, ends_of(rows.at, self.longest))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare ends with the watermark."""
        return Hopping(self.size, self.hop).are_complete(answers, rows, watermark)
