"""The chart of the benchmark: its figures are those of the table on the page with the measurements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.pictures.chart import Chart, Pair

PAGE: Final = Path(__file__).parents[1] / "explanation/performance.md"
_TABLE: Final = re.compile(r"^\| average of floats \|.*\n\|[-|: ]*\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)
_ROW: Final = re.compile(r"^\| (?P<work>[^|]+) \| (?P<ours>[\d,]+) \| (?P<theirs>[\d,]+) \| (?P<ratio>[^|]+) \|", re.M)


def pictures() -> Iterator[Chart]:
    """Yield it."""
    yield Chart(
        "benchmark",
        "input rows per second, Muntin and Spark's window(), in one run, higher is better",
        ("Muntin, rows/s", "Spark window(), rows/s"),
        tuple(measured(PAGE.read_text(encoding="utf-8"))),
    )


def measured(page: str) -> Iterator[Pair]:
    """Yield what a page says was measured.

    Args:
        page: Markdown with a table whose first heading is `average of floats`.
    """
    table = _TABLE.search(page)
    assert table, f"{PAGE.name} has no table of averages of floats"
    for row in _ROW.finditer(table["rows"]):
        yield Pair(row["work"], _number(row["ours"]), _number(row["theirs"]), row["ratio"])


def _number(text: str) -> int:
    return int(text.replace(",", ""))
