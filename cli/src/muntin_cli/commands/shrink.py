"""`muntin shrink`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from muntin_cli.commands.replay import FilesOrReplacements, Recorded
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from muntin_engine.recording.recording import Recording

EXAMPLE: Final = """\b
Examples:
  muntin shrink recordings/hours smallest --where 'km > 100'
  muntin shrink recordings/hours smallest --fails

It writes a recording, and prints how many rows and micro-batches are left.
"""
"""The end of the help."""


@reports_errors
def shrink(
    recording: Recorded,
    out: Annotated[Path, typer.Argument(help="A new folder, for the smallest part of it.")],
    fails: Annotated[bool, typer.Option("--fails", help="A module still raises its exception.")] = False,
    differs: Annotated[
        str, typer.Option(metavar="EVALUATOR", help="The results still differ from those of this evaluator.")
    ] = "",
    where: Annotated[
        str, typer.Option(metavar="CONDITION", help="A result still meets a condition, such as 'km > 100'.")
    ] = "",
    module: FilesOrReplacements = None,
) -> ExitCode:
    """Find the smallest part of a recording that fails.

    Or that still has a result, or differs between two evaluators: keys are left out first, then micro-batches, then
    rows.
    """
    from muntin_cli.recordings import condition, opened

    if [bool(fails), bool(differs), bool(where)].count(True) != 1:
        raise UsageError(
            "what is to be shown is not said\n  give one of --fails, --differs EVALUATOR, --where CONDITION"
        )
    whole = opened(recording, module or [])
    meets_condition = condition(where or "True")

    def has_result(replayed: Any) -> bool:
        return any(meets_condition(row) for row in replayed.results)

    with WaitingLine("looking for the smallest part"):
        smallest = whole.shrink(has_result if where else None, differs=differs or None)
        smallest.save(out)
    rows = f"{_count_rows(smallest)} of {counted(_count_rows(whole), 'row')}"
    batches = f"{len(smallest.batches)} of {len(whole.batches)} micro-batches"
    show(f"{rows} and {batches} show it, written to {out}")
    return ExitCode.OK


def _count_rows(recording: Recording) -> int:
    return sum(batch.rows for batch in recording.batches)
