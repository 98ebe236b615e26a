"""Adding changelogs up, in Spark SQL.

Every change is one or two terms of a sum: an insertion adds a row, a retraction takes one away, and a revision takes
it away with the end it had and adds it with the new one. The rows that are left over
are live, whatever the order of the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import INFINITY
from muntin.axis import decimal_of
from muntin.errors import QueryError

_CHANGE: Final = "change"
_EVENT_ID: Final = "event_id"
_LIFETIME: Final = "lifetime"
_NEW_END: Final = "new_end"
_TIMING: Final = "timing"
_WINDOW: Final = "window"

_KEYS: Final = "muntin.keys"
"""The place in a column's metadata that names the keys."""

_SIGN: Final = "__muntin_sign"
_END: Final = "__muntin_end"
_ROW: Final = "__muntin_row"


def saying_keys(schema: spark_types.StructType, keys: Sequence[str]) -> spark_types.StructType:
    """Return the schema of results with the names of their keys in it, if they are a changelog.

    They are metadata of the column `event_id`, which DataFrames and Parquet files keep.
    """
    named = spark_types.StructType(list(schema))
    for part in named:
        if part.name == _EVENT_ID:
            part.metadata = {_KEYS: list(keys)}
    return named


def folded(changelog: DataFrame, key: str | Sequence[str] | None) -> DataFrame:
    """Return the table that a changelog adds up to; see `muntin_engine.fold`."""
    if changelog.isStreaming:
        raise QueryError(
            "fold() needs a changelog as a whole, and this one is a stream\n"
            "  write it with query.write(results=...), to a path or a ChangelogTable, and read that"
        )
    return live_rows(changelog, key).drop(_EVENT_ID)


def live_rows(changelog: DataFrame, key: str | Sequence[str] | None, table: DataFrame | None = None) -> DataFrame:
    """Return the rows that stand once changes have been applied to a table, with the id of each.

    Args:
        changelog: The changes.
        key: The key columns.
        table: What stood before, as this function returned it; None for nothing. Columns that it lacks, of aggregates
            that were added since, are null in its rows.
    """
    shape = _Shape.of(changelog, key)
    if table is not None:
        lacking = [name for name in shape.values if name not in table.columns]
        table = table.withColumns({name: F.lit(None).cast(changelog.schema[name].dataType) for name in lacking})
    sums = _sums(shape, changelog, table)
    return sums.where(F.col(_SIGN) > 0).select(*shape.columns())


def netted(batch: DataFrame, key: str | Sequence[str] | None) -> DataFrame:
    """Return the net changes of a batch to a keyed table; see `muntin_engine.net_changes`."""
    shape = _Shape.of(batch, key)
    sums = _sums(shape, batch, None).where(F.col(_SIGN) != 0)
    if shape.has_ends:
        last = F.max_by(F.struct(_ROW, _END), _SIGN).alias("last")
        sums = sums.groupBy(*shape.names).agg(F.max(_SIGN).alias(_SIGN), last).select(*shape.names, _SIGN, "last.*")
    change = F.when(F.col(_SIGN) > 0, "upsert").otherwise("delete").alias(_CHANGE)
    return sums.select(*shape.columns({_CHANGE: change}))


@dataclass(frozen=True)
class _Shape:
    """The columns of a changelog.

    Attributes:
        names: Those that name a row: the keys, and its id.
        values: The others that a row of the table has.
        all: All of them in order, with `change`.
        has_ends: True if rows may be revised.
    """

    names: list[Column]
    values: list[str]
    all: list[str]
    has_ends: bool

    @classmethod
    def of(cls, changelog: DataFrame, key: str | Sequence[str] | None) -> _Shape:
        """Return the shape of a changelog.

        Raises:
            QueryError: A column is missing, or what its keys are is not known.
        """
        keys, columns = _keys(changelog, key), changelog.columns
        has_ends = _NEW_END in columns
        needed = [_CHANGE, _EVENT_ID, *keys, *([_LIFETIME] if has_ends else [])]
        missing = [name for name in needed if name not in columns]
        if missing:
            raise QueryError(
                f"a changelog has the columns {', '.join(needed)}, and this one has no {missing[0]!r}: it has "
                f"{', '.join(columns)}\n"
                "  expected results that may be retracted, as with emit='speculative' or 'eager', and their key columns"
            )
        values = [name for name in columns if name not in (_CHANGE, _EVENT_ID, _NEW_END, *keys)]
        return cls(
            names=[_column(name) for name in [*keys, _EVENT_ID]],
            values=values,
            all=[name for name in columns if name != _NEW_END],
            has_ends=has_ends,
        )

    def columns(self, added: dict[str, Column] | None = None) -> list[Column]:
        """Return the columns of the table, out of sums; `change` only if it is given."""
        return [column for name in self.all if (column := self._value(name, added or {})) is not None]

    def _value(self, name: str, added: dict[str, Column]) -> Column | None:
        if name == _CHANGE:
            return added.get(name)
        if name == _LIFETIME and self.has_ends:
            start = F.col(_ROW).getField(_LIFETIME).getField("start")
            return F.struct(start.alias("start"), F.col(_END).alias("end")).alias(name)
        return F.col(_ROW).getField(name).alias(name) if name in self.values else _column(name)


