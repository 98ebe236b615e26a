"""PostgreSQL and SQLite: their connections, their spelling of names and types, and the loading of rows."""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from math import isnan
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from muntin.errors import QueryError
from muntin_engine.errors import SetupError
from muntin_engine.needed import required_module
from muntin_engine.sinks.json_text import json_of, text_of

_DECIMAL: Final = re.compile(r"decimal\d+\((\d+), (-?\d+)\)")
_ZONED: Final = "timestamp[us, tz="
_PATIENCE: Final = 30
"""Seconds that SQLite waits for the transaction of another program."""


class Database(ABC):
    """A database of one kind, at an address.

    A connection lasts for a transaction: none goes stale between micro-batches, or has to travel with its sink.

    Attributes:
        placeholder: The sign of a parameter in a statement, before its number.
        types: The types of columns, by the names of Arrow's types; other types are stored as JSON.
        larger_types: By a type of columns, the types that hold all its values too. A table may have them instead.
        lock: A statement that waits until no other transaction holds the lock, and holds it until the transaction ends.
    """

    placeholder: ClassVar[str]
    types: ClassVar[Mapping[str, str]]
    larger_types: ClassVar[Mapping[str, Sequence[str]]]
    lock: ClassVar[str] = "SELECT 1"

    @abstractmethod
    def __str__(self) -> str:
        """Return the address without its password."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """Connect, and lend a cursor to a block; commit at the end of the block, or roll back if the block raises.

        Raises:
            SetupError: The database cannot be reached.
        """

    @abstractmethod
    def columns(self, cursor: Any, table: str) -> dict[str, str]:
        """Return the types of the columns of a table, by name; none if there is no such table."""

    def folded(self, name: str) -> str:
        """Return the name of a column such that two are equal if the database takes them for one column.

        PostgreSQL tells upper from lower case in a quoted name.
        """
        return name

    def parameter(self, number: int, of_type: str) -> str:
        """Return the SQL of a parameter that gets a text, cast to the type of the column that it is compared with.

        Args:
            number: The number of the parameter, from 1.
            of_type: The type of the column.
        """
        return f"CAST({self.placeholder}{number} AS {of_type})"

    @abstractmethod
    def append(self, cursor: Any, table: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows to a table.

        Args:
            cursor: The cursor of the transaction.
            table: The name of the table, quoted.
            names: The names of its columns, quoted.
            rows: The values of each row, in the order of the names.
        """

    @abstractmethod
    def converter(self, arrow_type: object) -> Callable[[Any], Any] | None:
        """Return the function that converts values of a type of Arrow's for the database; None if it takes them."""

    def type_of(self, arrow_type: object) -> str:
        """Return the type of a column for values of a type of Arrow's, which is no struct."""
        name = str(arrow_type)
        if name.startswith(_ZONED):  # timestamps with any zone have one type of column
            name = _ZONED
        return self.types.get(name, self.types["json"])

    def quoted(self, *parts: str) -> str:
        """Return the name of a table or column as it is written in a statement.

        Args:
            parts: The schema, if there is one, and the name in it.
        """
        quoted_parts = ['"' + part.replace('"', '""') + '"' for part in parts]
        return ".".join(quoted_parts)

    def parts(self, table: str) -> list[str]:
        """Split the name of a table at the dot after its schema, if it has one."""
        return [table]

    def is_lost(self, error: Exception) -> bool:
        """True for an error of the connection, after which the same statements may succeed."""
        return False


