"""HTML for notebooks: facts and rows as tables, and text as it is, with everything in them escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

__all__ = ["facts_html", "folded_html", "rows_html", "text_html"]

_LEFT: Final = 'style="text-align: left"'
"""The side of a cell at which text begins; notebooks put it on the right by default."""


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table with a fact in each row: its topic and its text.

    Example:
        >>> print(facts_html([("reads", "a < b")]).replace(_LEFT, "..."))
        <table><tr><th ...>reads</th><td ...>a &lt; b</td></tr></table>
    """
    rows: list[str] = []
    for topic, text in facts:
        rows.append(f"<tr><th {_LEFT}>{escape(topic)}</th><td {_LEFT}>{_with_breaks(text)}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def rows_html(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table of rows of values, with names above its columns.

    Example:
        >>> print(rows_html(["n"], [[2]]))
        <table><thead><tr><th>n</th></tr></thead><tbody><tr><td>2</td></tr></tbody></table>
    """
    heads = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines: list[str] = []
    for row in rows:
        cells = "".join(f"<td>{_with_breaks(str(value))}</td>" for value in row)
        lines.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def text_html(text: str) -> str:
    """Return text as HTML that keeps its line breaks and spaces."""
    return f"<pre>{escape(text)}</pre>"


def folded_html(summary: str, html: str) -> str:
    """Return HTML of which only the summary is shown until a click on it."""
    return f"<details><summary>{escape(summary)}</summary>{html}</details>"


def _with_breaks(text: str) -> str:
    """Escape a text for HTML, with its line breaks."""
    return escape(text).replace("\n", "<br>")
