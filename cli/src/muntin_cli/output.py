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
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE = 10_000

_REPORT: Final[ContextVar[TextIO | None]] = ContextVar("_REPORT", default=None)
"""The destination of what is shown; None for the standard output as it is."""
_OWNS_PROCESS: Final[ContextVar[bool]] = ContextVar("_OWNS_PROCESS", default=False)


@contextmanager
def kept_apart() -> Iterator[None]:
    """Have what modules print, also by way of other processes, go to the standard error.

    The standard output is then what the command shows, and nothing else, so that programs can read it.
    """
    with _outside() as report, redirect_stdout(sys.stderr):
        before = _REPORT.set(report)
        try:
            yield
        finally:
            report.flush()
            _REPORT.reset(before)


@contextmanager
def _outside() -> Iterator[TextIO]:
    """Yield the present standard output, also after `sys.stdout` and file descriptor 1 have been redirected."""
    out: TextIO = sys.stdout
    is_replaced = out is not sys.__stdout__
    if is_replaced or not _OWNS_PROCESS.get():
        yield out
        return
    out.flush()
    report = os.fdopen(os.dup(1), "w", encoding=out.encoding, errors=out.errors)
    os.dup2(2, 1)  # for good: modules may print when the process ends, too
    yield report


def own_process() -> None:
    """Say that the process ends with the command, so that its standard output need not be given back."""
    _OWNS_PROCESS.set(True)


@contextmanager
def let_through() -> Iterator[None]:
    """Within `kept_apart`: have what code prints go to the standard output after all."""
    with redirect_stdout(_REPORT.get() or sys.stdout):
        yield


def show(text: str = "") -> None:
    """Print text as it is."""
    typer.echo(text, file=_REPORT.get())


def show_json(value: object) -> None:
    """Print a value for programs."""
    show(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; one without heads is a list of facts.

    In a terminal it has colours and fits the width; elsewhere it has neither colours nor broken lines.
    """
    console = Console(highlight=False, file=_REPORT.get())
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE, color_system=None, file=_REPORT.get())
    table = Table(box=None, pad_edge=False, show_header=bool(heads), header_style="bold")
    for number, head in enumerate(heads or next(iter(rows := list(rows)), ())):
        table.add_column(head if heads else "", style="bold" if number == 0 else "", overflow="fold")
    for row in rows:
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
