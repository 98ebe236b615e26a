"""A table of PostgreSQL or SQLite, written in the transaction that keeps the number of the micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import QueryError
from muntin_engine.errors import StateError
from muntin_engine.writing.databases import Database, database_of
from muntin_engine.writing.net_rows import net_rows
from muntin_engine.writing.sink import ToldSink, WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OWN: Final = "muntin_batches"
"""The table beside those of results, with the last micro-batch of each."""


class DatabaseTable(ToldSink):
    """Writes to a table of PostgreSQL or SQLite, each micro-batch in one transaction with its number.

    Rows are appended. Results that may be retracted, as with `emit="speculative"` or `"eager"`, are applied instead:
    the table has one row for each that is live, told apart by the query's keys and `event_id`. Readers see a
    micro-batch whole or not at all, and one that comes again changes nothing.

    The table is made if it is not there, with the columns of the output. Those of a record are columns of their own:
    `window` becomes `window_start` and `window_end`. Lists and maps are JSON. A table that is there keeps its
    constraints and indexes, and may have more columns.

    The table `muntin_batches` beside it holds, for each table, the id of the query, the last micro-batch and the
    output's watermark as a tick.

    Cost: the rows of a micro-batch pass through the memory of the driver.

    Example:
        >>> str(DatabaseTable("sqlite:results.db?table=bikes"))
        'sqlite:results.db?table=bikes'
    """

    guarantee = "exactly once"

    def __init__(self, address: str) -> None:
        """Take an address.

        Args:
            address: `postgresql://user@host:5432/database?table=name`, with `schema.name` for another schema and
                libpq's own options beside `table`, or `sqlite:PATH?table=name`. A password in it is shown nowhere.

        Raises:
            QueryError: It names no table.
            SetupError: `psycopg` is not installed, which the extra `postgresql` brings.
        """
        self._database, self._table = database_of(address)
        parts = self._database.parts(self._table)
        self._name = self._database.quoted(*parts)
        self._batches = self._database.quoted(*parts[:-1], _OWN)
        self._keys: list[str] = []
        self._query_id = ""
        self._is_checked = False

    def __str__(self) -> str:
        return f"{self._database}?table={self._table}"

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch whose transaction was committed."""
        with self._database.transaction() as cursor:
            if not self._has_batches(cursor):
                return WrittenBatch(-1)
            last = self._row(cursor, "batch, read")
            return WrittenBatch(*last) if last else WrittenBatch(-1)

    @property
    def place(self) -> str:
        """The address, without a password."""
        return str(self)

    def keyed_by(self, keys: Sequence[str]) -> None:
        """Take the keys, by which results that are retracted are found."""
        self._keys = list(keys)

    def open(self, query_id: str) -> None:
        """See that the table belongs to the query.

        Raises:
            QueryError: It belongs to another one.
            StateError: It is gone, and this query wrote to it.
        """
        self._query_id, self._is_checked = query_id, False
        with self._database.transaction() as cursor:
            cursor.execute(self._database.lock)
            if not self._has_batches(cursor):
                cursor.execute(
                    f"CREATE TABLE {self._batches} (table_name text PRIMARY KEY, query_id text NOT NULL,"
                    " batch bigint NOT NULL, read text NOT NULL, watermark bigint)"
                )
            owner = self._row(cursor, "query_id, batch")
            is_there = bool(self._database.columns(cursor, self._table))
            if owner and owner[0] == query_id:
                if owner[1] >= 0 and not is_there:
                    raise self._gone()
                return
            if owner and is_there:
                raise QueryError(
                    f"{self} holds the output of another query: of {owner[0]}, and this one is {query_id}\n"
                    "  a query that starts with a new checkpoint is another one, and counts its micro-batches from 0\n"
                    "  choose another table, drop this one, or go on with its checkpoint"
                )
            mark = self._database.mark
            cursor.execute(f"DELETE FROM {self._batches} WHERE table_name = {mark}1", (self._table,))
            cursor.execute(
                f"INSERT INTO {self._batches} VALUES ({mark}1, {mark}2, -1, '', NULL)", (self._table, query_id)
            )

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write the rows and the number of a micro-batch; once more if the connection is lost.

        Raises:
            QueryError: The table has other columns.
            StateError: The table, or its row in `muntin_batches`, is gone.
        """
        size, self._count = self._count, None
        rows = _TableRows(batch, self._database) if size != 0 or not self._is_checked else None
        try:
            self._transact(batch_id, rows)
        except Exception as error:
            if not self._database.is_lost(error):
                raise
            self._transact(batch_id, rows)

    def _transact(self, batch_id: int, rows: _TableRows | None) -> None:
        with self._database.transaction() as cursor:
            is_next = self._is_next(cursor, batch_id)
            if is_next and rows is not None:
                self._put(cursor, rows)
        self._is_checked = self._is_checked or is_next

    def _has_batches(self, cursor: Any) -> bool:
        return bool(self._database.columns(cursor, ".".join([*self._database.parts(self._table)[:-1], _OWN])))

    def _is_next(self, cursor: Any, batch_id: int) -> bool:
        """Keep the number of a micro-batch; false if it is there. Of two drivers the second waits here."""
        mark = self._database.mark
        cursor.execute(
            f"UPDATE {self._batches} SET batch = {mark}1, read = {mark}2, watermark = COALESCE({mark}3, watermark)"
            f" WHERE table_name = {mark}4 AND query_id = {mark}5 AND batch < {mark}1",
            (batch_id, self._read, self._watermark, self._table, self._query_id),
        )
        if cursor.rowcount:
            return True
        if self._row(cursor, "query_id") != (self._query_id,):
            raise self._gone()
        return False

    def _put(self, cursor: Any, rows: _TableRows) -> None:
        is_changelog = {"change", "event_id"} <= set(rows.types)
        kept = [name for name in rows.types if not (is_changelog and name in ("change", "new_end"))]
        keys = [name for key in self._keys for name in rows.of[key]]
        if not self._is_checked:
            unique = [*keys, "event_id"] if is_changelog else []
            self._check_columns(cursor, {name: rows.types[name] for name in kept}, unique)
        written = rows.rows
        if is_changelog:
            net = net_rows(list(rows.types), written, keys)
            places = [list(rows.types).index(name) for name in kept]
            written = [tuple(row[place] for place in places) for row in net.live]
            self._delete(cursor, [*keys, "event_id"], net.touched)
        if written:
            self._database.append(cursor, self._name, list(map(self._database.quoted, kept)), written)

    def _delete(self, cursor: Any, names: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> None:
        """Delete rows by their ids; a comparison with null would find none, and one that does has no index."""

        def nulls(row_id: tuple[Any, ...]) -> list[bool]:
            return [part is None for part in row_id]

        for are_null, some in groupby(sorted(ids, key=nulls), key=nulls):
            marks = (f" = {self._database.mark}{number}" for number in count(1))
            tests = [" IS NULL" if is_null else next(marks) for is_null in are_null]
            conditions = " AND ".join(map("".join, zip(map(self._database.quoted, names), tests, strict=True)))
            cursor.executemany(
                f"DELETE FROM {self._name} WHERE {conditions}",
                [tuple(part for part in row_id if part is not None) for row_id in some],
            )

    def _check_columns(self, cursor: Any, wanted: dict[str, str], unique: Sequence[str]) -> None:
        """Make the table, or see that it takes these columns."""
        quoted = self._database.quoted
        has = self._database.columns(cursor, self._table)
        if not has:
            parts = [f"{quoted(name)} {of}" for name, of in wanted.items()]
            if unique:
                parts.append(f"UNIQUE ({', '.join(map(quoted, unique))})")
            cursor.execute(f"CREATE TABLE {self._name} ({', '.join(parts)})")
            return
        for name, of in wanted.items():
            if name not in has:
                raise QueryError(
                    f"{self} has no column {name!r}, which the output has: it has {', '.join(has)}\n"
                    f"  add it, as {of}, or name another table"
                )
            if has[name] not in (of, of.partition("(")[0], *self._database.wider.get(of, ())):
                raise QueryError(
                    f"the column {name!r} of {self} is {has[name]}, and the output has {of}\n"
                    "  change its type, or name another table"
                )

    def _row(self, cursor: Any, columns: str) -> tuple[Any, ...] | None:
        """Return columns of the table's row in `muntin_batches`; None if it has none."""
        cursor.execute(
            f"SELECT {columns} FROM {self._batches} WHERE table_name = {self._database.mark}1", (self._table,)
        )
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row

    def _gone(self) -> StateError:
        return StateError(
            f"{self} is gone, or its row in {_OWN}, and this query wrote to it\n"
            "  what the checkpoint has done is not written again: restore the table and that row, or start with a new\n"
            "  checkpoint to compute all results again, or name another table to go on without the old ones"
        )


