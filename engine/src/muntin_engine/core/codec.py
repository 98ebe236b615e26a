"""Plain data to bytes and back, without pickle.

MessagePack carries numbers, text, bytes, lists and dicts; extension types carry the rest of what a payload or a
module's state may be made of. Records (dataclasses and named tuples) are written by name and values, and only
those that the query's modules declare can be read back: no bytes in a checkpoint can name code to run.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, get_args

import msgpack

from muntin import instant, moment
from muntin_engine.errors import StateError

_TUPLE, _SET, _FROZENSET, _DEQUE, _INTEGER, _DECIMAL, _FRACTION = range(1, 8)
_DATE, _MOMENT, _INTERVAL, _RECORD, _PAIRS, _COUNTER, _NUMBER = range(8, 15)
_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # stands for naive datetimes, which stay naive


class Codec:
    """Writes and reads the values of one query.

    Example:
        >>> codec = Codec()
        >>> codec.unpack(codec.pack((1, {"a": {2.5}}, None)))
        (1, {'a': {2.5}}, None)
    """

    def __init__(self, records: Iterable[type] = ()) -> None:
        """Prepare for values that may contain these dataclasses and named tuples."""
        self._records = {record.__qualname__: record for record in records}

    def pack(self, value: Any) -> bytes:
        """Return a value as bytes.

        Raises:
            StateError: The value, or a part of it, is not plain data.
        """
        packed: bytes = msgpack.packb(value, default=self._extend, strict_types=True)
        return packed

    def unpack(self, data: bytes) -> Any:
        """Return the value that `pack` wrote.

        Raises:
            StateError: The bytes name a record that no module of the query declares.
        """
        return msgpack.unpackb(data, ext_hook=self._restore, strict_map_key=False)

    def _extend(self, value: Any) -> msgpack.ExtType:
        cls = type(value)
        if cls.__qualname__ in self._records:
            return msgpack.ExtType(_RECORD, self.pack([cls.__qualname__, _fields(value)]))
        if isinstance(value, Counter):
            return msgpack.ExtType(_COUNTER, self.pack([list(pair) for pair in value.items()]))
        if isinstance(value, OrderedDict | defaultdict):
            return msgpack.ExtType(_PAIRS, self.pack([list(pair) for pair in value.items()]))
        if cls in _WRITERS:
            code, write = _WRITERS[cls]
            return msgpack.ExtType(code, self.pack(write(value)))
        if callable(getattr(value, "item", None)):  # a NumPy scalar is the Python number it stands for
            return msgpack.ExtType(_NUMBER, self.pack(value.item()))
        raise StateError(
            f"{value!r} of type {cls.__module__}.{cls.__qualname__} cannot be stored\n"
            "  expected: None, bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta, and lists, tuples,\n"
            "  sets, deques, dicts, dataclasses and named tuples of these\n"
            "  a record's class must appear in the module's declared state or result type"
        )

    def _restore(self, code: int, data: bytes) -> Any:
        value = self.unpack(data)
        return self._record(value) if code == _RECORD else _READERS[code](value)

    def _record(self, value: list[Any]) -> Any:
        name, fields = value
        if name not in self._records:
            raise StateError(f"the state holds a record {name!r} that no module of the query declares any more")
        return self._records[name](**fields)


def records_in(annotation: Any) -> set[type]:
    """Return the dataclasses and named tuples that an annotation mentions, at any depth.

    Example:
        >>> records_in(list[int] | None)
        set()
    """
    found: set[type] = set()
    pending, seen = [annotation], set()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        pending += get_args(part)
        origin = getattr(part, "__origin__", part)
        if isinstance(origin, type) and (dataclasses.is_dataclass(origin) or hasattr(origin, "_fields")):
            found.add(origin)
            pending += [hint for hint in getattr(origin, "__annotations__", {}).values() if not isinstance(hint, str)]
    return found


def _fields(value: Any) -> dict[str, Any]:
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


_WRITERS: dict[type, tuple[int, Callable[[Any], Any]]] = {
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
}

_READERS: dict[int, Callable[[Any], Any]] = {
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
    _NUMBER: lambda value: value,
}


def _ticks_of(value: datetime) -> int:
    return instant(value) if value.tzinfo else (value - _EPOCH) // _MICROSECOND
