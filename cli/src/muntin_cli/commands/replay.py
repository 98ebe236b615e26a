"""`muntin replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_json, show_table

if TYPE_CHECKING:
    from muntin_engine.recording.recording import Recording

Recorded = Annotated[Path, typer.Argument(help="The folder of a recording, as write(record=...) made it.")]
Files = Annotated[
    list[Path] | None,
    typer.Option("--module", metavar="FILE", help="A file of Python that defines modules of the query."),
]


@reports_errors
def replay(
    recording: Recorded,
    evaluator: Annotated[str, typer.Option(help="How windows are computed; unsaid, as the query ran.")] = "",
    key: Annotated[
        list[str] | None, typer.Option(help="A key whose rows are replayed, with commas between its columns.")
    ] = None,
    evaluators: Annotated[
        bool, typer.Option("--evaluators", help="Compare all evaluators that can run the query.")
    ] = False,
    module: Files = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Run a recorded query again, without Spark."""
    from muntin_cli.recordings import changes_of, opened, spelled

    found = opened(recording, module or [], key or [])
    if evaluators:
        return _compared(found)
    replayed = found.replay(evaluator or None)
    if as_json:
        show_json([{"batch": int(number), **row} for number, row in changes_of(replayed)])
        return ExitCode.OK
    rows = list(changes_of(replayed))
    if rows:
        show_table(["micro-batch", *rows[0][1]], [[number, *spelled(row)] for number, row in rows])
        show()
    counts = {"result": replayed.changes, "late row": replayed.late_rows, "rejected row": replayed.rejected_rows}
    read = sum(batch.rows for batch in found.batches)
    told = ", ".join(counted(len(some), name) for name, some in counts.items())
    show(f"{told} of {counted(read, 'recorded row')}; micro-batches: {len(found.batches)}")
    show(f"evaluator {replayed.evaluator}; the query can run in {', '.join(found.evaluators)}")
    for text in [*found.differences, *([f"the recording ends there: {found.stopped}"] if found.stopped else [])]:
        show(text)
    return ExitCode.OK


def _compared(recording: Recording) -> ExitCode:
    try:
        recording.check_evaluators()
    except AssertionError as error:
        show(str(error))
        return ExitCode.FINDINGS
    show(f"{', '.join(recording.evaluators)}: the same results after each micro-batch")
    return ExitCode.OK
