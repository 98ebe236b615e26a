"""Stand-ins for values in sketches, which hash only numbers and text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from muntin import instant

_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**63 - 1
_MICROSECOND: Final = timedelta(microseconds=1)
_NO_TEXT: Final = "\0no text"


def stand_in(value: object) -> int | float | str:
    """Return a number of 64 bits, or a text of at least one character, that is the same for equal values of one type.

    Text stands for itself, and so do floats and ints of 64 bits. Larger ints and Decimals are represented by their
    hash, which has 61 bits and, unlike that of text, is the same in every process. Datetimes without a zone count as
    UTC.

    Raises:
        TypeError: The value is of another type than those above.

    Example:
        >>> stand_in(date(1970, 1, 2)), stand_in(b"ab"), stand_in(timedelta(seconds=1))
        (719164, 'ab', 1000000)
    """
    convert = _CONVERSIONS.get(type(value)) or _inherited_conversion(type(value))
    return convert(value)


def _inherited_conversion(cls: type) -> Callable[[Any], int | float | str]:
    """Return the conversion of the closest base class, as for a named tuple's or an enumeration's values."""
    for ancestor in cls.__mro__:
        if ancestor in _CONVERSIONS:
            return _CONVERSIONS[ancestor]
    raise TypeError(
        f"values of type {cls.__name__} cannot be counted approximately\n"
        f"  expected: {', '.join(supported.__name__ for supported in _CONVERSIONS)}\n"
        "  to do: count one column, or use stats.distinct_count, which takes anything hashable"
    )


def _of_int(value: int) -> int:
    return value if _SMALLEST <= value <= _LARGEST else hash(value)


def _of_text(value: str) -> str:
    return value or _NO_TEXT  # an empty text would not be counted


def _of_bytes(value: bytes) -> str:
    return _of_text(value.decode("latin-1"))


def _of_datetime(value: datetime) -> int:
    return instant(value if value.tzinfo else value.replace(tzinfo=UTC))


def _of_timedelta(value: timedelta) -> int:
    return value // _MICROSECOND


_CONVERSIONS: Final[dict[type, Callable[[Any], int | float | str]]] = {
    str: _of_text,
    float: float,
    int: _of_int,
    bytes: _of_bytes,
    Decimal: hash,
    datetime: _of_datetime,
    date: date.toordinal,
    timedelta: _of_timedelta,
}
