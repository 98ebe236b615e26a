"""`muntin stubs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from muntin.catalog import installed
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import show
from muntin_cli.stubs import make_stubs, outdated, write_stubs
from muntin_cli.survey import sound


@reports_errors
def stubs(
    output: Annotated[Path, typer.Option(help="The folder of the package that is written.")] = Path("modules"),
    is_check: Annotated[bool, typer.Option("--check", help="Write nothing; fail if it is out of date.")] = False,
) -> ExitCode:
    """Write a package of typed functions for installed modules.

    Editors complete them, and mypy checks their calls.
    """
    catalog, listing = sound(installed())
    loaded, failed = catalog.plugins()[0], listing.failures
    for failure in failed:
        typer.echo(f"muntin: left out: {failure.message}", err=True)
    made = make_stubs(loaded)
    if is_check:
        return _check(outdated(made, output), output)
    write_stubs(made, output)
    names = ", ".join(plugin.name for plugin in loaded) or "nothing"
    show(f"{output} now has {names}\n  from {output.name} import {names}")
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _check(names: list[str], folder: Path) -> ExitCode:
    if not names:
        show(f"{folder} is up to date")
        return ExitCode.OK
    show(f"{folder} is out of date: {', '.join(names)}\n  write it anew: muntin stubs --output {folder}")
    return ExitCode.FINDINGS
