"""The command `muntin` and its commands."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from muntin_cli.command_names import CommandGroup
from muntin_cli.commands import (
    backtest,
    check,
    checkpoint,
    describe,
    doctor,
    look,
    modules,
    new,
    query,
    replay,
    run,
    schema,
    shrink,
    state,
    stubs,
)
from muntin_cli.output import own_process

_EPILOG = "Exit codes: 0 all is well, 1 findings, 2 wrong usage, 3 the environment lacks something."

app = typer.Typer(
    name="muntin",
    cls=CommandGroup,
    help="Run queries over windows of tables and recordings; start, check and describe plugins for them.",
    epilog=_EPILOG,
    invoke_without_command=True,
    add_completion=False,
    # What is no error of ours keeps the traceback of Python, which issues and debuggers know.
    pretty_exceptions_enable=False,
    # The help is plain text, so that it need not wait until rich is imported.
    rich_markup_mode=None,
)
"""The commands, for a program that adds some or runs them itself."""

app.command(epilog=new.EXAMPLE)(new.new)
app.command(epilog=modules.EXAMPLE)(modules.modules)
app.command(epilog=describe.EXAMPLE)(describe.describe)
app.command(epilog=check.EXAMPLE)(check.check)
app.command(epilog=stubs.EXAMPLE)(stubs.stubs)
app.command(epilog=run.EXAMPLE)(run.run)
app.command(epilog=query.EXAMPLE)(query.query)
app.command(epilog=replay.EXAMPLE)(replay.replay)
app.command(epilog=shrink.EXAMPLE)(shrink.shrink)
app.command(epilog=look.EXAMPLE)(look.look)
app.command(epilog=backtest.EXAMPLE)(backtest.backtest)
app.command(epilog=state.EXAMPLE)(state.state)
app.command(epilog=schema.EXAMPLE)(schema.schema)
app.command(epilog=doctor.EXAMPLE)(doctor.doctor)
app.add_typer(checkpoint.checkpoint)


def _show_version(is_wanted: bool) -> None:
    """Print the version and end the command, if `--version` is given."""
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
