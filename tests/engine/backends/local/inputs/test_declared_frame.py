"""A table with declared columns: these are compared with its own, and are all that a query sees."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import muntin_stats as stats
from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import EventStream, events

TABLE = pa.table(
    {
        "station": ["a", "a", "b"],
        "at": [1, 12, 3],
        "km": [1.5, 2.0, 4.0],
        "tags": [["x"], [], None],
        "rank": pa.array([1, 2, 3], pa.uint64()),
    }
)


def test_a_query_over_declared_columns_gives_the_same_rows() -> None:
    def results(rides: EventStream) -> Any:
        return rides.window(tumbling(10)).aggregate(km=stats.sum("km * 2"), n=stats.count()).results()

    declared = events(TABLE, key="station", at="at", schema="km double, AT bigint, station string")
    undeclared = events(TABLE, key="station", at="at")
    assert results(declared).to_pylist() == results(undeclared).to_pylist()


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
        ("at bigint, rank bigint", "declares 'rank' as bigint, and in the input it is decimal"),
    ],
)
def test_other_columns_than_those_of_the_table_are_refused(schema: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        events(TABLE, at="at", schema=schema)
