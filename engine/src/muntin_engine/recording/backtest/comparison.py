"""The results of two versions, compared by DuckDB: by key and window, each column of the modules by itself.

    results of both -> rows that only one of them has -> pairs of such rows -> differences of each column

Equal rows cancel each other first. So an operator that returns one row more has one difference, and not one for each
row after it. NaN is equal to NaN and null to null, as `EXCEPT` and `IS DISTINCT FROM` of DuckDB have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import duckdb
import pyarrow as pa

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted

CHANGED: Final = "changed"
ONLY_OLD: Final = "only old"
ONLY_NEW: Final = "only new"
KINDS: Final = (CHANGED, ONLY_OLD, ONLY_NEW)
"""The kinds of differences: both versions have the result, or only one of them has."""

_NUMBER: Final = "DOUBLE"
_TEXT: Final = "VARCHAR"

_LARGEST_FIRST: Final = "abs(difference) DESC NULLS LAST, kind"
"""The order of differences: by size, and differences without a size last."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of new - old over the results that both versions have, but with different numbers.

    Attributes:
        count: The number of differences that are finite.
        least: The smallest difference.
        lower_quartile: The first quartile.
        median: The median.
        upper_quartile: The third quartile.
        largest: The largest difference.
        mean: The mean.
    """

    count: int
    least: float
    lower_quartile: float
    median: float
    upper_quartile: float
    largest: float
    mean: float


@dataclass(frozen=True)
class ColumnDifferences:
    """The differences of one column of the results.

    Attributes:
        name: The name of the column.
        old_type: The Arrow type of the column of the old version.
        new_type: The Arrow type of the column of the new version.
        rows: A row for each difference, the largest first. The columns are `key`; `window` or `lifetime`, and others
            that identify a result; `kind`, `old`, `new`; and `difference`, which is new - old, for times and lengths of
            time in seconds.
        counts: The number of differences of each kind.
        distribution: The distribution of `difference`; None if no values of both versions can be subtracted.
    """

    name: str
    old_type: pa.DataType
    new_type: pa.DataType
    rows: pa.Table
    counts: Mapping[str, int]
    distribution: Distribution | None

    @property
    def type_change(self) -> str:
        """The way in which columns of two types are compared, in words; empty if both have the same type."""
        common_type = _common_type(self.old_type, self.new_type)
        if common_type is None:
            return ""
        way = "text" if common_type == _TEXT else "numbers"
        return f"{self.name} was {self.old_type}, and is {self.new_type}: they are compared as {way}"


class ComparedResults(NamedTuple):
    """The results of both versions, with the names of the columns by which they are compared.

    Attributes:
        old: The results of the old version.
        new: The results of the new version.
        keys: The names of the key columns.
        identifying: The names of the other columns that identify a result: the window, say.
        values: The names of the columns that are compared.
    """

    old: pa.Table
    new: pa.Table
    keys: Sequence[str]
    identifying: Sequence[str]
    values: Sequence[str]


class Comparison(NamedTuple):
    """The differences that a comparison found.

    Attributes:
        differing: The number of results that differ; a result of several columns counts once.
        columns: The differences of each column.
    """

    differing: int
    columns: tuple[ColumnDifferences, ...]


def compare(results: ComparedResults, folder: Path) -> Comparison:
    """Compare the results of two versions.

    Args:
        results: The results.
        folder: The folder to which DuckDB writes what does not fit into memory.
    """
    with _connection(folder) as connection:
        connection.register("old_results", _with_microseconds(results.old, results.values))
        connection.register("new_results", _with_microseconds(results.new, results.values))
        _pair_differing_rows(connection, results)
        ((differing,),) = connection.sql("SELECT count(*) FROM pairs").fetchall()
        columns = [_differences_of(connection, results, place) for place, _ in enumerate(results.values)]
    return Comparison(differing, tuple(columns))


def rows_where(column: ColumnDifferences, condition: str) -> pa.Table:
    """Return the differences of a column that meet a condition in DuckDB's SQL.

    Raises:
        QueryError: The condition cannot be evaluated.
    """
    with _connection() as connection:
        connection.register("differences", column.rows)
        # A condition is about a difference: it reads no files, and no variables of this program.
        connection.execute("SET python_enable_replacements = false; SET enable_external_access = false")
        try:
            return connection.sql(f"SELECT * FROM differences WHERE ({condition})").to_arrow_table()
        except duckdb.Error as error:
            first_line = str(error).partition("\n")[0]
            columns = ", ".join(column.rows.column_names)
            raise QueryError(
                f"the condition {condition!r} cannot be evaluated for {column.name}: {first_line}\n"
                f"  expected: a condition in SQL over {columns}, such as 'abs(new - old) > 0.01'"
            ) from error


def all_differences(columns: Sequence[ColumnDifferences]) -> pa.Table:
    """Return the differences of all columns as one table, the largest first; `column` has the name of their column.

    Differences of one size and kind are in the order of the columns, and of the differences of each.

    If columns have different types, their values become floats if all are numbers, and text otherwise.
    """
    types = {column.rows.schema.field("old").type for column in columns}
    old_value = "old"
    new_value = "new"
    if len(types) > 1:
        common_type = _NUMBER if all(map(_is_number, types)) else _TEXT
        old_value = f"CAST(old AS {common_type})"
        new_value = f"CAST(new AS {common_type})"
    values = f"{old_value} AS old, {new_value} AS new"
    with _connection() as connection:
        parts: list[str] = []
        for place, column in enumerate(columns):
            # DuckDB sorts in several threads, which leave rows that are equal to its ORDER BY in any order.
            row_places = pa.array(range(column.rows.num_rows), pa.int64())
            connection.register(f"differences_{place}", column.rows.append_column("_row_place", row_places))
            name = column.name.replace("'", "''")
            places = f"'{name}' AS \"column\", {place} AS _column_place"
            parts.append(f"SELECT {places}, * REPLACE ({values}) FROM differences_{place}")
        return connection.sql(
            f"SELECT * EXCLUDE (_column_place, _row_place) FROM ({' UNION ALL '.join(parts)}) "
            f"ORDER BY {_LARGEST_FIRST}, _column_place, _row_place"
        ).to_arrow_table()


@contextmanager
def _connection(folder: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory for the block.

    Args:
        folder: The folder to which DuckDB writes what does not fit into memory; None for its own choice.
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if folder is not None:
            connection.execute("SET temp_directory = ?", [str(folder)])
        yield connection


def _with_microseconds(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Replace lengths of time in a table, which are all in microseconds, by their numbers.

    DuckDB's own intervals count months apart, whose length differs, so they could not be compared.

    Args:
        table: The table.
        names: The names of the columns that may have lengths of time.
    """
    for name in names:
        column = table.column(name)
        if pa.types.is_duration(column.type):
            table = table.set_column(table.column_names.index(name), name, column.cast(pa.int64()))
    return table


def _with_durations(rows: pa.Table, data_type: pa.DataType) -> pa.Table:
    """Turn the microseconds in `old` and `new` back into lengths of time, if the compared column has such a type."""
    if not pa.types.is_duration(data_type):
        return rows
    for name in ("old", "new"):
        place = rows.column_names.index(name)
        rows = rows.set_column(place, name, rows.column(place).cast(data_type))
    return rows


def _pair_differing_rows(connection: duckdb.DuckDBPyConnection, results: ComparedResults) -> None:
    """Make the table `pairs` of the results that differ: of both versions, or of only one of them.

    The columns `m0`, `m1`, ... identify the result. `old0`, `new0`, ... have the values of the two versions, and
    `in_old` and `in_new` say which versions have the result.
    """
    identifying_names = [quoted(name) for name in (*results.keys, *results.identifying)]
    matched_names = [f"m{place}" for place, _ in enumerate(identifying_names)]
    value_names = [f"v{place}" for place, _ in enumerate(results.values)]
    # Rows that both versions have are left out. If one version has equal rows more often, the surplus stays.
    for side, other in (("old", "new"), ("new", "old")):
        rows = _rows(results, side, identifying_names)
        other_rows = _rows(results, other, identifying_names)
        connection.execute(f"CREATE TEMP TABLE only_{side} AS {rows} EXCEPT ALL {other_rows}")

    # An operator may return several rows for a window. The first of the rows that only the old version has is paired
    # with the first of the new version, and so on.
    same_result = ", ".join(matched_names)
    number = f"row_number() OVER (PARTITION BY {same_result} ORDER BY {', '.join(value_names)})"
    numbered_rows = " UNION ALL ".join(
        f"SELECT *, {number} AS place, '{side}' AS side FROM only_{side}" for side in ("old", "new")
    )
    # A pair has one row of each version at most, so any value of a version is the value of its row.
    values: list[str] = []
    for place, name in enumerate(value_names):
        for side in ("old", "new"):
            values.append(f"any_value({name}) FILTER (side = '{side}') AS {side}{place}")
    presence = "bool_or(side = 'old') AS in_old, bool_or(side = 'new') AS in_new"
    connection.execute(
        f"CREATE TEMP TABLE pairs AS SELECT {same_result}, {', '.join(values)}, {presence} "
        f"FROM ({numbered_rows}) GROUP BY {same_result}, place"
    )


