"""Columns of values as JSON: numbers in as few bytes as they need, repeated values once.

`assets/data.js` reads them.
"""

from __future__ import annotations

import math
import sys
from array import array
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final

from muntin.axis import EARLIEST, INFINITY

_SPECIAL: Final[dict[int | None, int]] = {None: 0, EARLIEST: 1, INFINITY: 2}
_FIRST: Final = len(_SPECIAL)
_WIDTHS: Final = ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))
_EXACT: Final = 2**53
"""From here on a number of JavaScript is not exact."""


def integers(values: Iterable[int | None]) -> dict[str, Any]:
    """Return integers, or none in their places, as base64: how many steps each is from the least one.

    The ends of the axis have codes of their own, so that one open end does not make all numbers wide. Integers that do
    not fit into 64 bits are written as text.

    Example:
        >>> integers([1_700_000_000_000_000, 1_700_000_060_000_000, None, INFINITY])
        {'least': '1700000000000000', 'step': '60000000', 'width': 1, 'codes': 'AwQAAg=='}
    """
    column = list(values)
    plain = [value for value in column if value is not None and value not in _SPECIAL]
    least = min(plain, default=0)
    step = math.gcd(*(value - least for value in plain)) or 1
    codes = [
        _SPECIAL[value] if value is None or value in _SPECIAL else _FIRST + (value - least) // step for value in column
    ]
    largest = max(codes, default=0)
    for width, kind in _WIDTHS:
        if largest < 256**width:
            return {"least": str(least), "step": str(step), "width": width, "codes": _text(array(kind, codes))}
    return {"digits": [None if value is None else str(value) for value in column]}


def lists(column: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return lists of integers as their lengths, and all their members."""
    return {"lengths": integers(map(len, column)), "members": integers(number for each in column for number in each)}


def words(column: Sequence[Any]) -> dict[str, Any]:
    """Return values of any kind as those that differ, and the number of one for each place.

    Example:
        >>> words(["late", "late", None])
        {'words': ['late', None], 'numbers': {'least': '0', 'step': '1', 'width': 1, 'codes': 'AwME'}}
    """
    found: dict[tuple[type, Any], int] = {}
    spelled = [_spell(value) for value in column]
    numbers = [found.setdefault((type(value), value), len(found)) for value in spelled]
    return {"words": [value for _, value in found], "numbers": integers(numbers)}


def values(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what rows hold, as a column for each name; a row need not have all."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([name in row for row in rows], [row.get(name) for row in rows]) for name in names}


def _column(is_there: list[bool], column: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value, has in zip(column, is_there, strict=True) if has}
    if kinds == {float} and all(is_there):
        return {"floats": _text(array("d", column))}
    if kinds == {int} and all(is_there) and all(EARLIEST < value < INFINITY for value in column):
        return integers(column)
    lacks = [number for number, has in enumerate(is_there) if not has]
    return {**words(column), **({"lacks": integers(lacks)} if lacks else {})}


def _spell(value: Any) -> str | int | float | bool | None:
    """Return a value as JSON and JavaScript have it, or as text where they would change it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < _EXACT else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _text(numbers: array[Any]) -> str:
    if sys.byteorder == "big":
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode("ascii")
