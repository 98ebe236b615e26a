"""`python -m benchmarks.overview`: one table of rows per second, by system and question, from results of a run.

The table is that of the page with the measurements, from which `make pages` draws the chart on the first pages.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

WORKS: Final = {
    "tumbling-60": "tumbling 60 s",
    "tumbling-60-zipf": "tumbling 60 s, Zipf keys",
    "session-20": "sessions, gap 20 s",
    "session-20-zipf": "sessions, Zipf keys",
    "hopping-600-10": "hopping 600 s / 10 s",
}
"""The questions, by the work that asks them, as the columns have them."""

SYSTEMS: Final = {
    "muntin columnar": "Muntin, built in",
    "muntin sliced": "Muntin, Python class",
    "spark window": "Spark, built in",
    "flink": "Flink, built in",
    "pathway": "Pathway, built in",
    "bytewax": "Bytewax, Python",
    "beam": "Beam, Python",
    "pyflink": "PyFlink, Python",
}
"""The systems, as the rows have them, and whether the average is the system's own or one in Python."""

CORNER: Final = "rows/s, average of floats, 10,000 keys"
_TABLE: Final = re.compile(rf"^\| {re.escape(CORNER)} \|.*\n(?:\|.*\n)+", re.MULTILINE)


def overview_table(results: Sequence[Mapping[str, Any]]) -> str:
    """Return the table as Markdown; a cell is empty where nothing was measured.

    Args:
        results: The results of runs, as `results.json` has them; of a figure that several have the last counts.
    """
    rates: dict[tuple[str, str], float] = {}
    for work in (work for run in results for work in run["works"]):
        for trial in work["trials"]:
            if trial["medians"] is not None:
                rates[trial["system"], work["name"]] = trial["medians"]["rows_per_second"]
    lines = [[CORNER, *WORKS.values()], ["---", *(["---:"] * len(WORKS))]]
    for system, words in SYSTEMS.items():
        cells = [_rounded(rates[system, work]) if (system, work) in rates else "" for work in WORKS]
        if any(cells):
            lines.append([words, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def with_table(page: str, table: str) -> str:
    """Return a page with another table in place of the one that it has.

    Raises:
        ValueError: It has none.
    """
    if not _TABLE.search(page):
        raise ValueError(f"the page has no table that begins with\n  | {CORNER} |")
    return _TABLE.sub(lambda _: table, page)


def _rounded(rate: float) -> str:
    """Return a rate with three digits that count."""
    return f"{float(f'{rate:.3g}'):,.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(prog="benchmarks.overview", description="Rows per second by system and question.")
    parser.add_argument("results", nargs="*", type=Path, default=[Path("build/bench/results.json")])
    parser.add_argument("--page", type=Path, help="a page whose table is replaced")
    given = parser.parse_args(arguments)
    table = overview_table([json.loads(path.read_text()) for path in given.results])
    if given.page is None:
        Console(highlight=False, soft_wrap=True).print(table, markup=False, end="")
    else:
        given.page.write_text(with_table(given.page.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    main()
