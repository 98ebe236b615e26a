"""The figures of a work as text in rows and columns, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from benchmarks.bars import Measure, Verdict
from benchmarks.measurement import Summary
from benchmarks.report import WorkReport, remark
from benchmarks.trial import Trial
from benchmarks.works import COLUMNAR, SLICED, Work

NOTES: Final = (
    "Medians of the runs. end to end: from the start of the query to its end, the start of Python workers included.",
    "CPU: processor time of a run, of all cores: of the JVM and of Python's workers.",
    "first and warm batch: seconds of a micro-batch; warm is the median of those after the first.",
    "check: seconds over a little data on which the numbers were compared with the right ones; it is the warm-up.",
    "JVM: most proportional memory (PSS), of a JVM that keeps what earlier runs in it took.",
    "Python: the same of the Python processes that work in the run; 0 where there are none.",
    "worker: the same of the largest of them.",
    "state: most memory and files of the state store as it reports them, of which some MB are there when it is empty.",
    "written: bytes written to the state store in a warm batch, uncompressed.",
    "written x: bytes written to the state store in a run, over those that its rows take in columns.",
    "per slice: written, over the slices that the batch touches and that outlive it.",
)
"""What the columns mean."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of text.

    Attributes:
        title: Above it.
        columns: Their names.
        rows: One text for each column.
        notes: Below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


_FIGURES: Final[dict[str, Callable[[Summary], str]]] = {
    "rows/s": lambda summary: _count(summary.rows_per_second),
    "end to end s": lambda summary: _seconds(summary.seconds),
    "CPU s": lambda summary: _seconds(summary.cpu_seconds),
    "first batch s": lambda summary: _seconds(summary.first_batch),
    "warm batch s": lambda summary: _seconds(summary.warm_batch),
    "output rows": lambda summary: _count(summary.output_rows),
    "JVM MB": lambda summary: _megabytes(summary.jvm_bytes),
    "Python MB": lambda summary: _megabytes(summary.python_bytes),
    "worker MB": lambda summary: _megabytes(summary.worker_bytes),
    "state MB": lambda summary: _megabytes(summary.state_bytes),
    "written MB": lambda summary: _megabytes(summary.written_bytes),
    "written x": lambda summary: _seconds(summary.written_share),
}


def figures_table(report: WorkReport) -> TextTable:
    """Return the figures of a work, a row for each system and window."""
    columns = ("system", "window", *_FIGURES, "per slice KB", "check s", "remarks")
    rows = tuple(_row(trial, report.work) for trial in report.trials)
    notes = {f"{trial.system}: {trial.note}": None for trial in report.trials if trial.note and trial.summary}
    return without_empty(
        TextTable(f"{report.work.name}: {report.title}; {report.seconds:,.0f} s", columns, rows, tuple(notes))
    )


def bars_table(reports: list[WorkReport]) -> TextTable:
    """Return the bars of all works, and what became of them."""
    rows = [(report.work.name, verdict) for report in reports for verdict in report.verdicts]
    columns = ("work", "bar", "measured", "")
    return TextTable("bars", columns, tuple((work, bar.bar, _measured(bar), _outcome(bar)) for work, bar in rows))


def without_empty(table: TextTable) -> TextTable:
    """Return a table without the columns in which nothing is."""
    used = [place for place, _ in enumerate(table.columns) if any(row[place] for row in table.rows)]
    columns = tuple(table.columns[place] for place in used)
    rows = tuple(tuple(row[place] for place in used) for row in table.rows)
    return replace(table, columns=columns, rows=rows)


def _row(trial: Trial, work: Work) -> tuple[str, ...]:
    summary = trial.summary
    figures = [""] * (len(_FIGURES) + 1)
    if summary is not None:
        figures = [show(summary) for show in _FIGURES.values()]
        written = Measure.WRITTEN.of(trial.question, summary) if trial.system in (COLUMNAR, SLICED) else None
        figures.append("" if written is None else f"{written / 1e3:,.1f}")
    check = _seconds(trial.check_seconds)
    return (trial.system, str(trial.question.windows), *figures, check, remark(trial, work))


def _measured(verdict: Verdict) -> str:
    if verdict.measured is None:
        return ""
    return f"{verdict.measured:,.0f}" if verdict.measured >= 1000 else _seconds(verdict.measured)


def _outcome(verdict: Verdict) -> str:
    if verdict.measured is None:
        return "not measured"
    if verdict.is_met is None:
        return "not judged"
    return "met" if verdict.is_met else "BEHIND"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.2f}" if value >= 0.1 or not value else f"{value:,.5f}"


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value / 1e6:,.1f}"
