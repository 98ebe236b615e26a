"""The kinds of plain values that MessagePack does not know, each with how it is written and read."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from muntin import instant, moment

_TUPLE, _SET, _FROZENSET, _DEQUE, _INTEGER, _DECIMAL, _FRACTION = range(1, 8)
_DATE, _MOMENT, _INTERVAL, RECORD, _PAIRS, _COUNTER, NUMBER, COLUMN = range(8, 16)
_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # stands for naive datetimes, which stay naive


def _ticks_of(value: datetime) -> int:
    return instant(value) if value.tzinfo else (value - _EPOCH) // _MICROSECOND


def _pairs(value: dict[Any, Any]) -> list[list[Any]]:
    return [list(pair) for pair in value.items()]


WRITERS: Final[dict[type, tuple[int, Callable[[Any], Any]]]] = {
    tuple: (_TUPLE, list),
    set: (_SET, list),
    frozenset: (_FROZENSET, list),
    deque: (_DEQUE, list),
    int: (_INTEGER, str),
    Decimal: (_DECIMAL, str),
    Fraction: (_FRACTION, str),
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
    _INTEGER: int,
    _DECIMAL: Decimal,
    _FRACTION: Fraction,
    _DATE: date.fromordinal,
    _MOMENT: lambda value: moment(value[1]) if value[0] else _EPOCH + timedelta(microseconds=value[1]),
    _INTERVAL: lambda value: timedelta(microseconds=value),
    _PAIRS: dict,
    _COUNTER: lambda pairs: Counter(dict(pairs)),
    NUMBER: lambda value: value,
}
"""By the code of the kind, what makes a value of simpler data again."""
