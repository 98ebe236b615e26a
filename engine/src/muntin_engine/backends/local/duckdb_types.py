"""Types in the languages of this backend: Arrow's, DuckDB's, and Spark's words for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import duckdb
import pyarrow as pa

INSTANT: Final = pa.timestamp("us", "UTC")
"""Spark's `timestamp`: a moment."""

LOCAL_TIME: Final = pa.timestamp("us")
"""Spark's `timestamp_ntz`: a time on a clock, in no zone."""

LENGTH: Final = pa.duration("us")
"""Spark's interval of days and seconds: a length of time. DuckDB computes with its microseconds."""

_NAMES: Final[Mapping[pa.DataType, tuple[str, str]]] = {
    pa.null(): ('"NULL"', "void"),
    pa.bool_(): ("BOOLEAN", "boolean"),
    pa.int8(): ("TINYINT", "tinyint"),
    pa.int16(): ("SMALLINT", "smallint"),
    pa.int32(): ("INTEGER", "int"),
    pa.int64(): ("BIGINT", "bigint"),
    pa.float32(): ("FLOAT", "float"),
    pa.float64(): ("DOUBLE", "double"),
    pa.string(): ("VARCHAR", "string"),
    pa.binary(): ("BLOB", "binary"),
    pa.date32(): ("DATE", "date"),
    LOCAL_TIME: ("TIMESTAMP", "timestamp_ntz"),
    LENGTH: ("BIGINT", "interval day to second"),
}
"""By Arrow type, the names that DuckDB and Spark give it."""


def duckdb_type(data_type: pa.DataType) -> str:
    """Return the name that DuckDB has for a type.

    Example:
        >>> duckdb_type(pa.decimal128(10, 2)), duckdb_type(pa.timestamp("us", "UTC"))
        ('DECIMAL(10,2)', 'TIMESTAMP WITH TIME ZONE')
    """
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if pa.types.is_timestamp(data_type) and data_type.tz is not None:
        return "TIMESTAMP WITH TIME ZONE"
    if pa.types.is_list(data_type):
        return f"{duckdb_type(data_type.value_type)}[]"
    if pa.types.is_map(data_type):
        return f"MAP({duckdb_type(data_type.key_type)}, {duckdb_type(data_type.item_type)})"
    if pa.types.is_struct(data_type):
        parts = [f"{quoted(part.name)} {duckdb_type(part.type)}" for part in data_type]
        return f"STRUCT({', '.join(parts)})"
    return _NAMES[data_type][0]


_READ_TYPES: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "hugeint": pa.decimal128(38, 0),
    "utinyint": pa.int16(),
    "usmallint": pa.int32(),
    "uinteger": pa.int64(),
    "ubigint": pa.decimal128(20, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "enum": pa.string(),
    "blob": pa.binary(),
    "date": pa.date32(),
    "timestamp": LOCAL_TIME,
    "timestamp_s": LOCAL_TIME,
    "timestamp_ms": LOCAL_TIME,
    "timestamp_ns": LOCAL_TIME,
    "timestamp with time zone": INSTANT,
    "timestamptz_ns": INSTANT,
    "interval": LENGTH,
}
"""The types in which columns are read, by the ids of DuckDB's types: Spark's, which has no unsigned ones."""


_KINDS_WITH_PARTS: Final = frozenset({"decimal", "list", "array", "map", "struct"})


def read_type(data_type: duckdb.sqltypes.DuckDBPyType) -> pa.DataType | None:
    """Return the Arrow type in which a column of DuckDB's is read; None if values of its type are not read.

    Example:
        >>> print(read_type(duckdb.sqltype("UINTEGER[]")), read_type(duckdb.sqltype("UUID")))
        list<item: int64> None
    """
    kind = data_type.id
    children: Any = data_type.children if kind in _KINDS_WITH_PARTS else ()
    if kind == "decimal":
        sizes = dict(children)
        return pa.decimal128(sizes["precision"], sizes["scale"])
    if kind not in _KINDS_WITH_PARTS:
        return _READ_TYPES.get(kind)

    parts: dict[str, pa.DataType] = {}
    for name, part in children:
        if name == "size":  # of an array
            continue
        part_type = read_type(part)
        if part_type is None or part_type == LENGTH:
            return None
        parts[name] = part_type
    if kind == "struct":
        return pa.struct(list(parts.items()))
    if kind == "map":
        return pa.map_(parts["key"], parts["value"])
    return pa.list_(parts["child"])


def spelled(data_type: pa.DataType) -> str:
    """Return the name that Spark has for a type, for messages.

    Example:
        >>> spelled(pa.list_(pa.int32())), spelled(pa.struct([("a", pa.string())]))
        ('array<int>', 'struct<a:string>')
    """
    if pa.types.is_decimal(data_type):
        return f"decimal({data_type.precision},{data_type.scale})"
    if pa.types.is_timestamp(data_type) and data_type.tz is not None:
        return "timestamp"
    if pa.types.is_list(data_type):
        return f"array<{spelled(data_type.value_type)}>"
    if pa.types.is_map(data_type):
        return f"map<{spelled(data_type.key_type)},{spelled(data_type.item_type)}>"
    if pa.types.is_struct(data_type):
        fields = [data_type.field(place) for place in range(data_type.num_fields)]
        return f"struct<{','.join(f'{field.name}:{spelled(field.type)}' for field in fields)}>"
    names = _NAMES.get(data_type)
    return str(data_type) if names is None else names[1]


def read_column(name: str, data_type: duckdb.sqltypes.DuckDBPyType, wanted: pa.DataType) -> str:
    """Return a column of DuckDB's in SQL, in the type in which it is read.

    Example:
        >>> read_column("x", duckdb.sqltype("UINTEGER"), pa.int64())
        'CAST("x" AS BIGINT) AS "x"'
    """
    column = quoted(name)
    converted = _CONVERTED.get(data_type.id)
    if converted is not None:
        return f"{converted.format(column)} AS {column}"
    return f"CAST({column} AS {duckdb_type(wanted)}) AS {column}"


_CONVERTED: Final[Mapping[str, str]] = {
    "timestamp_ns": "make_timestamp(epoch_ns({}) // 1000)",
    "timestamptz_ns": "make_timestamptz(epoch_ns({}) // 1000)",
    "interval": (
        "(CASE WHEN datepart('month', {0}) + datepart('year', {0}) <> 0"
        " THEN error('an interval of months is no length of time: ' || CAST({0} AS VARCHAR))"
        " ELSE epoch_us({0}) END)"
    ),
}
"""By the ids of types that no cast converts, how they are read.

Of nanoseconds, a cast would round, and move a time into the next window. An interval is its microseconds.
"""


def quoted(name: str) -> str:
    """Return a name as DuckDB reads it, whatever characters are in it."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
