"""The columns of rows and of results, and the numbers of scripts spelled in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import types as spark_types

from muntin.schemas import Field, Struct
from muntin_engine.spark.types import arrow_type_of, spark_type_of

STREAMS: Final = ("a", "b", "c")
"""The streams of a union; a module of several inputs reads the first as its left one, the second as its right one."""

PAYLOAD: Final[Mapping[str, tuple[Callable[[Any], Any], pa.DataType]]] = {
    "x": (lambda payload: payload, pa.int64()),
    "order": (lambda payload: payload, pa.int64()),
    "is_kept": (lambda payload: None if payload is None else payload % 3 != 0, pa.bool_()),
    "p": (lambda payload: "abc"[payload % 3], pa.string()),
    "v": (lambda payload: None if payload % 4 == 0 else payload % 11, pa.int64()),
    "m": (lambda payload: (False, False, True, None)[payload % 4], pa.bool_()),
    "t": (lambda payload: (False, True, None)[payload % 3], pa.bool_()),
    "a": (lambda payload: (True, True, False, None, True)[payload % 5], pa.bool_()),
    "o": (lambda payload: (False, True, True, None, False)[payload % 5], pa.bool_()),
    "c": (lambda payload: (False, False, None, True)[payload % 4], pa.bool_()),
    "x > 5": (lambda payload: payload > 5, pa.bool_()),
    "x < -5": (lambda payload: payload < -5, pa.bool_()),
    "stream": (lambda payload: STREAMS[payload % 3], pa.string()),
    "left": (lambda payload: None if payload % 3 else payload // 3, pa.int64()),
    "right": (lambda payload: payload // 3 if payload % 3 == 1 else None, pa.int64()),
}
"""The columns of a row: each a function of the payload in the script, and its type."""

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
    of = row_type.type
    if not isinstance(of, Struct):
        return (row,)
    return tuple(row) if isinstance(row, tuple) else tuple(getattr(row, part.name) for part in of.fields)


def columns_of(payload: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return some columns of a row, which a payload may give itself; all are null where the payload is."""
    if isinstance(payload, Mapping):
        return columns_of(payload["x"], names) | {name: payload[name] for name in names if name in payload}
    return {name: None if payload is None else PAYLOAD[name][0](payload) for name in names}


def schema_of(keys: Sequence[pa.DataType], names: Sequence[str], outputs: Sequence[Field]) -> pa.Schema:
    """Return the schema of results: their keys, the columns that the engine adds, and those of modules."""
    ticks = spark_types.LongType()
    columns = [(f"key{place or ''}", of) for place, of in enumerate(keys)]
    columns += ((name, _ADDED.get(name, _TICKS)) for name in names)
    return pa.schema([*columns, *((part.name, arrow_type_of(spark_type_of(part, ticks))) for part in outputs)])


def id_of(number: int | None, of: pa.DataType) -> Any:
    """Return an id of a type, by its number."""
    if number is None or pa.types.is_integer(of):
        return number
    return f"id {number}" if pa.types.is_string(of) else {"station": "s", "number": number}
