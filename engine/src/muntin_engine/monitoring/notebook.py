"""A board in a notebook, as HTML."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape
from importlib import import_module
from types import TracebackType
from typing import Any

from muntin_engine.monitoring.board import BoardSection, board_of
from muntin_engine.monitoring.history import Watch, Watched


class Html:
    """Text that a notebook shows as what it means."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text


class NotebookDisplay:
    """Shows a watched query below a cell, in place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __enter__(self) -> NotebookDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last picture."""

    def show(self, watch: Watch) -> None:
        """Show the present status."""
        shown = Html(html_of(watch))
        if self._handle is None:
            self._handle = import_module("IPython.display").display(shown, display_id=True)
        else:
            self._handle.update(shown)


def is_notebook() -> bool:
    """Return True if this process is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    shell = import_module("IPython").get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def live_html(query: Watched) -> str:
    """Return a streaming query as HTML: the metrics of each Muntin query in it, as of now."""
    watch = Watch(query)
    watch.look()
    return html_of(watch)


def html_of(watch: Watch) -> str:
    """Return a watched query as HTML: a table for each Muntin query in it."""
    tables = [
        f"<h4>{escape(name)}: batch {history.last.batch}</h4>{_table(board_of(history))}"
        for name, history in watch.histories.items()
    ]
    return f"<div>{''.join(tables)}<p>{escape(watch.status)}</p></div>"


def _table(sections: Iterable[BoardSection]) -> str:
    rows = [_row("th", "", "last", "all", "history")]
    for section in sections:
        rows.append(_row("th", section.title, "", "", ""))
        rows += [_row("td", line.label, line.last, line.total, line.history) for line in section.lines]
    return f"<table>{''.join(rows)}</table>"


def _row(tag: str, label: str, last: str, total: str, history: str) -> str:
    numbers = "".join(f'<{tag} style="text-align: right">{escape(text)}</{tag}>' for text in (last, total))
    return (
        f'<tr><{tag} style="text-align: left">{escape(label)}</{tag}>{numbers}'
        f'<{tag} style="text-align: left; font-family: monospace">{escape(history)}</{tag}></tr>'
    )
