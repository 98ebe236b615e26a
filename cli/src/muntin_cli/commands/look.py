"""`muntin look`."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Final

import typer

from muntin_cli.commands.replay import FilesOrReplacements, Recorded
from muntin_cli.commands.reporting import reports_errors
from muntin_cli.errors import UsageError
from muntin_cli.exit_codes import ExitCode
from muntin_cli.output import show
from muntin_cli.waiting_line import WaitingLine

if TYPE_CHECKING:
    from muntin_engine.recording.story import Story

EXAMPLE: Final = """\b
Examples:
  muntin look recordings/hours --out hours.html --open
  muntin look recordings/hours --serve

It prints where the page is.
"""
"""The end of the help."""


@reports_errors
def look(
    recording: Recorded,
    out: Annotated[
        Path | None, typer.Option(help="The page to write; by default the recording's name, with .html.")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="A key to show, its columns separated by commas; may be given several times."),
    ] = None,
    module: FilesOrReplacements = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page to this machine while the query runs.")
    ] = False,
) -> ExitCode:
    """Write a page that shows a recording, row by row.

    The page is one file that loads nothing from elsewhere. With --serve it follows a running query, until Ctrl-C.
    """
    # A server of HTTP and the drawings of a page are for this command alone.
    from muntin_cli.recordings import opened, story_of
    from muntin_cli.story_page.page import page_of
    from muntin_cli.story_page.serving import served_page

    keys = key or []

    def read_story() -> Story:
        return story_of(opened(recording, module or [], keys), keys)

    if serve:
        if out is not None:
            raise UsageError(f"--serve writes no file, and --out names {out}\n  leave one of them out")
        read_story()  # an error of the recording is shown here, and not only on the page
        with served_page(read_story, lambda: _version_of(recording)) as address:
            show(f"{recording.name} is shown at {address} until Ctrl-C")
            if opens:
                _open(address)
            _wait()
        return ExitCode.OK
    file = out or Path(f"{recording.resolve().name}.html")
    with WaitingLine("following each row to its results"):
        page = page_of(read_story())
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}\n  name another file with --out") from error
    show(f"wrote {file}")
    if opens:
        _open(file.resolve().as_uri())
    return ExitCode.OK


def _version_of(folder: Path) -> tuple[int, int]:
    """Return the number of a recording's files and the time of the last change: they differ when it has grown."""
    times = [file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()]
    return len(times), max(times, default=0)


def _open(address: str) -> None:
    """Open a page in a browser, or say that there is none."""
    import webbrowser

    if not webbrowser.open(address):
        show("no browser is installed to open it with")


def _wait() -> None:
    """Wait for Ctrl-C."""
    try:
        while not Event().wait(3600):
            pass
    except KeyboardInterrupt:
        show("")
