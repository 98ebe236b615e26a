"""Expressions over the results of a query, rewritten for SQL: modules as calls, windows as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.join_columns import columns_in
from muntin_engine.sql_text.select_columns import WINDOW_COLUMNS
from muntin_engine.sql_text.sql_values import spell_name
from muntin_engine.sql_text.stream_writing import spell_column

NAMES_IN_SQL: Final = {text: name for name, text in WINDOW_COLUMNS.items()}
"""The columns of windows in SQL, by the expressions over the results that they are."""


def parse_expression(text: str) -> Any:
    """Return the tree of an expression of Spark's."""
    return exp.maybe_parse(spell_column(text), dialect="spark", copy=True)


def over_modules(text: str, calls: Mapping[str, str]) -> str:
    """Return an expression over results with the calls of modules in the place of their names."""
    if text in calls:
        return calls[text]
    if text in NAMES_IN_SQL:
        return NAMES_IN_SQL[text]
    # Calls are not parsed: names that cannot occur stand for them until the expression is written.
    marks = {name: f"__{place}__" for place, name in enumerate(calls)}
    tree = parse_expression(text)
    for column in columns_in(tree):
        path = _path(column)
        if path in NAMES_IN_SQL:
            column.replace(exp.column(NAMES_IN_SQL[path]))
        elif column.name in marks and not column.table:
            column.set("this", exp.to_identifier(marks[column.name]))
    written = str(tree.sql(dialect="spark"))
    for name, mark in marks.items():
        written = written.replace(mark, calls[name])
    return written


def over_streams(text: str, columns: Mapping[str, str]) -> str:
    """Return an expression over the results of a join with the columns of its streams.

    Args:
        text: The expression.
        columns: The columns of the results, as SQL has them of the streams.
    """
    if text in columns:
        return columns[text]
    tree = parse_expression(text)
    for column in columns_in(tree):
        path = _path(column)
        if path in columns:
            column.replace(parse_expression(columns[path]))
    return str(tree.sql(dialect="spark"))


def qualified(text: str, alias: str) -> str:
    """Return an expression over one stream with its name before each column."""
    tree = parse_expression(text)
    for column in columns_in(tree):
        column.set("table", exp.to_identifier(alias))
    return str(tree.sql(dialect="spark"))


def with_alias(expression: str, name: str) -> str:
    """Return a column of SELECT with its name, unless it has that already."""
    return expression if expression.strip("`") == name else f"{expression} AS {spell_name(name)}"


def _path(column: Any) -> str:
    return ".".join(part.name for part in column.parts)
