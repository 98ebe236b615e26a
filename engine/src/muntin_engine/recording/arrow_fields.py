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


def field_of(name: str, of: pa.DataType) -> Field:
    """Return an Arrow type as the SDK describes it; one that no module can read is a variable without a name.

    Example:
        >>> field_of("km", pa.list_(pa.float64())).type
        ListOf(element=Field(name='element', type=Scalar(kind=<ScalarKind.FLOAT: 'float'>), is_nullable=True))
    """
    if pa.types.is_list(of):
        return Field(name, ListOf(field_of("element", of.value_type)), is_nullable=True)
    if pa.types.is_map(of):
        return Field(name, MapOf(field_of("key", of.key_type), field_of("value", of.item_type)), is_nullable=True)
    if pa.types.is_struct(of):
        return Field(name, Struct(tuple(field_of(part.name, part.type) for part in of), dict), is_nullable=True)
    kind = next((kind for is_it, kind in _KINDS if is_it(of)), None)
    return Field(name, Variable("") if kind is None else Scalar(kind), is_nullable=True)
