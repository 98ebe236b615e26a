"""The results on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.report import WorkReport
from benchmarks.tables import NOTES, TextTable, bars_table, figures_table

_WIDTH = 200
"""Columns where the output goes to a file; a narrow table is unreadable."""

_TEXTS = ("system", "window", "remarks", "work", "bar", "")


def make_console() -> Console:
    """Return a console that is as wide as the terminal, or wide enough for the tables."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_WIDTH)


def show(console: Console, reports: list[WorkReport]) -> None:
    """Print all tables."""
    for report in reports:
        console.print()
        table = figures_table(report)
        console.print(_table(table))
        for note in table.notes:
            console.print(note, style="dim", markup=False)
    console.print()
    for note in NOTES:
        console.print(note, style="dim")
    bars = bars_table(reports)
    if bars.rows:
        console.print()
        console.print(_table(bars))


def _table(text: TextTable) -> Table:
    table = Table(title=text.title, title_justify="left")
    for name in text.columns:
        is_text = name in _TEXTS
        table.add_column(name, justify="left" if is_text else "right", no_wrap=is_text and name != "remarks")
    for row in text.rows:
        table.add_row(*map(escape, row))
    return table
