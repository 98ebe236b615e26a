"""The columns of a table in this process, named or expressed: their names, types and expressions for DuckDB."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin.errors import QueryError
from muntin.errors.messages import Earlier
from muntin_engine.backends.local.duckdb_types import quoted, spelled
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.local_frame import LocalFrame
from muntin_engine.backends.planning.input_column import InputColumn
from muntin_engine.plan.request import SqlExpression


@dataclass(frozen=True)
class SqlColumn:
    """A column that is an expression in Spark's SQL.

    Attributes:
        text: The expression.
    """

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TextColumn:
    """A column cast to text.

    Attributes:
        column: The column.
    """

    column: Any

    def __str__(self) -> str:
        return str(self.column)


def look_up_column(frame: LocalFrame, column: Any, reader: str) -> InputColumn:
    """Describe a column of a table.

    Args:
        frame: The table.
        column: The column.
        reader: The reader of the column, for errors.

    Raises:
        QueryError: The table does not have the column, or it cannot be computed.
    """
    is_text = isinstance(column, str) and not isinstance(column, SqlExpression)
    text = unquoted(column) if is_text else str(column)
    if is_text and _is_name(frame, text):
        data_type = frame.schema.field(text).type
        refusal = frame.refusal(text)
        if refusal is not None and frame.is_hidden(text):
            raise QueryError(refusal)
        unread_part = _unread_part(data_type)
        return InputColumn(text, data_type, spelled(data_type), part_without_type=unread_part, refusal=refusal)
    expression = column_expression(frame, column, reader)
    name = text
    if is_text and is_path(text):
        name = text.rpartition(".")[2]
    unread_part = _unread_part(expression.type)
    return InputColumn(name, expression.type, spelled(expression.type), part_without_type=unread_part)


def _unread_part(data_type: pa.DataType) -> str | None:
    """Return the word for a part of a type that is not read; None if all are."""
    if pa.types.is_null(data_type):
        return "void"
    if not pa.types.is_nested(data_type):
        return None
    parts = [data_type.field(place).type for place in range(data_type.num_fields)]
    return next((word for word in map(_unread_part, parts) if word is not None), None)


def column_expression(frame: LocalFrame, column: Any, reader: str) -> DuckdbExpression:
    """Return a column of a table in DuckDB's SQL.

    Args:
        frame: The table.
        column: A name, a path into a struct, or an expression.
        reader: The reader of the column, for errors.

    Raises:
        QueryError: The table does not have the column, or it cannot be computed.
    """
    if isinstance(column, TextColumn):
        return _as_text(column_expression(frame, column.column, reader), reader)
    if isinstance(column, SqlColumn | SqlExpression):
        return _translated(frame, str(column))
    if not isinstance(column, str):
        raise QueryError(
            f"{reader} reads {column!s}, a column of Spark's, and the input is no DataFrame of Spark's\n"
            "  write it as text in SQL, for example 'km / 1.6'"
        )
    name = unquoted(column)
    if _is_name(frame, name):
        return DuckdbExpression(quoted(name), frame.schema.field(name).type)
    folded_names = {name.casefold() for name in frame.schema.names}
    if column.isidentifier() and column.casefold() not in folded_names:
        close = difflib.get_close_matches(column, frame.schema.names, n=1)
        raise QueryError(
            "{reader} reads {value!r}, and the input has no such column{suggestion}\n  it has {columns}",
            value=column,
            reader=reader,
            suggestion=f"\n  did you mean {close[0]!r}?" if close else "",
            columns=", ".join(frame.schema.names),
        )
    return _translated(frame, column)


def unquoted(text: str) -> str:
    """Return the name of a column that stands in backquotes, as Spark reads it; other text as it is.

    Example:
        >>> unquoted("`a b`"), unquoted("`a`.`b`"), unquoted("a")
        ('a b', '`a`.`b`', 'a')
    """
    if not re.fullmatch(r"`([^`]|``)+`", text):
        return text
    return text[1:-1].replace("``", "`")


def _is_name(frame: LocalFrame, text: str) -> bool:
    """True if text is the name of one column.

    Raises:
        QueryError: There are several columns of the name, as Spark does not tell upper from lower case.
    """
    names = frame.schema.names
    if text not in names:
        return False
    alike = [name for name in names if name.casefold() == text.casefold()]
    if len(alike) > 1:
        raise QueryError(
            "{value!r} is the name of several columns of the input: {alike}\n"
            "  expected: names that differ, in more than upper and lower case; rename all but one of them "
            "{before_events}",
            value=text,
            alike=", ".join(alike),
            before_events=Earlier("events"),
        )
    return True


def _translated(frame: LocalFrame, text: str) -> DuckdbExpression:
    """Translate an expression over the columns of a table.

    Raises:
        QueryError: It cannot be translated, or reads a column of a type that has no meaning.
    """
    expression = translated(text, frame.schema)
    for name in frame.names_in(expression.sql):
        refusal = frame.refusal(name) if frame.is_hidden(name) else None
        if refusal is not None:
            raise QueryError(refusal)
    return expression


def is_path(text: str) -> bool:
    """True if text is a path into a struct, such as `position.lat`."""
    return all(part.isidentifier() for part in text.split("."))


def _as_text(expression: DuckdbExpression, reader: str) -> DuckdbExpression:
    """Cast an expression to text.

    Raises:
        QueryError: The text of its values may differ from Spark's.
    """
    if pa.types.is_string(expression.type):
        return expression
    if pa.types.is_integer(expression.type) or pa.types.is_boolean(expression.type):
        return DuckdbExpression(f"CAST({expression.sql} AS VARCHAR)", pa.string(), expression.may_raise)
    raise QueryError(f"{reader} is read as text, and is of type {spelled(expression.type)}\n  expected: text")
