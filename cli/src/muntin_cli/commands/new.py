"""`muntin new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.kinds import DEFAULT_KIND, KINDS, OfferKind, kinds_named
from muntin_cli.new import check_name, create_package
from muntin_cli.output import show, show_table

EXAMPLE: Final = """\b
Examples:
  muntin new weather
  muntin new weather --kind aggregate --kind function --into ~/plugins

It writes a package with an example of each kind and the test of its laws, and prints what to do next.
"""
"""The end of the help."""


@reports_errors
def new(
    name: Annotated[
        str, typer.Argument(help="The plugin's name, for example weather: the first part of its modules'.")
    ],
    into: Annotated[Path, typer.Option(help="The folder in which the package's own folder is made.")] = Path(),
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND",
            help=f"What the package starts with: {', '.join(kind.name for kind in KINDS)}. It may be given several "
            f"times. Without it a terminal asks, and elsewhere it is {DEFAULT_KIND.name}.",
        ),
    ] = None,
) -> ExitCode:
    """Start a plugin package with examples and their laws."""
    check_name(name)
    kinds = kinds_named(kind) if kind else _ask_for_kinds()
    target = create_package(name, into, kinds)
    examples = ", ".join(f"{name}.{kind.example}" if kind.is_named else kind.example for kind in kinds)
    verb = "is" if len(kinds) == 1 else "are"
    show(
        f"{target} is a working package: {examples} {verb} there to be replaced by yours\n\n"
        f"  cd {target}\n"
        "  pip install --editable '.[test]'\n"
        "  pytest\n"
        "  muntin check .\n"
    )
    return ExitCode.OK


def _ask_for_kinds() -> list[OfferKind]:
    """Ask in a terminal for kinds, by their numbers or names, until the answer names some.

    Returns:
        The kinds of the answer; the default kind if nobody can answer.
    """
    if not _is_asked():
        return [DEFAULT_KIND]
    show_table((), [(str(number), kind.name, kind.description) for number, kind in enumerate(KINDS, start=1)])
    names = {str(number): kind.name for number, kind in enumerate(KINDS, start=1)}
    while True:
        # Questions go to the standard error: the standard output is for what the command has done.
        answer = typer.prompt("What does the package start with?", default=DEFAULT_KIND.name, err=True)
        words = answer.replace(",", " ").split()
        try:
            return kinds_named([names.get(word, word) for word in words]) or [DEFAULT_KIND]
        except UsageError as error:
            typer.echo(str(error), err=True)


def _is_asked() -> bool:
    """True if somebody sits at a terminal."""
    return sys.stdin.isatty()
