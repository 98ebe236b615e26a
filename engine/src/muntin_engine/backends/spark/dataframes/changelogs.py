"""Changelogs added up in Spark SQL: sums of the terms that `changelog_columns` explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import INFINITY
from muntin.axis import decimal_of
from muntin.errors import QueryError
from muntin_engine.backends.planning.changelog_columns import (
    CHANGE,
    END,
    EVENT_ID,
    KEYS,
    LIFETIME,
    NEW_END,
    ROW,
    SIGN,
    TIMING,
    ChangelogColumns,
    lifetime_column,
)
from muntin_engine.plan.request import backquoted


def with_key_names(schema: spark_types.StructType, keys: Sequence[str]) -> spark_types.StructType:
    """Return the schema of results with the names of the key columns in it, if the results are a changelog.

    The names are metadata of the column `event_id`, which DataFrames and Parquet files keep.
    """
    fields: list[spark_types.StructField] = []
    for part in schema:
        metadata = {KEYS: list(keys)} if part.name == EVENT_ID else part.metadata
        fields.append(spark_types.StructField(part.name, part.dataType, part.nullable, metadata))
    return spark_types.StructType(fields)


def folded(changelog: DataFrame, key: str | Sequence[str] | None) -> DataFrame:
    """Return the table that a changelog adds up to; see `muntin_engine.fold`.

    Args:
        changelog: The whole changelog.
        key: The key columns; None if the changelog has their names in its metadata.

    Raises:
        QueryError: The changelog is a stream, a column is missing, or the keys are not known.
    """
    if changelog.isStreaming:
        raise QueryError(
            "fold() needs a changelog as a whole, and this one is a stream\n"
            "  write it with query.write(results=...), to a path or a ChangelogTable, and read that"
        )
    return live_rows(changelog, key).drop(EVENT_ID)


def live_rows(changelog: DataFrame, key: str | Sequence[str] | None, table: DataFrame | None = None) -> DataFrame:
    """Return the live rows after changes have been applied to a table, with the id of each row.

    Args:
        changelog: The changes.
        key: The key columns; None if the changelog has their names in its metadata.
        table: The live rows before the changes, as this function returned them; None if there are none. The table may
            lack columns of aggregates that were added to the query since: they are null in its rows.
    """
    shape = _Shape.of_changelog(changelog, key)
    if table is not None:
        missing_columns: dict[str, Column] = {}
        for name in shape.values:
            if name not in table.columns:
                missing_columns[name] = F.lit(None).cast(changelog.schema[name].dataType)
        table = table.withColumns(missing_columns)
    # Each change adds +1 or -1 to the sum of its row, and each row of `table` adds +1; see `_sums`. The sum of a live
    # row is 1. That of a row that was retracted, or has another end by now, is 0.
    sums = _sums(shape, changelog, table=table)
    return sums.where(F.col(SIGN) > 0).select(*shape.columns())


def netted(batch: DataFrame, key: str | Sequence[str] | None) -> DataFrame:
    """Return the net changes of a batch to a keyed table; see `muntin_engine.net_changes`.

    Args:
        batch: The changes.
        key: The key columns; None if the changes have their names in their metadata.

    Raises:
        QueryError: A column is missing, or the keys are not known.
    """
    shape = _Shape.of_changelog(batch, key)
    # Each change adds +1 or -1 to the sum of its row; see `_sums`. The sum is 1 if the batch adds the row, -1 if the
    # batch removes it, and 0 if the batch adds the row and removes it again.
    sums = _sums(shape, batch, table=None).where(F.col(SIGN) != 0)
    if shape.has_ends:
        # A row that was revised has two sums: -1 for its old end and 1 for its new end. The larger sum and its end are
        # taken: the row is upserted with the new end.
        row_with_end = F.max_by(F.struct(ROW, END), SIGN).alias("row_with_end")
        sums = sums.groupBy(*shape.ids).agg(F.max(SIGN).alias(SIGN), row_with_end)
        sums = sums.select(*shape.ids, SIGN, "row_with_end.*")
    change = F.when(F.col(SIGN) > 0, "upsert").otherwise("delete").alias(CHANGE)
    return sums.select(*shape.columns(change))


@dataclass(frozen=True)
class _Shape(ChangelogColumns):
    """The columns of a changelog in Spark SQL."""

    @classmethod
    def of_changelog(cls, changelog: DataFrame, key: str | Sequence[str] | None) -> _Shape:
        """Return the columns of a changelog.

        Args:
            changelog: The changelog.
            key: The names of the key columns; None if the metadata of the changelog have them.

        Raises:
            QueryError: A column is missing, or the keys are not known.
        """
        stored_keys: list[str] | None = None
        if EVENT_ID in changelog.columns:
            stored_keys = changelog.schema[EVENT_ID].metadata.get(KEYS)
        columns = ChangelogColumns.of(changelog.columns, stored_keys, key)
        return cls(**vars(columns))  # the same columns, with the methods of this class

    @property
    def ids(self) -> list[Column]:
        """The columns that identify a row."""
        return [_column(name) for name in self.identifying]

    def columns(self, change: Column | None = None) -> list[Column]:
        """Return the columns of the table that a changelog adds up to, or of its net changes, over the rows of `_sums`.

        Args:
            change: The column `change` of a table of net changes; None to leave that column out.
        """
        columns: list[Column] = []
        for name in self.names:
            if name == CHANGE:
                if change is not None:
                    columns.append(change)
            elif name == LIFETIME and self.has_ends:
                # The start is a value of the row. The end is a column of the sums, of which a row has one for each end.
                start = F.col(ROW).getField(LIFETIME).getField("start")
                columns.append(F.struct(start.alias("start"), F.col(END).alias("end")).alias(name))
            elif name in self.values:
                columns.append(F.col(ROW).getField(name).alias(name))
            else:
                columns.append(_column(name))
        return columns


def final_of(results: DataFrame, watermark: int | None, key: str | Sequence[str] | None) -> DataFrame:
    """Return the rows of results that no later micro-batch changes; see `muntin_engine.final_rows`.

    Args:
        results: All results so far.
        watermark: The tick before which nothing changes; None if it is not known.
        key: The key columns of a changelog; None if its metadata have their names.

    Raises:
        QueryError: The results are a stream or have no lifetime, or the keys are not known.
    """
    if results.isStreaming:
        raise QueryError(
            "final_rows() needs the results so far as a whole, and these are a stream\n"
            "  write them with query.write(results=...) and read that; or let Spark follow: results(watermark=...)"
        )
    if CHANGE in results.columns:
        is_revisable = NEW_END in results.columns
        return settled(live_rows(results, key), watermark, is_revisable=is_revisable).drop(EVENT_ID)
    if TIMING in results.columns:
        # Early results are among the rows, and nothing retracts them: only the watermark tells which rows are final.
        return settled(results, watermark, is_revisable=False)
    return results  # each row was final when it was emitted


def settled(table: DataFrame, watermark: int | None, *, is_revisable: bool) -> DataFrame:
    """Return the rows of a table that nothing changes any more; see `ChangelogTable.final`.

    Args:
        table: The rows that are live.
        watermark: The tick before which nothing changes; None if it is not known.
        is_revisable: True if lifetimes may get other ends.

    Raises:
        QueryError: The rows have no lifetime, and so no place before or after the watermark.
    """
    if watermark is None:
        return table.limit(0)
    if watermark == INFINITY:  # the stream has ended; tables without lifetimes have a final state too
        return table
    lifetime = lifetime_column(table.columns)
    times = table.schema[lifetime].dataType
    assert isinstance(times, spark_types.StructType)
    is_settled = _is_before(watermark, lifetime, "start", times["start"].dataType)
    if is_revisable:
        # A row that starts before the watermark may still get another end, unless it ends before the watermark as well.
        is_settled = is_settled & _is_before(watermark, lifetime, "end", times["end"].dataType)
    return table.where(is_settled)


def _is_before(watermark: int, lifetime: str, bound: str, data_type: spark_types.DataType) -> Column:
    """Return the condition that a bound of a lifetime is before a watermark; it is false if the bound is null.

    Args:
        watermark: The watermark.
        lifetime: The name of the column with the lifetimes.
        bound: The field `start` or `end`.
        data_type: The type of that field.
    """
    time = F.col(lifetime).getField(bound)
    limit = F.lit(watermark)
    if isinstance(data_type, spark_types.TimestampType):
        time = F.unix_micros(time)
    elif isinstance(data_type, spark_types.TimestampNTZType):
        time = F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {lifetime}.{bound})")
    elif isinstance(data_type, spark_types.DecimalType):
        limit = F.lit(decimal_of(watermark, data_type.scale))
    return F.coalesce(time < limit, F.lit(False))


def _sums(shape: _Shape, changelog: DataFrame, *, table: DataFrame | None) -> DataFrame:
    """Add up what the changes add to each row and take from it: +1 and -1, the terms of the row.

    Args:
        shape: The columns of the changelog.
        changelog: The changes.
        table: The live rows before the changes, each of which is a term of +1; None if there are none.

    Returns:
        The id of each row, its end if rows may be revised, the sum of the terms, and the values of the row as a struct.
    """
    changes = changelog.where(F.col(CHANGE).isin("insert", "revise", "retract"))
    terms = changes.select(*_terms(shape, _signed_ends(shape)))
    if table is not None:
        one_added_end = F.array(_signed_end(1, _end(shape)))
        terms = terms.union(table.select(*_terms(shape, one_added_end)))
    row = F.first(ROW).alias(ROW)  # any of them: all terms of an id have the same values

    # The terms of one id are added up for each end by itself, as a revision takes one end away and adds another.
    ends = [F.col(END)] if shape.has_ends else []
    return terms.groupBy(*shape.ids, *ends).agg(F.sum(SIGN).alias(SIGN), row)


def _terms(shape: _Shape, signed_ends: Column) -> list[Column]:
    """Return the columns of the terms of a row: its id, its values, and the sign and the end of a term.

    A row of changes becomes one row for each of its terms.

    Args:
        shape: The columns of the changelog.
        signed_ends: The column with the array, see `_signed_ends`.
    """
    values = [_column(name) for name in shape.values] or [F.lit(0)]  # a struct must have a field
    return [*shape.ids, F.struct(*values).alias(ROW), F.inline(signed_ends)]


def _signed_ends(shape: _Shape) -> Column:
    """Return the terms of a change as a column: an array of structs with a sign, and an end if rows may be revised.

    An insertion is +1, a retraction -1, and a revision both: -1 for the old end and +1 for the new one.
    """
    added = _signed_end(1, _end(shape))
    subtracted = _signed_end(-1, _end(shape))
    terms = F.when(F.col(CHANGE) == "insert", F.array(added))
    terms = terms.when(F.col(CHANGE) == "retract", F.array(subtracted))
    if not shape.has_ends:
        return terms
    added_with_new_end = _signed_end(1, F.col(NEW_END))
    return terms.otherwise(F.array(subtracted, added_with_new_end))


def _signed_end(sign: int, end: Column | None) -> Column:
    """Return a term as a struct: a sign, and the end of the row; without the end if `end` is None."""
    columns = [F.lit(sign).alias(SIGN)]
    if end is not None:
        columns.append(end.alias(END))
    return F.struct(*columns)


def _end(shape: _Shape) -> Column | None:
    """Return the column of ends; None if no revision can give a row another end."""
    return F.col(LIFETIME).getField("end") if shape.has_ends else None


def _column(name: str) -> Column:
    """Return a column by its whole name: without quotes Spark would read a dot in it as a field of a struct."""
    return F.col(backquoted(name))
