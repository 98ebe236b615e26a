"""Types in the languages of this backend: Arrow's, DuckDB's, and Spark's words for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import pyarrow as pa

INSTANT: Final = pa.timestamp("us", "UTC")
"""Spark's `timestamp`: a moment."""

LOCAL_TIME: Final = pa.timestamp("us")
"""Spark's `timestamp_ntz`: a time on a clock, in no zone."""

LENGTH: Final = pa.duration("us")
"""Spark's interval of days and seconds: a length of time. DuckDB computes with its microseconds."""


class _TypeNames(NamedTuple):
    """The names of a type."""

    duckdb: str
    spark: str


_NAMES: Final[Mapping[pa.DataType, _TypeNames]] = {
    pa.null(): _TypeNames('"NULL"', "void"),
    pa.bool_(): _TypeNames("BOOLEAN", "boolean"),
    pa.int8(): _TypeNames("TINYINT", "tinyint"),
    pa.int16(): _TypeNames("SMALLINT", "smallint"),
    pa.int32(): _TypeNames("INTEGER", "int"),
    pa.int64(): _TypeNames("BIGINT", "bigint"),
    pa.float32(): _TypeNames("FLOAT", "float"),
    pa.float64(): _TypeNames("DOUBLE", "double"),
    pa.string(): _TypeNames("VARCHAR", "string"),
    pa.binary(): _TypeNames("BLOB", "binary"),
    pa.date32(): _TypeNames("DATE", "date"),
    LOCAL_TIME: _TypeNames("TIMESTAMP", "timestamp_ntz"),
    LENGTH: _TypeNames("BIGINT", "interval day to second"),  # DuckDB's intervals have months, whose length differs
}
"""The names of types without parts, by Arrow type."""


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
    return _NAMES[data_type].duckdb


def duckdb_storage(data_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type of DuckDB's values of a type: lengths of time are whole numbers of microseconds there."""
    if pa.types.is_duration(data_type):
        return pa.int64()
    if pa.types.is_list(data_type):
        return pa.list_(duckdb_storage(data_type.value_type))
    if pa.types.is_map(data_type):
        return pa.map_(duckdb_storage(data_type.key_type), duckdb_storage(data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([(part.name, duckdb_storage(part.type)) for part in data_type])
    return data_type


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
    return str(data_type) if names is None else names.spark


def quoted(name: str) -> str:
    """Return a name as DuckDB reads it, whatever characters are in it."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """Return text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
