"""A table of PostgreSQL or SQLite, written in the transaction that keeps the number of the micro-batch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from muntin.errors import QueryError
from muntin_engine.errors import StateError
from muntin_engine.sinks.databases import database_of
from muntin_engine.sinks.json_text import json_of
from muntin_engine.sinks.table_sink import CHANGE, Mark, TableSink, rows_gone_error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_BATCHES: Final = "muntin_batches"
"""The name of the table beside those of results, with the last micro-batch of each."""

_LAST_ROW: Final = "last_row"

_EXACT_TYPES: Final = ("int", "string", "bool", "date", "timestamp", "decimal")
"""The first letters of the names of Arrow's types whose values a query can look for by `=`, unlike floats and JSON."""

_MOST_CHARACTERS: Final = 200
"""The length of a text up to which it is part of `last_row`."""


class _TableColumns(NamedTuple):
    """The columns of an output in a table, with the fields of records as columns of their own.

    Attributes:
        types: Arrow's types, by the names of the columns, with the column `change` of a changelog.
        ids: The columns that identify a row; none if rows are appended.
    """

    types: Mapping[str, Any]
    ids: Sequence[str]

    @property
    def written(self) -> list[str]:
        """The columns of the table, which are all except the column `change` of a changelog."""
        is_changelog = bool(self.ids)
        return [name for name in self.types if not (is_changelog and name == CHANGE)]

    @property
    def exact(self) -> list[str]:
        """The columns of the table whose values a query can look for by `=`."""
        return [name for name in self.written if str(self.types[name]).startswith(_EXACT_TYPES)]


