"""Results that may be retracted, added up in this process: sums of the terms that `changelog_columns` explains."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.axis import decimal_of
from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.frames.frame_kind import reason_of
from muntin_engine.backends.local.frames.local_frame import LocalFrame, opened
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
from muntin_engine.sinks.distributed_rows import Changelogs
from muntin_engine.wire.arrow_arrays import arrow_scalar


class LocalChangelogs(Changelogs):
    """Adds up changelogs with DuckDB; the tables that they make are of the kind of the changelog."""

    def fold(self, changelog: Any, key: str | Sequence[str] | None) -> Any:
        """Return the table that a changelog from its beginning adds up to, without the ids of rows."""
        frame = opened(changelog)
        return frame.kind.result(_Changelog.of(frame, key).live_rows().drop_columns(EVENT_ID))

    def net_changes(self, batch: Any, key: str | Sequence[str] | None) -> Any:
        """Return the net changes of a micro-batch to a keyed table."""
        frame = opened(batch)
        return frame.kind.result(_Changelog.of(frame, key).net_changes())

    def final_rows(self, results: Any, watermark: int | None, key: str | Sequence[str] | None) -> Any:
        """Return the rows of results that no later micro-batch changes.

        Args:
            results: The results: a changelog, early and final results, or final results alone.
            watermark: The tick before which nothing changes; None if it is not known.
            key: The key columns; None to use those that the changelog names.
        """
        frame = opened(results)
        names = frame.schema.names
        if CHANGE in names:
            live_rows = _Changelog.of(frame, key).live_rows()
            # Ids serve only to name rows in later changes, of which these rows have none.
            rows = _settled(live_rows, watermark, is_revisable=NEW_END in names).drop_columns(EVENT_ID)
        elif TIMING in names:
            rows = _settled(_table_of(frame), watermark, is_revisable=False)
        else:
            rows = _table_of(frame)  # each was final when it was emitted
        return frame.kind.result(rows)

    def live_rows(self, changelog: Any, key: str | Sequence[str] | None, table: Any = None) -> Any:
        """Return the live rows after the changes of a changelog.

        Args:
            changelog: The changes.
            key: The key columns; None to use those that the changelog names.
            table: The rows that were live before the changes; None if there were none.
        """
        frame = opened(changelog)
        if table is None:
            return frame.kind.result(_Changelog.of(frame, key).live_rows())
        # The rows that were live count as insertions before the changes.
        changes = _with_insertions(_table_of(frame), _table_of(opened(table)))
        stored_keys = frame.keys_of_changelog() if key is None else key  # the new table lacks the metadata of the old
        return frame.kind.result(_Changelog.of(opened(changes), stored_keys).live_rows())

    def settled_rows(self, table: Any, watermark: int | None, *, is_revisable: bool) -> Any:
        """Return the live rows that nothing changes any more."""
        frame = opened(table)
        return frame.kind.result(_settled(_table_of(frame), watermark, is_revisable=is_revisable))


def with_keys(results: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return results with the names of their keys as metadata of the column of ids, which files of Parquet keep.

    Results without ids are no changelog, and stay as they are.

    Args:
        results: The results.
        keys: The names of the keys of their query.
    """
    if EVENT_ID not in results.column_names:
        return results
    place = results.column_names.index(EVENT_ID)
    field = results.schema.field(place).with_metadata({KEYS: json.dumps(list(keys))})
    return results.set_column(place, field, results.column(place))


def _with_insertions(changes: pa.Table, rows: pa.Table) -> pa.Table:
    """Return changes followed by insertions of rows; a column that only one of the two has is null in the other's rows.

    Args:
        changes: The changes.
        rows: The rows that are live.
    """
    insertions = rows.append_column(CHANGE, pa.repeat(arrow_scalar("insert"), len(rows)))
    return pa.concat_tables([changes, insertions], promote_options="default")


def _table_of(frame: LocalFrame) -> pa.Table:
    """Return all rows of a table as Arrow data.

    Raises:
        QueryError: A column has a type without a meaning, or the rows cannot be read.
    """
    _check_types(frame)
    return pa.RecordBatchReader.from_batches(frame.schema, frame.batches(frame.schema)).read_all()


