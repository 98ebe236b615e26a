"""A table with declared columns: these are compared with its own, and are all that a query sees."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import muntin_stats as stats
from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import events

TABLE = pa.table(
    {
        "station": ["a", "a", "b"],
        "at": [1, 12, 3],
        "km": [1.5, 2.0, 4.0],
        "tags": [["x"], [], None],
        "odd": pa.array([1, 2, 3], pa.uint64()),
    }
)


def test_a_query_over_declared_columns_gives_the_same_rows() -> None:
    def rows(**arguments: Any) -> list[dict[str, Any]]:
        windows = events(TABLE, key="station", at="at", **arguments).window(tumbling(10))
        table: Any = windows.aggregate(km=stats.sum("km * 2"), n=stats.count()).results()
        results: list[dict[str, Any]] = table.to_pylist()
        return results

    assert rows(schema="km double, AT bigint, station string") == rows()


def test_columns_that_are_not_declared_are_not_there() -> None:
    rides = events(TABLE, key="station", at="at", schema="station string, at bigint, km double")
    assert rides.to_query().results().column_names == ["station", "lifetime", "km"]
    with pytest.raises(QueryError, match="'tags', and the input has no such column\n  it has station, at, km"):
        rides.window(tumbling(10)).aggregate(n=stats.distinct_count("tags"))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("at bigint, speed double", "declares 'speed', and the input has no such column\n  it has station, at, km"),
        ("at int", "declares 'at' as int, and in the input it is bigint"),
        ("at bigint, km float", "declares 'km' as float, and in the input it is double"),
        ("at bigint, tags array<int>", "declares 'tags' as array<int>, and in the input it is array<string>"),
        ("at bigint, tags string", "declares 'tags' as string, and in the input it is array<string>"),
        ("at bigint, odd bigint", "odd"),
    ],
)
def test_other_columns_than_those_of_the_table_are_refused(schema: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        events(TABLE, at="at", schema=schema)
