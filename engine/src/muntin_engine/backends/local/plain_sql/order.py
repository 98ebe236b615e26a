"""DISTINCT, ORDER BY, LIMIT and OFFSET: which rows of a SELECT there are, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import spelled
from muntin_engine.backends.local.expressions.parsed_text import translator_of
from muntin_engine.backends.local.expressions.translator import Scope
from muntin_engine.backends.local.plain_sql.nodes import check_parts, has_order, refusal_of
from muntin_engine.backends.local.plain_sql.output_column import OutputColumn


def is_distinct(tree: exp.Select, columns: Sequence[OutputColumn]) -> bool:
    """True if a SELECT is DISTINCT, so that it has no two equal rows.

    Raises:
        QueryError: The rows have values of a type that Spark and DuckDB compare differently.
    """
    distinct = tree.args.get("distinct")
    if distinct is None:
        return False
    check_parts(distinct, frozenset())
    for column in columns:
        if column.refusal is not None or not has_order(column.value.type):
            raise refusal_of(tree, f"compares {column.name}, which is {spelled(column.value.type)}")
        if pa.types.is_floating(column.value.type):
            raise refusal_of(tree, f"compares {column.name}, a float", "GROUP BY it instead")
    return True


def order_by(tree: exp.Select, columns: Sequence[OutputColumn], scope: Scope) -> str:
    """Return the ORDER BY clause in DuckDB's SQL; empty without one.

    Args:
        tree: The SELECT.
        columns: The columns of the SELECT, one of which a number means.
        scope: The columns that the clause may read.

    Raises:
        QueryError: An expression has no translation of the same meaning, or a number is the place of no column.
    """
    order = tree.args.get("order")
    if order is None:
        return ""
    parts: list[str] = []
    for node in order.expressions:
        # A number names a column of the SELECT, counted from 1 on.
        if isinstance(node.this, exp.Literal) and not node.this.is_string:
            place = int(node.this.this) - 1 if node.this.this.isdigit() else -1
            if not 0 <= place < len(columns):
                raise refusal_of(node, "is the number of no column", f"there are {len(columns)}")
            value = columns[place].value
        else:
            value = translator_of(node.this, scope).translate(node.this)
        if not has_order(value.type):
            raise refusal_of(node, f"orders by {spelled(value.type)}")
        direction = "DESC" if node.args.get("desc") else "ASC"
        # Where the query does not place nulls, sqlglot has set `nulls_first` as Spark does.
        nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
        parts.append(f"{value.sql} {direction} NULLS {nulls}")
    return f" ORDER BY {', '.join(parts)}"


def limit(tree: exp.Select) -> str:
    """Return the LIMIT and OFFSET clauses in DuckDB's SQL; empty without them.

    Raises:
        QueryError: A clause has something else than a whole number.
    """
    sql = ""
    for part, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        node = tree.args.get(part)
        if node is None:
            continue
        number = node.expression
        if not (isinstance(number, exp.Literal) and number.this.isdigit()):
            raise refusal_of(node, "is no number of rows", f"write {word} 10")
        sql += f" {word} {number.this}"
    return sql
