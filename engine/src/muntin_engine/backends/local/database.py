"""The database of this process, in which DuckDB reads tables and computes expressions; its zone is UTC."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from threading import get_ident
from typing import Final
from weakref import WeakSet

import duckdb
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL

from muntin_engine.backends.local.cores import available_cores


def relation_of(table: pa.Table) -> duckdb.DuckDBPyRelation:
    """Return an Arrow table as a relation."""
    return new_connection().from_arrow(table)


def new_connection() -> duckdb.DuckDBPyConnection:
    """Return a connection to the database of this process, which `interrupt_thread` can interrupt."""
    connection = _database().cursor()
    _CONNECTIONS.setdefault(get_ident(), WeakSet()).add(connection)
    return connection


def create_function(
    name: str, function: Callable[[pa.ChunkedArray], pa.Array], argument_type: str, result_type: str
) -> None:
    """Register a function, so that queries on all connections can call it.

    Args:
        name: The name of the function in SQL.
        function: The function. It gets the arguments of a batch of rows, also those that are null, and returns an array
            with a value for each row.
        argument_type: The type of the argument, as DuckDB calls it.
        result_type: The type of the values, as DuckDB calls it.
    """
    # On the connection of the database itself: DuckDB may drop a function with the connection that registered it.
    _database().create_function(name, function, [argument_type], result_type, type=ARROW, null_handling=SPECIAL)


def interrupt_thread(thread: int) -> None:
    """Interrupt what DuckDB computes on the connections that a thread has opened, and forget these connections.

    Args:
        thread: The id of the thread.
    """
    for connection in list(_CONNECTIONS.pop(thread, ())):
        connection.interrupt()


def limit_database(threads: int, memory_percent: int) -> None:
    """Limit the threads and the memory of the database of this process.

    Args:
        threads: The number of its threads.
        memory_percent: The memory that it may use, in percent of the machine's memory.
    """
    connection = _database()
    connection.execute(f"SET GLOBAL threads = {threads}")
    connection.execute(f"SET GLOBAL memory_limit = '{memory_percent}%'")


_CONNECTIONS: Final[dict[int, WeakSet[duckdb.DuckDBPyConnection]]] = {}
"""The connections that were made, by the thread that made them."""

MEMORY_PERCENT: Final = 50
"""The memory that databases may use, in percent: projections need little of it, sorts and joins in SQL may spill."""


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Return the database of this process: it is in memory, its zone is UTC, and it spills into temporary files."""
    spill_folder = os.path.join(tempfile.gettempdir(), f"muntin-duckdb-{os.getpid()}")
    connection = duckdb.connect(":memory:", config={"temp_directory": spill_folder})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute(f"SET GLOBAL threads = {available_cores()}")
    connection.execute(f"SET GLOBAL memory_limit = '{MEMORY_PERCENT}%'")
    return connection
