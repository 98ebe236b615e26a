"""Rows of an output as a test compares them: timestamps are text in UTC, `start` and `end` stand for the window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from muntin_engine.recording.row_differences import row_differences

Row: TypeAlias = dict[str, Any]
"""A row of an output: timestamps are text in UTC, and `start` and `end` stand for the window."""


def plain_row(row: Mapping[str, Any]) -> Row:
    """Return a row with its timestamps as text, and `start` and `end` in the place of its window or its lifetime."""
    extent = _extent_of(row)
    plain: Row = {}
    for name, value in row.items():
        if name == extent:
            plain.update(_with_texts(value))
        else:
            plain[name] = _with_texts(value)
    return plain


def _extent_of(row: Mapping[str, Any]) -> str | None:
    """Return the name of the column that `start` and `end` are to replace: the window or the lifetime.

    None if the row has neither, or has a column `start` or `end` of its own.
    """
    if "start" in row or "end" in row:
        return None
    for name in ("window", "lifetime"):
        if isinstance(row.get(name), Mapping):
            return name
    return None


def _with_texts(value: Any) -> Any:
    """Return a value with its timestamps as text in UTC."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            return value.isoformat()
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {name: _with_texts(part) for name, part in value.items()}
    return [_with_texts(part) for part in value] if isinstance(value, list) else value


def assert_rows(rows: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> None:
    """Assert that rows are the expected ones, in any order; only columns that the expected rows name are compared.

    Args:
        rows: The rows, such as `job.results`.
        expected: Dicts with the columns that matter; a value may be `pytest.approx(...)`.

    Raises:
        AssertionError: Rows are missing, or there are others; it lists both.
    """
    differences = row_differences(rows, expected)
    if differences:
        raise AssertionError("\n".join(["the rows differ", *differences]))
