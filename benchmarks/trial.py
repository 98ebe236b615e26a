"""One system with one question, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.measurement import Run, Summary, summarize
from benchmarks.question import Question


@dataclass(slots=True)
class Trial:
    """What is known of a system and a question so far.

    Attributes:
        system: The system's name.
        question: What it is asked.
        files: How many files it reads in a measured run.
        check_seconds: How long it took over the little data on which it was checked: its warm-up, not measured.
        windows_checked: How many windows of that had to be, and were, right.
        runs: The measured runs so far.
        absence: Why it did not run at all, which is no fault of it.
        failure: Why it, or its numbers, cannot be used; one line.
        details: More about that.
        note: What a reader has to know of its figures.
    """

    system: str
    question: Question
    files: int
    check_seconds: float | None = None
    windows_checked: int | None = None
    runs: list[Run] = field(default_factory=list)
    absence: str | None = None
    failure: str | None = None
    details: str = ""
    note: str | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it may go on running."""
        return self.absence is None and self.failure is None

    @property
    def summary(self) -> Summary | None:
        """Its medians; None if it has no figures that can be used."""
        return summarize(self.runs) if self.runs and self.is_alive else None
