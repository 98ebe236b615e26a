"""Flags of values that are, or hold, a null where a module accepts none, or a value that Python cannot read."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray
from muntin.schemas import Field, ListOf, MapOf, Struct
from muntin_engine.modules.skipping import is_tuple
from muntin_engine.wire.arrow_arrays import arrow_scalar, numpy_array


def forbidden_nulls(values: pa.Array, field: Field) -> BoolArray:
    """Flag the values that are a null, or hold one at any depth, where a module does not accept one.

    Args:
        values: The values.
        field: The type that the module reads.
    """
    is_forbidden = np.zeros(len(values), np.bool_)
    if not field.is_nullable and values.null_count:
        is_forbidden = flags(pc.is_null(values))
    if isinstance(field.type, Struct):
        is_forbidden |= _forbidden_in_struct(values, field.type)
    elif isinstance(field.type, ListOf):
        is_forbidden |= _forbidden_in_list(values, field.type.element)
    elif isinstance(field.type, MapOf):
        entry = Field("", Struct((field.type.key, field.type.value), dict))
        is_forbidden |= _forbidden_in_list(_entries(values), entry)
    return is_forbidden


def _forbidden_in_struct(values: pa.Array, struct: Struct) -> BoolArray:
    """Flag the records with a forbidden null in a field, among the fields that the values have."""
    is_forbidden = np.zeros(len(values), np.bool_)
    for place, part in enumerate(struct.fields):
        # Fields of a plain tuple go by their places, others by name.
        index = place if is_tuple(struct) else values.type.get_field_index(part.name)
        if index >= 0:
            is_forbidden |= forbidden_nulls(pc.struct_field(values, [index]), part)
    # Under a null the fields are null too: `forbidden_nulls` decides on the record itself.
    return is_forbidden & flags(pc.is_valid(values))


def _forbidden_in_list(values: pa.Array, element: Field) -> BoolArray:
    """Flag the lists with a forbidden null among their elements."""
    is_forbidden = np.zeros(len(values), np.bool_)
    list_of_element = numpy_array(pc.list_parent_indices(values))
    is_bad_element = forbidden_nulls(pc.list_flatten(values), element)
    is_forbidden[list_of_element[is_bad_element]] = True
    return is_forbidden


def _entries(maps: pa.Array) -> pa.Array:
    """Return maps as lists of their entries, which are structs of a key and a value."""
    entry = pa.struct([("key", maps.type.key_type), ("value", maps.type.item_type)])
    return maps.cast(pa.list_(entry))


def flags(values: pa.Array) -> BoolArray:
    """Return booleans as an array of NumPy; null counts as false."""
    booleans = numpy_array(pc.fill_null(values, arrow_scalar(False)))
    return np.array(booleans, np.bool_)


_DAYS: Final = (-719_162, 2_932_896)
"""The years 1 to 9999, as far as Python's calendar goes, in days since 1970-01-01."""

_MICROSECONDS: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The years 1 to 9999 in microseconds since 1970-01-01."""


def unreadable(values: pa.Array) -> BoolArray:
    """Flag the values that Python cannot read: text that is not UTF-8, and dates and times outside the years 1 to 9999.

    A nested value is flagged if it holds such a value at any depth.

    Cost: a pass over the values. Texts are looked at one by one only if at least one of them is bad.
    """
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _not_text(values)
    if pa.types.is_date32(kind):
        return _outside(values.cast(pa.int32()), *_DAYS)
    if pa.types.is_timestamp(kind):
        return _outside(values.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), *_MICROSECONDS)
    if pa.types.is_map(kind):
        return unreadable(_entries(values))
    is_unreadable = np.zeros(len(values), np.bool_)
    if pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            is_unreadable |= unreadable(pc.struct_field(values, [place]))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        list_of_element = numpy_array(pc.list_parent_indices(values))
        is_unreadable_element = unreadable(pc.list_flatten(values))
        is_unreadable[list_of_element[is_unreadable_element]] = True
    return is_unreadable


def _outside(ticks: pa.Array, first: int, last: int) -> BoolArray:
    """Flag the ticks that lie before the first tick or after the last one of a calendar."""
    is_before = pc.less(ticks, arrow_scalar(first, ticks.type))
    is_after = pc.greater(ticks, arrow_scalar(last, ticks.type))
    return flags(pc.or_(is_before, is_after))


def _not_text(values: pa.Array) -> BoolArray:
    """Flag the texts that are not UTF-8."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:  # at least one text is not UTF-8: look at each
        return np.array([not _is_text(value) for value in values.cast(pa.binary()).to_pylist()], np.bool_)
    return np.zeros(len(values), np.bool_)


def _is_text(value: bytes | None) -> bool:
    """Return True for bytes that are UTF-8, and for None."""
    if value is None:
        return True
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
