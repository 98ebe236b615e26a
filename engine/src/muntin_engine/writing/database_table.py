"""A table of PostgreSQL or SQLite, written in the transaction that keeps the number of the micro-batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import QueryError
from muntin_engine.errors import StateError
from muntin_engine.writing.databases import database_of
from muntin_engine.writing.json_text import json_of
from muntin_engine.writing.table_sink import CHANGE, Mark, TableSink, rows_gone_error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_OWN: Final = "muntin_batches"
"""The table beside those of results, with the last micro-batch of each."""

_LAST_ROW: Final = "last_row"

_EXACT: Final = ("int", "string", "bool", "date", "timestamp", "decimal")
"""How Arrow's names of types begin whose values a database finds again as they were written."""

_MOST_CHARACTERS: Final = 200


class DatabaseTable(TableSink):
    """Writes to a table of PostgreSQL or SQLite, each micro-batch in one transaction with its number.

    Rows of results are appended; a changelog is merged, see `TableSink`. The table belongs to one query.

    Spark's JDBC writer cannot replace this class: it commits each partition by itself, so a crash leaves a part of a
    micro-batch, and it keeps no number by which the micro-batch could be left out when it comes again.

    The table is made if it is not there, with the columns of the output. Those of a record are columns of their own:
    `window` becomes `window_start` and `window_end`. Lists and maps are JSON. A table that is there keeps its
    constraints and indexes, and may have more columns.

    The table `muntin_batches` beside it holds, for each table, the id of the query, the last micro-batch, the output's
    watermark as a tick, and of the row that was written last, as JSON, the columns that are numbers without fractions,
    texts or times. Where that row is gone when the query starts, it does not go on.

    Cost: see `TableSink`. Each start looks for the row that was written last: an index on the window makes that quick.

    Example:
        >>> str(DatabaseTable("sqlite:results.db?table=bikes"))
        'sqlite:results.db?table=bikes'
    """

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

    def __str__(self) -> str:
        return f"{self._database}?table={self._table}"

    @property
    def place(self) -> str:
        """The address, without a password."""
        return str(self)

    def find_mark(self, query_id: str) -> Mark:
        """Return the row of the table in `muntin_batches`, if the query is its owner.

        Raises:
            StateError: That row, or the table of those rows, is gone, and the query wrote in this run.
        """
        with self._database.transaction() as cursor:
            owner, *mark = self._owner(cursor) if self._has_batches(cursor) else ("",)
        if owner == query_id:
            return Mark(*mark)
        if self._last_batch is not None:
            raise self._gone()
        return Mark()

    def open(self, query_id: str) -> None:
        """See that the table belongs to the query, and has the row that it wrote last.

        Raises:
            QueryError: It belongs to another one.
            StateError: The table or that row is gone.
        """
        super().open(query_id)
        with self._database.transaction() as cursor:
            cursor.execute(self._database.lock)
            if not self._has_batches(cursor):
                cursor.execute(
                    f"CREATE TABLE {self._batches} (table_name text PRIMARY KEY, query_id text NOT NULL,"
                    " batch bigint NOT NULL, read text NOT NULL, watermark bigint, last_row text)"
                )
            elif _LAST_ROW not in self._database.columns(cursor, self._batches_name):  # an older version made it
                cursor.execute(f"ALTER TABLE {self._batches} ADD COLUMN {_LAST_ROW} text")
            owner, batch, *_ = self._owner(cursor)
            is_there = bool(self._database.columns(cursor, self._table))
            if owner == query_id:
                if batch >= 0 and not is_there:
                    raise self._gone()
                self._check_last_row(cursor)
                return
            if owner and is_there:
                raise QueryError(
                    f"{self} holds the output of another query: of {owner}, and this one is {query_id}\n"
                    "  a query that starts with a new checkpoint is another one, and counts its micro-batches from 0\n"
                    "  choose another table, drop this one, or go on with its checkpoint"
                )
            mark = self._database.mark
            cursor.execute(f"DELETE FROM {self._batches} WHERE table_name = {mark}1", (self._table,))
            cursor.execute(
                f"INSERT INTO {self._batches} VALUES ({mark}1, {mark}2, -1, '', NULL, NULL)", (self._table, query_id)
            )

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write the rows and the number of a micro-batch; once more if the connection is lost.

        Raises:
            QueryError: The table has other columns.
            StateError: The table, or its row in `muntin_batches`, is gone.
        """
        try:
            super().write(batch, batch_id)
        except Exception as error:
            if not self._database.is_lost(error):
                raise
            super().write(batch, batch_id)

    def append(self, rows: pa.RecordBatchReader, query_id: str, mark: Mark) -> None:
        """Append rows in one transaction."""
        self.merge(rows, (), query_id, mark)

    def merge(self, rows: pa.RecordBatchReader, names: Sequence[str], query_id: str, mark: Mark) -> None:
        """Delete the rows that change and insert them as they are from now on, in one transaction."""
        of: dict[str, list[str]] = {}
        columns: dict[str, Any] = {}
        for output, name, column in _flat(rows.schema.empty_table()):
            if name in columns:
                raise QueryError(
                    f"two columns of the output would be {name!r}, as records become columns\n  rename one of them"
                )
            columns[name] = column.type
            of.setdefault(output, []).append(name)
        unique = [name for output in names for name in of[output]]
        kept = [name for name in columns if not (names and name == CHANGE)]
        converters = {name: self._database.converter(column) for name, column in columns.items()}
        with self._database.transaction() as cursor:
            if not self._is_next(cursor, query_id, mark):
                return
            self._check_columns(cursor, {name: self._database.type_of(columns[name]) for name in kept}, unique)
            for part in rows:
                values = {}
                for _, name, column in _flat(part):
                    convert, found = converters[name], column.to_pylist(maps_as_pydicts="strict")
                    values[name] = found if convert is None else [None if v is None else convert(v) for v in found]
                written = list(zip(*(values[name] for name in kept), strict=True))
                if names:
                    deleted = list(zip(*(values[name] for name in unique), strict=True))
                    self._delete(cursor, unique, deleted)
                    written = [row for row, change in zip(written, values[CHANGE], strict=True) if change == "upsert"]
                    if deleted:  # the row that was written last may be among them
                        self._keep_last_row(cursor, None)
                self._database.append(cursor, self._name, list(map(self._database.quoted, kept)), written)
                if written:
                    last_row = dict(zip(kept, written[-1], strict=True))
                    self._keep_last_row(cursor, {name: last_row[name] for name in kept if _is_exact(columns[name])})

    def _keep_last_row(self, cursor: Any, row: Mapping[str, Any] | None) -> None:
        """Keep the row that was written last, or that none is known, in the transaction of the rows."""
        mark = self._database.mark
        if row is not None:
            row = {name: value for name, value in row.items() if len(str(value)) <= _MOST_CHARACTERS}
        cursor.execute(
            f"UPDATE {self._batches} SET {_LAST_ROW} = {mark}1 WHERE table_name = {mark}2",
            (json_of(row) if row else None, self._table),
        )

    def _check_last_row(self, cursor: Any) -> None:
        """Raise unless the table has the row that was written last."""
        mark = self._database.mark
        cursor.execute(f"SELECT batch, {_LAST_ROW} FROM {self._batches} WHERE table_name = {mark}1", (self._table,))
        batch, last_row = cursor.fetchone()
        columns = self._database.columns(cursor, self._table)
        row = {} if last_row is None else json.loads(last_row, parse_float=str)
        row = {name: value for name, value in row.items() if name in columns}
        if not row:
            return
        conditions: list[str] = []
        values: list[Any] = []
        for name, value in row.items():
            if value is None:
                conditions.append(f"{self._database.quoted(name)} IS NULL")
                continue
            values.append(str(int(value)) if isinstance(value, bool) else str(value))
            parameter = self._database.parameter(len(values), columns[name])
            conditions.append(f"{self._database.quoted(name)} = {parameter}")
        cursor.execute(f"SELECT 1 FROM {self._name} WHERE {' AND '.join(conditions)} LIMIT 1", tuple(values))
        if cursor.fetchone() is None:
            raise rows_gone_error(
                f"{self} lacks the row that was written last, up to micro-batch {batch}: {last_row}",
                f"if you deleted it on purpose:"
                f" UPDATE {self._batches} SET {_LAST_ROW} = NULL WHERE table_name = '{self._table}'",
            )

    @property
    def _batches_name(self) -> str:
        return ".".join([*self._database.parts(self._table)[:-1], _OWN])

    def _has_batches(self, cursor: Any) -> bool:
        return bool(self._database.columns(cursor, self._batches_name))

    def _owner(self, cursor: Any) -> tuple[Any, ...]:
        """Return the query that the table belongs to, an empty text if there is none, and its mark."""
        cursor.execute(
            f"SELECT query_id, batch, read, watermark FROM {self._batches} WHERE table_name = {self._database.mark}1",
            (self._table,),
        )
        return cursor.fetchone() or ("", *Mark())

    def _is_next(self, cursor: Any, query_id: str, to: Mark) -> bool:
        """Keep a mark; false if its micro-batch is there. Of two drivers the second waits here."""
        mark = self._database.mark
        cursor.execute(
            f"UPDATE {self._batches} SET batch = {mark}1, read = {mark}2, watermark = {mark}3"
            f" WHERE table_name = {mark}4 AND query_id = {mark}5 AND batch < {mark}1",
            (*to, self._table, query_id),
        )
        if cursor.rowcount:
            return True
        if self._owner(cursor)[0] != query_id:
            raise self._gone()
        return False

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

    def _gone(self) -> StateError:
        return StateError(
            f"{self} is gone, or its row in {_OWN}, and this query wrote to it\n"
            "  what the checkpoint has done is not written again: restore the table and that row, or start with a new\n"
            "  checkpoint to compute all results again, or name another table to go on without the old ones"
        )


def _is_exact(arrow: object) -> bool:
    return str(arrow).startswith(_EXACT)


def _flat(table: pa.Table | pa.RecordBatch) -> Iterator[tuple[str, str, Any]]:
    """Return the columns of rows, those of records one by one: the output's, the name, and the values."""
    left = [(name, name, column) for name, column in zip(table.schema.names, table.columns, strict=True)]
    while left:
        output, name, column = left.pop(0)
        if str(column.type).startswith("struct<"):
            parts = zip(column.type.names, column.flatten(), strict=True)
            left[:0] = [(output, f"{name}_{part}", values) for part, values in parts]
        else:
            yield output, name, column