class _TableRows:
    """The rows of a micro-batch, with columns as a database has them.

    Attributes:
        types: The types of the columns, by name.
        of: The names of the columns that each column of the output became.
        rows: Their values.
    """

    def __init__(self, batch: DataFrame, database: Database) -> None:
        self.types: dict[str, str] = {}
        self.of: dict[str, list[str]] = {}
        columns = []
        for output, name, column in _flat(batch.toArrow()):
            if name in self.types:
                raise QueryError(
                    f"two columns of the output would be {name!r}, as records become columns\n  rename one of them"
                )
            self.types[name] = database.type_of(column.type)
            self.of.setdefault(output, []).append(name)
            values = column.to_pylist(maps_as_pydicts="strict")
            convert = database.converter(column.type)
            columns.append(values if convert is None else [None if v is None else convert(v) for v in values])
        self.rows: list[tuple[Any, ...]] = list(zip(*columns, strict=True))


def _flat(table: Any) -> list[tuple[str, str, Any]]:
    """Return the columns of an Arrow table, those of records one by one: the output's, the name, and the values."""
    found = []
    todo = [(name, name, column) for name, column in zip(table.column_names, table.columns, strict=True)]
    while todo:
        output, name, column = todo.pop(0)
        if str(column.type).startswith("struct<"):
            parts = zip(column.type.names, column.flatten(), strict=True)
            todo[:0] = [(output, f"{name}_{part}", values) for part, values in parts]
        else:
            found.append((output, name, column))
    return found
