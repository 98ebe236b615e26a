"""The output of the reports: files, tables, and the exit status."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.options import Options
from benchmarks.page import write_page
from benchmarks.report import WorkReport
from benchmarks.results_file import write_results
from benchmarks.terminal import show

RESULTS: Final = "results.json"
PAGE: Final = "results.html"
CHART: Final = "chart.png"


def write_files(reports: Sequence[WorkReport], options: Options, when: datetime) -> None:
    """Write the results, the page and the chart; without matplotlib there is no chart."""
    chart = _chart(reports)
    write_results(options.folder / RESULTS, reports, options, when)
    _write(options.folder / PAGE, write_page(reports, chart, when).encode())
    if chart is not None:
        _write(options.folder / CHART, chart)


def show_end(console: Console, reports: Sequence[WorkReport], options: Options) -> None:
    """Print the tables, what went wrong, which bar was missed, and where the files are."""
    if not reports:
        return
    show(console, list(reports))
    for failure in failures(reports):
        console.print(f"FAILED  {failure}", style="bold red", markup=False)
    for missed in missed_bars(reports):
        console.print(f"BEHIND  {missed}", style="bold yellow", markup=False)
    if options.rows_are_few:
        console.print(
            "\nMost bars are set for the full number of rows; this run had fewer, so they are not judged.", style="dim"
        )
    made = [name for name in (RESULTS, PAGE, CHART) if (options.folder / name).exists()]
    console.print(f"\nin {options.folder}: {', '.join(made)}")


def failures(reports: Sequence[WorkReport]) -> list[str]:
    """Return the failures of all works."""
    return [failure for report in reports for failure in report.failures]


def missed_bars(reports: Sequence[WorkReport]) -> list[str]:
    """Return the bars that were measured and missed."""
    return [
        f"{report.title}: {verdict.bar}, measured {verdict.measured:,.2f}"
        for report in reports
        for verdict in report.verdicts
        if verdict.is_met is False
    ]


def exit_status(reports: Sequence[WorkReport], options: Options) -> int:
    """Return 1 if something went wrong, or if a bar was missed and that counts; 0 otherwise."""
    return int(bool(failures(reports)) or (options.is_strict and bool(missed_bars(reports))))


def _chart(reports: Sequence[WorkReport]) -> bytes | None:
    try:
        from benchmarks.chart import draw_chart
    except ImportError:
        return None
    return draw_chart(reports)


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(data)
    os.replace(partial, path)
