"""Rows that are compared with those that are expected, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from muntin_engine.state.frozen_values import freeze


def unlike(found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return in words which rows are missing, and which are there and not expected; nothing if they are alike.

    Args:
        found: The rows.
        expected: Dicts with the columns that matter; a value may be `pytest.approx(...)`.

    Example:
        >>> unlike([{"n": 1, "key": "a"}, {"n": 3, "key": "b"}], [{"n": 1}, {"n": 2}])
        ["  missing     {'n': 2}", "  unexpected  {'n': 3}"]
    """
    wanted, others = list(expected), list(found)
    columns = list(dict.fromkeys(name for row in wanted for name in row))
    missing = []
    for row in wanted:
        place = next((at for at, other in enumerate(others) if _is_like(other, row)), None)
        if place is None:
            missing.append(row)
        else:
            others.pop(place)
    shown = [{name: row[name] for name in columns if name in row} or dict(row) for row in others]
    return [*(f"  missing     {dict(row)}" for row in missing), *(f"  unexpected  {row}" for row in shown)]


def unlike_exactly(found: Iterable[Mapping[str, Any]], expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the same of rows whose columns all matter, where NaN equals itself.

    Cost: one look-up per row.
    """
    rows = {"missing    ": [*expected], "unexpected ": [*found]}
    there, wanted = (Counter(map(freeze, some)) for some in reversed(rows.values()))
    named = {freeze(row): row for some in rows.values() for row in some}
    surplus = {"missing    ": wanted - there, "unexpected ": there - wanted}
    return [f"  {kind} {named[name]}" for kind, names in surplus.items() for name in names.elements()]


def _is_like(row: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in row and row[name] == value for name, value in wanted.items())
