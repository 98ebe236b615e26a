"""The contract of a kind of tables: what each is read with, and what a result of its kind is."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.column_reading import ColumnReading, reading_of
from muntin_engine.backends.local.micro_batch import MicroBatch
from muntin_engine.backends.planning.changelog_columns import EVENT_ID, KEYS

_SPARK_SCHEMA: Final = b"org.apache.spark.sql.parquet.row.metadata"
"""The place where Spark stores its schema in a file of Parquet."""


@dataclass(frozen=True)
class FrameColumns:
    """The columns of a table, in order.

    Attributes:
        readings: The ways in which they are read.
        spelled_types: Their types, as the library of the table spells them.
        read_types: By name, the types of columns that are read, as DuckDB spells them.
        word: The word for one of the columns, for messages.
        refusals: By name, the errors for columns that cannot be read, whatever their type.
    """

    readings: tuple[tuple[str, ColumnReading], ...]
    spelled_types: tuple[str, ...]
    read_types: Mapping[str, str]
    word: str
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the columns, of which several may be equal."""
        return [name for name, _ in self.readings]


class FrameKind(ABC):
    """Tables of one library.

    Attributes:
        word: The word for a column of such a table, for messages.
    """

    word: ClassVar[str]

    @abstractmethod
    def takes(self, frame: object) -> bool:
        """Say whether an object is a table of this kind."""

    def opened(self, frame: Any) -> Any:
        """Return the object that is read of a table: the table itself, unless a look at its columns reads rows."""
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

    def micro_batch(self, frame: Any) -> MicroBatch | None:
        """Return the micro-batch that the rows of a table are of; None as a table ends."""
        del frame
        return None

    def subject(self, frame: Any) -> str:
        """Return the words for a table in messages."""
        del frame
        return "the input"

    def advice_for_missing_column(self, frame: Any, name: str) -> str | None:
        """Say what to write so that a table has a column of a name; None if nothing in the table is called so."""
        del frame, name
        return None

    def keys_of_changelog(self, frame: Any) -> list[str] | None:
        """Return the key columns that a changelog itself names, for kinds that keep metadata; None if it names none."""
        del frame
        return None

    def row_count(self, frame: Any) -> int | None:
        """Return the number of rows of a table; None if it takes more than a look at it."""
        del frame
        return None

    def parts(self, frame: Any) -> Sequence[Any]:
        """Return parts of a table that processes can read side by side; none if it has no such parts."""
        del frame
        return ()

    def result(self, rows: pa.Table) -> Any:
        """Return the rows of a result as a table of this kind."""
        return rows


def changed_since(fact: str) -> QueryError:
    """Return the error for a table that is not what it was when its query was planned.

    Args:
        fact: What is different.
    """
    return QueryError(f"{fact}: the table has changed since the query was written\n  write the query again over it")


def keys_in(schema: pa.Schema) -> list[str] | None:
    """Return the keys that a changelog names in the metadata of its ids; None if it names none."""
    keys: list[str] | None = None
    if EVENT_ID in schema.names:
        stored_keys = (schema.field(EVENT_ID).metadata or {}).get(KEYS.encode())
        keys = None if stored_keys is None else json.loads(stored_keys)
    spark_schema = (schema.metadata or {}).get(_SPARK_SCHEMA)
    if keys is None and spark_schema is not None:
        for field in json.loads(spark_schema)["fields"]:
            if field["name"] == EVENT_ID:
                keys = field["metadata"].get(KEYS)
    return keys


def columns_of_relation(relation: duckdb.DuckDBPyRelation, word: str) -> FrameColumns:
    """Describe the columns of a relation of DuckDB.

    Args:
        relation: The relation.
        word: The word for one of its columns.
    """
    readings: list[tuple[str, ColumnReading]] = []
    spelled_types: list[str] = []
    for name, data_type in zip(relation.columns, relation.types, strict=True):
        readings.append((name, reading_of(data_type)))
        is_json = str(data_type) == "JSON"
        spelled_types.append("JSON (its values are null, or of several types)" if is_json else str(data_type))
    read_types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    return FrameColumns(tuple(readings), tuple(spelled_types), read_types, word)


def reason_of(error: Exception) -> str:
    """Return the first part of an error of a library; those of Python code that it runs have a whole traceback.

    Example:
        >>> reason_of(OSError("Unknown error: no disk. Detail: Python exception: Traceback (most recent call last)"))
        'Unknown error: no disk'
    """
    first_part = str(error).strip().partition("\n\n")[0]
    without_traceback = first_part.partition(". Detail: Python exception:")[0].strip()
    return without_traceback.removeprefix("Invalid Input Error: reading the Arrow source failed: ") or repr(error)
