"""`muntin run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from muntin import Module, StreamOperator
from muntin.catalog import installed
from muntin.windows import WindowSpecification
from muntin_cli.commands.reporting import With, reports_errors
from muntin_cli.errors import UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import show
from muntin_cli.parameters import make, parse_parameters
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from muntin.testing import WindowedQuery
    from muntin_cli.running import ScriptFile

EXAMPLE: Final = """\b
Examples:
  muntin run rides.py --module stats.average --window 'tumbling 5'
  muntin run rides.py --module stats.count --window 'session 3' --svg rides.svg

\b
with this rides.py:
  from muntin.testing import Script
  script = Script().point("a", 1, 2.0).point("b", 4, 3.0).close()

It prints the events and the results as time lines.
"""
"""The end of the help."""


@reports_errors
def run(
    script: Annotated[Path, typer.Argument(help="A file of Python that defines script, a muntin.testing.Script.")],
    module: Annotated[str, typer.Option(help="The module: an installed one's name, or that of one in the file.")] = "",
    window: Annotated[
        str, typer.Option(help="For example 'tumbling 10', 'snapshot', or a plugin's kind: 'retail.visits 5'.")
    ] = "",
    clip: Annotated[
        str, typer.Option(help="What a time-sensitive module sees of lifetimes: none, left, right or full.")
    ] = "",
    timestamps: Annotated[
        str, typer.Option(help="Which lifetime the output gets, such as unchanged; by default align.")
    ] = "",
    svg: Annotated[Path | None, typer.Option(help="Write the drawing into this file too, as a picture.")] = None,
    crash_everywhere: Annotated[
        bool, typer.Option("--crash-everywhere", help="Run it on the engine too, with a restart after each step.")
    ] = False,
    parameters: With = None,
) -> ExitCode:
    """Draw what a module makes of a stream, without Spark."""
    from muntin.pictures import Picture
    from muntin_cli.restarting import restarted
    from muntin_cli.running import query_of, read_script

    file = read_script(script)
    if module:
        cls = file.modules.get(module) or installed().module(module)
        tried_module = make(cls, parse_parameters(parameters or []))
        query = query_of(tried_module, _windows_for(tried_module, window), clip, timestamps)
    else:
        query = _query_in(file, script)
    drawing = file.script.drawing(query)
    show(str(drawing))
    if svg is not None:
        _write(svg, Picture(drawing).svg())
    if crash_everywhere:
        with WaitingLine("restarting after each step"):
            lines = list(restarted(file.script, query))
        show("\n".join(["", *lines]))
    return ExitCode.OK


def _windows_for(module: Module, window: str) -> WindowSpecification:
    """Return the windows that a text names; if it is empty, none for a stream operator, and else tumbling ones."""
    from muntin.windows.specification import Unwindowed
    from muntin_cli.running import parse_window

    if window:
        return parse_window(window)
    if isinstance(module, StreamOperator):
        return Unwindowed()
    return parse_window("tumbling 10")


def _write(file: Path, picture: str) -> None:
    """Write a picture into a file.

    Raises:
        UsageError: The file cannot be written.
    """
    try:
        file.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be written: {error.strerror}\n  name a file in a folder that exists, as in --svg stream.svg"
        ) from error


def _query_in(file: ScriptFile, path: Path) -> WindowedQuery:
    """Return the query that a file defines.

    Raises:
        UsageError: It defines none.
    """
    if file.query is None:
        raise UsageError(
            f"{path} defines no query, and no module is named\n"
            "  name one: --module stats.average --window 'tumbling 10'; or define query = WindowedQuery(...)"
        )
    return file.query
