"""The results as JSON, and as tables on the terminal."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped, unused-ignore]  # types come apart from it
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.case import FULL_ROWS
from benchmarks.floors import WRITTEN_PER_SLICE
from benchmarks.measurement import Summary
from benchmarks.runner import CaseResults, Trial

NOTES: Final = """\
Medians of the runs. rows/s: from the start of the query to its end, the start of Python workers included.
CPU s: processor time of a run, of all cores, of the JVM and of Python's workers.
first and warm s: seconds of the first micro-batch, and the median of those after it.
JVM, Python and worker MB: the most proportional memory (PSS) of Java, of all Python processes that work in the run, and
of the largest of them. A JVM keeps what earlier runs took.
state MB: the most that the state store held. written MB: written to it in a warm micro-batch, uncompressed.
KB a slice: that, over the slices that the micro-batch touches and that outlive it."""

_PACKAGES: Final = ("muntin-engine", "muntin-stats", "pyspark", "pyarrow", "numpy", "pandas", "polars", "duckdb")


def write_results(path: Path, results: Sequence[CaseResults], when: datetime) -> None:
    """Write everything that was measured so that the file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(results_data(results, when), indent=2) + "\n")
    os.replace(partial, path)


def results_data(results: Sequence[CaseResults], when: datetime) -> dict[str, Any]:
    """Return the results as JSON-able data; times in seconds, memory and state in bytes. It names no paths."""
    return {
        "when": when.astimezone(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(),
            "memory_bytes": psutil.virtual_memory().total,
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            **{name: version(name) for name in _PACKAGES},
        },
        "cases": [_case_data(case) for case in results],
    }


def _case_data(results: CaseResults) -> dict[str, Any]:
    """Return the part of a case in the file of results."""
    return {
        "name": results.case.name,
        "seconds": results.seconds,
        "is_full_size": results.rows == FULL_ROWS,
        "data": asdict(results.case.data(results.rows)),
        "trials": [_trial_data(trial) for trial in results.trials],
        "floors": [asdict(verdict) for verdict in results.verdicts],
    }


def _trial_data(trial: Trial) -> dict[str, Any]:
    """Return the part of a trial in the file of results; `medians` is None without usable figures."""
    summary = trial.summary
    written_per_slice = None if summary is None else WRITTEN_PER_SLICE.of(trial.question, summary)
    return {
        "system": trial.system.name,
        "question": str(trial.question),
        "files": trial.files,
        "check_seconds": trial.check_seconds,
        "windows_checked": trial.windows_checked,
        "absence": trial.absence,
        "failure": trial.failure,
        "note": trial.note,
        "medians": None if summary is None else asdict(summary) | {"written_per_slice": written_per_slice},
        "runs": [asdict(run) for run in trial.runs],
    }


def show_results(console: Console, results: Sequence[CaseResults]) -> None:
    """Print the figures of each case, the verdicts on the floors, and what went wrong."""
    for case in results:
        console.print()
        console.print(_figures_table(case))
        notes = {f"{trial.system.name}: {trial.note}" for trial in case.trials if trial.note}
        for note in sorted(notes):
            console.print(note, style="dim", markup=False)
    console.print(f"\n{NOTES}\n", style="dim", markup=False)
    console.print(_floors_table(results))
    for case in results:
        for failure in case.failures:
            console.print(f"FAILED  {failure}", style="bold red", markup=False)


_COLUMNS: Final[dict[str, Callable[[Trial, Summary], float | None]]] = {
    "rows/s": lambda _, summary: summary.rows_per_second,
    "s": lambda _, summary: summary.seconds,
    "CPU s": lambda _, summary: summary.cpu_seconds,
    "first s": lambda _, summary: summary.first_batch,
    "warm s": lambda _, summary: summary.warm_batch,
    "output rows": lambda _, summary: summary.output_rows,
    "JVM MB": lambda _, summary: _divided(summary.jvm_bytes, 1e6),
    "Python MB": lambda _, summary: _divided(summary.python_bytes, 1e6),
    "worker MB": lambda _, summary: _divided(summary.worker_bytes, 1e6),
    "state MB": lambda _, summary: _divided(summary.state_bytes, 1e6),
    "written MB": lambda _, summary: _divided(summary.written_bytes, 1e6),
    "KB a slice": lambda trial, summary: _divided(WRITTEN_PER_SLICE.of(trial.question, summary), 1e3),
}


def _figures_table(results: CaseResults) -> Table:
    """Return the figures of a case, without columns in which nothing was measured."""
    table = Table(title=f"{results.case.title(results.rows)}; {results.seconds:,.0f} s", title_justify="left")
    columns: dict[str, list[str]] = {"system": [trial.system.name for trial in results.trials]}
    if len(results.case.questions) > 1:
        columns["question"] = [str(trial.question) for trial in results.trials]
    for name, figure in _COLUMNS.items():
        cells: list[str] = []
        for trial in results.trials:
            summary = trial.summary
            cells.append("" if summary is None else _spell(figure(trial, summary)))
        columns[name] = cells
    columns["remarks"] = [escape(_remark(trial, results.case.files)) for trial in results.trials]

    shown = {name: cells for name, cells in columns.items() if any(cells)}
    for name in shown:
        table.add_column(name, justify="right" if name in _COLUMNS else "left")
    for row in zip(*shown.values(), strict=True):
        table.add_row(*row)
    return table


def _floors_table(results: Sequence[CaseResults]) -> Table:
    """Return the verdicts on the floors of all cases."""
    table = Table("case", "floor", title="floors", title_justify="left")
    table.add_column("measured", justify="right")
    table.add_column()
    for case in results:
        for verdict in case.verdicts:
            outcome = {True: "met", False: "BEHIND", None: "not judged"}[verdict.is_met]
            table.add_row(case.case.name, verdict.floor, _spell(verdict.measured), outcome)
    return table


def _remark(trial: Trial, files: int) -> str:
    """Return why a trial has no figures, or fewer than others."""
    if trial.absence or trial.failure:
        return trial.absence or "FAILED, see below"
    remarks = []
    if trial.files < files:
        remarks.append(f"{trial.files} of {files} files")
    if any(run.is_cut for run in trial.runs):
        remarks.append("stopped: its time was over")
    return "; ".join(remarks)


def _divided(value: float | None, unit: float) -> float | None:
    """Return a figure in a larger unit; None if it was not measured."""
    return None if value is None else value / unit


def _spell(value: float | None) -> str:
    """Return a figure with the digits that count.

    Example:
        >>> [_spell(value) for value in (None, 0.0, 0.00047, 1.184, 23.41, 447_000.2)]
        ['', '0', '0.00047', '1.18', '23.4', '447,000']
    """
    if value is None:
        return ""
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"
