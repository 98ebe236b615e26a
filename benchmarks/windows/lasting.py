"""Rows that last, and hopping windows over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from benchmarks.data import MICROSECONDS
from benchmarks.windows.hopping import Hopping
from benchmarks.windows.windows import Aggregate, Bools, Ints, Rows, Windows

SPREAD: Final = 1_000_003
"""Rows whose times are equal modulo it last equally long."""

FACTOR: Final = 7_919


def ends_of(at: Ints, longest: int) -> Ints:
    """Return when rows end that start at given times, in microseconds, and last for so many seconds at most."""
    return at + 1 + at % SPREAD * FACTOR % (longest * MICROSECONDS)


@dataclass(frozen=True, slots=True)
class LastingHops(Windows):
    """Hopping windows over rows that last for a pseudo-random time, which follows from when they start.

    Attributes:
        size: Length of each.
        hop: From the start of one to the start of the next.
        longest: Most seconds that a row lasts.
        is_revised: True if it is inserted without an end, which a second row then says.
        is_speculative: True if results are emitted before the watermark, and retracted where they change.
    """

    size: int
    hop: int
    longest: int
    is_revised: bool = False
    is_speculative: bool = False

    def __str__(self) -> str:
        speculative = ", speculative" if self.is_speculative else ""
        known = ", known from revisions" if self.is_revised else ""
        return f"{Hopping(self.size, self.hop)}{speculative}, rows last up to {self.longest} s{known}"

    def answers(self, aggregate: Aggregate, rows: Rows) -> pa.Table:
        """Add each row to each window that it overlaps."""
        return Hopping(self.size, self.hop).answers(aggregate, replace(rows, end=ends_of(rows.at, self.longest)))

    def are_complete(self, answers: pa.Table, rows: Rows, watermark: int) -> Bools:
        """Compare ends with the watermark."""
        return Hopping(self.size, self.hop).are_complete(answers, rows, watermark)
