"""The columns of rows and of results, and the numbers of scripts spelled in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from math import nan
from typing import Any, Final

import pyarrow as pa

from muntin.schemas import Field, Struct
from muntin_engine.backends.planning.field_types import result_type
from muntin_engine.wire.event_ids import id_array, in_utc, stand_ins
from muntin_engine.wire.side_output import plain_json

STREAMS: Final = ("a", "b", "c")
"""The streams of a union; a module of several inputs reads the first as its left one, the second as its right one."""

PAYLOAD: Final[Mapping[str, tuple[Callable[[Any], Any], pa.DataType]]] = {
    "x": (lambda payload: payload, pa.int64()),
    "order": (lambda payload: payload, pa.int64()),
    "is_kept": (lambda payload: None if payload is None else payload % 3 != 0, pa.bool_()),
    "p": (lambda payload: "abc"[payload % 3], pa.string()),
    "v": (lambda payload: None if payload % 4 == 0 else payload % 11, pa.int64()),
    "m": (lambda payload: (False, False, True, None)[payload % 4], pa.bool_()),
    "t": (lambda payload: (False, True, None)[payload % 3], pa.bool_()),
    "a": (lambda payload: (True, True, False, None, True)[payload % 5], pa.bool_()),
    "o": (lambda payload: (False, True, True, None, False)[payload % 5], pa.bool_()),
    "c": (lambda payload: (False, False, None, True)[payload % 4], pa.bool_()),
    "x > 5": (lambda payload: payload > 5, pa.bool_()),
    "x < -5": (lambda payload: payload < -5, pa.bool_()),
    "stream": (lambda payload: STREAMS[payload % 3], pa.string()),
    "left": (lambda payload: None if payload % 3 else payload // 3, pa.int64()),
    "right": (lambda payload: payload // 3 if payload % 3 == 1 else None, pa.int64()),
}
"""The columns of a row: each a function of the payload in the script, and its type."""

RESULT: Final = "result"
"""The name of the first result."""

_TICKS: Final = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_ADDED: Final = {
    "window_name": pa.string(),
    "change": pa.string(),
    "event_id": pa.int64(),
    "new_end": pa.int64(),
    "timing": pa.string(),
    "firing": pa.int64(),
    "ends_window": pa.bool_(),
    "partition": pa.string(),
}


def values_of(row_type: Field, row: Hashable) -> tuple[Any, ...]:
    """Return the columns of a row of an operator."""
    of = row_type.type
    if not isinstance(of, Struct):
        return (row,)
    return tuple(row) if isinstance(row, tuple) else tuple(getattr(row, part.name) for part in of.fields)


def columns_of(payload: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a row by their names, from its payload; all are null where the payload is null."""
    if isinstance(payload, Mapping):
        return columns_of(payload["x"], names) | {name: payload[name] for name in names if name in payload}
    return {name: None if payload is None else PAYLOAD[name][0](payload) for name in names}


def schema_of(keys: Sequence[pa.DataType], names: Sequence[str], outputs: Sequence[Field]) -> pa.Schema:
    """Return the schema of results: their keys, the columns that the engine adds, and those of modules."""
    columns = [(f"key{place or ''}", of) for place, of in enumerate(keys)]
    columns += ((name, _ADDED.get(name, _TICKS)) for name in names)
    return pa.schema([*columns, *((part.name, result_type(part, pa.int64())) for part in outputs)])


MOST_IDS: Final = 200
"""The most ids of hostile rows."""

_POINT: Final = pa.struct([("x", pa.float64()), ("y", pa.string())])

