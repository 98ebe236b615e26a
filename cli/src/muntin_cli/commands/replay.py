"""`muntin replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from muntin_cli.commands.reporting import AsJson, reports_errors
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import counted, show, show_data, show_json
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from muntin_engine.recording.recording import Recording

Recorded = Annotated[Path, typer.Argument(help="The folder of a recording, as write(record=...) made it.")]
Files = Annotated[
    list[Path] | None,
    typer.Option("--module", metavar="FILE", help="A file of Python that defines modules of the query."),
]
FilesOrReplacements = Annotated[
    list[Path] | None,
    typer.Option(
        "--module",
        metavar="FILE|NAME=PATH",
        help="A file of Python that defines modules of the query; or a module's name and the path of one in its place.",
    ),
]

EXAMPLE: Final = """\b
Examples:
  muntin replay recordings/hours
  muntin replay recordings/hours --key north --evaluators

It prints the results by micro-batch, and how many rows were late or rejected.
"""
"""The end of the help."""


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
    module: FilesOrReplacements = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Run a recorded query again, without Spark."""
    from muntin_cli.recordings import changes_of, opened, spelled

    opened_recording = opened(recording, module or [], key or [])
    if evaluators:
        return _compare_evaluators(opened_recording)
    micro_batches = len(opened_recording.batches)
    with WaitingLine(f"replaying {counted(micro_batches, 'micro-batch')}"):
        replayed = opened_recording.replay(evaluator or None)
        changes = list(changes_of(replayed))
    if as_json:
        show_json([{"batch": number, **row} for number, row in changes])
        return ExitCode.OK
    if changes:
        _, first_row = changes[0]
        show_data(["micro-batch", *first_row], [[str(number), *spelled(row)] for number, row in changes])
        show()

    # Below the results: their numbers, and what differs from the run that was recorded.
    results = counted(len(replayed.changes), "result")
    late_rows = counted(len(replayed.late_rows), "late row")
    rejected_rows = counted(len(replayed.rejected_rows), "rejected row")
    recorded_rows = counted(sum(batch.rows for batch in opened_recording.batches), "recorded row")
    show(f"{results}, {late_rows}, {rejected_rows} of {recorded_rows}; micro-batches: {micro_batches}")
    show(f"evaluator {replayed.evaluator}; the query can run in {', '.join(opened_recording.evaluators)}")
    for difference in opened_recording.differences:
        show(difference)
    if opened_recording.stopped:
        show(f"the recording ends there: {opened_recording.stopped}")
    return ExitCode.OK


def _compare_evaluators(recording: Recording) -> ExitCode:
    """Replay a recording with each evaluator that can run its query, and say whether all give the same results."""
    try:
        with WaitingLine(f"replaying with each of {', '.join(recording.evaluators)}"):
            recording.check_evaluators()
    except AssertionError as error:
        show(str(error))
        return ExitCode.FINDINGS
    show(f"{', '.join(recording.evaluators)}: the same results after each micro-batch")
    return ExitCode.OK
