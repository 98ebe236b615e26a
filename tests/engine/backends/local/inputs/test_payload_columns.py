"""Computed columns of events of tables: in rows that have a payload, and by what the table has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from muntin.errors import QueryError
from muntin_engine import EventStream, events

CHANGES = pa.table(
    {
        "k": ["a", "a", "a", "b", None],
        "at": [1, 5, 1, 7, 20],
        "id": [1, 2, 1, 3, None],
        "change": ["insert", "insert", "retract", "retract", "punctuate"],
        "km": [4.0, 0.0, 4.0, None, None],
        "n": pa.array([1, 5, 1, None, 0], pa.int32()),
        "place": pa.array([{"lat": 1.5}] * 3 + [None] * 2),
    }
)


def rides() -> EventStream:
    """Return the events of the changes."""
    return events(CHANGES, key="k", at="at", id="id", change="change")


def columns_of(stream: EventStream) -> dict[str, list[Any]]:
    """Return the columns of the rows behind a stream, one value for each of the changes."""
    columns: dict[str, list[Any]] = pa.table(stream.df).to_pydict()
    return columns


def test_columns_are_computed_in_rows_that_have_a_payload() -> None:
    # The last row punctuates and has a zero, by which 10 cannot be divided; the retraction before it repeats nothing of
    # its event.
    columns = columns_of(rides().with_columns(each="10 div n", there="n IS NOT NULL"))
    assert columns["each"] == [10, 2, 10, None, None]
    assert columns["there"] == [True, True, True, None, None]
    assert list(columns) == [*CHANGES.column_names, "each", "there"]


def test_a_column_is_replaced_in_its_place_also_by_a_name_in_capitals() -> None:
    columns = columns_of(rides().with_columns(KM="km * 2"))
    assert list(columns) == ["k", "at", "id", "change", "KM", "n", "place"]
    assert columns["KM"] == [8.0, 0.0, 8.0, None, None]


def test_select_keeps_its_columns_and_those_that_make_events() -> None:
    columns = columns_of(rides().select("KM", "place.lat", twice="n * 2"))
    assert list(columns) == ["k", "at", "id", "change", "km", "lat", "twice"]
    assert columns["lat"] == [1.5, 1.5, 1.5, None, None]


def test_a_computed_column_reads_the_columns_computed_before_it() -> None:
    stream = rides().with_columns(a="km + 1").with_columns(b="a + 1").select("b")
    assert columns_of(stream)["b"] == [6.0, 2.0, 6.0, None, None]
    results: Any = stream.to_query(emit="eager").results()
    assert [row["b"] for row in results.to_pylist()] == [2.0]  # the other event is retracted


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rides().with_columns(x="kn / 2"), "'kn'(.|\n)*is not a column of the input"),
        (
            lambda: rides().with_columns(x="kn"),
            r"with_columns reads 'kn', and the input has no such column(.|\n)*it has k, at",
        ),
        (lambda: rides().select("km / 2"), r"this is an expression\n  give it a name: select\(name='km / 2'\)"),
        (lambda: rides().select("km", km="n"), "select makes several columns 'km'"),
        (lambda: rides().with_columns(at="km"), "would replace a column that makes rows events"),
    ],
)
def test_columns_that_cannot_be_computed_are_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        make()
