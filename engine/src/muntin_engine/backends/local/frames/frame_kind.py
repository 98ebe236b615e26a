"""The contract of a kind of tables: what each is read with, and what a result of its kind is."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.frames.column_reading import ColumnReading, is_json, reading_of
from muntin_engine.backends.local.frames.micro_batch import MicroBatch
from muntin_engine.backends.planning.changelog_columns import EVENT_ID, KEYS

BATCH_ROWS: Final = 100_000
"""The number of rows that are in memory at once while a table is read, besides what the table itself holds."""

BATCH_BYTES: Final = 64 * 2**20
"""About the bytes of rows, of a table in memory, that are handed over at once."""

_SPARK_SCHEMA: Final = b"org.apache.spark.sql.parquet.row.metadata"
"""The place where Spark stores its schema in a file of Parquet."""


@dataclass(frozen=True)
class FrameColumn:
    """A column of a table.

    Attributes:
        name: Its name, which another column may have as well.
        reading: The way in which its values are read.
        spelled_type: Its type, as the library of the table spells it.
        planned_type: Its type as DuckDB spells it, which it still has to have when its rows are read; None if the type
            cannot change, or no rows are read of it.
        refusal: The error for reading it, whatever its type is; None if the type decides.
    """

    name: str
    reading: ColumnReading
    spelled_type: str
    planned_type: str | None = None
    refusal: str | None = None


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a table.

    Attributes:
        columns: The columns, in order.
        word: The word for one of them, for messages.
    """

    columns: tuple[FrameColumn, ...]
    word: str

    @property
    def names(self) -> list[str]:
        """The names of the columns, of which several may be equal."""
        return [column.name for column in self.columns]

    def named(self, name: str) -> FrameColumn:
        """Return the column of a name: the first one, if several have the name."""
        return self._first_by_name[name]

    @cached_property
    def _first_by_name(self) -> dict[str, FrameColumn]:
        """The columns by name: of several with one name the first."""
        # A dict keeps the last value of a key, so the columns are gone through from the end.
        return {column.name: column for column in reversed(self.columns)}


class FrameKind(ABC):
    """Tables of one library.

    Attributes:
        word: The word for a column of such a table, for messages.
    """

    word: ClassVar[str]

    @abstractmethod
    def takes(self, frame: object) -> bool:
        """True if an object is a table of this kind."""

    def opened(self, frame: Any) -> Any:
        """Return the object whose rows are read for a table: the table itself, or one that wraps it."""
        return frame

    @abstractmethod
    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe the columns of a table, without a look at its rows.

        Raises:
            QueryError: The table cannot be read.
        """

    @abstractmethod
    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of a table as a relation, which reads rows as far as a query needs them.

        Args:
            connection: The connection on which the rows are read.
            frame: The table.
            names: The names of the columns.

        Raises:
            QueryError: The table cannot be read.
        """

    def table_in_memory(self, frame: Any, names: Sequence[str]) -> pa.Table | None:
        """Return columns of a table as Arrow data; None if its rows are not in memory.

        Args:
            frame: The table.
            names: The names of the columns.

        Raises:
            QueryError: The table does not have the columns any more.
        """
        del frame, names
        return None

    def micro_batch(self, frame: Any) -> MicroBatch | None:
        """Return the micro-batch that the rows of a stream are of; None for tables, which end."""
        del frame
        return None

    def subject(self, frame: Any) -> str:
        """Return the words that name a table in messages."""
        del frame
        return "the input"

    def advice_for_missing_column(self, frame: Any, name: str) -> str | None:
        """Return advice for a name that is no column, but the name of something else in a table; or None.

        Args:
            frame: The table.
            name: The name, such as that of the index of a data frame.
        """
        del frame, name
        return None

    def keys_of_changelog(self, frame: Any) -> list[str] | None:
        """Return the key columns that the metadata of a changelog names; None if it has no such metadata."""
        del frame
        return None

    def row_count(self, frame: Any) -> int | None:
        """Return the number of rows of a table; None if rows would have to be read to know it."""
        del frame
        return None

    def parts(self, frame: Any) -> Sequence[Any]:
        """Return parts of a table that processes can read side by side; empty if it has no such parts."""
        del frame
        return ()

    def result(self, rows: pa.Table) -> Any:
        """Return the rows of a result as a table of this kind."""
        return rows


def changed_since(fact: str) -> QueryError:
    """Return the error for a table that has changed since its query was planned.

    Args:
        fact: The change, in words.
    """
    return QueryError(f"{fact}: the table has changed since the query was written\n  write the query again over it")


def keys_in(schema: pa.Schema) -> list[str] | None:
    """Return the names of the keys of a changelog, from the metadata of its column of ids; None if they are not there.

    Args:
        schema: The schema of the changelog, as Muntin or Spark wrote it.
    """
    if EVENT_ID not in schema.names:
        return None
    stored_keys = (schema.field(EVENT_ID).metadata or {}).get(KEYS.encode())
    if stored_keys is not None:
        keys: list[str] = json.loads(stored_keys)
        return keys

    # Spark writes the metadata of columns into a schema of its own, as JSON in the metadata of the file.
    spark_schema = (schema.metadata or {}).get(_SPARK_SCHEMA)
    if spark_schema is None:
        return None
    spark_fields = json.loads(spark_schema)["fields"]
    keys_by_column: dict[str, list[str] | None] = {field["name"]: field["metadata"].get(KEYS) for field in spark_fields}
    return keys_by_column.get(EVENT_ID)


def columns_of_relation(relation: duckdb.DuckDBPyRelation, word: str, *, may_change: bool) -> FrameColumns:
    """Describe the columns of a relation of DuckDB.

    Args:
        relation: The relation.
        word: The word for one of its columns, for messages.
        may_change: True if the same table may have columns of other types when its rows are read, as files may.
    """
    columns: list[FrameColumn] = []
    for name, data_type in zip(relation.columns, relation.types, strict=True):
        duckdb_name = str(data_type)
        spelled_type = duckdb_name
        if is_json(data_type):
            spelled_type += " (its values are null, or of several types)"
        planned_type = duckdb_name if may_change else None  # to be compared when the rows are read
        columns.append(FrameColumn(name, reading_of(data_type), spelled_type, planned_type))
    return FrameColumns(tuple(columns), word)


def reason_of(error: Exception) -> str:
    """Return the reason in the message of a library's error, without the traceback of Python code that it called.

    Example:
        >>> reason_of(OSError("Unknown error: no disk. Detail: Python exception: Traceback (most recent call last)"))
        'Unknown error: no disk'
    """
    first_part = str(error).strip().partition("\n\n")[0]
    without_traceback = first_part.partition(". Detail: Python exception:")[0].strip()
    return without_traceback.removeprefix("Invalid Input Error: reading the Arrow source failed: ") or repr(error)
