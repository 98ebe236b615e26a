"""`muntin checkpoint`."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import EnvironmentLacksError, UsageError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show
from muntin_cli.waiting_line import WaitingLine

EXAMPLE: Final = """\b
Examples:
  muntin checkpoint copy checkpoints/hours savepoints/hours --folder results=savepoints/results

It prints how many files were copied, and up to which micro-batch.
"""
"""The end of the help."""

checkpoint = typer.Typer(
    name="checkpoint", help="Copy a checkpoint, as a savepoint or to another place.", no_args_is_help=True
)
"""The commands for checkpoints as files."""


@checkpoint.command(epilog=EXAMPLE)
@reports_errors
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The checkpoint of a query that is stopped.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="A place where there is nothing yet.")],
    folder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FROM=TO", help="A folder that the query writes to, and its copy; may be given several times."
        ),
    ] = None,
) -> ExitCode:
    """Copy a checkpoint so that a query can be started with the copy."""
    if not can_evaluate():
        raise EnvironmentLacksError("checkpoints are of muntin-engine: pip install 'muntin-cli[engine]'")
    from muntin_engine import copy_checkpoint

    with WaitingLine("copying the checkpoint"):
        copy = copy_checkpoint(source, target, dict(map(_folder_and_copy, folder or [])))
    until = f"up to micro-batch {copy.last_batch}" if copy.last_batch >= 0 else "without any micro-batch"
    show(f"copied {counted(copy.files, 'file')} to {copy.path}, {until}")
    for destination in copy.destinations:
        show(f"its query goes on in {destination}, or in another place that you name")
    return ExitCode.OK


def _folder_and_copy(text: str) -> tuple[str, str]:
    """Return the folder and its copy that a value of `--folder` names.

    Raises:
        UsageError: The text does not have the form `FROM=TO`.
    """
    source, _, target = text.partition("=")
    if not source or not target:
        raise UsageError(f"--folder {text} names no copy\n  write --folder /data/results=/copies/results")
    return source, target