class _Postgresql(Database):
    """A database of PostgreSQL."""

    placeholder = "$"
    types: ClassVar = {
        "bool": "boolean",
        "int8": "smallint",
        "int16": "smallint",
        "int32": "integer",
        "int64": "bigint",
        "float": "real",
        "double": "double precision",
        "string": "text",
        "binary": "bytea",
        "date32[day]": "date",
        "timestamp[us]": "timestamp without time zone",
        _ZONED: "timestamp with time zone",
        "duration[us]": "interval",
        "json": "jsonb",
    }
    larger_types: ClassVar = {
        "smallint": ["integer", "bigint"],
        "integer": ["bigint"],
        "real": ["double precision"],
        "text": ["character varying"],
        "jsonb": ["json", "text"],
    }
    lock = "SELECT pg_advisory_xact_lock(hashtext('muntin_batches'))"

    def __init__(self, address: str) -> None:
        """Take an address in the form of libpq, PostgreSQL's client.

        Raises:
            QueryError: libpq refuses the address.
            SetupError: `psycopg` is not installed.
        """
        url = urlsplit(address)
        credentials, at_sign, host = url.netloc.rpartition("@")
        user = credentials.partition(":")[0]
        self._address_without_password = f"postgresql://{user}{at_sign}{host}{url.path}"
        self._address = address
        try:  # the property imports psycopg, or raises a SetupError
            self._psycopg.conninfo.conninfo_to_dict(address)
        except self._psycopg.Error:  # not chained, as its message repeats the address with the password
            raise QueryError(
                f"{self._address_without_password} is not an address of a PostgreSQL database\n"
                "  expected postgresql://user@host:5432/database?table=name, with %-codes for special characters\n"
                "  leave the password out: the variable PGPASSWORD or the file .pgpass may hold it"
            ) from None

    def __str__(self) -> str:
        return self._address_without_password

    @property
    def _psycopg(self) -> Any:
        return required_module("psycopg", feature="a table in PostgreSQL", extra="postgresql")

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Connect, and lend a cursor to a block; commit at its end, or roll back if it raises.

        Raises:
            SetupError: The server cannot be reached, or refuses the user.
        """
        try:
            connection = self._psycopg.connect(self._address, cursor_factory=self._psycopg.RawCursor)
        except self._psycopg.OperationalError as error:
            raise SetupError(
                f"{self} cannot be reached: {error}\n"
                "  expected a server that runs, and a user, a database and a password that it knows"
            ) from None
        with connection, connection.cursor() as cursor:  # psycopg's block commits at its end, or rolls back
            yield cursor

    def columns(self, cursor: Any, table: str) -> dict[str, str]:
        """Return the types of the columns of a table, by name; none if there is no such table."""
        cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
            " WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (self.quoted(*self.parts(table)),),
        )
        return dict(cursor.fetchall())

    def append(self, cursor: Any, table: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows to a table by `COPY`, the fastest way into PostgreSQL."""
        with cursor.copy(f"COPY {table} ({', '.join(names)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def converter(self, arrow_type: object) -> Callable[[Any], Any] | None:
        return json_of if self.type_of(arrow_type) == "jsonb" else None

    def type_of(self, arrow_type: object) -> str:
        """Return the type of a column for values of a type of Arrow's; decimals keep their digits."""
        decimal = _DECIMAL.fullmatch(str(arrow_type))
        if decimal is not None:
            precision, scale = decimal.groups()
            return f"numeric({precision},{scale})"
        return super().type_of(arrow_type)

    def parts(self, table: str) -> list[str]:
        return table.split(".", 1)

    def is_lost(self, error: Exception) -> bool:
        return isinstance(error, self._psycopg.OperationalError)


class _Sqlite(Database):
    """A file of SQLite.

    Types are declared so that no value is changed: decimals, dates and times are text, intervals microseconds.
    """

    placeholder = "?"
    types: ClassVar = {
        **dict.fromkeys(("bool", "int8", "int16", "int32", "int64", "duration[us]"), "INTEGER"),
        **dict.fromkeys(("float", "double"), "REAL"),
        **dict.fromkeys(("string", "date32[day]", "timestamp[us]", _ZONED, "json"), "TEXT"),
        "binary": "BLOB",
    }
    larger_types: ClassVar = {"INTEGER": ["INT", "BIGINT"], "REAL": ["DOUBLE"]}

    def __init__(self, path: str) -> None:
        """Take the path of the file; the first transaction makes it."""
        self._path = path

    def __str__(self) -> str:
        return f"sqlite:{self._path}"

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Open the file, and lend a cursor to a block; commit at its end, or roll back if it raises.

        Raises:
            SetupError: The file cannot be opened.
        """
        try:
            connection = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise SetupError(f"{self} cannot be opened: {error}\n  expected a file in a folder that is there") from None
        cursor = connection.cursor()
        try:
            cursor.execute("BEGIN IMMEDIATE")  # waits for the transaction of another program, up to `_PATIENCE`
            yield cursor
            cursor.execute("COMMIT")
        finally:
            # If a statement failed, the traceback of the error holds the cursor, and an open cursor would keep the file
            # locked. So the cursor is closed by itself. Closing the connection rolls back what was not committed.
            cursor.close()
            connection.close()

    def columns(self, cursor: Any, table: str) -> dict[str, str]:
        return dict(cursor.execute("SELECT name, upper(type) FROM pragma_table_info(?)", (table,)).fetchall())

    def folded(self, name: str) -> str:
        """Return a name with small letters for those of ASCII: SQLite compares names without their case, quoted too."""
        return "".join(letter.lower() if letter.isascii() else letter for letter in name)

    def append(self, cursor: Any, table: str, names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        placeholders = ", ".join("?" * len(names))
        cursor.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({placeholders})", rows)

    def converter(self, arrow_type: object) -> Callable[[Any], Any] | None:
        """Return the function that converts values of a type of Arrow's for SQLite; None if SQLite takes them."""
        name = str(arrow_type)
        if name in ("float", "double"):
            # SQLite stores NaN as null. A row with NaN in a key is therefore looked for with null as well.
            return lambda value: None if isnan(value) else value
        if name.startswith("decimal"):
            return "{:f}".format  # all digits, without an exponent
        if name.startswith(("date", "timestamp")):
            return text_of
        if name.startswith("duration"):
            return lambda value: value // timedelta(microseconds=1)  # the number of microseconds
        return None if name in self.types else json_of


def database_of(address: str) -> tuple[Database, str]:
    """Return the database and the table that an address names.

    Raises:
        QueryError: The address names no table of a database.
        SetupError: The package that connects to the database is not installed.

    Example:
        >>> database, table = database_of("sqlite:results.db?table=bikes")
        >>> str(database), table
        ('sqlite:results.db', 'bikes')
    """
    location = address
    options = ""
    if "?" in address:  # the path of a file may have a ? as well: options follow the last one
        location, _, options = address.rpartition("?")
    tables: list[str] = []
    options_of_libpq: list[tuple[str, str]] = []
    for name, value in parse_qsl(options, keep_blank_values=True):
        if name == "table":
            tables.append(value)
        else:
            options_of_libpq.append((name, value))

    scheme, _, path = location.partition(":")
    database: Database | None = None
    if scheme in ("postgresql", "postgres"):
        address_for_libpq = location
        if options_of_libpq:
            address_for_libpq += f"?{urlencode(options_of_libpq)}"
        database = _Postgresql(address_for_libpq)
    elif scheme == "sqlite" and path and not path.startswith("//") and not options_of_libpq:
        # An address `sqlite://...`, as other libraries have it, would not be the path that it seems to be.
        database = _Sqlite(path)
    if database is None or len(tables) != 1 or not tables[0]:
        shown_address = address if scheme == "sqlite" else scheme  # an address of another scheme may have a password
        raise QueryError(
            f"{database or shown_address} does not name a table of a database\n"
            "  expected postgresql://user@host/database?table=name or sqlite:path/of/file.db?table=name"
        )
    return database, tables[0]
