"""The columns of a table in this process, named or expressed: their names, types and expressions for DuckDB."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.errors import QueryError
from muntin.errors.messages import Earlier
from muntin_engine.backends.local.duckdb_types import quoted, spelled
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.frames.local_frame import LocalFrame
from muntin_engine.backends.planning.input_column import InputColumn
from muntin_engine.backends.planning.needs_spark import NeedsSparkError
from muntin_engine.plan.request import BackendColumn, SqlExpression, is_expression

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike


@dataclass(frozen=True)
class StructColumn(BackendColumn):
    """A struct of columns, where a query writer's column is expected: only the backend itself makes one.

    Attributes:
        names: The names of the columns.
    """

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"struct({', '.join(self.names)})"


@dataclass(frozen=True)
class TextColumn(BackendColumn):
    """A column cast to text, where a query writer's column is expected.

    Attributes:
        column: The column.
    """

    column: ColumnLike

    def __str__(self) -> str:
        return str(self.column)


def look_up_column(frame: LocalFrame, column: ColumnLike, reader_name: str) -> InputColumn:
    """Describe a column of a table.

    Args:
        frame: The table.
        column: The column.
        reader_name: The words for what reads the column, for errors, such as `where`.

    Raises:
        QueryError: The table does not have the column, or it cannot be computed.
    """
    # Text is the name of a column if there is one of that name, and otherwise an expression.
    is_plain_text = isinstance(column, str) and not isinstance(column, SqlExpression)
    column_name = _column_name(frame, str(column)) if is_plain_text else None
    if column_name is not None:
        # A struct with a field that has no meaning in a query is not hidden: its other fields can be read. The refusal
        # goes along with the struct, as it is an error only if the query lets the whole struct travel.
        refusal = frame.refusal(column_name)
        if refusal is not None and frame.is_hidden(column_name):
            raise QueryError(refusal)
        return _described(column_name, frame.schema.field(column_name).type, refusal)

    expression = column_expression(frame, column, reader_name)
    name = str(column)
    if isinstance(column, str) and is_path(name):
        name = name.rpartition(".")[2]  # a field of a struct has its own name, as on Spark
    return _described(name, expression.type)


def input_columns(frame: LocalFrame) -> list[InputColumn]:
    """Describe all columns of a table."""
    return [_described(field.name, field.type) for field in frame.schema]


def _described(name: str, data_type: pa.DataType, refusal: str | None = None) -> InputColumn:
    """Describe a column.

    Args:
        name: The name of the column.
        data_type: The type in which it is read.
        refusal: The error if a query lets the column travel; None if it may travel.
    """
    return InputColumn(name, data_type, spelled(data_type), part_without_type=_unread_part(data_type), refusal=refusal)


def _unread_part(data_type: pa.DataType) -> str | None:
    """Return Spark's word for the first part of a type that is not read, or None if all parts are read.

    A part that is not read has the null type, which Spark calls `void`, in place of the type that it really has.
    """
    if pa.types.is_null(data_type):
        return "void"
    if not pa.types.is_nested(data_type):
        return None
    for place in range(data_type.num_fields):
        unread_part = _unread_part(data_type.field(place).type)
        if unread_part is not None:
            return unread_part
    return None


def column_expression(frame: LocalFrame, column: ColumnLike, reader_name: str) -> DuckdbExpression:
    """Return a column of a table in DuckDB's SQL.

    Args:
        frame: The table.
        column: A name, a path into a struct, or an expression, as text; or a `StructColumn` or a `TextColumn`.
        reader_name: The words for what reads the column, for errors, such as `where`.

    Raises:
        QueryError: The table does not have the column, or it cannot be computed.
        NeedsSparkError: The column is a column object of Spark's.
    """
    if isinstance(column, TextColumn):
        return _as_text(column_expression(frame, column.column, reader_name), reader_name)
    if isinstance(column, StructColumn):
        return _struct(frame, column)
    if isinstance(column, SqlExpression):
        return _translated(frame, column)
    if not isinstance(column, str):
        raise NeedsSparkError(
            f"the column {column!s}",
            f"{reader_name} reads {column!s}, a column of Spark's, and the input is no DataFrame of Spark's\n"
            "  write it as text in SQL, for example 'km / 1.6'",
        )
    name = _column_name(frame, column)
    if name is not None:
        return DuckdbExpression(quoted(name), frame.schema.field(name).type)
    # What is left is a name of no column, an expression, or a path into a struct. The first is refused here. A path is
    # for the translator like any expression: its error names the fields of the struct.
    if not is_expression(column, frame.schema.names) and not _begins_with_name(frame, column):
        similar_names = difflib.get_close_matches(column, frame.schema.names, n=1)
        advice = frame.advice_for_missing_column(column)
        if advice is None and similar_names:
            advice = f"did you mean {similar_names[0]!r}?"
        raise QueryError(
            "{reader} reads {value!r}, and the input has no such column{advice}\n  it has {columns}",
            value=column,
            reader=reader_name,
            advice="" if advice is None else f"\n  {advice}",
            columns=", ".join(frame.schema.names) or "no columns",
        )
    return _translated(frame, column)


def _column_name(frame: LocalFrame, text: str) -> str | None:
    """Return the name of the column that text names, as the table spells it; None if no column has the name.

    Args:
        frame: The table.
        text: The name, in any case and perhaps in backquotes.

    Raises:
        QueryError: Several columns have the name, as Spark does not tell upper from lower case.
    """
    folded_name = unquoted(text).casefold()
    namesakes = [name for name in frame.schema.names if name.casefold() == folded_name]
    if not namesakes:
        return None
    if len(namesakes) > 1:
        raise QueryError(
            "{value!r} is the name of several columns of the input: {alike}\n"
            "  expected: names that differ, in more than upper and lower case; rename all but one of them "
            "{before_events}",
            value=text,
            alike=", ".join(namesakes),
            before_events=Earlier("events"),
        )
    column_name: str = namesakes[0]
    return column_name


def unquoted(text: str) -> str:
    """Return a name without the backquotes around it, as Spark reads it; other text is returned unchanged.

    Example:
        >>> unquoted("`a b`"), unquoted("`a`.`b`"), unquoted("a")
        ('a b', '`a`.`b`', 'a')
    """
    if not re.fullmatch(r"`([^`]|``)+`", text):
        return text
    return text[1:-1].replace("``", "`")


def _begins_with_name(frame: LocalFrame, text: str) -> bool:
    """True if the first name of a path is the name of a column, in any case."""
    first_name = re.match(r"`(?:[^`]|``)*`|[^.`]*", text)
    assert first_name is not None, "the pattern fits any text, as the name may be empty"
    name = unquoted(first_name.group())
    return name.casefold() in {column.casefold() for column in frame.schema.names}


def _translated(frame: LocalFrame, text: str) -> DuckdbExpression:
    """Translate an expression over the columns of a table.

    Raises:
        QueryError: The expression cannot be translated, or reads a column whose values have no meaning in a query.
    """
    expression = translated(text, frame.schema)
    for name in frame.names_in(expression.sql):
        if not frame.is_hidden(name):
            continue  # at least a part of the column can be read
        refusal = frame.refusal(name)
        if refusal is not None:
            raise QueryError(refusal)
    return expression


def is_path(text: str) -> bool:
    """True if text is a path into a struct, such as `position.lat`."""
    return all(part.isidentifier() for part in text.split("."))


def _struct(frame: LocalFrame, column: StructColumn) -> DuckdbExpression:
    """Return a struct of columns of a table, in DuckDB's SQL."""
    fields = [frame.schema.field(name) for name in column.names]
    values = [f"{quoted(name)} := {quoted(name)}" for name in column.names]
    return DuckdbExpression(f"struct_pack({', '.join(values)})", pa.struct(fields))


def _as_text(expression: DuckdbExpression, reader_name: str) -> DuckdbExpression:
    """Cast an expression of text, whole numbers or booleans to text.

    Args:
        expression: The expression.
        reader_name: The words for what reads the column, for the error.

    Raises:
        QueryError: The expression is of another type, whose text may differ from Spark's.
    """
    if pa.types.is_string(expression.type):
        return expression
    if pa.types.is_integer(expression.type) or pa.types.is_boolean(expression.type):
        return DuckdbExpression(f"CAST({expression.sql} AS VARCHAR)", pa.string(), may_raise=expression.may_raise)
    raise QueryError(f"{reader_name} is read as text, and is of type {spelled(expression.type)}\n  expected: text")