ID_TYPES: Final[Mapping[str, pa.DataType]] = {
    "int": pa.int32(),
    "string": pa.string(),
    "double": pa.float64(),
    "float": pa.float32(),
    "decimal": pa.decimal128(10, 2),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="Europe/Berlin"),
    "timestamp_ntz": pa.timestamp("us"),
    "interval": pa.duration("us"),
    "array of doubles": pa.list_(pa.float64()),
    "array of structs": pa.list_(_POINT),
    "struct": _POINT,
    "struct of two structs": pa.struct([("from", _POINT), ("to", _POINT)]),
    "struct of two arrays": pa.struct([("a", pa.list_(pa.string())), ("b", pa.list_(pa.string()))]),
    "struct of booleans": pa.struct([("is_odd", pa.bool_()), ("half", pa.int64())]),
    "struct of times": pa.struct([("at", pa.timestamp("us", tz="Europe/Berlin")), ("for", pa.duration("us"))]),
    "map": pa.map_(pa.string(), pa.float64()),
}
"""Types of ids, by the name of a test. Times have the zone of the session when they come."""

_SCALAR_IDS: Final[Sequence[tuple[Callable[[pa.DataType], bool], Callable[[int], Any]]]] = (
    (pa.types.is_integer, lambda number: number),
    (pa.types.is_boolean, bool),
    (pa.types.is_string, lambda number: f"id {number}" if number else ""),
    (pa.types.is_binary, lambda number: b"\xff" * number),
    (pa.types.is_floating, lambda number: {0: nan, 1: -0.0}.get(number, number / 2)),
    (pa.types.is_decimal, lambda number: Decimal(number) / 4),
    (pa.types.is_date, lambda number: date(1, 1, 1) + timedelta(days=number)),
    (pa.types.is_duration, timedelta),
    (lambda of: of == pa.timestamp("us"), lambda number: datetime(1, 1, 1) + timedelta(days=number)),  # noqa: DTZ001
    (pa.types.is_timestamp, lambda number: datetime(2024, 10, 27, tzinfo=UTC) + number * timedelta(minutes=30)),
)
"""What makes an id of a number, by what says which types it is for."""


def id_of(number: int | None, of: pa.DataType) -> Any:
    """Return an id of a type, by its number; no two numbers have the same one.

    Among the first are NaN, -0.0, the empty and the null of each type, and times that clocks show twice.
    """
    if number is None:
        return None
    if pa.types.is_struct(of):
        return _struct_of(number, of)
    if pa.types.is_map(of):
        entries = [("number", float(number)), ("nothing", None), ("other", nan)]
        return entries if number % 2 else list(reversed(entries))
    if pa.types.is_list(of):
        members = [id_of(number // 2, of.value_type), None]
        return [] if number == 0 else members[: 1 + number % 2]
    make = next(make for is_of, make in _SCALAR_IDS if is_of(of))
    return make(number)


def _struct_of(number: int, of: pa.StructType) -> dict[str, Any]:
    """Return a struct of two parts that says a number: the first, or the second, of two of a type has it."""
    first, second = of
    if first.type == second.type:
        parts = (None if number == 0 else id_of(number % 2, first.type)), id_of(number // 2, second.type)
    elif pa.types.is_boolean(first.type):
        parts = number % 2 == 1, number // 2 or None
    else:
        parts = id_of(number, first.type), None
    return {first.name: parts[0], second.name: parts[1]}


def number_of(id: Any, of: pa.DataType) -> int:
    """Return the number of an id of a type, as a side output has it in its JSON."""
    return _numbers(of)[json.dumps(_in_order(id, of))]


def _in_order(id: Any, of: pa.DataType) -> Any:
    """Return an id with the entries of its maps in order: a late row has them as they came."""
    if id is None:
        return None
    if pa.types.is_map(of):
        return sorted(id)
    if pa.types.is_list(of):
        return [_in_order(member, of.value_type) for member in id]
    if pa.types.is_struct(of):
        return {part.name: _in_order(id[part.name], part.type) for part in of}
    return id


@cache
def _numbers(of: pa.DataType) -> Mapping[str, int]:
    """Return the numbers of ids of a type by their JSON."""
    ids = pa.array([id_of(number, of) for number in range(MOST_IDS)], of).cast(in_utc(of))
    values = id_array(stand_ins(ids), ids.type).to_pylist()
    return {json.dumps(plain_json(value)): number for number, value in enumerate(values)}
