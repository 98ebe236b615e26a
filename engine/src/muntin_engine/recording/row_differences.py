"""The differences between rows and expected rows, whose order does not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import Any

from muntin_engine.state.frozen_values import freeze


def row_differences(rows: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the expected rows that are missing, and the rows that were not expected; an empty list if there are none.

    Args:
        rows: The rows.
        expected: The expected rows, with only the columns that matter; a value may be `pytest.approx(...)`.

    Example:
        >>> row_differences([{"n": 1, "key": "a"}, {"n": 3, "key": "b"}], [{"n": 1}, {"n": 2}])
        ["  missing     {'n': 2}", "  unexpected  {'n': 3}"]
    """
    # Each expected row is matched with the first row that equals it, one by one: values that are approximate cannot be
    # looked up.
    expected_rows = list(expected)
    unmatched_rows = list(rows)
    missing_rows: list[Mapping[str, Any]] = []
    for expected_row in expected_rows:
        place = _place_of(expected_row, unmatched_rows)
        if place is None:
            missing_rows.append(expected_row)
        else:
            unmatched_rows.pop(place)

    # Unexpected rows are shown with only the columns that matter.
    columns = list(dict.fromkeys(chain.from_iterable(expected_rows)))  # each name once, in order
    differences = [f"  missing     {dict(row)}" for row in missing_rows]
    for row in unmatched_rows:
        shown_values = {name: row[name] for name in columns if name in row}
        differences.append(f"  unexpected  {shown_values or dict(row)}")
    return differences


def exact_row_differences(rows: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the differences as `row_differences` does, but of rows that name all columns; NaN equals NaN.

    Cost: one look-up per row.
    """
    row_by_values: dict[Hashable, Mapping[str, Any]] = {}
    expected_count = _count_rows(expected, row_by_values)
    count = _count_rows(rows, row_by_values)
    missing = [f"  missing     {row_by_values[values]}" for values in (expected_count - count).elements()]
    unexpected = [f"  unexpected  {row_by_values[values]}" for values in (count - expected_count).elements()]
    return missing + unexpected


def _count_rows(
    rows: Iterable[Mapping[str, Any]], row_by_values: dict[Hashable, Mapping[str, Any]]
) -> Counter[Hashable]:
    """Count equal rows.

    Args:
        rows: The rows.
        row_by_values: A dict that gets one of each kind of equal rows, by their frozen values.

    Returns:
        The number of equal rows by their frozen values.
    """
    count: Counter[Hashable] = Counter()
    for row in rows:
        values = freeze(row)
        count[values] += 1
        row_by_values[values] = row
    return count


def _place_of(expected: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the place of the first row that has the expected values; None if no row has."""
    for place, row in enumerate(rows):
        if all(name in row and row[name] == value for name, value in expected.items()):
            return place
    return None
