"""A board in a terminal, with rich."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from muntin_engine.monitoring.board import BoardSection, board_of
from muntin_engine.monitoring.history import Watch


class TerminalDisplay:
    """Shows a watched query in place, until it is left; the last picture stays."""

    def __init__(self, console: Console | None = None) -> None:
        """Prepare; without a console it is that of the process."""
        self._live = Live(console=console or Console(), auto_refresh=False)

    def __enter__(self) -> TerminalDisplay:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, watch: Watch) -> None:
        """Show the present status."""
        self._live.update(picture(watch), refresh=True)


def picture(watch: Watch) -> RenderableType:
    """Return a watched query as rich renders it: a panel for each Muntin query in it."""
    panels: list[RenderableType] = [
        Panel(_table(board_of(history)), title=Text(f"{name}: batch {history.last.batch}"), expand=False)
        for name, history in watch.histories.items()
    ]
    return Group(*panels, Text(watch.status))


def _table(sections: Iterable[BoardSection]) -> Table:
    table = Table(box=None, header_style="dim")
    table.add_column("")
    for name in ("last", "all"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("history", no_wrap=True)
    for section in sections:
        table.add_row(Text(section.title, style="bold"))
        for line in section.lines:
            table.add_row(Text(f"  {line.label}"), line.last, line.total, Text(line.history, style="cyan"))
    return table
