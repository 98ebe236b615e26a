"""Payloads as arrays, for a columnar aggregate that is given Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np

from muntin.axis import instant
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


def payload_arrays(field: Field, payloads: Sequence[Any], *, skips_nulls: bool) -> tuple[Any, int]:
    """Return payloads as `ColumnarAggregate.lift` wants them, and how many they are.

    Args:
        field: The module's input.
        payloads: Values, or records of several fields, or None.
        skips_nulls: Leave out null payloads and those with a null field; or else mask them.
    """
    if isinstance(field.type, Struct):
        return _records(field.type, payloads, skips_nulls=skips_nulls)
    is_null = [payload is None for payload in payloads]
    if skips_nulls:
        present = [payload for payload in payloads if payload is not None]
        return _array(field, present, [False] * len(present)), len(present)
    return np.ma.MaskedArray(_array(field, payloads, is_null), is_null), len(payloads)


def _records(struct: Struct, payloads: Sequence[Any], *, skips_nulls: bool) -> tuple[Any, int]:
    rows = [[_part(payload, part.name, place) for place, part in enumerate(struct.fields)] for payload in payloads]
    if skips_nulls:
        rows = [row for row in rows if all(value is not None for value in row)]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(struct.fields)
    arrays = {}
    for part, values in zip(struct.fields, columns, strict=True):
        is_null = [value is None for value in values]
        array = _array(part, values, is_null)
        arrays[part.name] = array if skips_nulls else np.ma.MaskedArray(array, is_null)
    return arrays, len(rows)


def _part(payload: Any, name: str, place: int) -> Any:
    if payload is None:
        return None
    if isinstance(payload, Mapping):
        return payload.get(name)
    return getattr(payload, name) if hasattr(payload, name) else payload[place]


def _array(field: Field, values: Sequence[Any], is_null: Sequence[bool]) -> Any:
    """Return values as an array; what stands where a null is has no meaning."""
    dtype = DTYPES.get(field.type.kind) if isinstance(field.type, Scalar) else None
    if dtype is None:
        array = np.empty(len(values), object)
        array[:] = values
        return array
    filled = [0 if missing else _plain(value) for value, missing in zip(values, is_null, strict=True)]
    if dtype.startswith("datetime64[us]"):
        return np.asarray(filled, "int64").view(dtype)
    return np.asarray(filled, "O" if dtype.startswith(("date", "timed")) else None).astype(dtype)


def _plain(value: Any) -> Any:
    """Return a datetime as its microseconds; one without a zone is taken to be in UTC."""
    if isinstance(value, datetime):
        return instant(value) if value.tzinfo else np.datetime64(value, "us").astype("int64")
    return value
