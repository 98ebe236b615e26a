"""The kinds of plain values that MessagePack does not know, each with a function that writes it, and one that reads."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from muntin.errors.safe_text import safe_repr
from muntin_engine.errors import StateError

# The codes of the kinds, which are part of the format: a new kind gets the next number.
_TUPLE, _SET, _FROZENSET, _DEQUE, _INTEGER, _DECIMAL, _FRACTION = range(1, 8)
_DATE, _MOMENT, _INTERVAL, RECORD, _PAIRS, _COUNTER, NUMBER, COLUMN = range(8, 16)
_MICROSECOND: Final = timedelta(microseconds=1)

DEEPEST: Final = 100
"""The most values of extension types, such as tuples, sets and records, that a value may be nested in."""

MOST_BITS: Final = 2**16
"""The bits of the largest integers stored: to read a fraction of larger ones takes seconds or longer."""

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # times are written as their clock shows them, beside the zone


def _time_parts(value: datetime) -> list[object]:
    """Return a time as plain data: the microseconds that its zone's clock shows, and the zone as it is written.

    A third part, 1, says that the clock shows the hour for the second time, when it is put back.
    """
    origin, zone = _UTC_CLOCK if value.tzinfo is UTC else _clock_of(value.tzinfo, value)
    # Python subtracts times of one zone as the zone's clock shows them, without their offsets.
    microseconds = (value - origin) // _MICROSECOND
    return [microseconds, zone, 1] if value.fold else [microseconds, zone]


def _clock_of(zone: tzinfo | None, value: datetime) -> tuple[datetime, object]:
    """Return the origin of a zone's clock, and the zone as it is written.

    A zone is written as None if there is none, as 0 for UTC, as its offset with its name, or as its name alone.

    Args:
        zone: The zone.
        value: The time, for the error.
    """
    if zone in _CLOCKS and type(zone) is not timezone:  # equal offsets may have different names
        return _CLOCKS[zone]
    if type(zone) is timezone:
        offset = zone.utcoffset(None)
        name = zone.tzname(None)
        parts: list[object] = [offset // _MICROSECOND]
        if name != timezone(offset).tzname(None):  # the zone has a name of its own
            parts.append(name)
        return _EPOCH.replace(tzinfo=zone), parts
    if type(zone) is ZoneInfo and zone.key is not None:
        _CLOCKS[zone] = _EPOCH.replace(tzinfo=zone), zone.key
        return _CLOCKS[zone]
    raise StateError(
        f"{safe_repr(value)} cannot be stored: its zone is a {type(zone).__module__}.{type(zone).__qualname__}\n"
        "  expected: a time without a zone, in UTC, with a fixed offset (datetime.timezone), or in a zone of the IANA\n"
        "  database: value.astimezone(zoneinfo.ZoneInfo('Europe/Berlin'))"
    )


_UTC_CLOCK: Final = _EPOCH.replace(tzinfo=UTC), 0
"""The origin of the clock of UTC, and UTC as it is written."""

_CLOCKS: Final[dict[tzinfo | None, tuple[datetime, object]]] = {None: (_EPOCH, None)}
"""The origin of the clock, and the zone as it is written: of no zone, and of IANA zones that were written so far."""


def _time_of(parts: list[Any]) -> datetime:
    """Return the time that `_time_parts` wrote."""
    microseconds, zone, *fold = parts
    has_fixed_offset = isinstance(zone, list)  # the offset, and the name of the zone if it has one
    origin = _EPOCH.replace(tzinfo=_fixed_zone(*zone)) if has_fixed_offset else _origin_of(zone)
    value = origin + timedelta(microseconds=microseconds)
    return value.replace(fold=1) if fold else value


@lru_cache(maxsize=1024)
def _origin_of(zone: int | str | None) -> datetime:
    """Return the origin of a zone's clock.

    Args:
        zone: The zone as it is written: None for no zone, 0 for UTC, or a name.
    """
    if zone is None:
        return _EPOCH
    return _EPOCH.replace(tzinfo=ZoneInfo(zone) if isinstance(zone, str) else UTC)


def _fixed_zone(offset: int, *name: str) -> timezone:
    """Return a zone with a fixed offset in microseconds, and with a name if it has one of its own."""
    return timezone(timedelta(microseconds=offset), *name)


def too_deep() -> StateError:
    """Return the error that says that a value is nested too deeply."""
    return StateError(
        f"a value cannot be stored that is nested more than {DEEPEST} deep\n"
        f"  expected: at most {DEEPEST} tuples, sets and records in each other, or 1,000 lists and dicts\n"
        "  flatten it: keep a list or a dict of nodes, which refer to each other by their place or name"
    )


def _bytes_of(value: int) -> bytes:
    """Return an integer of more than 64 bits as bytes.

    Raises:
        StateError: The integer has more than `MOST_BITS` bits.
    """
    if value.bit_length() > MOST_BITS:
        raise StateError(
            f"an integer of {value.bit_length():,} bits cannot be stored\n"
            f"  expected: at most {MOST_BITS:,} bits, in fractions too\n"
            "  round it: keep a float, or a Decimal of as many digits as the result needs"
        )
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _integer(data: bytes) -> int:
    """Return the integer that `_bytes_of` wrote.

    Raises:
        StateError: The integer is larger than any that `_bytes_of` writes.
    """
    if len(data) > MOST_BITS // 8 + 1:
        raise StateError(f"the state holds an integer of {len(data):,} bytes, which Muntin does not write")
    return int.from_bytes(data, "little", signed=True)


def _fraction(parts: list[int]) -> Fraction:
    """Return a fraction from its numerator and denominator."""
    numerator, denominator = parts
    return Fraction(numerator, denominator)


def _pairs(value: dict[object, object]) -> list[list[object]]:
    """Return the names and items of a dict as pairs."""
    return [list(pair) for pair in value.items()]


WRITERS: Final[dict[type, tuple[int, Callable[[Any], Any]]]] = {
    tuple: (_TUPLE, list),
    set: (_SET, list),
    frozenset: (_FROZENSET, list),
    deque: (_DEQUE, list),
    int: (_INTEGER, _bytes_of),
    Decimal: (_DECIMAL, str),
    Fraction: (_FRACTION, lambda value: [value.numerator, value.denominator]),
    date: (_DATE, date.toordinal),
    datetime: (_MOMENT, _time_parts),
    timedelta: (_INTERVAL, lambda value: value // _MICROSECOND),
    OrderedDict: (_PAIRS, _pairs),
    defaultdict: (_PAIRS, _pairs),
    Counter: (_COUNTER, _pairs),
}
"""The code of the kind by type, with the function that makes simpler data of a value. Only huge integers need it."""

READERS: Final[dict[int, Callable[[Any], Any]]] = {
    _TUPLE: tuple,
    _SET: set,
    _FROZENSET: frozenset,
    _DEQUE: deque,
    _INTEGER: _integer,
    _DECIMAL: Decimal,
    _FRACTION: _fraction,
    _DATE: date.fromordinal,
    _MOMENT: _time_of,
    _INTERVAL: lambda value: timedelta(microseconds=value),
    _PAIRS: dict,
    _COUNTER: lambda pairs: Counter(dict(pairs)),
    NUMBER: lambda value: value,
}
"""The function that makes a value of simpler data again, by the code of the kind."""
