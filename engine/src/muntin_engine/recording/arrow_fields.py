"""The types of columns as modules read them, by the Arrow types in which the columns travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from muntin.schemas import Field, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable

_KINDS: Final[tuple[tuple[Callable[[pa.DataType], bool], ScalarKind], ...]] = (
    (pa.types.is_boolean, ScalarKind.BOOLEAN),
    (pa.types.is_integer, ScalarKind.INTEGER),
    (pa.types.is_floating, ScalarKind.FLOAT),
    (pa.types.is_decimal, ScalarKind.DECIMAL),
    (pa.types.is_string, ScalarKind.STRING),
    (pa.types.is_binary, ScalarKind.BINARY),
    (pa.types.is_date, ScalarKind.DATE),
    (pa.types.is_timestamp, ScalarKind.TIMESTAMP),
    (pa.types.is_duration, ScalarKind.INTERVAL),
)


def field_of(name: str, data_type: pa.DataType) -> Field:
    """Describe a column of an Arrow type as the SDK does; a type that no module can read is a variable without a name.

    Example:
        >>> field_of("km", pa.list_(pa.float64())).type
        ListOf(element=Field(name='element', type=Scalar(kind=<ScalarKind.FLOAT: 'float'>), is_nullable=True))
    """
    if pa.types.is_list(data_type):
        element = field_of("element", data_type.value_type)
        return Field(name, ListOf(element), is_nullable=True)
    if pa.types.is_map(data_type):
        key = field_of("key", data_type.key_type)
        value = field_of("value", data_type.item_type)
        return Field(name, MapOf(key, value), is_nullable=True)
    if pa.types.is_struct(data_type):
        parts = tuple(field_of(part.name, part.type) for part in data_type)
        return Field(name, Struct(parts, dict), is_nullable=True)
    for is_of_kind, kind in _KINDS:
        if is_of_kind(data_type):
            return Field(name, Scalar(kind), is_nullable=True)
    return Field(name, Variable(""), is_nullable=True)
