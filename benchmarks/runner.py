"""Running the systems of a work: each checked first, then all in turn, so that noise hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException

from benchmarks.checking import check, closed, expected_answers
from benchmarks.data import Data, Files, write_data
from benchmarks.options import Options
from benchmarks.question import Question
from benchmarks.report import WorkReport
from benchmarks.systems import System
from benchmarks.trial import Trial
from benchmarks.works import Work
from muntin_engine import root_cause

T = TypeVar("T")

ENOUGH: Final = 5.0
"""A system whose runs have taken so many seconds does not run again: noise is short."""

_CHECKED_KEYS: Final = 100
_CHECKED_ROWS: Final = 5_000
_CHECKED_FILES: Final = 3


@dataclass(frozen=True)
class Runner:
    """Runs works.

    Attributes:
        options: How much, how often, how long.
        systems: All systems by name.
        say: Tells the user what goes on, in a line.
    """

    options: Options
    systems: Mapping[str, System]
    say: Callable[[str], None]

    def run(self, work: Work, names: Iterable[str]) -> WorkReport:
        """Check and measure some systems, and compare them with the bars of the work."""
        self.say(f"\n{work.name}: {work.title(self.options.rows)}")
        started = time.monotonic()
        data = work.data(self.options.rows)
        files = write_data(data, self.options.folder / "data")
        trials = [
            Trial(
                name,
                question,
                work.files_of(name),
                absence=absence(self.systems[name], question),
            )
            for question in work.questions
            for name in names
        ]
        for trial in trials:
            self._check(trial, work)
        for number in range(self.options.repeats):
            for trial in trials:
                if sum(run.seconds for run in trial.runs) < ENOUGH:
                    self._measure(trial, files, number)
        compare_output_rows(trials, self.systems)
        seconds = time.monotonic() - started
        self.say(f"  {seconds:.0f} s in all")
        return WorkReport(work, self.options.rows, tuple(trials), seconds)

    def _check(self, trial: Trial, work: Work) -> None:
        """Compare a system's answers about a little data with the right ones. It warms up by that."""
        if not trial.is_alive:
            return
        system = self.systems[trial.system]
        data = Data(_CHECKED_KEYS, _CHECKED_ROWS, _CHECKED_FILES, work.distribution, pace=work.pace)
        files = write_data(data, self.options.folder / "data")
        started = time.monotonic()
        answers = self._attempt(trial, lambda: system.answer(trial.question, files))
        trial.check_seconds = time.monotonic() - started
        if answers is not None:
            trial.windows_checked = self._attempt(trial, lambda: compared(system, trial.question, files, answers))
        right = trial.failure or f"{trial.windows_checked:,} windows right"
        self.say(f"  {_named(trial, work)}: checked in {trial.check_seconds:.1f} s, {right}")

    def _measure(self, trial: Trial, files: Files, number: int) -> None:
        if not trial.is_alive:
            return
        some = Files(files.folder, files.paths[: trial.files], files.rows)
        system = self.systems[trial.system]
        run = self._attempt(trial, lambda: system.measure(trial.question, some, self.options.limit))
        trial.note = system.note
        if run is None:
            self.say(f"  {trial.system} failed: {trial.failure}")
            return
        trial.runs.append(run)
        cut = ", stopped" if run.is_cut else ""
        rate = f"{run.rows / run.seconds:,.0f} rows/s"
        self.say(f"  run {number + 1}, {trial.system}, {trial.question.windows}: {run.seconds:.1f} s, {rate}{cut}")

    @staticmethod
    def _attempt(trial: Trial, do: Callable[[], T]) -> T | None:
        """Do something with a system; if that fails, the others go on."""
        try:
            return do()
        except PySparkException as error:
            trial.details = root_cause(error)
            trial.failure = trial.details.splitlines()[-1]  # of a traceback
        except Exception as error:  # whatever another system may raise
            trial.details = f"{type(error).__name__}: {error}"
            trial.failure = trial.details.splitlines()[0]
        return None


def absence(system: System, question: Question) -> str | None:
    """Return why a system does not take part; None if it does."""
    return system.why_not(question.windows) or system.missing


def compared(system: System, question: Question, files: Files, answers: pa.Table) -> int:
    """Return the number of complete windows; raise if a system's answers about them are wrong."""
    right = expected_answers(question, files, system.members == "intervals")
    return check(system.name, question, closed(right, question, files), closed(answers, question, files))


def compare_output_rows(trials: Iterable[Trial], systems: Mapping[str, System]) -> None:
    """Mark the systems that emitted another number of rows than the first that read as much.

    Windows of which some systems may emit more are left out.
    """
    expected: dict[tuple[Question, int], tuple[str, int]] = {}
    for trial in trials:
        summary = trial.summary
        if summary is None or summary.is_cut or summary.output_rows is None or systems[trial.system].closes_all:
            continue
        rows = round(summary.output_rows)
        first, count = expected.setdefault((trial.question, summary.rows), (trial.system, rows))
        if rows != count and not trial.question.windows.counts_may_differ:
            trial.failure = f"emitted {rows:,} rows where {first} emitted {count:,}"


def _named(trial: Trial, work: Work) -> str:
    return trial.system if len(work.windows) == 1 else f"{trial.system}, {trial.question.windows}"
