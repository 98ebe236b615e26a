"""Payloads as arrays, for a columnar aggregate that is given Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from muntin.axis import instant, ticks
from muntin.columnar.arrays import Array
from muntin.columnar.observed import observed, part_of
from muntin.schemas import Field, Scalar, ScalarKind, Struct

DTYPES: Final[Mapping[ScalarKind, str]] = {
    ScalarKind.BOOLEAN: "bool",
    ScalarKind.INTEGER: "int64",
    ScalarKind.INSTANT: "int64",
    ScalarKind.FLOAT: "float64",
    ScalarKind.TIMESTAMP: "datetime64[us]",
    ScalarKind.DATE: "datetime64[D]",
    ScalarKind.INTERVAL: "timedelta64[us]",
}
"""The array type of each kind of payload; `object` for all others."""

_FIRST_DAY: Final = 719163
"""The ordinal of 1970-01-01."""

_AS_INTEGER: Final[Mapping[ScalarKind, Callable[[Any], int]]] = {
    ScalarKind.TIMESTAMP: instant,
    ScalarKind.DATE: lambda day: int(day.toordinal()) - _FIRST_DAY,
    ScalarKind.INTERVAL: ticks,
}


def payload_arrays(
    field: Field, payloads: Sequence[object], *, skips_nulls: bool
) -> tuple[Array | dict[str, Array], int]:
    """Return payloads as `ColumnarAggregate.lift` wants them, and how many they are.

    Args:
        field: The module's input. Its type variables are bound to the types of the payloads.
        payloads: Values, or records of several fields, or None.
        skips_nulls: Leave out null payloads and those with a null field; or else mask them.

    Raises:
        OverflowError: A payload does not fit 64 bits; no query can have it.

    Example:
        >>> from muntin.schemas import describe
        >>> payload_arrays(describe(float), [1.5, None, 2], skips_nulls=True)
        (array([1.5, 2. ]), 2)
    """
    field = observed(field, payloads)
    if skips_nulls:
        payloads = [payload for payload in payloads if not has_null(field, payload)]
    if not isinstance(field.type, Struct):
        return _column(field, payloads, skips_nulls=skips_nulls), len(payloads)
    columns = {}
    for place, part in enumerate(field.type.fields):
        values = [part_of(payload, part.name, place) for payload in payloads]
        columns[part.name] = _column(part, values, skips_nulls=skips_nulls)
    return columns, len(payloads)


def has_null(field: Field, payload: object) -> bool:
    """Return True if a payload is null or, if it has several fields, one of them is."""
    if payload is None or not isinstance(field.type, Struct):
        return payload is None
    return any(part_of(payload, part.name, place) is None for place, part in enumerate(field.type.fields))


def _column(field: Field, values: Sequence[object], *, skips_nulls: bool) -> Array:
    array = _array(field, values)
    return array if skips_nulls else np.ma.MaskedArray(array, [value is None for value in values])


def _array(field: Field, values: Sequence[object]) -> Array:
    """Return values as an array; values under nulls are unspecified."""
    kind = field.type.kind if isinstance(field.type, Scalar) else None
    if kind is None or kind not in DTYPES:
        return np.fromiter(values, object, len(values))  # assigned one by one: lists stay lists
    if kind not in _AS_INTEGER:
        return np.asarray([0 if value is None else value for value in values], DTYPES[kind])
    as_integer = _AS_INTEGER[kind]
    return np.asarray([0 if value is None else as_integer(value) for value in values], "int64").view(DTYPES[kind])