class DatabaseTable(TableSink):
    """Writes to a table of PostgreSQL or SQLite, each micro-batch in one transaction with its number.

    Rows of results are appended. A changelog is merged: the table has one row per key and `event_id`. The table belongs
    to one query.

    Spark's JDBC writer cannot replace this class: it commits each partition by itself, so a crash leaves a part of a
    micro-batch, and it keeps no number by which the micro-batch could be skipped when it comes again.

    The table is made if it is not there, with the columns of the output, and for a changelog with a `UNIQUE` constraint
    on the keys and `event_id`. The fields of a record are columns of their own: `window` becomes `window_start` and
    `window_end`. A table that is there must have all columns of the output with their types; it keeps its constraints
    and indexes, and may have more columns.

    | in Spark | in PostgreSQL | in SQLite |
    |---|---|---|
    | boolean | `boolean` | `INTEGER` |
    | byte and short, int, long | `smallint`, `integer`, `bigint` | `INTEGER` |
    | float, double | `real`, `double precision` | `REAL`; NaN is null |
    | decimal | `numeric(p,s)` | `TEXT`, all digits |
    | string, binary | `text`, `bytea` | `TEXT`, `BLOB` |
    | date | `date` | `TEXT`, as in `2024-05-01` |
    | timestamp | `timestamp with time zone` | `TEXT` in UTC, as in `2024-05-01T08:00:00.000000Z` |
    | timestamp without a zone | `timestamp without time zone` | `TEXT`, without the `Z` |
    | interval | `interval` | `INTEGER`, microseconds |
    | array, map | `jsonb` | `TEXT`, JSON |

    PostgreSQL stores no text with a NUL character: such a row stops the query.

    The table `muntin_batches` beside it has a row for each table: `table_name`, `query_id`, `batch` (the last
    micro-batch), `input_id`, `watermark` (a tick) and `last_row`. The last one is JSON of the row that was written
    last: its columns that are numbers without fractions, times or short texts. If the table lacks that row when the
    query starts, the query does not go on. Whoever deletes the row on purpose sets `last_row` to null.

    Cost: rows pass through the driver; up to 100,000 of them at once, beyond that one partition at a time. Each start
    looks for the row that was written last, by a scan of the table unless it has an index on the window or the keys.

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
            QueryError: The address names no table.
            SetupError: `psycopg` is not installed, which the extra `postgresql` brings.
        """
        self._database, self._table = database_of(address)
        *schema, name = self._database.parts(self._table)  # the schema is empty if the address names none
        self._quoted_table = self._database.quoted(*schema, name)
        self._quoted_batches = self._database.quoted(*schema, _BATCHES)
        self._batches = ".".join([*schema, _BATCHES])

    def __str__(self) -> str:
        return f"{self._database}?table={self._table}"

    @property
    def destination(self) -> str:
        """The address, without its password."""
        return str(self)

    def find_mark(self, query_id: str) -> Mark:
        """Return the progress that `muntin_batches` has of the table; `Mark()` if the table is another query's or new.

        Raises:
            StateError: The table is gone, and the query wrote to it; or its row in `muntin_batches` is gone, and the
                query wrote in this run.
        """
        owner = ""
        mark = Mark()
        with self._database.transaction() as cursor:
            if self._has_batches(cursor):
                owner, mark = self._owner_and_mark(cursor)
            has_table = bool(self._database.columns(cursor, self._table))
        if owner == query_id:
            if mark.batch >= 0 and not has_table:
                raise self._gone_error()
            return mark
        if self._last_batch is not None:  # the query wrote in this run, so it was the owner
            raise self._gone_error()
        return Mark()

    def open(self, query_id: str) -> None:
        """Check that the table belongs to the query, and has the row that the query wrote last.

        A table that no query owns belongs to this query from now on.

        Raises:
            QueryError: The table belongs to another query.
            StateError: The table, or the row that was written last, is gone.
        """
        super().open(query_id)
        with self._database.transaction() as cursor:
            # Without the lock, two queries that start at once would both make `muntin_batches`.
            cursor.execute(self._database.lock)
            self._make_batches(cursor)
            owner, mark = self._owner_and_mark(cursor)
            has_table = bool(self._database.columns(cursor, self._table))

            if owner == query_id:
                if mark.batch >= 0 and not has_table:
                    raise self._gone_error()
                self._check_last_row(cursor)
                return
            # A table that was dropped may still have an owner: another query may make it anew.
            if owner and has_table:
                raise QueryError(
                    f"{self} holds the output of another query: of {owner}, and this one is {query_id}\n"
                    "  a query that starts with a new checkpoint is another one, and counts its micro-batches from 0\n"
                    "  choose another table, drop this one, or go on with its checkpoint"
                )
            # Make this query the owner, without any micro-batch yet.
            sign = self._database.placeholder
            cursor.execute(f"DELETE FROM {self._quoted_batches} WHERE table_name = {sign}1", (self._table,))
            cursor.execute(
                f"INSERT INTO {self._quoted_batches} (table_name, query_id, batch, input_id, watermark, {_LAST_ROW})"
                f" VALUES ({sign}1, {sign}2, -1, '', NULL, NULL)",
                (self._table, query_id),
            )

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Write the rows and the number of a micro-batch; if the connection is lost, try a second time.

        Raises:
            QueryError: The table lacks a column of the output, or has one with another type.
            StateError: The table, or its row in `muntin_batches`, is gone.
        """
        try:
            super().write(batch, batch_id)
        except Exception as error:
            if not self._database.is_lost(error):
                raise
            super().write(batch, batch_id)  # skips the micro-batch if it was committed before the connection was lost

    def append(self, rows: pa.RecordBatchReader, query_id: str, mark: Mark) -> None:
        """Append rows in one transaction."""
        self.merge(rows, names=(), query_id=query_id, mark=mark)

    def merge(self, rows: pa.RecordBatchReader, names: Sequence[str], query_id: str, mark: Mark) -> None:
        """Delete the rows that change and insert their new versions, in one transaction; without `names`, append rows.

        Args:
            rows: The changes; without `names`, the rows.
            names: The columns that identify a row; none to append rows.
            query_id: The id of the query.
            mark: The progress of the query with these rows.

        Raises:
            QueryError: The table lacks a column of the output, or has one with another type.
            StateError: The row of the table in `muntin_batches` is gone.
        """
        columns = _columns_of(rows.schema, names)
        converters = {name: self._database.converter(arrow_type) for name, arrow_type in columns.types.items()}
        column_types = {name: self._database.type_of(columns.types[name]) for name in columns.written}
        with self._database.transaction() as cursor:
            if not self._set_mark(cursor, query_id, mark):
                return  # another driver has written the micro-batch
            self._check_columns(cursor, column_types, columns.ids)
            for record_batch in rows:
                self._write_rows(cursor, columns, _converted(record_batch, converters))

    def _write_rows(self, cursor: Any, columns: _TableColumns, values: Mapping[str, list[Any]]) -> None:
        """Insert rows. Of a changelog, first delete the rows that change, and then insert their new versions.

        Args:
            cursor: The cursor of the transaction.
            columns: The columns of the output.
            values: The values of each column, as the database takes them; of the same length.
        """
        rows = list(zip(*(values[name] for name in columns.written), strict=True))
        if columns.ids:
            # A micro-batch has at most one change of a row, an upsert or a delete: the old version goes in either case.
            ids = list(zip(*(values[name] for name in columns.ids), strict=True))
            self._delete(cursor, columns.ids, ids)
            if ids:
                # The row that was written last may be among the deleted ones, so no start may look for it any more.
                self._set_last_row(cursor, row={})
            rows = [row for row, change in zip(rows, values[CHANGE], strict=True) if change == "upsert"]
        quoted_names = [self._database.quoted(name) for name in columns.written]
        self._database.append(cursor, self._quoted_table, quoted_names, rows)
        if rows:
            last_row = dict(zip(columns.written, rows[-1], strict=True))
            # A later start looks for this row by `=`, so it is kept without its floats and JSON.
            self._set_last_row(cursor, row={name: last_row[name] for name in columns.exact})

    def _set_last_row(self, cursor: Any, row: Mapping[str, Any]) -> None:
        """Set `last_row` of the table, in the transaction of the rows.

        Args:
            cursor: The cursor of the transaction.
            row: The values by which a later start looks for the row, by column; empty if no such row is known.
        """
        short_values: dict[str, Any] = {}
        for name, value in row.items():
            if len(str(value)) <= _MOST_CHARACTERS:
                short_values[name] = value
        sign = self._database.placeholder
        cursor.execute(
            f"UPDATE {self._quoted_batches} SET {_LAST_ROW} = {sign}1 WHERE table_name = {sign}2",
            (json_of(short_values) if short_values else None, self._table),
        )

    def _check_last_row(self, cursor: Any) -> None:
        """Raise unless the table has the row that was written last.

        Raises:
            StateError: The table does not have the row.
        """
        sign = self._database.placeholder
        cursor.execute(
            f"SELECT batch, {_LAST_ROW} FROM {self._quoted_batches} WHERE table_name = {sign}1", (self._table,)
        )
        batch, last_row = cursor.fetchone()
        if last_row is None:
            # There is no row to look for: none was written yet, a later micro-batch may have deleted it, its values are
            # too long to be kept, or somebody deleted it and followed the advice of the error below.
            return

        # JSON does not hold the types of the values. So each is compared as text, which the database casts to the type
        # of its column. A number with a fraction is read from the JSON as text, so that it keeps all its digits.
        column_types = self._types_by_folded_name(self._database.columns(cursor, self._table))
        conditions: list[str] = []
        values: list[Any] = []
        for name, value in json.loads(last_row, parse_float=str).items():
            type_of_column = column_types.get(self._database.folded(name))
            if type_of_column is None:
                continue  # the column was dropped since
            if value is None:
                conditions.append(f"{self._database.quoted(name)} IS NULL")
                continue
            is_boolean = isinstance(value, bool)
            values.append(str(int(value)) if is_boolean else str(value))  # SQLite casts '1' to a number, and not 'True'
            parameter = self._database.parameter(len(values), type_of_column)
            conditions.append(f"{self._database.quoted(name)} = {parameter}")
        if not conditions:
            return  # all columns by which the row could be looked for were dropped
        cursor.execute(f"SELECT 1 FROM {self._quoted_table} WHERE {' AND '.join(conditions)} LIMIT 1", tuple(values))
        if cursor.fetchone() is None:
            table_name = self._table.replace("'", "''")  # as a text in SQL
            raise rows_gone_error(
                f"{self} lacks the row that was written last, up to micro-batch {batch}: {last_row}",
                f"if you deleted it on purpose:"
                f" UPDATE {self._quoted_batches} SET {_LAST_ROW} = NULL WHERE table_name = '{table_name}'",
            )

    def _has_batches(self, cursor: Any) -> bool:
        """True if the database has the table `muntin_batches`."""
        return bool(self._database.columns(cursor, self._batches))

    def _make_batches(self, cursor: Any) -> None:
        """Make the table `muntin_batches` if there is none."""
        if not self._has_batches(cursor):
            cursor.execute(
                f"CREATE TABLE {self._quoted_batches} (table_name text PRIMARY KEY, query_id text NOT NULL,"
                f" batch bigint NOT NULL, input_id text NOT NULL, watermark bigint, {_LAST_ROW} text)"
            )

    def _owner_and_mark(self, cursor: Any) -> tuple[str, Mark]:
        """Return the id of the query that owns the table, and its progress.

        If no query owns the table, the id is empty and the progress `Mark()`.
        """
        cursor.execute(
            f"SELECT query_id, batch, input_id, watermark FROM {self._quoted_batches}"
            f" WHERE table_name = {self._database.placeholder}1",
            (self._table,),
        )
        row = cursor.fetchone()
        if row is None:
            return "", Mark()
        query_id, *mark = row
        return query_id, Mark(*mark)

    def _set_mark(self, cursor: Any, query_id: str, mark: Mark) -> bool:
        """Set the mark of the table; return False, and change nothing, if the table has that micro-batch already.

        `write` has looked at the mark before, but in another transaction. If two drivers write one micro-batch, the
        second waits here until the first has committed. Then `batch < new batch` no longer holds, and it sets no mark.

        Raises:
            StateError: The table has no mark of the query.
        """
        sign = self._database.placeholder
        cursor.execute(
            f"UPDATE {self._quoted_batches} SET batch = {sign}1, input_id = {sign}2, watermark = {sign}3"
            f" WHERE table_name = {sign}4 AND query_id = {sign}5 AND batch < {sign}1",
            (mark.batch, mark.input_id, mark.watermark, self._table, query_id),
        )
        if cursor.rowcount:
            return True
        # No row was changed: either the table has the micro-batch, or the mark is gone.
        owner, _ = self._owner_and_mark(cursor)
        if owner != query_id:
            raise self._gone_error()
        return False

    def _delete(self, cursor: Any, names: Sequence[str], ids: Sequence[tuple[Any, ...]]) -> None:
        """Delete rows by their ids.

        There is a statement for each set of columns that are null in an id: `=` finds no null, and a comparison that
        finds nulls and values alike uses no index.

        Args:
            cursor: The cursor of the transaction.
            names: The columns that identify a row.
            ids: The values of these columns, for each row to delete.
        """

        def null_columns(row_id: tuple[Any, ...]) -> list[bool]:
            return [value is None for value in row_id]

        ids_by_null_columns = groupby(sorted(ids, key=null_columns), key=null_columns)
        for are_null, ids_of_statement in ids_by_null_columns:
            conditions: list[str] = []
            parameter_numbers = count(1)
            for name, is_null in zip(names, are_null, strict=True):
                column = self._database.quoted(name)
                if is_null:
                    conditions.append(f"{column} IS NULL")
                else:
                    conditions.append(f"{column} = {self._database.placeholder}{next(parameter_numbers)}")
            cursor.executemany(
                f"DELETE FROM {self._quoted_table} WHERE {' AND '.join(conditions)}",
                [tuple(value for value in row_id if value is not None) for row_id in ids_of_statement],
            )

    def _check_columns(self, cursor: Any, columns: Mapping[str, str], id_columns: Sequence[str]) -> None:
        """Make the table if there is none; otherwise check that it has the columns of the output.

        Args:
            cursor: The cursor of the transaction.
            columns: The columns of the output, each with the type that holds its values in the database.
            id_columns: The columns that identify a row; none if rows are appended.

        Raises:
            QueryError: The table lacks a column, or has one with another type.
        """
        quoted = self._database.quoted
        columns_of_table = self._database.columns(cursor, self._table)
        if not columns_of_table:
            definitions = [f"{quoted(name)} {column_type}" for name, column_type in columns.items()]
            if id_columns:
                definitions.append(f"UNIQUE ({', '.join(map(quoted, id_columns))})")
            cursor.execute(f"CREATE TABLE {self._quoted_table} ({', '.join(definitions)})")
            return
        types_of_table = self._types_by_folded_name(columns_of_table)
        for name, column_type in columns.items():
            actual_type = types_of_table.get(self._database.folded(name))
            if actual_type is None:
                raise QueryError(
                    f"{self} has no column {name!r}, which the output has: it has {', '.join(columns_of_table)}\n"
                    f"  add it, as {column_type}, or name another table"
                )
            type_without_size = column_type.partition("(")[0]  # `numeric` without digits holds any `numeric(10,2)`
            larger_types = self._database.larger_types.get(column_type, ())
            if actual_type not in (column_type, type_without_size, *larger_types):
                raise QueryError(
                    f"the column {name!r} of {self} is {actual_type}, and the output has {column_type}\n"
                    "  change its type, or name another table"
                )

    def _types_by_folded_name(self, types: Mapping[str, str]) -> dict[str, str]:
        """Return the types of columns by names in which case counts as little as it does to the database."""
        return {self._database.folded(name): column_type for name, column_type in types.items()}

    def _gone_error(self) -> StateError:
        """Return the error for a table that is gone, or whose row in `muntin_batches` is."""
        return StateError(
            f"{self} is gone, or its row in {_BATCHES}, and this query wrote to it\n"
            "  what the checkpoint has done is not written again: restore the table and that row, or start with a new\n"
            "  checkpoint to compute all results again, or name another table to go on without the old ones"
        )


def _columns_of(schema: pa.Schema, names: Sequence[str]) -> _TableColumns:
    """Return the columns that an output has in a table.

    Args:
        schema: The schema of the output.
        names: The columns of the output that identify a row; none if rows are appended.

    Raises:
        QueryError: Two columns of the table would have one name, such as a column `window_start` beside a record
            `window` with a field `start`.
    """
    types: dict[str, Any] = {}
    columns_by_output: dict[str, list[str]] = {}
    for output_column, name, values in _flat_columns(schema.empty_table()):
        if name in types:
            raise QueryError(
                f"two columns of the output would be {name!r}, as records become columns\n  rename one of them"
            )
        types[name] = values.type
        columns_by_output.setdefault(output_column, []).append(name)
    ids: list[str] = []
    for output_column in names:
        ids += columns_by_output[output_column]
    return _TableColumns(types, ids)


def _converted(rows: pa.RecordBatch, converters: Mapping[str, Callable[[Any], Any] | None]) -> dict[str, list[Any]]:
    """Return the values of each column as the database takes them; null stays null.

    Args:
        rows: The rows.
        converters: By column, the function that converts a value for the database; None if the database takes it.
    """
    values: dict[str, list[Any]] = {}
    for _, name, column in _flat_columns(rows):
        plain_values = column.to_pylist(maps_as_pydicts="strict")
        convert = converters[name]
        if convert is not None:
            plain_values = [None if value is None else convert(value) for value in plain_values]
        values[name] = plain_values
    return values


def _flat_columns(rows: pa.Table | pa.RecordBatch) -> Iterator[tuple[str, str, Any]]:
    """Yield the columns of rows, with the fields of records as columns of their own.

    Yields:
        The name of the output's column, the name of the database's column, and the values.
    """
    for output_column, column in zip(rows.schema.names, rows.columns, strict=True):
        for name, values in _columns_of_fields(output_column, column):
            yield output_column, name, values


def _columns_of_fields(name: str, column: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and the values of a column; for a column of records, of each field, such as `window_start`.

    The fields of a record may be records, too.
    """
    if not str(column.type).startswith("struct<"):
        yield name, column
        return
    for field, values in zip(column.type.names, column.flatten(), strict=True):
        yield from _columns_of_fields(f"{name}_{field}", values)
