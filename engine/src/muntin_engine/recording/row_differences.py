"""The differences between rows and those that are expected, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from muntin_engine.state.frozen_values import freeze


def row_differences(rows: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the expected rows that are missing and the rows that were not expected; nothing if they are alike.

    Args:
        rows: The rows.
        expected: Dicts with the columns that matter; a value may be `pytest.approx(...)`.

    Example:
        >>> row_differences([{"n": 1, "key": "a"}, {"n": 3, "key": "b"}], [{"n": 1}, {"n": 2}])
        ["  missing     {'n': 2}", "  unexpected  {'n': 3}"]
    """
    # Each expected row takes the first row that has its columns. Rows have no names here: a value may be approximate.
    expected_rows = list(expected)
    unmatched = list(rows)
    missing: list[Mapping[str, Any]] = []
    for expected_row in expected_rows:
        place = _place_of(expected_row, unmatched)
        if place is None:
            missing.append(expected_row)
        else:
            unmatched.pop(place)

    # Of unexpected rows only the columns that matter are shown.
    columns = list(dict.fromkeys(name for row in expected_rows for name in row))
    differences = [f"  missing     {dict(row)}" for row in missing]
    for row in unmatched:
        shown = {name: row[name] for name in columns if name in row}
        differences.append(f"  unexpected  {shown or dict(row)}")
    return differences


def exact_row_differences(rows: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the differences of complete rows, where NaN equals NaN.

    Cost: one look-up per row.
    """
    row_by_name: dict[Hashable, Mapping[str, Any]] = {}
    expected_count = _count_rows(expected, row_by_name)
    count = _count_rows(rows, row_by_name)
    missing = [f"  missing     {row_by_name[name]}" for name in (expected_count - count).elements()]
    unexpected = [f"  unexpected  {row_by_name[name]}" for name in (count - expected_count).elements()]
    return missing + unexpected


def _count_rows(rows: Iterable[Mapping[str, Any]], row_by_name: dict[Hashable, Mapping[str, Any]]) -> Counter[Hashable]:
    """Count rows by their frozen values, and add a row of each to a dict."""
    count: Counter[Hashable] = Counter()
    for row in rows:
        name = freeze(row)
        count[name] += 1
        row_by_name[name] = row
    return count


def _place_of(expected: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the place of the first row that has the expected columns; None if there is none."""
    for place, row in enumerate(rows):
        if all(name in row and row[name] == value for name, value in expected.items()):
            return place
    return None
