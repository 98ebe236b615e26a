"""The columns of rows and of results, and the numbers of scripts spelled in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from math import nan
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin.schemas import Field, Struct
from muntin_engine.backends.planning.field_types import result_type
from muntin_engine.wire.event_ids import id_array, in_utc, stand_ins
from muntin_engine.wire.side_output import plain_json

STREAMS: Final = ("a", "b", "c")
"""The streams of a union; a module of several inputs reads the first as its left one, the second as its right one."""


class PayloadColumn(NamedTuple):
    """A column of a row: a function of the payload in the script, and the type of its values."""

    value_of: Callable[[Any], Any]
    type: pa.DataType


PAYLOAD: Final[Mapping[str, PayloadColumn]] = {
    "x": PayloadColumn(lambda payload: payload, pa.int64()),
    "order": PayloadColumn(lambda payload: payload, pa.int64()),
    "is_kept": PayloadColumn(lambda payload: None if payload is None else payload % 3 != 0, pa.bool_()),
    "p": PayloadColumn(lambda payload: "abc"[payload % 3], pa.string()),
    "v": PayloadColumn(lambda payload: None if payload % 4 == 0 else payload % 11, pa.int64()),
    "m": PayloadColumn(lambda payload: (False, False, True, None)[payload % 4], pa.bool_()),
    "t": PayloadColumn(lambda payload: (False, True, None)[payload % 3], pa.bool_()),
    "a": PayloadColumn(lambda payload: (True, True, False, None, True)[payload % 5], pa.bool_()),
    "o": PayloadColumn(lambda payload: (False, True, True, None, False)[payload % 5], pa.bool_()),
    "c": PayloadColumn(lambda payload: (False, False, None, True)[payload % 4], pa.bool_()),
    "x > 5": PayloadColumn(lambda payload: payload > 5, pa.bool_()),
    "x < -5": PayloadColumn(lambda payload: payload < -5, pa.bool_()),
    "stream": PayloadColumn(lambda payload: STREAMS[payload % 3], pa.string()),
    "left": PayloadColumn(lambda payload: None if payload % 3 else payload // 3, pa.int64()),
    "right": PayloadColumn(lambda payload: payload // 3 if payload % 3 == 1 else None, pa.int64()),
}
"""The columns of a row, by name."""

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
    if not isinstance(row_type.type, Struct):
        return (row,)
    if isinstance(row, tuple):
        return row
    return tuple(getattr(row, field.name) for field in row_type.type.fields)


def columns_of(payload: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a row by their names, from its payload; all are null where the payload is null."""
    if isinstance(payload, Mapping):
        return columns_of(payload["x"], names) | {name: payload[name] for name in names if name in payload}
    return {name: None if payload is None else PAYLOAD[name].value_of(payload) for name in names}


def schema_of(keys: Sequence[pa.DataType], names: Sequence[str], outputs: Sequence[Field]) -> pa.Schema:
    """Return the schema of results: their keys, the columns that the engine adds, and those of modules."""
    columns = [(f"key{place or ''}", key_type) for place, key_type in enumerate(keys)]
    columns += [(name, _ADDED.get(name, _TICKS)) for name in names]
    columns += [(output.name, result_type(output, pa.int64())) for output in outputs]
    return pa.schema(columns)


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
    (lambda id_type: id_type == pa.timestamp("us"), lambda number: datetime(1, 1, 1) + timedelta(days=number)),  # noqa: DTZ001
    (pa.types.is_timestamp, lambda number: datetime(2024, 10, 27, tzinfo=UTC) + number * timedelta(minutes=30)),
)
"""Functions that make an id of a number, each after the condition on the types for which it does."""


def id_of(number: int | None, id_type: pa.DataType) -> Any:
    """Return an id of a type, by its number; no two numbers have the same one.

    Among the first are NaN, -0.0, the empty and the null of each type, and times that clocks show twice.
    """
    if number is None:
        return None
    if pa.types.is_struct(id_type):
        return _struct_of(number, id_type)
    if pa.types.is_map(id_type):
        entries = [("number", float(number)), ("nothing", None), ("other", nan)]
        return entries if number % 2 else list(reversed(entries))
    if pa.types.is_list(id_type):
        members = [id_of(number // 2, id_type.value_type), None]
        return [] if number == 0 else members[: 1 + number % 2]
    make = next(make for is_of, make in _SCALAR_IDS if is_of(id_type))
    return make(number)


def _struct_of(number: int, id_type: pa.StructType) -> dict[str, Any]:
    """Return a struct with the number in its first field, or split over its two fields."""
    first, second = id_type
    first_value: Any
    second_value: Any = None
    if first.type == second.type:
        first_value = None if number == 0 else id_of(number % 2, first.type)
        second_value = id_of(number // 2, second.type)
    elif pa.types.is_boolean(first.type):
        first_value = number % 2 == 1
        second_value = number // 2 or None
    else:
        first_value = id_of(number, first.type)
    return {first.name: first_value, second.name: second_value}


def number_of(id: Any, id_type: pa.DataType) -> int:
    """Return the number of an id of a type, as a side output has it in its JSON."""
    return _numbers(id_type)[json.dumps(_in_order(id, id_type))]


def _in_order(id: Any, id_type: pa.DataType) -> Any:
    """Return an id with the entries of its maps in order: a late row has them as they came."""
    if id is None:
        return None
    if pa.types.is_map(id_type):
        return sorted(id)
    if pa.types.is_list(id_type):
        return [_in_order(member, id_type.value_type) for member in id]
    if pa.types.is_struct(id_type):
        return {part.name: _in_order(id[part.name], part.type) for part in id_type}
    return id


@cache
def _numbers(id_type: pa.DataType) -> Mapping[str, int]:
    """Return the numbers of ids of a type by their JSON."""
    ids = pa.array([id_of(number, id_type) for number in range(MOST_IDS)], id_type).cast(in_utc(id_type))
    values = id_array(stand_ins(ids), ids.type).to_pylist()
    return {json.dumps(plain_json(value)): number for number, value in enumerate(values)}
