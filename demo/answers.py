"""The answers: a sorted file for each question."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from demo.questions import QUESTIONS
from muntin_engine import fold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEYS: Final[Mapping[str, str]] = {"airborne": "origin", "delays": "carrier", "cascades": "tailnum"}
"""What the windows of each question are per."""

COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "airborne": {
        "origin": "origin",
        "start": "window.start",
        "end": "window.end",
        "planes": "planes",
        "miles": "miles",
    },
    "delays": {
        "carrier": "carrier",
        "start": "window.start",
        "end": "window.end",
        "flights": "flights",
        "mean_delay": "mean_delay",
        "p90_delay": "p90_delay",
    },
    "cascades": {
        "tailnum": "tailnum",
        "first": "first",
        "second": "second",
        "arrival": "ended",
        "departure": "started",
    },
}
"""The columns of each file by their names, as columns of the results."""

ORDER: Final[Mapping[str, list[str]]] = {
    "airborne": ["origin", "start"],
    "delays": ["carrier", "start"],
    "cascades": ["tailnum", "departure", "first"],
}
"""How the rows of each file are sorted."""


def folded(name: str, results: DataFrame) -> pa.Table:
    """Return the answer to a question from all rows that a stream emitted, early ones too."""
    table = fold(results, key=KEYS[name]) if "change" in results.columns else results
    columns = [f"{path} as {column}" for column, path in COLUMNS[name].items()]
    return table.selectExpr(*columns).toArrow()


def table_of(name: str, results: pa.Table) -> pa.Table:
    """Return the answer to a question from its results over a table."""
    return pa.table({column: _column(results, path) for column, path in COLUMNS[name].items()})


def _column(table: pa.Table, path: str) -> pa.ChunkedArray:
    """Return a column, or a field of one, such as `window.start`."""
    name, *fields = path.split(".")
    values = table[name]
    for field in fields:
        values = pc.struct_field(values, field)
    return values


def answer_file(name: str, folder: Path) -> Path:
    """Return the path of the answer to a question."""
    return folder / f"{name}.parquet"


def write_answer(table: pa.Table, name: str, folder: Path) -> None:
    """Write the sorted file of a question, so that it is there whole or not at all."""
    path = answer_file(name, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    pq.write_table(table.sort_by([(column, "ascending") for column in ORDER[name]]), partial)
    os.replace(partial, path)


def show_answers(folder: Path, console: Console) -> None:
    """Print a few rows of each answer."""
    for name, ask in QUESTIONS.items():
        file = answer_file(name, folder)
        answers = pq.read_table(file)
        console.print(f"\n{(ask.__doc__ or '').splitlines()[0]}")
        table = Table(*answers.column_names)
        for row in answers.slice(answers.num_rows // 2, 5).to_pylist():
            table.add_row(*map(_text, row.values()))
        console.print(table)
        console.print(f"{answers.num_rows:,} rows in {file}")


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if hasattr(value, "strftime"):
        return f"{value:%m-%d %H:%M}"
    return str(value)
