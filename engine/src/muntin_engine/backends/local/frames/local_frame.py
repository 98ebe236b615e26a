"""A table that was opened for a query: its columns in the types that Spark has too, and its rows as relations.

An input is opened once, by `events()`, and travels with the request: its columns are looked up many times, and each
look would open files again or go through the Python objects of a data frame. Changes of columns and unions are frames
over frames, whose rows are computed when they are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.database import new_connection
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.called_function import CalledFunction, functions_in
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames.column_reading import NoReading
from muntin_engine.backends.local.frames.frame_kind import BATCH_ROWS, FrameColumns, FrameKind, changed_since, reason_of
from muntin_engine.backends.local.frames.frame_kinds import kind_of
from muntin_engine.backends.local.frames.micro_batch import MicroBatch

_TYPES: Final = "numbers, text, bytes, booleans, dates, timestamps, durations, or lists, structs and maps of them"
"""The types that have a meaning in a query, for messages."""

_SIZES: Final = (frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}), frozenset({"FLOAT", "DOUBLE"}))
"""The types of numbers that differ only in their size, as DuckDB spells them."""


class LocalFrame(ABC):
    """A table that a query reads.

    Attributes:
        kind: The kind of the table, and of results.
        schema: The columns with the types in which they are read, null where a column has none.
        origin: The table of the query writer, if this one is read as it is; otherwise this one.
        micro_batch: The micro-batch of a stream that its rows are of; None for tables, which end.
    """

    schema: pa.Schema

    @property
    @abstractmethod
    def kind(self) -> FrameKind:
        """The kind of the table."""

    @property
    def origin(self) -> Any:
        """The table of the query writer; this table itself if it has other columns or rows than that one."""
        return self

    @property
    def subject(self) -> str:
        """The words for the table in messages."""
        return "the input"

    @property
    def micro_batch(self) -> MicroBatch | None:
        """The micro-batch of a stream that its rows are of; None for tables, which end."""
        return None

    @abstractmethod
    def refusal(self, name: str) -> str | None:
        """Return the error for reading a column whose type has no meaning in a query; None if the type has a meaning.

        Args:
            name: The name of the column.
        """

    def advice_for_missing_column(self, name: str) -> str | None:
        """Return advice for a name that is no column, but the name of something else in the table; or None."""
        del name
        return None

    def keys_of_changelog(self) -> list[str] | None:
        """Return the key columns that the metadata of a changelog names; None if it has no such metadata."""
        return None

    def called_functions(self) -> tuple[CalledFunction, ...]:
        """Return the functions of plugins that are called to compute the rows, also those of the tables below this."""
        return ()

    @abstractmethod
    def is_hidden(self, name: str) -> bool:
        """True if no expression can read a column, as its values have no meaning in a query.

        A column with a refusal need not be hidden: fields of a struct can be read if only another field has no meaning.
        """

    @abstractmethod
    def relations(self, names: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield columns of the rows as relations, in the types of `schema`; one is read after the other.

        Args:
            names: The names of the columns. Without any, the relations still have a row for each row of the table.

        Raises:
            QueryError: The table cannot be read.
        """

    @property
    def runs_queries(self) -> bool:
        """True if its rows are the results of a query, which runs while they are read."""
        return False

    @property
    def row_count(self) -> int | None:
        """The number of rows; None if it is not known before they are read."""
        return None

    def columns_in_memory(self, names: Sequence[str]) -> pa.Table | None:
        """Return columns as the table holds them in memory, without a copy.

        None if the table is not in memory, or its values would be read in another type.

        Args:
            names: The names of the columns, each once.

        Raises:
            QueryError: The table does not have the columns any more.
        """
        del names
        return None

    def parts(self) -> Sequence[LocalFrame]:
        """Return parts of the table, in order, that processes can read side by side; empty if it has no such parts."""
        return ()

    def names_in(self, *sqls: str) -> list[str]:
        """Return the names of the columns that expressions in DuckDB's SQL may read: those that stand in their text.

        A name may also stand in a literal. Then a column is read that is not needed, which does no harm.

        Args:
            sqls: The expressions.
        """
        names: list[str] = []
        for name in dict.fromkeys(self.schema.names):
            quoted_name = quoted(name)
            if any(quoted_name in sql for sql in sqls):
                names.append(name)
        return names

    def batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Read columns of the rows, and yield them as Arrow data.

        Args:
            schema: The columns to read, with the types that they have in the table.

        Raises:
            QueryError: The table cannot be read.
        """
        for relation in self.relations(schema.names):
            for batch in relation.to_arrow_reader(BATCH_ROWS):
                yield batch.cast(schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Offer the rows to any library that reads Arrow data, with all columns that have a meaning."""
        readable_fields = [field for field in self.schema if self.refusal(field.name) is None]
        schema = pa.schema(readable_fields)
        reader = pa.RecordBatchReader.from_batches(schema, self.batches(schema))
        return reader.__arrow_c_stream__(requested_schema)


