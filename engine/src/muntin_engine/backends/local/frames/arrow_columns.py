"""The columns of tables that are read as Arrow data, in the types that DuckDB takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from muntin_engine.backends.local.frames.column_reading import ColumnReading, NoReading, reading_of
from muntin_engine.backends.local.frames.frame_kind import (
    FrameColumn,
    FrameColumns,
)
from muntin_engine.backends.planning.field_types import MOST_DIGITS


class ArrowColumn(NamedTuple):
    """A column of a table that is read as Arrow data.

    Attributes:
        name: Its name.
        type: Its Arrow type; None if Arrow has none for it.
        spelled_type: Its type, as the library of the table spells it.
    """

    name: str
    type: pa.DataType | None
    spelled_type: str


def columns_of_arrow(connection: duckdb.DuckDBPyConnection, word: str, columns: Sequence[ArrowColumn]) -> FrameColumns:
    """Describe the columns of Arrow data, with the way in which DuckDB's values of them are read.

    Args:
        connection: A connection, which is asked in what types it reads Arrow types.
        word: The word for a column, for messages.
        columns: The columns.
    """
    # DuckDB is asked for the types of an empty table. Its columns are named by their places, as names may come twice.
    read_fields: list[pa.Field] = []
    for place, column in enumerate(columns):
        read_type = None if column.type is None else _type_for_duckdb(column.type)
        if read_type is not None:
            read_fields.append(pa.field(str(place), read_type))

    readings: dict[int, ColumnReading] = {}
    planned_types: dict[int, str] = {}
    if read_fields:
        # DuckDB gets a reader without batches, and no table: of some types pyarrow cannot make even an empty array.
        reader = pa.RecordBatchReader.from_batches(pa.schema(read_fields), [])
        relation = connection.from_arrow(reader)
        for place_name, duckdb_type in zip(relation.columns, relation.types, strict=True):
            readings[int(place_name)] = reading_of(duckdb_type, has_lengths=True)
            planned_types[int(place_name)] = str(duckdb_type)

    frame_columns: list[FrameColumn] = []
    for place, column in enumerate(columns):
        reading = readings.get(place, NoReading(column.spelled_type))  # columns that DuckDB does not take are not read
        frame_columns.append(FrameColumn(column.name, reading, column.spelled_type, planned_types.get(place)))
    return FrameColumns(tuple(frame_columns), word)


def _type_for_duckdb(data_type: pa.DataType) -> pa.DataType | None:
    """Return the type in which DuckDB takes values of an Arrow type; None if it would give them another meaning.

    Example:
        >>> print(_type_for_duckdb(pa.float16()), _type_for_duckdb(pa.decimal256(50, 2)))
        float None
    """
    if pa.types.is_float16(data_type):
        return pa.float32()
    if pa.types.is_decimal256(data_type):
        has_few_digits = data_type.precision <= MOST_DIGITS
        return pa.decimal128(data_type.precision, data_type.scale) if has_few_digits else None
    if pa.types.is_duration(data_type) and data_type.unit in ("s", "ms"):
        # DuckDB would convert these itself, also the numbers that lie under nulls, and fail if one is too large.
        return pa.duration("us")
    has_no_meaning = pa.types.is_interval(data_type) or pa.types.is_union(data_type)
    if has_no_meaning or isinstance(data_type, pa.BaseExtensionType):
        return None
    if pa.types.is_nested(data_type):
        return _nested_type_for_duckdb(data_type)
    return data_type


def _nested_type_for_duckdb(data_type: pa.DataType) -> pa.DataType | None:
    """Return a nested type with the types in which DuckDB takes its parts; None if it does not take one of them."""
    parts: list[pa.Field] = []
    for place in range(data_type.num_fields):
        part = data_type.field(place)
        part_type = _type_for_duckdb(part.type)
        if part_type is None:
            return None
        parts.append(part.with_type(part_type))
    if parts == [data_type.field(place) for place in range(data_type.num_fields)]:
        return data_type  # and not a new type that equals it, to which a cast would copy all values
    if pa.types.is_struct(data_type):
        return pa.struct(parts)
    if pa.types.is_map(data_type):
        (entries,) = parts  # the only part of a map is a struct of a key and a value
        return pa.map_(entries.type.field(0), entries.type.field(1))
    is_large = pa.types.is_large_list(data_type) or pa.types.is_large_list_view(data_type)
    return pa.large_list(parts[0]) if is_large else pa.list_(parts[0])


def for_duckdb(rows: Any) -> Any:
    """Return an Arrow table, or a reader, in types that DuckDB takes; most tables stay as they are.

    Args:
        rows: The table or reader, whose columns DuckDB can all read.
    """
    fields: list[pa.Field] = []
    for field in rows.schema:
        read_type = _type_for_duckdb(field.type)
        assert read_type is not None, "columns of other types are not read"
        fields.append(field.with_type(read_type))
    schema = pa.schema(fields)
    return rows if schema == rows.schema else rows.cast(schema)


def is_from(frame: object, library: str, name: str) -> bool:
    """True if an object is of a class of a library, which need not be imported to know it.

    Args:
        frame: The object.
        library: The name of the package.
        name: The name of the class, or of one that the class of the object derives from.
    """
    return any(cls.__name__ == name and cls.__module__.split(".")[0] == library for cls in type(frame).__mro__)
