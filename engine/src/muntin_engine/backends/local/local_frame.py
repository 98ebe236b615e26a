"""A table in this process with the columns that a query can read of it, in the types that Spark has too."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from threading import get_ident
from typing import Any, Final
from weakref import WeakSet

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.cores import available_cores
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
    return LocalFrame.of(_kind(frame).layout(new_connection(), frame))


def open_frame(frame: object) -> LocalFrame:
    """Return a table whose relation reads its rows.

    Raises:
        QueryError: It cannot be read.
    """
    return LocalFrame.of(_kind(frame).relation(new_connection(), frame))


def relation_of(table: pa.Table) -> duckdb.DuckDBPyRelation:
    """Return an Arrow table as a relation."""
    return new_connection().from_arrow(table)


def _kind(frame: Any) -> FrameKind:
    kind = kind_of(frame)
    if kind is None:
        raise QueryError(f"a {type(frame).__name__} is no table\n  expected: a data frame, Arrow data, or a path")
    return kind


def new_connection() -> duckdb.DuckDBPyConnection:
    """Return a connection to the database of this process, which `interrupt_thread` can interrupt."""
    connection = _database().cursor()
    _CONNECTIONS.setdefault(get_ident(), WeakSet()).add(connection)
    return connection


def interrupt_thread(thread: int) -> None:
    """Interrupt what DuckDB computes on connections that a thread has made, and forget these.

    Args:
        thread: The id of the thread.
    """
    for connection in list(_CONNECTIONS.pop(thread, ())):
        connection.interrupt()


def limit_database(threads: int, memory_percent: int) -> None:
    """Set what the database of this process may use.

    Args:
        threads: The number of its threads.
        memory_percent: The memory, in percent of that of the machine.
    """
    connection = _database()
    connection.execute(f"SET GLOBAL threads = {threads}")
    connection.execute(f"SET GLOBAL memory_limit = '{memory_percent}%'")


_CONNECTIONS: Final[dict[int, WeakSet[duckdb.DuckDBPyConnection]]] = {}
"""The connections that were made, by the thread that made them."""

_MEMORY_PERCENT: Final = 50
"""The memory that the database may use, in percent: projections need little of it, sorts and joins in SQL may spill."""


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return a database in memory, whose zone is UTC. What it spills goes where temporary files go."""
    spill_folder = os.path.join(tempfile.gettempdir(), f"muntin-duckdb-{os.getpid()}")
    connection = duckdb.connect(":memory:", config={"temp_directory": spill_folder})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute(f"SET GLOBAL threads = {available_cores()}")
    connection.execute(f"SET GLOBAL memory_limit = '{_MEMORY_PERCENT}%'")
    return connection
