"""The results as one page of HTML that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from benchmarks.report import WorkReport
from benchmarks.results_file import machine
from benchmarks.tables import NOTES, TextTable, bars_table, figures_table

_STYLE: Final = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 0.5em 0 2em; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid #ddd; padding: 0.2em 0.7em; text-align: right }
th { background: #f4f4f4 }
th:first-child, td:first-child, td:nth-child(2), td:last-child { text-align: left }
img { max-width: 100% }
li { color: #555 }
"""


def write_page(reports: Sequence[WorkReport], chart: bytes | None, when: datetime) -> str:
    """Return the page.

    Args:
        reports: What was found out.
        chart: The chart as PNG, which goes into the page; None if there is none.
        when: The time of the run.
    """
    return "\n".join(_parts(reports, chart, when)) + "\n"


def _parts(reports: Sequence[WorkReport], chart: bytes | None, when: datetime) -> Iterator[str]:
    yield "<!DOCTYPE html>"
    yield f'<html lang="en"><head><meta charset="utf-8"><title>Muntin benchmarks</title><style>{_STYLE}</style></head>'
    yield f"<body><h1>Muntin benchmarks</h1><p>{when.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {escape(_machine())}</p>"
    bars = bars_table(list(reports))
    if bars.rows:
        yield from _table(bars)
    if chart is not None:
        yield f'<p><img alt="input rows per second" src="data:image/png;base64,{b64encode(chart).decode()}"></p>'
    for report in reports:
        yield from _table(figures_table(report))
    yield "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in NOTES) + "</ul></body></html>"


def _machine() -> str:
    found = machine()
    versions = ", ".join(f"{name} {text}" for name, text in found.items() if "bytes" not in name and name != "cores")
    return f"{found['cores']} cores, {found['memory_bytes'] / 2**30:.0f} GiB, {versions}"


def _table(text: TextTable) -> Iterator[str]:
    yield f"<h2>{escape(text.title)}</h2><table><tr>"
    yield "".join(f"<th>{escape(name)}</th>" for name in text.columns)
    for row in text.rows:
        yield "</tr><tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row)
    yield "</tr></table>"
    yield from (f"<p>{escape(note)}</p>" for note in text.notes)
