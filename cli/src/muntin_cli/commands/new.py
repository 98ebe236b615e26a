"""`muntin new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from muntin_cli.commands.reporting import reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.new import create_package, distribution_of
from muntin_cli.output import show

EXAMPLE: Final = """\b
Examples:
  muntin new weather
  muntin new weather --kind aggregate --kind function --into ~/plugins

It writes a package of one file per kind, each with the test of its laws, and prints what to do next.
"""
"""The end of the help."""


@reports_errors
def new(
    name: Annotated[
        str, typer.Argument(help="The plugin's name, for example weather: the first part of its modules'.")
    ],
    into: Annotated[Path, typer.Option(help="The folder in which the package's own folder is made.")] = Path(),
    window: Annotated[bool, typer.Option("--window", help="Start with a kind of windows instead of modules.")] = False,
) -> ExitCode:
    """Start a plugin package with examples, whose tests pass."""
    target = create_package(name, into, is_window=window)
    examples = f"{name}.visits is" if window else f"{name}.spread, {name}.mean and others are"
    show(
        f"{target} is a working package: {examples} there to be replaced by yours\n\n"
        f"  cd {target}\n"
        "  pip install --editable '.[test]'\n"
        "  pytest\n"
        f"  muntin check {distribution_of(name)}\n"
    )
    return ExitCode.OK
