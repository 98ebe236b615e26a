"""SELECT: its clauses in DuckDB's SQL, in the order in which Spark evaluates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import duckdb_type, quoted
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, computed_where
from muntin_engine.backends.local.expressions.logic import condition
from muntin_engine.backends.local.expressions.parsed_text import translator_of
from muntin_engine.backends.local.expressions.translator import Scope, UnknownColumnError
from muntin_engine.backends.local.plain_sql.from_clause import FromClause
from muntin_engine.backends.local.plain_sql.grouping import GroupScope, groups_of
from muntin_engine.backends.local.plain_sql.nodes import refusal_of
from muntin_engine.backends.local.plain_sql.order import is_distinct, limit, order_by
from muntin_engine.backends.local.plain_sql.output_column import OutputColumn
from muntin_engine.backends.local.plain_sql.scopes import AliasScope, OutputScope, SourceColumn, SourceScope
from muntin_engine.backends.local.plain_sql.select_entries import SelectEntry, entries_of
from muntin_engine.backends.local.plain_sql.tables import QueryOverTables

SELECT_PARTS: Final = frozenset(
    ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_")
)
"""The parts of a SELECT that are translated, as sqlglot calls them."""


def translated_select(tree: exp.Select, sources: FromClause) -> QueryOverTables:
    """Translate a SELECT.

    Args:
        tree: The SELECT.
        sources: The translated FROM clause of the SELECT.

    Raises:
        QueryError: Something in it has no translation of the same meaning.
    """
    source_scope = SourceScope(sources.columns)
    where = _where(tree, source_scope)
    from_sql = f" FROM {sources.sql}" if sources.sql else ""
    if where is not None:
        from_sql += f" WHERE {where.sql}"

    entries = entries_of(tree, sources.columns)
    scope: Scope = source_scope
    if _is_grouped(tree, entries):
        groups = groups_of(tree, entries, source_scope, where)
        from_sql = _grouped_rows(groups, from_sql)
        scope = groups
        where = None  # the groups have applied it to their rows, and columns of groups cannot read its columns

    # The columns are translated first: HAVING and ORDER BY may read them by their names.
    columns = _columns(entries, scope, where)
    _check_names(tree, columns)
    outputs = {column.name.casefold(): column.value for column in columns if not column.is_hidden}
    having = tree.args.get("having")
    if having is not None:
        # HAVING filters groups, which are the rows of the FROM clause by now: so it becomes a WHERE.
        having_translator = translator_of(having.this, OutputScope(outputs, scope))
        from_sql += f" WHERE {condition(having_translator, having.this).sql}"
    distinct = is_distinct(tree, columns)
    order = order_by(tree, columns, OutputScope(outputs, None if distinct else scope))

    listed = ", ".join(f"{column.value.sql} AS {quoted(column.name)}" for column in columns)
    word = "SELECT DISTINCT" if distinct else "SELECT"
    sql = f"{word} {listed}{from_sql}{order}{limit(tree)}"
    return QueryOverTables(sql, tuple(column.output for column in columns))


def _where(tree: exp.Select, scope: Scope) -> DuckdbExpression | None:
    """Translate the condition of WHERE; None without one."""
    clause = tree.args.get("where")
    if clause is None:
        return None
    return condition(translator_of(clause.this, scope), clause.this)


def _is_grouped(tree: exp.Select, entries: Sequence[SelectEntry]) -> bool:
    """True if a row of a SELECT stands for a group of rows, or for all rows, as that of `SELECT COUNT(*)`."""
    if tree.args.get("group") or tree.args.get("having"):
        return True
    return any(entry.has_aggregate for entry in entries)


def _grouped_rows(groups: GroupScope, from_sql: str) -> str:
    """Return a FROM clause whose rows are groups, with their keys and aggregates as columns.

    Args:
        groups: The keys and the aggregates.
        from_sql: The FROM and WHERE clauses of the rows that are grouped.
    """
    keys = f" GROUP BY {', '.join(groups.keys)}" if groups.keys else ""
    listed = ", ".join(groups.columns) or "COUNT(*) AS row_count"  # a SELECT of literals reads nothing of its group
    return f" FROM (SELECT {listed}{from_sql}{keys})"


def _columns(entries: Sequence[SelectEntry], scope: Scope, where: DuckdbExpression | None) -> list[OutputColumn]:
    """Translate the columns of a SELECT; a column may read those before it by their aliases.

    Args:
        entries: The columns as they are written.
        scope: The columns that the SELECT reads.
        where: The condition of WHERE; None without one. A column that may raise is computed only for rows that meet it.
    """
    alias_scope = AliasScope(scope)
    columns: list[OutputColumn] = []
    for entry in entries:
        column = _column(entry, scope, alias_scope)
        if entry.alias and not column.is_hidden:
            alias_scope.add(entry.alias, column.value)
        columns.append(replace(column, value=computed_where(where, column.value)))
    return columns


def _column(entry: SelectEntry, scope: Scope, alias_scope: AliasScope) -> OutputColumn:
    """Translate a column of a SELECT.

    Args:
        entry: The column as it is written.
        scope: The columns that the SELECT reads.
        alias_scope: The columns that the SELECT reads, and its own earlier columns by their aliases.

    Raises:
        QueryError: The column has no name, or no translation of the same meaning.
    """
    if entry.star_column is not None:
        if isinstance(scope, GroupScope):
            raise QueryError("a grouped SELECT has '*'\n  name the columns")
        return _passed_on(entry.star_column.column.name, entry.star_column)
    body = entry.body
    if not entry.name:
        raise refusal_of(entry.node or body, "has no name", "name it: ... AS km")
    # A column that is only passed on may be of a type that no expression reads.
    if isinstance(body, exp.Column) and isinstance(scope, SourceScope):
        source_column = _whole_column(body, scope)
        if source_column is not None:
            return _passed_on(entry.name, source_column)
    value = translator_of(body, alias_scope).translate(body)
    if pa.types.is_null(value.type):  # or DuckDB would give a bare NULL a type of its own
        value = DuckdbExpression(f"CAST({value.sql} AS {duckdb_type(value.type)})", value.type)
    return OutputColumn(entry.name, value)


def _passed_on(name: str, source_column: SourceColumn) -> OutputColumn:
    """Return a column of a table as a column of the SELECT, also if its type has no meaning in a query."""
    column = source_column.column
    return OutputColumn(name, DuckdbExpression(source_column.sql, column.type), column)


def _whole_column(node: exp.Column, scope: SourceScope) -> SourceColumn | None:
    """Return the column of a table that a node names; None if it names a field of a struct, or an alias."""
    try:
        column, fields = scope.source_column([part.name for part in node.parts])
    except UnknownColumnError:
        return None
    return None if fields else column


def _check_names(tree: exp.Select, columns: Sequence[OutputColumn]) -> None:
    """Refuse a SELECT with two columns of one name, in any case.

    Raises:
        QueryError: There are two such columns.
    """
    names = [column.name.casefold() for column in columns]
    for column in columns:
        if names.count(column.name.casefold()) > 1:
            raise refusal_of(tree, f"has several columns {column.name}", "rename all but one of them: AS other")
