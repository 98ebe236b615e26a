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
"""The names that columns of windows have in SQL, by the expressions over the results that they stand for."""


def parse_expression(text: str) -> Any:
    """Parse an expression of Spark's SQL, or the name of a column, and return its tree."""
    return exp.maybe_parse(spell_column(text), dialect="spark", copy=True)


def over_modules(text: str, calls: Mapping[str, str]) -> str:
    """Return an expression over results in which modules are called in the place of their results.

    Args:
        text: The expression, such as `total / n`.
        calls: The calls of modules in SQL, by the names of their results, such as `SUM(km)` by `total`.
    """
    if text in calls:
        return calls[text]
    if text in NAMES_IN_SQL:  # such as `window.start`, which is `window_start` in SQL
        return NAMES_IN_SQL[text]
    # Calls of modules are not Spark's SQL and cannot be parsed. So each name of a result is replaced by a mark, which
    # is a name that cannot occur. Once the expression is written, each mark is replaced by the call.
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
    """Return an expression over the results of a join as one over its two streams.

    Args:
        text: The expression over the results.
        columns: The columns of the results by name, each as an expression over the two streams.
    """
    if text in columns:
        return columns[text]
    tree = parse_expression(text)
    for column in columns_in(tree):
        path = _path(column)
        if path in columns:
            expression = parse_expression(columns[path])
            if isinstance(expression, exp.Binary | exp.Unary | exp.Predicate):
                expression = exp.paren(expression)  # `n * 2` with `l.km + 1` for `n` is `(l.km + 1) * 2`
            column.replace(expression)
    return str(tree.sql(dialect="spark"))


def qualified(text: str, alias: str) -> str:
    """Return an expression over one stream with the alias of the stream before each column."""

    def with_stream(node: Any) -> Any:
        """Return a column after the alias, with all parts of its path, such as `l.position.lat`; other nodes stay."""
        if not isinstance(node, exp.Column):
            return node
        return exp.Dot.build([exp.to_identifier(alias), *(part.copy() for part in node.parts)])

    tree = parse_expression(text).transform(with_stream)
    return str(tree.sql(dialect="spark"))


def with_alias(expression: str, name: str) -> str:
    """Return a column of SELECT, with AS and its name unless the expression is that name."""
    return expression if expression.strip("`") == name else f"{expression} AS {spell_name(name)}"


def _path(column: Any) -> str:
    """Return the names of a column with dots between them, without quotes."""
    return ".".join(part.name for part in column.parts)
