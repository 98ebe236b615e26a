"""A table in this process with the columns that a query can read of it, in the types that Spark has too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted, read_column, read_type
from muntin_engine.backends.local.frames import FrameKind, kind_of


@dataclass(frozen=True)
class LocalFrame:
    """The columns of a table.

    Attributes:
        relation: The table as a relation of DuckDB, with its columns in the types of `schema`.
        schema: The Arrow types of the columns; null where a column has none that can be read.
        unread_types: The types of those columns as DuckDB spells them, by name.
    """

    relation: duckdb.DuckDBPyRelation
    schema: pa.Schema
    unread_types: Mapping[str, str]

    @classmethod
    def of(cls, relation: duckdb.DuckDBPyRelation) -> LocalFrame:
        """Read the columns of a relation, each in a type that Spark has."""
        columns: list[str] = []
        fields: list[pa.Field] = []
        unread_types: dict[str, str] = {}
        for name, data_type in zip(relation.columns, relation.types, strict=True):
            arrow_type = read_type(data_type)
            if arrow_type is None:
                unread_types[name] = "void" if data_type.id == "null" else str(data_type).casefold()
                fields.append(pa.field(name, pa.null()))
                columns.append(quoted(name))
            else:
                fields.append(pa.field(name, arrow_type))
                columns.append(read_column(name, data_type, arrow_type))
        return cls(relation.project(", ".join(columns)), pa.schema(fields), unread_types)


def layout_of(frame: object) -> LocalFrame:
    """Return the columns of a table, without a look at its rows.

    Raises:
        QueryError: It cannot be read.
    """
    return LocalFrame.of(_kind(frame).layout(_connection().cursor(), frame))


def open_frame(frame: object) -> LocalFrame:
    """Return a table whose relation reads its rows.

    Raises:
        QueryError: It cannot be read.
    """
    return LocalFrame.of(_kind(frame).relation(_connection().cursor(), frame))


def relation_of(table: pa.Table) -> duckdb.DuckDBPyRelation:
    """Return an Arrow table as a relation."""
    return _connection().cursor().from_arrow(table)


def _kind(frame: Any) -> FrameKind:
    kind = kind_of(frame)
    if kind is None:
        raise QueryError(f"a {type(frame).__name__} is no table\n  expected: a data frame, Arrow data, or a path")
    return kind


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """Return a database in memory, whose zone is UTC."""
    connection = duckdb.connect(":memory:")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection
