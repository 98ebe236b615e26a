"""Columns of events, computed where a row has a payload, as further columns of a table in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muntin.errors import QueryError
from muntin_engine.backends.local.column_reader import TextColumn, column_expression, is_path
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.local_frame import ChangedFrame, LocalFrame


def with_payload(  # each is another part of the call
    frame: LocalFrame,
    change: Any,
    event_columns: Sequence[str],
    call: str,
    names: Sequence[str],
    columns: Mapping[str, Any],
    *,
    keeps_others: bool,
) -> LocalFrame:
    """Return a table with columns computed in rows that have a payload.

    Args:
        frame: The table.
        change: The column that says what a row does; None if each is a new event.
        event_columns: The names of the columns that make rows events.
        call: The call that asks for it, for messages.
        names: The names of columns to keep, besides those.
        columns: The columns to compute, by name.
        keeps_others: True if all other columns are kept.

    Raises:
        QueryError: A column cannot be computed, there is none of a name, or there would be several.
    """
    computed: dict[str, DuckdbExpression] = {}
    for name, column in columns.items():
        computed[name] = column_expression(frame, column, call)
    if change is not None:
        has_payload = _has_payload(frame, change, event_columns)
        for name, expression in computed.items():
            sql = f"(CASE WHEN {has_payload} THEN {expression.sql} END)"
            computed[name] = DuckdbExpression(sql, expression.type, expression.may_raise)

    folded_names = {name.casefold(): name for name in computed}
    all_columns: list[tuple[str, DuckdbExpression]] = []
    kept_names: dict[str, str] = {}
    if keeps_others:
        for field in frame.schema:
            new_name = folded_names.pop(field.name.casefold(), None)
            if new_name is None:
                kept_names[field.name] = field.name
                all_columns.append((field.name, DuckdbExpression(quoted(field.name), field.type)))
            else:
                all_columns.append((new_name, computed[new_name]))  # in the place of the one that it replaces
        all_columns += [(name, computed[name]) for name in folded_names.values()]
    else:
        folded_kept = {name.casefold() for name in (*names, *event_columns)}
        for field in frame.schema:
            if field.name.casefold() in folded_kept:
                kept_names[field.name] = field.name
                all_columns.append((field.name, DuckdbExpression(quoted(field.name), field.type)))
        all_columns += _fields_of_structs(frame, call, names)
        all_columns += computed.items()
    return _changed(frame, call, all_columns, kept_names)


def _has_payload(frame: LocalFrame, change: Any, event_columns: Sequence[str]) -> str:
    """Return the condition, in DuckDB's SQL, that a row has a payload: an insertion, or a change that repeats it."""
    kind = column_expression(frame, TextColumn(change), "change").sql
    values = [f"{quoted(name)} IS NOT NULL" for name in frame.schema.names if name not in event_columns]
    has_values = " OR ".join(values) or "FALSE"
    return f"({kind} = 'insert') OR ({kind} IN ('revise', 'retract') AND ({has_values}))"


def _fields_of_structs(frame: LocalFrame, call: str, names: Sequence[str]) -> list[tuple[str, DuckdbExpression]]:
    """Return the columns among those to keep that are fields of structs, under the names of the fields.

    Raises:
        QueryError: There is no column of a name.
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


def _changed(
    frame: LocalFrame, call: str, columns: Sequence[tuple[str, DuckdbExpression]], kept_names: Mapping[str, str]
) -> ChangedFrame:
    """Return a table with other columns.

    Raises:
        QueryError: Several have one name.
    """
    expressions: dict[str, DuckdbExpression] = {}
    folded_names: set[str] = set()
    for name, expression in columns:
        if name.casefold() in folded_names and name not in kept_names:
            raise QueryError(f"{call} makes several columns {name!r}\n  give each another name")
        folded_names.add(name.casefold())
        expressions[name] = expression
    return ChangedFrame(frame, expressions, kept_names)
