"""Ids of events: columns of any type as values that equal themselves, and back.

Two events are the same only if their ids are equal, and evaluators look ids up. Of the values of an Arrow column some
cannot be looked up: NaN does not equal itself, and arrays, structs and maps have no hash. So each id is represented by
a *stand-in*: NaN by a text, which no float is; an array and a struct by the tuple of their parts; a map by the tuple of
its entries in the order of their keys. All ids of a query are of one type, so two ids of different values never share a
stand-in. As with Spark's grouping, NaN equals NaN and -0.0 equals 0.0, at any depth.

Stand-ins are what evaluators hold, and what they write to checkpoints. A column of ids is made with `id_array` only.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import nan
from typing import Any, Final

import pyarrow as pa

from muntin.schemas.value_order import value_key
from muntin_engine.wire.arrow_arrays import arrow_array

_NAN: Final = "NaN"
"""The stand-in of NaN."""


def needs_stand_ins(id_type: pa.DataType) -> bool:
    """Return True if values of a type do not all equal themselves, or have no hash."""
    return bool(pa.types.is_nested(id_type) or pa.types.is_floating(id_type))


def stand_ins(ids: pa.Array | pa.ChunkedArray) -> Iterable[Hashable]:
    """Return the stand-ins of a column of ids, by which evaluators look ids up; None for a null.

    Cost: a Python object for each id, and for one of a nested type also for each of its parts.
    """
    values: list[Any] = ids.to_pylist()
    if not needs_stand_ins(ids.type):
        return values
    return [_stand_in(value, ids.type) for value in values]


def id_array(stand_ins: Iterable[Hashable], id_type: pa.DataType) -> pa.Array:
    """Return the ids that stand-ins represent, the hashable forms of `stand_ins`, as a column of the ids' type.

    Example:
        >>> id_array(["NaN", 1.5], pa.float64()).to_pylist()
        [nan, 1.5]
    """
    if not needs_stand_ins(id_type):
        return arrow_array(list(stand_ins), id_type)
    return arrow_array([id_value(stand_in, id_type) for stand_in in stand_ins], id_type)


def in_utc(id_type: pa.DataType) -> pa.DataType:
    """Return a type of ids with all timestamps that have a zone in microseconds in UTC, at any depth.

    In another zone two different ids could be equal in Python, which compares two times of one zone by what its clocks
    show: they show the same times twice in the hour in which daylight saving time ends.
    """
    if pa.types.is_timestamp(id_type):
        return id_type if id_type.tz is None else pa.timestamp("us", tz="UTC")
    if pa.types.is_map(id_type):
        key = id_type.key_field.with_type(in_utc(id_type.key_type))
        return pa.map_(key, id_type.item_field.with_type(in_utc(id_type.item_type)))
    if pa.types.is_list(id_type):
        return pa.list_(id_type.value_field.with_type(in_utc(id_type.value_type)))
    if pa.types.is_struct(id_type):
        return pa.struct([part.with_type(in_utc(part.type)) for part in id_type])
    return id_type


def id_value(stand_in: Any, id_type: pa.DataType) -> Any:
    """Return the id that a stand-in represents, in the form in which `to_pylist` returns values of the type.

    Example:
        >>> id_value(("NaN", 1), pa.struct([("x", pa.float64()), ("y", pa.int64())]))
        {'x': nan, 'y': 1}
    """
    if stand_in is None:
        return None
    if pa.types.is_floating(id_type):
        return nan if stand_in == _NAN else stand_in
    if pa.types.is_map(id_type):
        return [(id_value(key, id_type.key_type), id_value(item, id_type.item_type)) for key, item in stand_in]
    if pa.types.is_list(id_type):
        return [id_value(part, id_type.value_type) for part in stand_in]
    if pa.types.is_struct(id_type):
        parts: dict[str, Any] = {}
        for field, part in zip(id_type, stand_in, strict=True):
            parts[field.name] = id_value(part, field.type)
        return parts
    return stand_in


def _stand_in(value: Any, id_type: pa.DataType) -> Hashable:
    """Return the stand-in of one id.

    Args:
        value: The id, in the form in which `to_pylist` returns it.
        id_type: The Arrow type of the ids.
    """
    if value is None:
        return None
    if pa.types.is_floating(id_type):
        is_nan = value != value  # noqa: PLR0124
        return _NAN if is_nan else value
    if pa.types.is_map(id_type):
        entries: list[tuple[Hashable, Hashable]] = []
        for key, item in sorted(value, key=lambda entry: value_key(entry[0])):  # equal maps may differ in order
            entries.append((_stand_in(key, id_type.key_type), _stand_in(item, id_type.item_type)))
        return tuple(entries)
    if pa.types.is_list(id_type):
        return tuple([_stand_in(part, id_type.value_type) for part in value])
    if pa.types.is_struct(id_type):
        return tuple([_stand_in(value[part.name], part.type) for part in id_type])
    return value  # type: ignore[no-any-return]
