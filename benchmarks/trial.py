"""One system with one question, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.measurement import Run, Summary, summarize
from benchmarks.question import Question


@dataclass(slots=True)
class Trial:
    """The trial of a system on a question, as far as it has come.

    Attributes:
        system: The system's name.
        question: The question.
        files: The number of files that it reads in a measured run.
        check_seconds: The time of the check on little data: its warm-up, not measured.
        windows_checked: The number of windows in that check, all of which were correct.
        runs: The measured runs so far.
        absence: The reason why it did not run at all, which is no fault of it.
        failure: The reason why it, or its figures, cannot be used; one line.
        details: More about the failure.
        note: A note for readers on its figures.
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
        """True if it may go on running."""
        return self.absence is None and self.failure is None

    @property
    def summary(self) -> Summary | None:
        """Its medians; None if it has no figures that can be used."""
        return summarize(self.runs) if self.runs and self.is_alive else None