@dataclass(frozen=True, eq=False)
class OpenFrame(LocalFrame):
    """A table of a query writer.

    Attributes:
        frame: The table.
        known_columns: The columns of a part, which are those of the whole table; None to look at the table.
    """

    frame: Any
    known_columns: FrameColumns | None = None

    @property
    def origin(self) -> Any:
        """The table."""
        return self.frame

    @cached_property
    def kind(self) -> FrameKind:
        """The kind of the table.

        Raises:
            QueryError: The object is no table.
        """
        kind = kind_of(self.frame)
        if kind is None:
            raise QueryError(
                f"a {type(self.frame).__name__} is no table\n  expected: a data frame, Arrow data, or a path"
            )
        return kind

    @property
    def subject(self) -> str:
        """The words for the table in messages."""
        return self.kind.subject(self.frame)

    @property
    def micro_batch(self) -> MicroBatch | None:
        """The micro-batch that its rows are of."""
        return self.kind.micro_batch(self.frame)

    @property
    def row_count(self) -> int | None:
        """The number of rows, if the table knows it."""
        return self.kind.row_count(self.frame)

    def parts(self) -> list[LocalFrame]:
        """Return parts of the table, in order, that processes can read side by side; empty if it has no such parts."""
        # A part that has only some of the files might have a smaller type of numbers: it gets the columns of the table.
        return [OpenFrame(part, self.columns) for part in self.kind.parts(self.frame)]

    @cached_property
    def source(self) -> Any:
        """The object whose rows are read: the table itself, or one that wraps it.

        Raises:
            QueryError: The table cannot be read.
        """
        return self.kind.opened(self.frame)

    @cached_property
    def columns(self) -> FrameColumns:
        """The columns, described once.

        Raises:
            QueryError: The table cannot be read.
        """
        if self.known_columns is not None:
            return self.known_columns
        try:
            return self.kind.columns(new_connection(), self.source)
        except duckdb.Error as error:
            raise QueryError(f"{self.subject} cannot be read: {reason_of(error)}") from error

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns with the types in which they are read."""
        return pa.schema([(column.name, column.reading.type) for column in self.columns.columns])

    def refusal(self, name: str) -> str | None:
        """Return the error for reading a column whose type, or a part of it, has no meaning in a query, or None."""
        column = self.columns.named(name)
        if column.refusal is not None:
            return column.refusal
        unread_part = column.reading.unread_part
        if unread_part is None:
            return None
        subject = "which" if isinstance(column.reading, NoReading) else f"whose part {unread_part}"
        return (
            f"{self.columns.word} {name!r} is of type {column.spelled_type}, {subject} has no meaning in a query\n"
            f"  expected: {_TYPES}; cast it before events()"
        )

    def advice_for_missing_column(self, name: str) -> str | None:
        """Return advice for a name that is no column, but the name of something else in the table; or None."""
        return self.kind.advice_for_missing_column(self.frame, name)

    def keys_of_changelog(self) -> list[str] | None:
        """Return the key columns that a changelog itself names, where its kind keeps metadata."""
        return self.kind.keys_of_changelog(self.source)

    def is_hidden(self, name: str) -> bool:
        """True if no expression can read a column; a column of nulls alone can be read."""
        column = self.columns.named(name)
        if column.refusal is not None:
            return True
        return isinstance(column.reading, NoReading) and not column.reading.is_of_nulls

    def relations(self, names: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield columns of the rows as one relation.

        Raises:
            QueryError: The table cannot be read, or has changed since the query was planned.
        """
        # A query that only counts rows reads no columns, but the table has to be read by one of them.
        read_names = names or self._counted_names()
        relation = self.kind.relation(new_connection(), self.source, read_names)
        self._check_unchanged(relation)
        columns: list[str] = []
        for name in names:
            value = self.columns.named(name).reading.sql(quoted(name))
            columns.append(f"{value} AS {quoted(name)}")
        yield relation.project(", ".join(columns) or "1")  # a relation needs a column, even to count its rows

    def columns_in_memory(self, names: Sequence[str]) -> pa.Table | None:
        """Return columns as the table holds them in memory; None if they would be read in other types."""
        types: list[pa.DataType] = []
        for name in names:
            reading = self.columns.named(name).reading
            if not reading.is_only_cast or pa.types.is_nested(reading.type):
                return None  # more than a cast: DuckDB has to compute the values
            types.append(reading.type)
        table = self.kind.table_in_memory(self.source, names)
        if table is None or table.schema.types != types:
            return None
        return table

    def _check_unchanged(self, relation: duckdb.DuckDBPyRelation) -> None:
        """Refuse rows of a table that has changed its types since the query was planned.

        Another size of numbers is no such change: the rows are cast to the type that was planned.

        Args:
            relation: The rows, with columns in the types that the table has now.

        Raises:
            QueryError: A column is of another type.
        """
        for name, data_type in zip(relation.columns, map(str, relation.types), strict=True):
            planned_type = self.columns.named(name).planned_type
            if planned_type is None:
                continue  # the type cannot change
            if data_type == planned_type:
                continue
            are_sizes_of_one_kind = any({data_type, planned_type} <= sizes for sizes in _SIZES)
            if not are_sizes_of_one_kind:
                raise changed_since(f"{self.columns.word} {name!r} is of type {data_type} instead of {planned_type}")

    def _counted_names(self) -> list[str]:
        """Return the name of one column that can be read, as a list, for a query that reads none and counts rows.

        The list is empty if the table has no such column.
        """
        return [name for name in self.columns.names if not self.is_hidden(name)][:1]


