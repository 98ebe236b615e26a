"""Rows that a test feeds: values that fit their columns, and those that do not."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from muntin.errors import QueryError
from muntin_engine.backends.local.streams.fed_rows import table_of
from muntin_engine.backends.local.streams.stream_schema import schema_of

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("data_type", "value", "read_value"),
    [
        ("boolean", True, True),
        ("tinyint", -128, -128),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("double", 1, 1.0),
        ("float", 0.5, 0.5),
        ("decimal(4,1)", "1.25", Decimal("1.3")),
        ("decimal(4,1)", Decimal("999.9"), Decimal("999.9")),
        ("decimal(4,1)", 2, Decimal("2.0")),
        ("string", "text", "text"),
        ("string", 1.5, "1.5"),
        ("string", [1, "a"], '[1,"a"]'),
        ("binary", b"\0", b"\0"),
        ("binary", "AAE=", b"\0\1"),
        ("date", "2024-05-01", date(2024, 5, 1)),
        ("date", date(2024, 5, 1), date(2024, 5, 1)),
        ("timestamp", "2024-05-01T12:00:00Z", NOON),
        ("timestamp", "2024-05-01 14:00:00+02:00", NOON),
        ("timestamp", "2024-05-01T12:00", NOON),
        ("timestamp", NOON.astimezone(timezone(timedelta(hours=5))), NOON),
        ("timestamp_ntz", "2024-05-01T12:00:00", NOON.replace(tzinfo=None)),
        ("interval day to second", timedelta(seconds=1), timedelta(seconds=1)),
        ("array<int>", (1, None), [1, None]),
        ("map<string, double>", {"a": 1}, [("a", 1.0)]),
        ("struct<x: int, y: date>", {"y": "2024-05-01"}, {"x": None, "y": date(2024, 5, 1)}),
    ],
)
def test_a_value_is_read_as_its_column_says(data_type: str, value: object, read_value: object) -> None:
    table = table_of([{"x": value}, {}], schema_of(f"x {data_type}"))
    assert table.column("x").to_pylist() == [read_value, None]


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("boolean", 1, "True or False"),
        ("int", True, "a whole number from -2147483648 to 2147483647"),
        ("int", 1.0, "a whole number"),
        ("int", 2**31, "a whole number"),
        ("double", "1", "a number"),
        ("double", 10**400, "a number of at most 1.8e308"),
        ("decimal(4,1)", 1000, "at most 3 digits before the point"),
        ("decimal(4,1)", float("nan"), "at most 3 digits"),
        ("decimal(4,1)", "one", "at most 3 digits"),
        ("string", object(), "text"),
        ("binary", "?", "bytes, or their text in base64"),
        ("binary", "\u00e4", "bytes, or their text in base64"),
        ("date", "yesterday", "a date, or a text such as '2024-05-01'"),
        ("date", NOON, "a date"),
        ("timestamp", 5, "a datetime, or a text such as '2024-05-01T08:00:00Z'"),
        ("timestamp", "noon", "a datetime"),
        ("timestamp", "0001-01-01T00:00:00+05:00", "a time of the years 1 to 9999 in UTC"),
        ("timestamp_ntz", NOON, "a time without a zone"),
        ("interval second", 5, "a timedelta"),
        ("interval second", timedelta.max, "a timedelta of at most 292,000 years"),
        ("array<int>", "12", "a list"),
        ("array<int>", ["a"], "a whole number"),
        ("map<string, int>", [1], "a dict"),
        ("map<string, int>", {None: 1}, "a dict whose keys are not None"),
        ("struct<x: int>", {"y": 1}, "a dict with the keys x, of which any may be missing"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(data_type: str, value: Any, expected: str) -> None:
    with pytest.raises(QueryError, match="the column x is of type") as caught:
        table_of([{"x": value}], schema_of(f"x {data_type}"))
    assert expected in str(caught.value)
