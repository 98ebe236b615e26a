"""Rows that hold a null where a module reads none, or a value that Python has no counterpart for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray
from muntin.schemas import Field, ListOf, MapOf, Struct
from muntin_engine.core.skipping import is_tuple


def forbidden_nulls(values: pa.Array, wanted: Field) -> BoolArray:
    """Flag the values that are, or hold at any depth, a null that a module does not accept."""
    found = np.zeros(len(values), np.bool_) if wanted.is_nullable else flags(pc.is_null(values))
    if isinstance(wanted.type, Struct):
        found |= _forbidden_in_struct(values, wanted.type)
    elif isinstance(wanted.type, ListOf):
        found |= _forbidden_in_list(values, wanted.type.element)
    elif isinstance(wanted.type, MapOf):
        entries = values.cast(pa.list_(pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])))
        found |= _forbidden_in_list(entries, Field("", Struct((wanted.type.key, wanted.type.value), dict)))
    return found


def _forbidden_in_struct(values: pa.Array, struct: Struct) -> BoolArray:
    found = np.zeros(len(values), np.bool_)
    for place, part in enumerate(struct.fields):
        index = place if is_tuple(struct) else values.type.get_field_index(part.name)
        if index >= 0:
            found |= forbidden_nulls(pc.struct_field(values, [index]), part)
    return found & flags(pc.is_valid(values))


def _forbidden_in_list(values: pa.Array, element: Field) -> BoolArray:
    found = np.zeros(len(values), np.bool_)
    parents = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
    found[parents[forbidden_nulls(pc.list_flatten(values), element)]] = True
    return found


def flags(values: pa.Array) -> BoolArray:
    """Return an array of booleans for NumPy; null counts as false."""
    found: Any = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return np.array(found, np.bool_)


_DAYS: Final = (-719_162, 2_932_896)
"""The years 1 to 9999, as far as Python's calendar goes, in days since 1970-01-01."""

_MICROSECONDS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The same in microseconds."""


def unreadable(values: pa.Array) -> BoolArray:
    """Flag the values that are, or hold at any depth, text that is not UTF-8, or a date before year 1 or after 9999.

    Cost: a pass over the values; those of a column of text are looked at one by one only if there is a bad one.
    """
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _not_text(values)
    if pa.types.is_date32(kind):
        return _outside(values.cast(pa.int32()), *_DAYS)
    if pa.types.is_timestamp(kind):
        return _outside(values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), *_MICROSECONDS)
    found = np.zeros(len(values), np.bool_)
    if pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            found |= unreadable(pc.struct_field(values, [place]))
    elif pa.types.is_map(kind):
        return unreadable(values.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        parents = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
        found[parents[unreadable(pc.list_flatten(values))]] = True
    return found


def _outside(ticks: pa.Array, first: int, last: int) -> BoolArray:
    return flags(pc.or_(pc.less(ticks, first), pc.greater(ticks, last)))


def _not_text(values: pa.Array) -> BoolArray:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([not _is_text(value) for value in values.cast(pa.binary()).to_pylist()], np.bool_)
    return np.zeros(len(values), np.bool_)


def _is_text(value: bytes | None) -> bool:
    try:
        return value is None or bool(value.decode() or True)
    except UnicodeDecodeError:
        return False
