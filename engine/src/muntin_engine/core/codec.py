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
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgpack

from muntin import instant, moment
from muntin_engine.errors import StateError

_TUPLE, _SET, _FROZENSET, _DEQUE, _INTEGER, _DECIMAL, _FRACTION = range(1, 8)
_DATE, _MOMENT, _INTERVAL, _RECORD, _PAIRS, _COUNTER, _NUMBER = range(8, 15)
_MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001  # stands for naive datetimes, which stay naive


class Codec:
    """Writes and reads the values of one query.

    Example:
        >>> codec = Codec()
        >>> codec.unpack(codec.pack((1, {"a": {2.5}}, None)))
        (1, {'a': {2.5}}, None)
    """

    def __init__(self, records: Iterable[type] = ()) -> None:
        """Prepare for values that may contain these dataclasses and named tuples."""
        self._records = {_name(record): record for record in records}

    def pack(self, value: Any) -> bytes:
        """Return a value as bytes; equal dicts of the same order give the same bytes.

        Raises:
            StateError: The value, or a part of it, is not plain data.
        """
        packed: bytes = msgpack.packb(value, default=self._extend, strict_types=True)
        return packed

    def unpack(self, data: bytes) -> Any:
        """Return the value that `pack` wrote.

        Raises:
            StateError: The bytes are none that `pack` wrote, or name a record that no module of the query declares.
        """
        try:
            return msgpack.unpackb(data, ext_hook=self._restore, strict_map_key=False)
        except StateError:
            raise
        except Exception as error:  # whatever bytes that nobody wrote may lead to
            raise StateError(
                f"{len(data)} bytes of state cannot be read: {type(error).__name__}: {error}\n"
                "  expected: what this version of Muntin wrote for this query"
            ) from error

    def _extend(self, value: Any) -> msgpack.ExtType:
        cls = type(value)
        if cls in _WRITERS:
            code, write = _WRITERS[cls]
            return msgpack.ExtType(code, self.pack(write(value)))
        if self._records.get(_name(cls)) is cls:
            return msgpack.ExtType(_RECORD, self.pack([_name(cls), _fields(value)]))
        if cls.__module__ == "numpy":
            return msgpack.ExtType(_NUMBER, self.pack(number_of(value)))
        raise _not_plain(value)

    def _restore(self, code: int, data: bytes) -> Any:
        value = self.unpack(data)
        if code == _RECORD:
            return self._record(*value)
        if code not in _READERS:
            raise StateError(f"the state holds a value of the unknown kind {code}; use the Muntin that wrote it")
        return _READERS[code](value)

    def _record(self, name: str, fields: dict[str, Any]) -> Any:
        cls: Any = self._records.get(name)
        if cls is None:
            raise StateError(f"the state holds a record {name!r} that no module of the query declares any more")
        late = {field.name for field in dataclasses.fields(cls) if not field.init} if _is_dataclass(cls) else set()
        record = cls(**{field: value for field, value in fields.items() if field not in late})
        for field in late:
            object.__setattr__(record, field, fields[field])
        return record


def number_of(value: Any) -> bool | int | float | str | bytes:
    """Return the Python value that a NumPy scalar stands for.

    Raises:
        StateError: It is an array, or a scalar without an exact counterpart.
    """
    plain = value.item() if getattr(value, "shape", None) == () else None
    if not isinstance(plain, bool | int | float | str | bytes) or value.dtype.kind in "mM":
        raise _not_plain(value)
    return plain


def records_in(annotation: Any) -> set[type]:
    """Return the dataclasses and named tuples that an annotation mentions, at any depth.

    Example:
        >>> records_in(list[int] | None)
        set()
    """
    found: set[type] = set()
    pending = [annotation]
    while pending:
        part = pending.pop()
        cls = get_origin(part) or part
        pending += get_args(part)
        if isinstance(cls, type) and cls not in found and (_is_dataclass(cls) or hasattr(cls, "_fields")):
            found.add(cls)
            pending += _hints(cls)
    return found


def _hints(cls: type) -> list[Any]:
    try:
        return list(get_type_hints(cls).values())
    except NameError:  # an annotation for type checkers alone
        return [hint for hint in getattr(cls, "__annotations__", {}).values() if not isinstance(hint, str)]


def _is_dataclass(cls: type) -> bool:
    return dataclasses.is_dataclass(cls)


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _fields(value: Any) -> dict[str, Any]:
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _not_plain(value: Any) -> StateError:
    return StateError(
        f"{value!r} of type {_name(type(value))} cannot be stored\n"
        "  expected: None, bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta, and lists,\n"
        "  tuples, sets, deques, dicts, dataclasses and named tuples of these\n"
        "  a record's class must appear in the module's declared state or result type"
    )


def _ticks_of(value: datetime) -> int:
    return instant(value) if value.tzinfo else (value - _EPOCH) // _MICROSECOND


def _pairs(value: dict[Any, Any]) -> list[list[Any]]:
    return [list(pair) for pair in value.items()]


_WRITERS: Final[dict[type, tuple[int, Callable[[Any], Any]]]] = {
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

_READERS: Final[dict[int, Callable[[Any], Any]]] = {
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
