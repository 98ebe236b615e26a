"""A case: questions, the systems that answer them, a stream, and the floors that their figures are to reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from benchmarks.data import USUAL_PACE, Data, Distribution, Pace
from benchmarks.floors import Floor
from benchmarks.questions.question import Question
from benchmarks.systems.system import System

FULL_ROWS: Final = 1_000_000
"""Rows per file of a full run. A run with fewer has fewer keys in the same ratio."""


@dataclass(frozen=True)
class Case:
    """A case.

    Attributes:
        name: Name on the command line, and in the results.
        questions: Questions that are answered.
        systems: Systems that answer them.
        keys: Number of keys in a full run.
        floors: Floors that figures have to reach.
        quick: Systems that take part in a quick run; empty to leave the case out of it.
        files_read: Number of files that a slow system reads, by its name. Rates stay comparable, totals do not.
        distribution: Distribution of rows over keys.
        rows: Rows per file of a full run.
        files: Number of files: of the micro-batches of a stream.
        pace: Pace of event time.
        is_long: True if it takes so long that it runs only where it is asked for by name.
    """

    name: str
    questions: tuple[Question, ...]
    systems: tuple[System, ...]
    keys: int = 10_000
    floors: tuple[Floor, ...] = ()
    quick: tuple[System, ...] = ()
    files_read: Mapping[str, int] = field(default_factory=dict)
    distribution: Distribution = "uniform"
    rows: int = FULL_ROWS
    files: int = 5
    pace: Pace = USUAL_PACE
    is_long: bool = False

    def data(self, rows: int) -> Data:
        """Return the stream of a run in which a file of `FULL_ROWS` has `rows` instead; other files in proportion."""
        keys = max(10, self.keys * rows // FULL_ROWS)
        rows_per_file = max(1, self.rows * rows // FULL_ROWS)
        return Data(keys, rows_per_file, self.files, self.distribution, pace=self.pace)

    def files_of(self, system: System) -> int:
        """Return the number of files that a system reads."""
        return min(self.files_read.get(system.name, self.files), self.files)

    def title(self, rows: int) -> str:
        """Return the case in words."""
        data = self.data(rows)
        zipf = "Zipf " if self.distribution == "zipf" else ""
        questions = str(self.questions[0]) if len(self.questions) == 1 else f"{len(self.questions)} questions"
        return f"{self.name}: {questions}, {data.keys:,} {zipf}keys, {data.files} files of {data.rows:,} rows"
