"""A work: what is computed of what, by whom, and what has to come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from benchmarks.bars import Bar
from benchmarks.data import USUAL, Data, Distribution, Pace
from benchmarks.question import Question
from benchmarks.windows import Aggregate, Windows

FULL_ROWS: Final = 1_000_000
"""Rows per file of a full run. A run with fewer has fewer keys in the same ratio."""

FILES: Final = 5
"""How many files a system reads unless the work says fewer."""

AUTUMN: Final = Pace(round(datetime(2024, 10, 24, 9, tzinfo=UTC).timestamp()), 2 * 86_400)
"""Two days in a file; in the second one summer time ends in Europe."""


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the table of bars, or several that measure the same.

    Attributes:
        name: On the command line.
        aggregate: What is computed.
        keys: How many keys a full run has.
        windows: Of one or several questions.
        systems: Who is compared, by name.
        bars: What has to be reached.
        quick: Who takes part in a quick run; nobody: the work is left out of it.
        distribution: Of rows over keys.
        files: How many files a slow system reads, by its name. Rates stay comparable, totals do not.
        pace: How event time passes.
        rows: Rows per file of a full run.
        batches: How many files there are.
        is_long: True if it takes so long that it runs only where it is asked for by name.
    """

    name: str
    aggregate: Aggregate
    keys: int
    windows: tuple[Windows, ...]
    systems: tuple[str, ...]
    bars: tuple[Bar, ...] = ()
    quick: tuple[str, ...] = ()
    distribution: Distribution = "uniform"
    files: Mapping[str, int] = field(default_factory=dict)
    pace: Pace = USUAL
    rows: int = FULL_ROWS
    batches: int = FILES
    is_long: bool = False

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, one for each kind of windows."""
        return tuple(Question(self.aggregate, windows, self.pace) for windows in self.windows)

    def data(self, rows: int) -> Data:
        """Return the stream of a run in which a file of `FULL_ROWS` has so many rows; other files in proportion."""
        keys = max(10, self.keys * rows // FULL_ROWS)
        return Data(keys, max(1, self.rows * rows // FULL_ROWS), self.batches, self.distribution, pace=self.pace)

    def files_of(self, system: str) -> int:
        """Return how many files a system reads."""
        return min(self.files.get(system, self.batches), self.batches)

    def title(self, rows: int) -> str:
        """Return the work in words."""
        zipf = "Zipf " if self.distribution == "zipf" else ""
        windows = str(self.windows[0]) if len(self.windows) == 1 else f"{len(self.windows)} windows"
        one = ", a row in each micro-batch" if self.rows == 1 else ""
        return f"{self.aggregate}, {self.data(rows).keys:,} {zipf}keys, {windows}{one}"
