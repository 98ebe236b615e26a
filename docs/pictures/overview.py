"""The chart for newcomers: its figures are those of the table of systems and questions on the page with them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from docs.pictures.benchmark import PAGE
from docs.pictures.panels import Panels

_TABLE: Final = re.compile(
    r"^\| rows/s, average of floats[^|]*\|(?P<questions>.*)\|\n\|[-|: ]*\n(?P<rows>(?:\|.*\n)+)", re.M
)


def pictures() -> Iterator[Panels]:
    """Yield it."""
    rates = measured(PAGE.read_text(encoding="utf-8"))
    yield Panels(
        "overview", "input rows per second on two cores, by system, in one run; longer is better", rates, ours="Muntin"
    )


def measured(page: str) -> dict[str, dict[str, int]]:
    """Return the rates by question and system that a page says were measured.

    Args:
        page: Markdown with a table whose first heading begins with `rows/s, average of floats`.
    """
    table = _TABLE.search(page)
    assert table, f"{PAGE.name} has no table of systems and questions"
    questions = [cell.strip() for cell in table["questions"].split("|")]
    rates: dict[str, dict[str, int]] = {question: {} for question in questions}
    for line in table["rows"].splitlines():
        system, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for question, cell in zip(questions, cells, strict=True):
            if cell:
                rates[question][system] = int(cell.replace(",", ""))
    return {question: found for question, found in rates.items() if found}
