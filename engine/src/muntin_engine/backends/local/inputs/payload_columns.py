"""Columns of events, computed where a row has a payload, as further columns of a table in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames.local_frame import ChangedFrame, LocalFrame, kept_columns
from muntin_engine.backends.local.inputs.column_lookup import TextColumn, column_expression, is_path
from muntin_engine.plan.request import SqlExpression

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


def with_payload(
    frame: LocalFrame,
    change: ColumnLike | None,
    event_columns: Sequence[str],
    call: str,
    names: Sequence[str],
    columns: Mapping[str, ColumnLike],
    *,
    keeps_others: bool,
) -> LocalFrame:
    """Return a table with columns computed of the payload of its events; they are null in rows without a payload.

    Args:
        frame: The table.
        change: The column that says what a row does, such as `insert`; None if each row is a new event.
        event_columns: The names of the columns that make rows events or that `where` reads. They stay as they are.
        call: The call of the query writer, for messages.
        names: The names of the payload columns that stay, or paths to fields of structs, such as `position.lat`.
        columns: The columns to compute, by name.
        keeps_others: True to keep all other payload columns, too.

    Raises:
        QueryError: A column cannot be computed, the table has no column of a name, or the result would have several.
    """
    # Punctuation, and changes that name their event only by its id, have no payload.
    has_payload = None if change is None else _has_payload(frame, change, event_columns)
    computed: dict[str, DuckdbExpression] = {}
    for name, column in columns.items():
        # Text that can be no name, such as `km / 2`, is an expression. A name that the table lacks stays a name, so
        # that the error suggests similar ones.
        is_expression = isinstance(column, str) and not column.isidentifier() and column not in frame.schema.names
        expression = column_expression(frame, SqlExpression(column) if is_expression else column, call)
        if has_payload is not None:
            sql = f"(CASE WHEN {has_payload} THEN {expression.sql} END)"
            expression = replace(expression, sql=sql, literal=None)  # it is no literal any more, as it may be null
        computed[name] = expression

    if keeps_others:
        _check_names(call, kept_names=(), new_names=list(computed))  # a kept column of the same name is replaced
        return _with_replaced(frame, computed)

    folded_names = {name.casefold() for name in (*names, *event_columns)}
    kept_names = [name for name in frame.schema.names if name.casefold() in folded_names]
    new_columns = [*_fields_of_structs(frame, call, names), *computed.items()]
    _check_names(call, kept_names, new_names=[name for name, _ in new_columns])
    return ChangedFrame(frame, [*kept_columns(frame, kept_names), *new_columns], kept_names=frozenset(kept_names))


def _with_replaced(frame: LocalFrame, computed: Mapping[str, DuckdbExpression]) -> ChangedFrame:
    """Return a table with all of its columns and computed ones.

    A computed column takes the place of the column of its name, in any case. Columns of new names come last.
    """
    new_names = {name.casefold(): name for name in computed}  # by the name in small letters, those without a place yet
    columns: list[tuple[str, DuckdbExpression]] = []
    kept_names: set[str] = set()
    for name, column in kept_columns(frame, frame.schema.names):
        new_name = new_names.pop(name.casefold(), None)
        if new_name is None:
            kept_names.add(name)
            columns.append((name, column))
        else:
            columns.append((new_name, computed[new_name]))
    columns += [(name, computed[name]) for name in new_names.values()]
    return ChangedFrame(frame, columns, frozenset(kept_names))


def _check_names(call: str, kept_names: Sequence[str], new_names: Sequence[str]) -> None:
    """Refuse a new column whose name, in any case, another column has.

    Two columns that stay may have one name, as they had it in the table already.

    Args:
        call: The call of the query writer, for the error.
        kept_names: The names of the columns of the table that stay.
        new_names: The names of the new columns.

    Raises:
        QueryError: There is such a column.
    """
    folded_names = [name.casefold() for name in (*kept_names, *new_names)]
    for name in new_names:
        if folded_names.count(name.casefold()) > 1:
            raise QueryError(f"{call} makes several columns {name!r}\n  give each another name")


def _has_payload(frame: LocalFrame, change: ColumnLike, event_columns: Sequence[str]) -> str:
    """Return the condition, in DuckDB's SQL, that a row has a payload.

    An insertion always has a payload. A revision or retraction may repeat the payload of its event: it has one if any
    of the payload columns is not null.

    Args:
        frame: The table.
        change: The column that says what a row does.
        event_columns: The names of the columns that make rows events; all others are payload.
    """
    change_sql = column_expression(frame, TextColumn(change), "change").sql
    values = [f"{quoted(name)} IS NOT NULL" for name in frame.schema.names if name not in event_columns]
    has_values = " OR ".join(values) or "FALSE"
    return f"({change_sql} = 'insert') OR ({change_sql} IN ('revise', 'retract') AND ({has_values}))"


def _fields_of_structs(frame: LocalFrame, call: str, names: Sequence[str]) -> list[tuple[str, DuckdbExpression]]:
    """Return the columns to keep that are fields of structs, such as `position.lat`, under the names of the fields.

    Args:
        frame: The table.
        call: The call of the query writer, for errors.
        names: The names of all columns to keep.

    Raises:
        QueryError: A name is neither a column nor a field of a struct.
    """
    all_names = {name.casefold() for name in frame.schema.names}
    fields: list[tuple[str, DuckdbExpression]] = []
    for name in names:
        if name.casefold() in all_names:
            continue
        expression = column_expression(frame, name, call)
        if not is_path(name):
            raise QueryError(
                f"{call}({name!r}) keeps columns by their names, and this is an expression\n"
                f"  give it a name: {call}(name={name!r})"
            )
        fields.append((name.rpartition(".")[2], expression))
    return fields
