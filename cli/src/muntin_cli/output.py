"""What the command prints: for readers in a terminal, for readers of a file, and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDE = 10_000


def show(text: str = "") -> None:
    """Print text as it is."""
    typer.echo(text)


def show_json(value: Any) -> None:
    """Print a value for programs."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def show_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; one without heads is a list of facts.

    In a terminal it has colours and fits the width; elsewhere it has neither colours nor broken lines.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDE, color_system=None)
    table = Table(box=None, pad_edge=False, show_header=bool(heads), header_style="bold")
    for number, head in enumerate(heads or next(iter(rows := list(rows)), ())):
        table.add_column(head if heads else "", style="bold" if number == 0 else "", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    with console.capture() as captured:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


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
