"""Tables as queries see them, and queries over them in DuckDB's SQL."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.frames.local_frame import LocalFrame


@dataclass(frozen=True)
class TableColumn:
    """A column of a table or of a query.

    Attributes:
        name: Its name.
        type: Its Arrow type; null if values of its type are not read.
        refusal: The error for reading it, if its type has no meaning in a query.
        is_hidden: True if no expression can read it.
    """

    name: str
    type: pa.DataType
    refusal: str | None = None
    is_hidden: bool = False


@dataclass(frozen=True)
class QueryOverTables:
    """A query in DuckDB's SQL.

    Attributes:
        sql: Its text. It reads each table under the name that `table_view` returns for its number.
        columns: Its columns, in order.
        combines_rows: True if a row of the result follows from several rows, as in joins and groups.
    """

    sql: str
    columns: tuple[TableColumn, ...]
    combines_rows: bool = False

    def reads(self, number: int) -> int:
        """Return how often the query reads a table, by the number of the table."""
        return self.sql.count(quoted(table_view(number)))


def table_view(number: int) -> str:
    """Return the name under which a query reads a table, by the number of the table."""
    return f"muntin_table_{number}"


def columns_of(frame: LocalFrame) -> tuple[TableColumn, ...]:
    """Return the columns of a table."""
    columns: list[TableColumn] = []
    for column in frame.schema:
        name = column.name
        columns.append(TableColumn(name, column.type, refusal=frame.refusal(name), is_hidden=frame.is_hidden(name)))
    return tuple(columns)


def missing_table(name: str, tables: Iterable[str]) -> QueryError:
    """Return the error about a table that does not exist, with the name that may have been meant."""
    table_names = list(tables)
    close = difflib.get_close_matches(name, table_names, n=1, cutoff=0.6)
    advice = f"did you mean {close[0]}?" if close else f"there are {', '.join(table_names) or 'none'}"
    return QueryError("{value!r} is no table\n  {advice}", value=name, advice=advice)
