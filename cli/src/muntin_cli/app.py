"""The command `muntin` and its commands."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Final

import typer

from muntin_cli.command_names import CommandGroup
from muntin_cli.commands.backtest import EXAMPLE as BACKTESTS
from muntin_cli.commands.backtest import backtest
from muntin_cli.commands.check import check
from muntin_cli.commands.checkpoint import checkpoint
from muntin_cli.commands.describe import describe
from muntin_cli.commands.doctor import doctor
from muntin_cli.commands.look import look
from muntin_cli.commands.modules import modules
from muntin_cli.commands.new import new
from muntin_cli.commands.query import EXAMPLE, query
from muntin_cli.commands.replay import replay
from muntin_cli.commands.run import run
from muntin_cli.commands.schema import schema
from muntin_cli.commands.shrink import shrink
from muntin_cli.commands.state import state
from muntin_cli.output import own_process

_EPILOG = "Exit codes: 0 all is well, 1 findings, 2 wrong usage, 3 the environment lacks something."

app = typer.Typer(
    name="muntin",
    cls=CommandGroup,
    help="Run queries over windows of tables and recordings; start, check and describe plugins for them.",
    epilog=_EPILOG,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
"""The commands, for a program that adds some or runs them itself."""

_EPILOGS: Final[dict[Callable[..., None], str]] = {query: EXAMPLE, backtest: BACKTESTS}
"""Text at the end of a command's help."""

for command in (new, modules, describe, check, run, query, replay, shrink, look, backtest, state, schema, doctor):
    app.command(epilog=_EPILOGS.get(command))(command)
app.add_typer(checkpoint)


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"muntin {version('muntin-cli')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    is_version_wanted: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version of Muntin.")
    ] = False,
) -> None:
    """Take the options of the command as a whole, and show its help where no command is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command, in a process of its own."""
    own_process()
    app()