def _keys(changelog: DataFrame, key: str | Sequence[str] | None) -> list[str]:
    known: list[str] | None = None
    if _EVENT_ID in changelog.columns:
        known = changelog.schema[_EVENT_ID].metadata.get(_KEYS)
    if key is None:
        if known is None:
            raise QueryError(
                "this changelog does not say what its key columns are, and rows of several keys share their event_id\n"
                f"  its columns: {', '.join(changelog.columns)}\n"
                "  name the keys of its query, as in key='station' or key=['station', 'line']; if it has none, key=()"
            )
        return list(known)
    keys = [key] if isinstance(key, str) else list(key)
    forgotten = [name for name in known or () if name in changelog.columns and name not in keys]
    if forgotten:
        raise QueryError(
            f"key={key!r} lacks {forgotten[0]!r}: rows of this changelog are told apart by {', '.join(known or ())}\n"
            "  leave key= out, and they are"
        )
    return keys


def final_of(results: DataFrame, watermark: int | None, key: str | Sequence[str] | None) -> DataFrame:
    """Return the rows of results that no later micro-batch changes; see `muntin_engine.final_rows`."""
    if results.isStreaming:
        raise QueryError(
            "final_rows() needs the results so far as a whole, and these are a stream\n"
            "  write them with query.write(results=...) and read that; or let Spark follow: results(watermark=...)"
        )
    if _CHANGE in results.columns:
        is_revisable = _NEW_END in results.columns
        return settled(live_rows(results, key), watermark, is_revisable=is_revisable).drop(_EVENT_ID)
    return settled(results, watermark, is_revisable=False) if _TIMING in results.columns else results


def settled(table: DataFrame, watermark: int | None, *, is_revisable: bool) -> DataFrame:
    """Return the rows of a table that nothing changes any more; see `ChangelogTable.final`.

    Args:
        table: The rows that are live.
        watermark: The tick before which nothing changes; None if none is known.
        is_revisable: True if lifetimes may get other ends.

    Raises:
        QueryError: The rows have no lifetime, and so no place before or after the watermark.
    """
    if watermark is None:
        return table.limit(0)
    if watermark == INFINITY:
        return table
    lifetime = next((name for name in (_LIFETIME, _WINDOW) if name in table.columns), None)
    if lifetime is None:
        raise QueryError(
            f"rows are final by their lifetimes, and these have none: they have {', '.join(table.columns)}\n"
            "  expected the column 'lifetime', or 'window', as the results have it"
        )
    times = table.schema[lifetime].dataType
    assert isinstance(times, spark_types.StructType)
    is_settled = F.lit(True)
    for bound in ("start", "end") if is_revisable else ("start",):
        time, of, known = F.col(lifetime).getField(bound), times[bound].dataType, F.lit(watermark)
        if isinstance(of, spark_types.TimestampType):
            time = F.unix_micros(time)
        elif isinstance(of, spark_types.TimestampNTZType):
            time = F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ'1970-01-01 00:00:00', {lifetime}.{bound})")
        elif isinstance(of, spark_types.DecimalType):
            known = F.lit(decimal_of(watermark, of.scale))
        is_settled = is_settled & F.coalesce(time < known, F.lit(False))  # null: no end is known
    return table.where(is_settled)


def _sums(shape: _Shape, changelog: DataFrame, table: DataFrame | None) -> DataFrame:
    """Return each row that some change is about, as `__muntin_row`, with how often it is there."""
    kinds = changelog.where(F.col(_CHANGE).isin("insert", "revise", "retract"))
    terms = kinds.select(*_terms(shape, F.inline(_signed(shape))))
    if table is not None:
        terms = terms.union(table.select(*_terms(shape, F.inline(F.array(_term(shape, 1, _end(shape)))))))
    row = F.first(_ROW).alias(_ROW)  # the same for all terms of one id
    ends = [F.col(_END)] if shape.has_ends else []
    return terms.groupBy(*shape.names, *ends).agg(F.sum(_SIGN).alias(_SIGN), row)


def _terms(shape: _Shape, signed: Column) -> list[Column]:
    values = [_column(name) for name in shape.values]
    return [*shape.names, F.struct(*values).alias(_ROW) if values else F.struct(F.lit(0)).alias(_ROW), signed]


def _signed(shape: _Shape) -> Column:
    """Return the terms of a change."""
    added, taken = (_term(shape, sign, _end(shape)) for sign in (1, -1))
    terms = F.when(F.col(_CHANGE) == "insert", F.array(added)).when(F.col(_CHANGE) == "retract", F.array(taken))
    if not shape.has_ends:
        return terms
    return terms.otherwise(F.array(taken, _term(shape, 1, F.col(_NEW_END))))


def _term(shape: _Shape, sign: int, end: Column | None) -> Column:
    ends = [] if end is None else [end.alias(_END)]
    return F.struct(F.lit(sign).alias(_SIGN), *ends)


def _end(shape: _Shape) -> Column | None:
    return F.col(_LIFETIME).getField("end") if shape.has_ends else None


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
