"""The kinds of plain values that MessagePack does not know, each with how it is written and read."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from muntin import instant, moment
from muntin_engine.errors import StateError

_TUPLE, _SET, _FROZENSET, _DEQUE, _INTEGER, _DECIMAL, _FRACTION = range(1, 8)
_DATE, _MOMENT, _INTERVAL, RECORD, _PAIRS, _COUNTER, NUMBER, COLUMN = range(8, 16)
_MICROSECOND: Final = timedelta(microseconds=1)

DEEPEST: Final = 100
"""Tuples, sets, records and the like may be in so many others."""

MOST_BITS: Final = 2**16
"""Larger integers are not stored: to read a fraction of such takes seconds, and of much larger ones for ever."""

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # stands for naive datetimes, which stay naive


def _ticks_of(value: datetime) -> int:
    return instant(value) if value.tzinfo else (value - _EPOCH) // _MICROSECOND


def too_deep() -> StateError:
    """Return the error that says that a value is nested too deeply."""
    return StateError(
        f"a value cannot be stored that is nested more than {DEEPEST} deep\n"
        f"  expected: at most {DEEPEST} tuples, sets and records in each other, or 1,000 lists and dicts\n"
        "  flatten it: keep a list or a dict of nodes, which refer to each other by their place or name"
    )


def _bytes_of(value: int) -> bytes:
    if value.bit_length() > MOST_BITS:
        raise StateError(
            f"an integer of {value.bit_length():,} bits cannot be stored\n"
            f"  expected: at most {MOST_BITS:,} bits, in fractions too\n"
            "  round it: keep a float, or a Decimal of as many digits as the result needs"
        )
    return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)


def _integer(data: bytes) -> int:
    if len(data) > MOST_BITS // 8 + 1:
        raise StateError(f"the state holds an integer of {len(data):,} bytes, which nobody wrote")
    return int.from_bytes(data, "little", signed=True)


def _fraction(parts: list[int]) -> Fraction:
    numerator, denominator = parts
    return Fraction(numerator, denominator)


def _pairs(value: dict[object, object]) -> list[list[object]]:
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
    datetime: (_MOMENT, lambda value: [value.tzinfo is not None, _ticks_of(value)]),
    timedelta: (_INTERVAL, lambda value: value // _MICROSECOND),
    OrderedDict: (_PAIRS, _pairs),
    defaultdict: (_PAIRS, _pairs),
    Counter: (_COUNTER, _pairs),
}
"""By type, the code of the kind and what makes simpler data of a value. Of integers, the huge ones alone."""

READERS: Final[dict[int, Callable[[Any], Any]]] = {
    _TUPLE: tuple,
    _SET: set,
    _FROZENSET: frozenset,
    _DEQUE: deque,
    _INTEGER: _integer,
    _DECIMAL: Decimal,
    _FRACTION: _fraction,
    _DATE: date.fromordinal,
    _MOMENT: lambda value: moment(value[1]) if value[0] else _EPOCH + timedelta(microseconds=value[1]),
    _INTERVAL: lambda value: timedelta(microseconds=value),
    _PAIRS: dict,
    _COUNTER: lambda pairs: Counter(dict(pairs)),
    NUMBER: lambda value: value,
}
"""By the code of the kind, what makes a value of simpler data again."""