def _check_types(frame: LocalFrame) -> None:
    """Refuse a table with a column of a type without a meaning.

    Raises:
        QueryError: The table has such a column.
    """
    for field in frame.schema:
        # A column of only nulls has a refusal too, as no module can read it. Here it is just passed on.
        is_of_nulls = pa.types.is_null(field.type) and not frame.is_hidden(field.name)
        refusal = frame.refusal(field.name)
        if refusal is not None and not is_of_nulls:
            raise QueryError(refusal)


@dataclass(frozen=True)
class _Changelog:
    """A changelog whose changes are added up.

    Attributes:
        frame: The changelog.
        columns: Its columns.
    """

    frame: LocalFrame
    columns: ChangelogColumns

    @classmethod
    def of(cls, frame: LocalFrame, key: str | Sequence[str] | None) -> _Changelog:
        """Find the columns of a changelog.

        Raises:
            QueryError: A column is missing, the keys are not known, or a type has no meaning.
        """
        columns = ChangelogColumns.of(frame.schema.names, frame.keys_of_changelog(), key)
        _check_types(frame)
        return cls(frame, columns)

    def live_rows(self) -> pa.Table:
        """Return the rows that are live after the changes, with the id of each.

        Raises:
            QueryError: The rows cannot be read.
        """
        # The terms of a live row add up to 1. Those of a retracted row, or of an end that a revision replaced, add up
        # to 0.
        sums = self._sums().filter(f"{SIGN} > 0")
        names = [name for name in self.columns.names if name != CHANGE]
        return self._table(sums, {name: self._value(name) for name in names})

    def net_changes(self) -> pa.Table:
        """Return a row for each row of a keyed table that changes; its column of changes says `upsert` or `delete`.

        Raises:
            QueryError: The rows cannot be read.
        """
        sums = self._sums().filter(f"{SIGN} <> 0")
        if self.columns.has_ends:
            # There is a sum for each end of a row: a revision leaves -1 for the old end and 1 for the new one. The row
            # with the greatest sum is the one that the table gets.
            ids = ", ".join(map(quoted, self.columns.identifying))
            last = f"arg_max(struct_pack(changed_row := {ROW}, last_end := {END}), {SIGN}) AS last_change"
            sums = sums.aggregate(f"{ids}, max({SIGN}) AS {SIGN}, {last}", ids)
            sums = sums.project(f"{ids}, {SIGN}, last_change.changed_row AS {ROW}, last_change.last_end AS {END}")
        values = {name: self._value(name) for name in self.columns.names}
        values[CHANGE] = f"CASE WHEN {SIGN} > 0 THEN 'upsert' ELSE 'delete' END"
        return self._table(sums, values)

    def _sums(self) -> duckdb.DuckDBPyRelation:
        """Add up the terms of each row (`_terms`): what its changes add to the table, and take from it.

        Returns:
            A relation with a row for each row of the table, and for each end of it where ends are revised: its keys and
            its id, the sum of its terms as `SIGN`, its end as `END` if it has one, and its values as the struct `ROW`.
        """
        (changes,) = self.frame.relations(self.frame.schema.names)

        # All terms of an id have the same values, so that any of their rows may stand for the sum.
        values = [f"{quoted(name)} := {quoted(name)}" for name in self.columns.values]
        if not values:
            values = ["nothing := 0"]  # DuckDB has no struct without fields
        row = f"struct_pack({', '.join(values)}) AS {ROW}"
        ids = ", ".join(map(quoted, self.columns.identifying))
        key_values = ", ".join(f"{self._key(name)} AS {quoted(name)}" for name in self.columns.identifying)

        # Each change becomes one or two terms, which are summed for each row; where ends are revised, for each row and
        # end.
        groups = f"{ids}, {END}" if self.columns.has_ends else ids
        return (
            changes.project(f"{key_values}, {row}, unnest({self._terms()}) AS term")
            .project(f"{ids}, {ROW}, term.sign AS {SIGN}, term.end AS {END}")
            .aggregate(f"{groups}, sum({SIGN}) AS {SIGN}, first({ROW}) AS {ROW}", groups)
        )

    def _key(self, name: str) -> str:
        """Return a key column in DuckDB's SQL; 0.0 and -0.0 become one value, as on Spark."""
        is_float = pa.types.is_floating(self.frame.schema.field(name).type)
        return f"({quoted(name)} + 0)" if is_float else quoted(name)

    def _terms(self) -> str:
        """Return the terms of a change as a list in DuckDB's SQL.

        A term is a struct of a sign, 1 or -1, and the end of the row. An insertion is the term 1, and a retraction the
        term -1. A revision is two terms: -1 with the old end, and 1 with the new one. The list is null for rows that
        are no change, such as punctuation.
        """
        end = f"{quoted(LIFETIME)}.end" if self.columns.has_ends else "NULL"
        added = f'struct_pack(sign := 1, "end" := {end})'
        subtracted = f'struct_pack(sign := -1, "end" := {end})'
        terms = f"WHEN 'insert' THEN [{added}] WHEN 'retract' THEN [{subtracted}]"
        if self.columns.has_ends:
            revised = f'struct_pack(sign := 1, "end" := {quoted(NEW_END)})'
            terms += f" WHEN 'revise' THEN [{subtracted}, {revised}]"
        return f"CASE {quoted(CHANGE)} {terms} END"

    def _value(self, name: str) -> str:
        """Return a column of the table in DuckDB's SQL, computed from the sums of its rows."""
        if name not in self.columns.values:
            return quoted(name)  # a key or the id, by which the sums are grouped
        value = f"{ROW}.{quoted(name)}"
        if name == LIFETIME and self.columns.has_ends:
            return self._lifetime(value)
        return value

    def _lifetime(self, value: str) -> str:
        """Return the lifetime of a summed row, in DuckDB's SQL: with the start of the insertion and the latest end.

        Args:
            value: The lifetime as it was inserted. The end may have been revised; the sums have it in the column `END`.
        """
        # The fields are in the order of the changelog: older versions of Arrow cast a struct by the places of fields,
        # and pandas and Polars may have them in any order.
        fields: list[str] = []
        for field in self.frame.schema.field(LIFETIME).type:
            field_value = END if field.name == "end" else f"{value}.{quoted(field.name)}"
            fields.append(f"{quoted(field.name)} := {field_value}")
        return f"struct_pack({', '.join(fields)})"

    def _table(self, sums: duckdb.DuckDBPyRelation, values: Mapping[str, str]) -> pa.Table:
        """Compute columns from sums, in the types of the changelog.

        Args:
            sums: The sums.
            values: By name, the columns in DuckDB's SQL.

        Raises:
            QueryError: The rows cannot be read.
        """
        fields: list[pa.Field] = []
        for name in values:
            data_type = self.frame.schema.field(name).type
            if name == CHANGE:
                data_type = pa.string()  # its values are new ones, such as `upsert`
            fields.append(pa.field(name, data_type))
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in values.items())
        try:
            return sums.project(columns).to_arrow_table().cast(pa.schema(fields))
        except (duckdb.Error, OSError) as error:
            raise QueryError("the rows of the changelog cannot be read: {reason}", reason=reason_of(error)) from error


