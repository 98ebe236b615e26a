"""Payloads as Arrow columns, of the types that a query's columns would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from muntin.columnar.payloads import part_of
from muntin.schemas import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct

_SCALARS: Final[Mapping[ScalarKind, pa.DataType]] = {
    ScalarKind.BOOLEAN: pa.bool_(),
    ScalarKind.INTEGER: pa.int64(),
    ScalarKind.FLOAT: pa.float64(),
    ScalarKind.STRING: pa.string(),
    ScalarKind.BINARY: pa.binary(),
    ScalarKind.DECIMAL: pa.decimal128(38, 18),
    ScalarKind.DATE: pa.date32(),
    ScalarKind.TIMESTAMP: pa.timestamp("us", "UTC"),
    ScalarKind.INTERVAL: pa.duration("us"),
    ScalarKind.INSTANT: pa.int64(),
}


def column_of(field: Field, payloads: Sequence[object]) -> pa.Array:
    """Return payloads of a type without type variables as a column.

    Example:
        >>> from muntin.schemas import describe
        >>> column_of(describe(tuple[int, float | None]), [(1, 2.5), (2, None)]).to_pylist()
        [{'_1': 1, '_2': 2.5}, {'_1': 2, '_2': None}]
    """
    return pa.array([_plain(field.type, payload) for payload in payloads], _type_of(field.type))


def _type_of(kind: DataType) -> pa.DataType:
    if isinstance(kind, Scalar):
        return _SCALARS[kind.kind]
    if isinstance(kind, ListOf):
        return pa.list_(_type_of(kind.element.type))
    if isinstance(kind, MapOf):
        return pa.map_(_type_of(kind.key.type), _type_of(kind.value.type))
    if isinstance(kind, Struct):
        return pa.struct([pa.field(part.name, _type_of(part.type)) for part in kind.fields])
    raise TypeError(f"{kind} has no column type")


def _plain(kind: DataType, value: Any) -> Any:
    """Return a value as Arrow takes it: records as dicts, maps as pairs."""
    if value is None or isinstance(kind, Scalar):
        return value
    if isinstance(kind, ListOf):
        return [_plain(kind.element.type, part) for part in value]
    if isinstance(kind, MapOf):
        return [(_plain(kind.key.type, key), _plain(kind.value.type, part)) for key, part in value.items()]
    if isinstance(kind, Struct):
        parts = enumerate(kind.fields)
        return {part.name: _plain(part.type, part_of(value, part.name, place)) for place, part in parts}
    raise TypeError(f"{kind} has no column type")
