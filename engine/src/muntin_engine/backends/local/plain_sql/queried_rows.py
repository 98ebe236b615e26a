"""The rows of a plain query over tables in this process: a table itself, that windows can be taken of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.database import new_connection
from muntin_engine.backends.local.duckdb_types import duckdb_type, quoted
from muntin_engine.backends.local.expressions.called_function import CalledFunction, functions_in
from muntin_engine.backends.local.frames.frame_kind import FrameKind
from muntin_engine.backends.local.frames.local_frame import LocalFrame, called_by_all, opened
from muntin_engine.backends.local.frames.micro_batch import MicroBatch
from muntin_engine.backends.local.plain_sql.queries import translated_query
from muntin_engine.backends.local.plain_sql.tables import (
    QueryOverTables,
    TableColumn,
    columns_of,
    missing_table,
    table_view,
)
from muntin_engine.backends.local.refusals import failures_of_rows, not_yet


@dataclass(frozen=True, eq=False)
class QueriedRows(LocalFrame):
    """The rows of a query over tables.

    Attributes:
        query: The query in DuckDB's SQL.
        tables: The tables that it reads, by their numbers in it.
    """

    query: QueryOverTables
    tables: Mapping[int, LocalFrame]

    @classmethod
    def of(cls, text: str, tables: Mapping[str, Any]) -> QueriedRows:
        """Translate a query.

        Args:
            text: The query in Spark's SQL.
            tables: The tables that the query may read, by name.

        Raises:
            QueryError: A table cannot be read, or the query has no translation of the same meaning.
        """
        frames = {name: opened(frame) for name, frame in tables.items()}
        query = translated_query(text, {name: columns_of(frame) for name, frame in frames.items()})
        read_tables: dict[int, LocalFrame] = {}
        for number, frame in enumerate(frames.values()):
            if query.reads(number):
                read_tables[number] = frame
        # A query of a stream has only the rows of this micro-batch. One that joins, groups or orders rows would need
        # those of earlier micro-batches, too.
        if query.combines_rows and any(frame.micro_batch is not None for frame in read_tables.values()):
            raise not_yet("a query of a stream's rows that joins, groups or orders them, before windows")
        return cls(query, read_tables)

    @property
    def kind(self) -> FrameKind:
        """The kind of the first table that the query reads; if it reads none, its rows are Arrow data."""
        first_frame = next(iter(self.tables.values()), None)
        return opened(pa.table({})).kind if first_frame is None else first_frame.kind

    @property
    def micro_batch(self) -> MicroBatch | None:
        """The micro-batch of the stream that the query reads; None if it reads tables."""
        for frame in self.tables.values():
            if frame.micro_batch is not None:
                return frame.micro_batch
        return None

    @property
    def runs_queries(self) -> bool:
        """True if a table has the results of a query, which runs while they are read."""
        return any(frame.runs_queries for frame in self.tables.values())

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the query."""
        return pa.schema([(column.name, column.type) for column in self.query.columns])

    def refusal(self, name: str) -> str | None:
        """Return the error for reading a column that a table has with a type without a meaning."""
        return self._column(name).refusal

    def called_functions(self) -> tuple[CalledFunction, ...]:
        """Return the functions that the query and its tables call."""
        return (*called_by_all(self.tables.values()), *functions_in(self.query.sql))

    def is_hidden(self, name: str) -> bool:
        """True if a column is one of a table that no expression can read."""
        return self._column(name).is_hidden

    def _column(self, name: str) -> TableColumn:
        """Return the column of the query that has a name: no two columns have the same one."""
        (column,) = (column for column in self.query.columns if column.name == name)
        return column

    def relations(self, names: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """Plan the query, and yield its rows as one relation, which is run when it is read.

        Raises:
            QueryError: A table cannot be read, or the query cannot be run.
        """
        connection = new_connection()
        for number, frame in self.tables.items():
            # All columns are read whose names stand anywhere in the query. A name may be meant for another table, which
            # does no harm.
            # A table that a query reads has one relation; only a union of streams has several.
            (rows,) = frame.relations(frame.names_in(self.query.sql))
            # A query may read a table twice, as a join of it with itself does. Files can be read again. Other tables
            # may be streams of Arrow data, which can be read only once, so their rows are read into memory.
            is_file = isinstance(frame.origin, str | os.PathLike)
            if self.query.reads(number) > 1 and not is_file:
                with failures_of_rows(f"{frame.subject} cannot be read"):
                    rows = rows.to_arrow_table()
            connection.register(table_view(number), rows)

        columns: list[str] = []
        for name in names:
            data_type = duckdb_type(self._column(name).type)
            columns.append(f"CAST({quoted(name)} AS {data_type}) AS {quoted(name)}")
        with failures_of_rows("the query cannot be run"):
            relation = connection.sql(f"SELECT {', '.join(columns) or '1'} FROM ({self.query.sql}) AS result")
        yield relation

    def table(self) -> Any:
        """Run the query, and return its rows as a table of the kind of the first table that it reads.

        Raises:
            QueryError: A table cannot be read, a row cannot be computed, or a column is of a type without a meaning.
        """
        for column in self.query.columns:
            if column.refusal is not None:
                raise QueryError(column.refusal)
        with failures_of_rows("the rows of the query cannot be read"):
            rows = pa.Table.from_batches(self.batches(self.schema), self.schema)
        return self.kind.result(rows)


def table_named(name: str, tables: Mapping[str, Any]) -> Any:
    """Return a table by its name in any case.

    Raises:
        QueryError: There is no such table.
    """
    for table_name, frame in tables.items():
        if table_name.casefold() == name.casefold():
            return frame
    raise missing_table(name, tables)
