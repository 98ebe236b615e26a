"""Running the systems of a case: each checked first, then all in turn, so that noise hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from pyspark.errors import PySparkException

from benchmarks.case import FULL_ROWS, Case
from benchmarks.check import check_answers
from benchmarks.data import Data, Files, write_data
from benchmarks.floors import Figures, Verdict
from benchmarks.measurement import Run, Summary, summarize
from benchmarks.questions.question import Question
from benchmarks.systems.system import System
from muntin_engine import root_cause

T = TypeVar("T")

ENOUGH: Final = 5.0
"""A system whose runs have taken so many seconds does not run again: noise is short."""

_CHECKED_KEYS: Final = 100
_CHECKED_ROWS: Final = 5_000
_CHECKED_FILES: Final = 3


@dataclass(slots=True)
class Trial:
    """A system with a question, as far as it has come.

    Attributes:
        system: The system.
        question: The question.
        files: The number of files that it reads in a measured run.
        absence: The reason why it does not take part, which is no fault of it.
        check_seconds: The time of the check on little data: its warm-up, not measured.
        windows_checked: The number of windows in that check, all of which were right.
        runs: The measured runs so far.
        failure: The reason why it, or its figures, cannot be used.
        note: A note for readers on its figures.
    """

    system: System
    question: Question
    files: int
    absence: str | None = None
    check_seconds: float | None = None
    windows_checked: int | None = None
    runs: list[Run] = field(default_factory=list)
    failure: str | None = None
    note: str | None = None

    @property
    def is_alive(self) -> bool:
        """True if it may still run."""
        return self.absence is None and self.failure is None

    @property
    def summary(self) -> Summary | None:
        """Its medians; None if it has no usable figures."""
        return summarize(self.runs) if self.runs and self.is_alive else None


@dataclass(frozen=True)
class CaseResults:
    """The results of a case.

    Attributes:
        case: Case.
        rows: Rows of a file, of which a full run has `FULL_ROWS`.
        trials: Trials of its systems and questions, in order.
        seconds: Time of all of it, with the checks.
    """

    case: Case
    rows: int
    trials: tuple[Trial, ...]
    seconds: float

    @property
    def figures(self) -> Figures:
        """The usable medians."""
        figures = {}
        for trial in self.trials:
            if trial.summary is not None:
                figures[trial.system.name, trial.question] = trial.summary
        return figures

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts on its floors."""
        has_full_size = self.rows >= FULL_ROWS
        return [floor.judge(self.figures, has_full_size=has_full_size) for floor in self.case.floors]

    @property
    def failures(self) -> list[str]:
        """The failures of its trials."""
        failed = [trial for trial in self.trials if trial.failure]
        return [f"{self.case.name}, {trial.system.name}: {trial.failure}" for trial in failed]


@dataclass(frozen=True)
class Runner:
    """Runs cases.

    Attributes:
        folder: The folder to which the streams are written.
        rows: The number of rows of a file.
        repeats: The number of times that each system runs, unless a run is long.
        limit: The seconds after which a run is stopped.
        say: The function that shows the user a line.
    """

    folder: Path
    rows: int
    repeats: int
    limit: float
    say: Callable[[str], None]

    def run(self, case: Case, systems: Sequence[System]) -> CaseResults:
        """Check and measure some systems of a case."""
        self.say(f"\n{case.title(self.rows)}")
        started = time.monotonic()
        files = write_data(case.data(self.rows), self.folder)
        trials = []
        for question in case.questions:
            for system in systems:
                trials.append(Trial(system, question, case.files_of(system), system.missing))
        for trial in trials:
            self._check_trial(trial, case)
        for _ in range(self.repeats):
            for trial in trials:
                if sum(run.seconds for run in trial.runs) < ENOUGH:
                    self._measure(trial, files)
        compare_output_rows(trials)
        return CaseResults(case, self.rows, tuple(trials), time.monotonic() - started)

    def _check_trial(self, trial: Trial, case: Case) -> None:
        """Compare a system's answers about a little data with the right ones, which also warms the system up."""
        if not trial.is_alive:
            self.say(f"  {trial.system.name}: {trial.absence}")
            return
        data = Data(_CHECKED_KEYS, _CHECKED_ROWS, _CHECKED_FILES, case.distribution, pace=case.pace)
        files = write_data(data, self.folder)
        started = time.monotonic()

        def answer_and_compare() -> int:
            """Return the number of windows, all of which are right."""
            answers = trial.system.answer(trial.question, files)
            return check_answers(trial.system.name, trial.question, files, answers)

        trial.windows_checked = _attempt(trial, answer_and_compare)
        trial.check_seconds = time.monotonic() - started
        outcome = trial.failure or f"{trial.windows_checked:,} windows are right"
        self.say(f"  {trial.system.name}, {trial.question}: {outcome}; {trial.check_seconds:.1f} s")

    def _measure(self, trial: Trial, files: Files) -> None:
        """Run a system once more over the files that it reads in this case, and keep the run with its trial."""
        if not trial.is_alive:
            return
        files_read = files.first(trial.files)
        run = _attempt(trial, lambda: trial.system.measure(trial.question, files_read, self.limit))
        trial.note = trial.system.note
        if run is None:
            self.say(f"  {trial.system.name}, {trial.question}: {trial.failure}")
            return
        trial.runs.append(run)
        cut = ", stopped" if run.is_cut else ""
        rate = f"{run.rows / run.seconds:,.0f} rows/s"
        self.say(f"  {trial.system.name}, {trial.question}: {rate} in {run.seconds:.1f} s{cut}")


def compare_output_rows(trials: Iterable[Trial]) -> None:
    """Mark the systems that emitted another number of rows than the first that read as much.

    Questions of which some systems may emit more are left out.
    """
    expected: dict[tuple[Question, int], tuple[str, int]] = {}
    for trial in trials:
        summary = trial.summary
        if summary is None or summary.is_cut or summary.output_rows is None or trial.system.closes_all:
            continue
        rows = round(summary.output_rows)
        first, count = expected.setdefault((trial.question, summary.rows), (trial.system.name, rows))
        if rows != count and not trial.question.counts_may_differ:
            trial.failure = f"emitted {rows:,} rows where {first} emitted {count:,}"


def _attempt(trial: Trial, do: Callable[[], T]) -> T | None:
    """Do something with a system; if that fails, the others go on."""
    try:
        return do()
    except PySparkException as error:
        trial.failure = root_cause(error)
    except Exception as error:  # whatever another system may raise
        trial.failure = f"{type(error).__name__}: {error}"
    return None
