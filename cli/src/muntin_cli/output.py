"""The output of the command: for readers in a terminal, for readers of a file, and for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from typing import Final, TextIO

import typer

_WIDE = 10_000

_REPORT: Final[ContextVar[TextIO | None]] = ContextVar("_REPORT", default=None)
"""The destination of what is shown; None for the standard output as it is."""
_OWNS_PROCESS: Final[ContextVar[bool]] = ContextVar("_OWNS_PROCESS", default=False)
"""Whether the process ends with the command."""


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

    Where the process is the command's own, file descriptor 1 leads to the standard error from now on.
    """
    out: TextIO = sys.stdout
    is_replaced = out is not sys.__stdout__
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


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; a table without heads is a list of facts.

    In a terminal it has colours and fits the width; elsewhere it has neither colours nor broken lines.
    """
    # `muntin --help` prints no table, and does not wait for what draws one.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, file=_REPORT.get())
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE, color_system=None, file=_REPORT.get())
    table_rows = list(rows)
    column_count = len(heads)
    if not heads and table_rows:
        column_count = len(table_rows[0])
    table = Table(box=None, pad_edge=False, show_header=bool(heads), header_style="bold")
    for number in range(column_count):
        table.add_column(heads[number] if heads else "", style="bold" if number == 0 else "", overflow="fold")
    for row in table_rows:
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as captured:
        console.print(table)
    show("\n".join(line.rstrip() for line in captured.get().splitlines()))


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
