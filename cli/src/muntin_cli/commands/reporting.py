"""The one way in which commands report an error and exit."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated

import typer
from typing_extensions import ParamSpec

from muntin.errors import MuntinError
from muntin_cli.errors import exit_code_of
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import report_on_stdout_alone

P = ParamSpec("P")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
IsWide = Annotated[bool, typer.Option("--wide", help="Print each row of a table in one line, however long.")]
With = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="NAME=VALUE", help="A parameter of the module; may be given several times."),
]


def reports_errors(command: Callable[P, ExitCode]) -> Callable[P, None]:
    """Make a function a command: its value is the exit code, and it reports an error of ours with its remedy.

    What modules print meanwhile goes to the standard error.
    """

    @wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        try:
            with report_on_stdout_alone():
                code = command(*arguments, **options)
        except MuntinError as error:
            typer.echo(f"muntin: {error}", err=True)
            code = exit_code_of(error)
        raise typer.Exit(int(code))

    return run
