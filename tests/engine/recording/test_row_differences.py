"""Differences of rows are listed whatever their order, and rows that occur twice count twice."""

from __future__ import annotations

from math import nan

from muntin_engine.recording.row_differences import exact_row_differences, row_differences


def test_rows_are_compared_by_the_columns_that_are_expected() -> None:
    rows = [{"n": 2, "key": "b"}, {"n": 1, "key": "a"}]
    assert row_differences(rows, expected=[{"n": 1}, {"n": 2}]) == []
    assert row_differences(rows, expected=[{"n": 1}, {"n": 1}]) == ["  missing     {'n': 1}", "  unexpected  {'n': 2}"]
    assert row_differences(rows, expected=[]) == [f"  unexpected  {row}" for row in rows]


def test_nan_equals_nan_in_rows_of_any_order() -> None:
    assert exact_row_differences([{"x": nan}, {"x": 1}], expected=[{"x": 1}, {"x": nan}]) == []


def test_a_row_that_occurs_twice_counts_twice() -> None:
    assert exact_row_differences([{"x": 1}, {"x": 1}], expected=[{"x": 1}]) == ["  unexpected  {'x': 1}"]


def test_an_integer_is_not_the_same_value_as_a_float() -> None:
    differences = exact_row_differences([{"x": 1}], expected=[{"x": 1.0}])
    assert differences == ["  missing     {'x': 1.0}", "  unexpected  {'x': 1}"]