@dataclass(frozen=True, eq=False)
class ChangedFrame(LocalFrame):
    """A table with columns computed from those of another one.

    Attributes:
        frame: The other table.
        columns: All columns in order, each with its name and its expression over the other table. Names may come twice.
        kept_names: The names of the columns that are columns of the other table as they are.
    """

    frame: LocalFrame
    columns: Sequence[tuple[str, DuckdbExpression]]
    kept_names: frozenset[str] = frozenset()

    @classmethod
    def beside(cls, frame: LocalFrame, columns: Mapping[str, DuckdbExpression]) -> ChangedFrame:
        """Return a table with further columns beside its own.

        Args:
            frame: The table.
            columns: The further columns by name, as expressions over those of the table.
        """
        names = frame.schema.names
        return cls(frame, [*kept_columns(frame, names), *columns.items()], kept_names=frozenset(names))

    @property
    def kind(self) -> FrameKind:
        """The kind of the other table."""
        return self.frame.kind

    @property
    def subject(self) -> str:
        """The words for the other table in messages."""
        return self.frame.subject

    @property
    def micro_batch(self) -> MicroBatch | None:
        """The micro-batch of the other table."""
        return self.frame.micro_batch

    @property
    def runs_queries(self) -> bool:
        """True if the rows of the other table are the results of a query."""
        return self.frame.runs_queries

    @property
    def row_count(self) -> int | None:
        """The number of rows of the other table."""
        return self.frame.row_count

    def parts(self) -> list[LocalFrame]:
        """Return parts of the other table with the columns."""
        return [replace(self, frame=part) for part in self.frame.parts()]

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns with their types."""
        return pa.schema([(name, expression.type) for name, expression in self.columns])

    def refusal(self, name: str) -> str | None:
        """Return the error for reading a column of the other table whose type has no meaning in a query, or None."""
        return self.frame.refusal(name) if name in self.kept_names else None

    def called_functions(self) -> tuple[CalledFunction, ...]:
        """Return the functions that the columns and the other table call."""
        sqls = [expression.sql for _, expression in self.columns]
        return (*self.frame.called_functions(), *functions_in(*sqls))

    def is_hidden(self, name: str) -> bool:
        """True if a column is one of the other table that no expression can read."""
        return name in self.kept_names and self.frame.is_hidden(name)

    def relations(self, names: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield the rows of the other table with columns computed of them."""
        expressions = dict(self.columns)
        sqls = [expressions[name].sql for name in names]
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in zip(names, sqls, strict=True))
        for relation in self.frame.relations(self.frame.names_in(*sqls)):
            yield relation.project(columns or "1")  # a relation needs a column, even to count its rows


def kept_columns(frame: LocalFrame, names: Collection[str]) -> list[tuple[str, DuckdbExpression]]:
    """Return columns of a table as they are, in its order, as pairs of a name and an expression.

    Args:
        frame: The table.
        names: The names of the columns.
    """
    columns: list[tuple[str, DuckdbExpression]] = []
    for field in frame.schema:
        if field.name in names:
            columns.append((field.name, DuckdbExpression(quoted(field.name), field.type)))
    return columns


def called_by_all(frames: Iterable[LocalFrame]) -> tuple[CalledFunction, ...]:
    """Return the functions that any of several tables calls."""
    functions: list[CalledFunction] = []
    for frame in frames:
        functions += frame.called_functions()
    return tuple(functions)


def opened(frame: Any) -> LocalFrame:
    """Open a table of a query writer, so that it is described only once; a table that is open is returned itself."""
    return frame if isinstance(frame, LocalFrame) else OpenFrame(frame)
