"""The output of the command: for readers in a terminal, for readers of a file, and for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Final, TextIO

import typer

_WIDE: Final = 10_000
"""The width of a table whose lines are never broken."""

_WIDTH: Final = 120
"""The width of a table that goes to no terminal, unless the environment variable `COLUMNS` sets another."""

_COLOURS: Final[Mapping[str, str]] = {
    "ok": "green",
    "note": "yellow",
    "to do": "yellow",
    "finding": "red",
    "trouble": "red",
}
"""The colour of each judgement."""

_REPORT: Final[ContextVar[TextIO | None]] = ContextVar("_REPORT", default=None)
"""The destination of what is shown; None for the standard output as it is."""
_OWNS_PROCESS: Final[ContextVar[bool]] = ContextVar("_OWNS_PROCESS", default=False)
"""True if the process ends with the command."""


@contextmanager
def report_on_stdout_alone() -> Iterator[None]:
    """Redirect what modules print, also by way of other processes, to the standard error within the block.

    The standard output then has what the command shows, and nothing else, so that programs can read it.
    """
    report = _report_stream()
    with redirect_stdout(sys.stderr):
        previous = _REPORT.set(report)
        try:
            yield
        finally:
            report.flush()
            _REPORT.reset(previous)


def _report_stream() -> TextIO:
    """Return a stream to the present standard output.

    In a process that ends with the command, file descriptor 1 leads to the standard error from now on.
    """
    out: TextIO = sys.stdout
    is_replaced = out is not sys.__stdout__  # as in a test, or by a program that runs the command itself
    if is_replaced or not _OWNS_PROCESS.get():
        return out
    out.flush()
    report = os.fdopen(os.dup(1), "w", encoding=out.encoding, errors=out.errors)
    os.dup2(2, 1)  # for good: modules may print when the process ends, too
    return report


def own_process() -> None:
    """Declare that the process ends with the command, so that its standard output may be redirected for good."""
    _OWNS_PROCESS.set(True)


@contextmanager
def let_through() -> Iterator[None]:
    """Within `report_on_stdout_alone`: send what code prints to the standard output after all."""
    with redirect_stdout(_REPORT.get() or sys.stdout):
        yield


def show(text: str = "") -> None:
    """Print text as it is."""
    typer.echo(text, file=_REPORT.get())


def show_json(value: object) -> None:
    """Print a value for programs."""
    show(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, is_wide: bool = False) -> None:
    """Print a table about modules, or of facts; a table without heads is a list of facts.

    A text that does not fit goes on below. The table is as wide as the terminal, and elsewhere as `COLUMNS` says, or
    120; only in a terminal it has colours.

    Args:
        heads: The heads of the columns.
        rows: The cells of each row.
        is_wide: True for a row a line, however long.
    """
    # `muntin --help` prints no table, and does not wait for what draws one.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, file=_REPORT.get(), width=_WIDE if is_wide else None)
    # A console knows by itself whether it is a terminal; one that is none gets a width, and no colours.
    if not console.is_terminal:
        width = _WIDE if is_wide else _width_elsewhere()
        console = Console(highlight=False, width=width, color_system=None, file=_REPORT.get())
    table_rows = list(rows)
    column_count = len(heads)
    if not heads and table_rows:
        column_count = len(table_rows[0])
    table = Table(box=None, pad_edge=False, show_header=bool(heads), header_style="bold")
    for number in range(column_count):
        is_first = number == 0
        # The first column has names: they are not broken, so that a reader can search for them.
        table.add_column(
            heads[number] if heads else "", style="bold" if is_first else "", overflow="fold", no_wrap=is_first
        )
    for row in table_rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    # Rich fills each line up to the width, which a file should not have.
    with console.capture() as captured:
        console.print(table)
    show("\n".join(line.rstrip() for line in captured.get().splitlines()))


def show_data(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of data: as wide as the terminal, and elsewhere a row a line, for programs that read lines."""
    show_table(heads, rows, is_wide=not _is_terminal())


def coloured(judgement: str) -> str:
    """Return the word of a judgement, such as `ok`, in its colour if the output goes to a terminal.

    The environment variable `NO_COLOR` leaves colours out.
    """
    if not _is_terminal() or os.environ.get("NO_COLOR"):
        return judgement
    return typer.style(judgement, fg=_COLOURS[judgement])


def _is_terminal() -> bool:
    return (_REPORT.get() or sys.stdout).isatty()


def _width_elsewhere() -> int:
    """Return the width of a table that goes to no terminal."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else _WIDTH


def indented(text: str, by: int = 2) -> str:
    """Return text with each line moved to the right."""
    return "\n".join(f"{' ' * by}{line}".rstrip() for line in text.splitlines())


def counted(number: int, noun: str) -> str:
    """Return a number of things in words.

    Example:
        >>> counted(0, "finding"), counted(1, "finding"), counted(2, "finding")
        ('no findings', '1 finding', '2 findings')
    """
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
