"""The rows of a plain query over tables in this process: a table itself, that windows can be taken of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa

from muntin_engine.backends.local.duckdb_types import LENGTH, duckdb_type, quoted
from muntin_engine.backends.local.expressions.translator import FAILURE
from muntin_engine.backends.local.frames import FrameKind, kind_of
from muntin_engine.backends.local.local_frame import LocalFrame, layout_of, open_frame
from muntin_engine.backends.local.plain_queries import (
    TableColumn,
    columns_of,
    missing_table,
    table_view,
    translated_query,
)
from muntin_engine.backends.local.refusals import FailedRowError

_BATCH_ROWS: Final = 100_000


@dataclass(frozen=True, eq=False)
class QueriedRows(FrameKind):
    """The rows of a query over tables. It is a kind of its own: results are of the kind of its first table.

    Attributes:
        sql: The query in DuckDB's SQL.
        tables: The tables that it reads, by their numbers in it.
        result_kind: The kind of results.
    """

    sql: str
    tables: Mapping[int, Any]
    result_kind: FrameKind

    @classmethod
    def of(cls, text: str, tables: Mapping[str, Any]) -> QueriedRows:
        """Translate a query.

        Args:
            text: The query in Spark's SQL.
            tables: The tables that it may read, by name.

        Raises:
            QueryError: A table cannot be read, or the query has no translation of the same meaning.
        """
        columns = {name: columns_of(layout_of(frame)) for name, frame in tables.items()}
        query = translated_query(text, columns)
        listed = ", ".join(_returned(column) for column in query.columns)
        read_tables: dict[int, Any] = {}
        for number, frame in enumerate(tables.values()):
            if _reads(query.sql, number):
                read_tables[number] = frame
        first_table = next(iter(read_tables.values()), pa.table({}))
        kind = kind_of(first_table)
        assert kind is not None, "its layout was read"
        return cls(f"SELECT {listed} FROM ({query.sql}) AS result", read_tables, kind)

    def takes(self, frame: object) -> bool:
        """Say whether an object is this query."""
        return frame is self

    def relation(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the rows of the query."""
        del frame
        return self._relation(connection, layout=False)

    def layout(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> duckdb.DuckDBPyRelation:
        """Return the columns of the query."""
        del frame
        return self._relation(connection, layout=True)

    def result(self, rows: pa.Table) -> Any:
        """Return a table of the kind of the first one that the query reads."""
        return self.result_kind.result(rows)

    def _relation(self, connection: duckdb.DuckDBPyConnection, *, layout: bool) -> duckdb.DuckDBPyRelation:
        for number, table in self.tables.items():
            kind = kind_of(table)
            assert kind is not None, "its layout was read"
            relation = kind.layout(connection, table) if layout else kind.relation(connection, table)
            rows: Any = LocalFrame.of(relation.limit(0) if layout else relation).relation
            is_elsewhere = isinstance(table, duckdb.DuckDBPyRelation)
            is_file = isinstance(table, str | os.PathLike)
            if is_elsewhere or (_reads(self.sql, number) > 1 and not is_file):
                # The relation of another connection is not read by this one, and a stream is read once.
                rows = rows.to_arrow_table()
            connection.register(table_view(number), rows)
        try:
            return connection.sql(self.sql)
        except duckdb.Error as error:
            raise FailedRowError("the query cannot be run", error, FAILURE) from error

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows.

        Raises:
            QueryError: A table cannot be read, or a row of the query cannot be computed.
        """
        frame = open_frame(self)
        try:
            for batch in frame.relation.to_arrow_reader(_BATCH_ROWS):
                yield batch.cast(frame.schema)
        except (duckdb.Error, OSError) as error:
            raise FailedRowError("the rows of the query cannot be read", error, FAILURE) from error

    def table(self) -> Any:
        """Return the rows as a table of the kind of the first one that the query reads."""
        schema = layout_of(self).schema
        return self.result(pa.Table.from_batches(self.batches(), schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow data."""
        reader = pa.RecordBatchReader.from_batches(layout_of(self).schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def table_named(name: str, tables: Mapping[str, Any]) -> Any:
    """Return a table by its name in any case.

    Raises:
        QueryError: There is no such table.
    """
    for table_name, frame in tables.items():
        if table_name.casefold() == name.casefold():
            return frame
    raise missing_table(name, tables)


def _reads(sql: str, number: int) -> int:
    """Return how often a query reads a table."""
    return sql.count(quoted(table_view(number)))


def _returned(column: TableColumn) -> str:
    """Return a column of a result, in its type."""
    name = quoted(column.name)
    if column.unread_type is not None:
        return name
    if column.type == LENGTH:
        return f"to_microseconds({name}) AS {name}"
    return f"CAST({name} AS {duckdb_type(column.type)}) AS {name}"