def _rows(results: ComparedResults, side: str, identifying_names: Sequence[str]) -> str:
    """Return the SQL for the rows of a version, with values in the types in which they are compared.

    Args:
        results: The results of both versions.
        side: The version, `old` or `new`.
        identifying_names: The quoted names of the columns that identify a result.
    """
    columns = [f"{name} AS m{place}" for place, name in enumerate(identifying_names)]
    for place, name in enumerate(results.values):
        common_type = _common_type(results.old.schema.field(name).type, results.new.schema.field(name).type)
        value = quoted(name) if common_type is None else f"CAST({quoted(name)} AS {common_type})"
        columns.append(f"{value} AS v{place}")
    return f"SELECT {', '.join(columns)} FROM {side}_results"


def _differences_of(connection: duckdb.DuckDBPyConnection, results: ComparedResults, place: int) -> ColumnDifferences:
    """Return the differences of one compared column, read from the table `pairs`.

    Args:
        connection: The database with the table.
        results: The results of both versions.
        place: The place of the column among those that are compared.
    """
    name = results.values[place]
    old_type = results.old.schema.field(name).type
    new_type = results.new.schema.field(name).type
    kind = f"CASE WHEN in_old AND in_new THEN '{CHANGED}' WHEN in_old THEN '{ONLY_OLD}' ELSE '{ONLY_NEW}' END"
    columns = [f"{_key(results.keys)} AS key"]
    # In `pairs` the columns that identify a result, m0 and so on, come after those of its key.
    for number, column in enumerate(results.identifying, start=len(results.keys)):
        columns.append(f"m{number} AS {quoted(column)}")
    columns += [f"{kind} AS kind", f"old{place} AS old", f"new{place} AS new"]
    rows = connection.sql(
        f"SELECT *, {_difference(old_type, new_type)} AS difference FROM (SELECT {', '.join(columns)} FROM pairs "
        f"WHERE NOT (in_old AND in_new) OR old{place} IS DISTINCT FROM new{place}) "
        f"ORDER BY {_LARGEST_FIRST}, {', '.join(map(quoted, results.identifying))}, key, old, new"
    ).to_arrow_table()
    if old_type == new_type:  # values of two types were compared as text or as numbers, and stay so
        rows = _with_durations(rows, old_type)
    counts = dict.fromkeys(KINDS, 0)
    connection.register("differences", rows)  # the table that the next query and `_distribution` read
    counts |= dict(connection.sql("SELECT kind, count(*) FROM differences GROUP BY kind").fetchall())
    return ColumnDifferences(
        name=name,
        old_type=old_type,
        new_type=new_type,
        rows=rows,
        counts=counts,
        distribution=_distribution(connection),
    )


def _key(names: Sequence[str]) -> str:
    """Return the SQL for the key of a result: one value, or a struct for several key columns.

    It is null for a query without keys.
    """
    if not names:
        return "NULL"
    if len(names) == 1:
        return "m0"
    fields = [f"{quoted(name)} := m{place}" for place, name in enumerate(names)]
    return f"struct_pack({', '.join(fields)})"


def _difference(old_type: pa.DataType, new_type: pa.DataType) -> str:
    """Return the SQL for new - old: in seconds for times and lengths of time, null for values that are no numbers."""
    if old_type == new_type and pa.types.is_duration(old_type):
        return "(new - old) / 1e6"  # lengths of time were replaced by their microseconds
    if old_type == new_type and pa.types.is_timestamp(old_type):
        return "(epoch_us(new) - epoch_us(old)) / 1e6"
    if not (_is_number(old_type) and _is_number(new_type)):
        return "CAST(NULL AS DOUBLE)"
    if pa.types.is_integer(old_type) and pa.types.is_integer(new_type):
        # As floats, two large numbers may be equal though they differ: they are subtracted as integers.
        return "CAST(CAST(new AS HUGEINT) - CAST(old AS HUGEINT) AS DOUBLE)"
    return "CAST(new AS DOUBLE) - CAST(old AS DOUBLE)"


def _distribution(connection: duckdb.DuckDBPyConnection) -> Distribution | None:
    """Return the distribution of the finite differences in the table `differences`; None if there are none."""
    (row,) = connection.sql(
        "SELECT count(*), min(difference), quantile_cont(difference, 0.25), median(difference), "
        "quantile_cont(difference, 0.75), max(difference), avg(difference) FROM differences WHERE isfinite(difference)"
    ).fetchall()
    return Distribution(*row) if row[0] else None


def _common_type(old_type: pa.DataType, new_type: pa.DataType) -> str | None:
    """Return the DuckDB type in which columns of two different types are compared; None if both have one type."""
    if old_type == new_type:
        return None
    if not (_is_number(old_type) and _is_number(new_type)):
        return _TEXT
    if pa.types.is_integer(old_type) and pa.types.is_integer(new_type):
        return "BIGINT"
    return _NUMBER


def _is_number(data_type: pa.DataType) -> bool:
    """Say whether values of an Arrow type are integers, floats or decimals."""
    is_whole = pa.types.is_integer(data_type)
    return bool(is_whole or pa.types.is_floating(data_type) or pa.types.is_decimal(data_type))
