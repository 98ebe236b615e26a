"""Find rows with a null that a module does not accept, for whole columns at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray
from muntin.schemas import Field, ListOf, MapOf, Struct
from muntin_engine.core.nulls import is_tuple


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
