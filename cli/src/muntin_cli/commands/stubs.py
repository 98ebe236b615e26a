"""`muntin stubs`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from muntin.catalog import installed
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import show
from muntin_cli.stubs import calls_of

EXAMPLE: Final = """\b
Examples:
  muntin stubs weather
  muntin stubs weather --check

It prints the path of each file that it writes, or that is outdated.
"""
"""The end of the help."""


@reports_errors
def stubs(
    name: Annotated[str, typer.Argument(help="The name of a plugin, for example weather.")],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; the code is 1 if a file is missing, or says something else.")
    ] = False,
) -> ExitCode:
    """Write the functions by which editors explain modules.

    A plugin's package gets a module calls.py, with a function for each module of the plugin, and calls.pyi, with their
    columns, parameters and docstrings. Prints the path of each file that it writes.
    """
    calls = calls_of(installed(), name)
    outdated = calls.outdated()
    for file in outdated:
        if check:
            show(f"{file} does not have the modules of {name} as they are\n  write it: muntin stubs {name}")
        else:
            file.write_text(calls.texts[file], encoding="utf-8")
            show(f"{file} is written")
    if not outdated:
        show(f"the functions of {name} have its modules as they are")
    return ExitCode.FINDINGS if check and outdated else ExitCode.OK
