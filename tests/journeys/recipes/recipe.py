"""The recipes of the pages for users of other systems: the rows of their tables, and the tests that run them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from pyspark.sql import DataFrame, SparkSession

from muntin_engine import Query
from tests.docs.pages import DOCS
from tests.journeys.running import collect

FLINK_AND_BEAM: Final = "from-flink-and-beam"
KAFKA_STREAMS: Final = "from-kafka-streams"
BYTEWAX_PATHWAY_AND_QUIX: Final = "from-bytewax-pathway-and-quix"
STREAMINSIGHT: Final = "from-streaminsight"
IBM_STREAMS: Final = "from-ibm-streams"
PAGES: Final = (FLINK_AND_BEAM, KAFKA_STREAMS, BYTEWAX_PATHWAY_AND_QUIX, STREAMINSIGHT, IBM_STREAMS)

READINGS: Final = "k string, at bigint, x double"
"""The columns of most streams of these tests: a key, a time and a value."""

_CELL_BORDER: Final = re.compile(r"(?<!\\)\|")
_Test = TypeVar("_Test", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, order=True)
class Recipe:
    """One row of a table: what users of another system write, and what they write here.

    Attributes:
        page: The name of the page.
        theirs: The first cell.
    """

    page: str
    theirs: str


tested_recipes: Final[set[Recipe]] = set()
"""The recipes that a test of this folder runs; filled when its modules are imported."""


def recipe(page: str, *theirs: str) -> Callable[[_Test], _Test]:
    """Declare which rows of a page a test runs.

    Args:
        page: The name of the page.
        theirs: The first cells of the rows.

    Raises:
        LookupError: The page has no such row; it was renamed or removed.
    """

    def declare(test: _Test) -> _Test:
        for cell in theirs:
            row = Recipe(page, cell)
            if row not in recipes_of(page):
                raise LookupError(f"{page}.md has no row that begins with {cell!r}")
            tested_recipes.add(row)
        return test

    return declare


@cache
def recipes_of(page: str) -> frozenset[Recipe]:
    """Return the rows of all tables of a page, without the heads of the tables."""
    lines = (DOCS / "how-to" / f"{page}.md").read_text(encoding="utf-8").splitlines()
    rows = set()
    for line, next_line in zip(lines, [*lines[1:], ""], strict=True):
        is_head = next_line.startswith("|---")
        if line.startswith("| ") and not is_head:
            rows.add(Recipe(page, _CELL_BORDER.split(line)[1].strip()))
    return frozenset(rows)


def table(spark: SparkSession, columns: str, *rows: tuple[Any, ...]) -> DataFrame:
    """Return a static DataFrame, which is a stream that has ended.

    Args:
        spark: The session.
        columns: Names and types, such as `"k string, at bigint"`.
        rows: Its rows.
    """
    return spark.createDataFrame(list(rows), columns)


def readings(*times: int, key: str | None = "a") -> list[tuple[str | None, int, float]]:
    """Return a row of `READINGS` at each of some times, of one key and with a value that does not matter."""
    return [(key, time, 0.0) for time in times]


def rows_of(query: Query, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the results of a static query, sorted.

    Args:
        query: Over integer times, or timestamps, which are shown in microseconds.
        columns: Their names; `start` and `end` are those of its lifetime if it has one, else of its window.
    """
    return sorted((_values(row, columns) for row in collect(query.results())), key=_sortable)


def columns_of(rows: Iterable[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the rows that a streaming job gave, in their order."""
    return [tuple(row[name] for name in columns) for row in rows]


def _values(row: dict[str, Any], columns: Iterable[str]) -> tuple[Any, ...]:
    """Return columns of a result; those that it does not have are in its lifetime or its window."""
    extent = row.get("lifetime") or row.get("window") or {}
    return tuple(row[name] if name in row else extent[name] for name in columns)


def _sortable(row: tuple[Any, ...]) -> tuple[tuple[bool, Any], ...]:
    """Return what a row is sorted by: its values, with nulls last."""
    return tuple((value is None, "" if value is None else value) for value in row)