def _settled(table: pa.Table, watermark: int | None, *, is_revisable: bool) -> pa.Table:
    """Return the rows of a table that no later change can reach.

    Args:
        table: The rows that are live.
        watermark: The tick before which nothing changes; None if it is not known, and so no row is settled.
        is_revisable: True if the ends of lifetimes may be revised: a row is settled only if its end is, too.

    Raises:
        QueryError: The rows have no lifetime, and so no place before or after the watermark.
    """
    if watermark is None:
        return table.slice(0, 0)
    if watermark == INFINITY:
        return table
    lifetimes = table[lifetime_column(table.column_names)]
    is_settled = _are_before(pc.struct_field(lifetimes, "start"), watermark)
    if is_revisable:
        is_settled = pc.and_(is_settled, _are_before(pc.struct_field(lifetimes, "end"), watermark))
    return table.filter(is_settled)


def _are_before(times: pa.ChunkedArray, watermark: int) -> pa.ChunkedArray:
    """Return for each time whether it is before a watermark; a null, the end of a lifetime without an end, is not."""
    limit: Any = watermark
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.int64())
    elif pa.types.is_decimal(times.type):
        limit = decimal_of(watermark, times.type.scale)
    return pc.fill_null(pc.less(times, limit), arrow_scalar(False))
