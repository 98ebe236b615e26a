"""The report on a work, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.bars import Figures, Verdict
from benchmarks.trial import Trial
from benchmarks.works import FULL_ROWS, Work


@dataclass(frozen=True)
class WorkReport:
    """The trials of a work.

    Attributes:
        work: It.
        rows: Rows per file.
        trials: What became of its systems and questions, in order.
        seconds: How long all of it took, with the checks.
    """

    work: Work
    rows: int
    trials: tuple[Trial, ...]
    seconds: float = 0.0

    @property
    def title(self) -> str:
        """The work in words."""
        return self.work.title(self.rows)

    @property
    def figures(self) -> Figures:
        """The medians that can be used."""
        found = {(trial.system, trial.question): trial.summary for trial in self.trials}
        return {place: summary for place, summary in found.items() if summary is not None}

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts on its bars; those that are set for the full number of rows are not judged on fewer."""
        has_few_rows = self.rows < FULL_ROWS
        return tuple(bar.judge(self.figures, has_few_rows=has_few_rows) for bar in self.work.bars)

    @property
    def failures(self) -> tuple[str, ...]:
        """The failures of its trials."""
        failed = [trial for trial in self.trials if trial.failure]
        return tuple(f"{self.work.name}, {trial.system}: {trial.details or trial.failure}" for trial in failed)

    def as_data(self) -> dict[str, Any]:
        """Return everything as JSON-able data; times in seconds, memory and state in bytes."""
        return {
            "name": self.work.name,
            "title": self.title,
            "seconds": self.seconds,
            "aggregate": self.work.aggregate,
            "data": asdict(self.work.data(self.rows)),
            "trials": [_trial_data(trial) for trial in self.trials],
            "bars": [asdict(verdict) for verdict in self.verdicts],
        }


def remark(trial: Trial, work: Work) -> str:
    """Return why a trial of a work has no figures, or fewer than others."""
    if trial.absence or trial.failure:
        return trial.absence or f"FAILED: {trial.failure}"
    summary = trial.summary
    files = f"{trial.files} of {work.batches} files" if trial.files < work.batches else ""
    cut = "stopped: its time was over" if summary and summary.is_cut else ""
    return "; ".join(filter(None, (files, cut)))


def _trial_data(trial: Trial) -> dict[str, Any]:
    summary = trial.summary
    return {
        "system": trial.system,
        "question": trial.question.as_data(),
        "files": trial.files,
        "check_seconds": trial.check_seconds,
        "windows_checked": trial.windows_checked,
        "absence": trial.absence,
        "failure": trial.failure,
        "details": trial.details,
        "note": trial.note,
        "medians": None if summary is None else asdict(summary),
        "runs": [asdict(run) for run in trial.runs],
    }
