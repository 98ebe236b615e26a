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
from itertools import chain
from typing import Any, Final

from muntin.axis import EARLIEST, INFINITY

_SPECIAL: Final[dict[int | None, int]] = {None: 0, EARLIEST: 1, INFINITY: 2}
"""The codes of nulls and of the ends of the axis."""
_FIRST: Final = len(_SPECIAL)
"""The code of the least integer of a column."""
_WIDTHS: Final = ((1, "B"), (2, "H"), (4, "I"), (8, "Q"))
"""The bytes of a code, and their type code in `array`."""
_EXACT: Final = 2**53
"""From here on a number of JavaScript is not exact."""


def integers(values: Iterable[int | None]) -> dict[str, Any]:
    """Return integers and nulls as codes in base64: the number of steps from the least one, where a step divides all.

    The ends of the axis have codes of their own, so that one open end does not make all codes wide. Integers that do
    not fit into 64 bits are written as text.

    Example:
        >>> integers([1_700_000_000_000_000, 1_700_000_060_000_000, None, INFINITY])
        {'least': '1700000000000000', 'step': '60000000', 'width': 1, 'codes': 'AwQAAg=='}
    """
    column = list(values)
    plain = [value for value in column if value is not None and value not in _SPECIAL]
    least = min(plain, default=0)
    # Times are mostly multiples of a second or a minute: counted in these, their codes are short.
    step = math.gcd(*(value - least for value in plain)) or 1
    codes: list[int] = []
    for value in column:
        if value is None or value in _SPECIAL:
            codes.append(_SPECIAL[value])
        else:
            codes.append(_FIRST + (value - least) // step)
    largest = max(codes, default=0)
    for width, kind in _WIDTHS:
        if largest < 256**width:
            return {"least": str(least), "step": str(step), "width": width, "codes": _text(array(kind, codes))}
    return {"digits": [None if value is None else str(value) for value in column]}


def lists(column: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return lists of integers as their lengths, and the members of all one after the other."""
    return {"lengths": integers(map(len, column)), "members": integers(chain.from_iterable(column))}


def words(column: Sequence[Any]) -> dict[str, Any]:
    """Return values of any kind as a dictionary: the distinct values, and for each row the number of its value.

    Example:
        >>> words(["late", "late", None])
        {'words': ['late', None], 'numbers': {'least': '0', 'step': '1', 'width': 1, 'codes': 'AwME'}}
    """
    word_numbers: dict[tuple[type, Any], int] = {}  # by type, too: 1, 1.0 and True are equal
    numbers: list[int] = []
    for value in column:
        word = _spell(value)
        numbers.append(word_numbers.setdefault((type(word), word), len(word_numbers)))
    return {"words": [word for _, word in word_numbers], "numbers": integers(numbers)}


def values(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Transpose rows into columns by name; a row may lack some of the names."""
    columns: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(chain.from_iterable(rows)):
        lacking = [number for number, row in enumerate(rows) if name not in row]
        columns[name] = _column([row.get(name) for row in rows], lacking)
    return columns


def _column(column: list[Any], lacking: list[int]) -> dict[str, Any]:
    """Return a column as floats, integers or words.

    Args:
        column: Values of all rows, null in the rows that lack the column.
        lacking: Numbers of the rows that lack the column.
    """
    if lacking:
        return {**words(column), "lacks": integers(lacking)}
    kinds = {type(value) for value in column}
    if kinds == {float}:
        return {"floats": _text(array("d", column))}
    if kinds == {int} and all(EARLIEST < value < INFINITY for value in column):
        return integers(column)
    return words(column)


def _spell(value: Any) -> str | int | float | bool | None:
    """Return a value as JSON and JavaScript have it, or as text where they would change it."""
    if value is None or isinstance(value, bool | str):
        return value  # a truth is an `int`, too, and is not to become a number
    if isinstance(value, int):
        return int(value) if abs(value) < _EXACT else str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _text(numbers: array[Any]) -> str:
    """Return numbers in base64, the lowest byte first, as JavaScript's typed arrays have them nearly everywhere."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode("ascii")
