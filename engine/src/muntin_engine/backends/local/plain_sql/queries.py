"""Queries in Spark's SQL over tables in this process, translated for DuckDB: with the same rows and types, or refused.

A query is SELECT with FROM, joins, WHERE, GROUP BY, HAVING, ORDER BY and LIMIT, queries of WITH clauses, queries in
FROM, and UNION. As with expressions, what has no translation here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.parsed_text import SparkText
from muntin_engine.backends.local.plain_sql.from_clause import Queries, from_clause, renamed
from muntin_engine.backends.local.plain_sql.nodes import check_parts, refusal_of
from muntin_engine.backends.local.plain_sql.select import SELECT_PARTS, translated_select
from muntin_engine.backends.local.plain_sql.tables import QueryOverTables, TableColumn, missing_table, table_view

_OVER_SEVERAL_ROWS: Final = (
    *(exp.Join, exp.Union, exp.Group, exp.AggFunc, exp.Having, exp.Distinct, exp.Order, exp.Limit, exp.Offset),
)
"""The nodes of queries in which a row follows from several rows."""


def translated_query(text: str, tables: Mapping[str, Sequence[TableColumn]]) -> QueryOverTables:
    """Translate a query of Spark's SQL over tables.

    Args:
        text: The query.
        tables: The columns of the tables, by their names. The first is table 0.

    Raises:
        QueryError: The text cannot be read, or something in it has no translation of the same meaning.
    """
    tree = _parsed(text)
    queries: dict[str, QueryOverTables] = {}  # each table is a query of all of its columns
    for number, (name, columns) in enumerate(tables.items()):
        listed = ", ".join(_column_of_table(column) for column in columns)
        queries[name.casefold()] = QueryOverTables(f"SELECT {listed} FROM {quoted(table_view(number))}", tuple(columns))
    query = _QueryTranslator(queries, tuple(tables)).query(tree)
    combining_node = tree.find(*_OVER_SEVERAL_ROWS)
    return replace(query, combines_rows=combining_node is not None)


def _parsed(text: str) -> exp.Expr:
    """Parse a text that is one query.

    Raises:
        QueryError: The text is not SQL, or has several queries or none.
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, read=SparkText) if tree is not None]
    except SqlglotError as error:
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()[0]  # without the colors of a terminal
        raise QueryError("{value!r} cannot be read as a query in SQL: {reason}", value=text, reason=reason) from error
    if len(trees) != 1:
        raise QueryError(f"expected one query, got {len(trees)}")
    return trees[0]


def _column_of_table(column: TableColumn) -> str:
    """Return a column of a table in DuckDB's SQL; null where its values are not read."""
    name = quoted(column.name)
    return f"NULL AS {name}" if column.is_hidden else name


@dataclass(frozen=True)
class _QueryTranslator(Queries):
    """Translates the queries of one text.

    Attributes:
        queries: The tables and the queries of WITH clauses that are seen here, by name in small letters.
        tables: The names of the tables, for errors.
    """

    queries: Mapping[str, QueryOverTables]
    tables: Sequence[str]

    def query(self, tree: exp.Expr) -> QueryOverTables:
        """Translate a query: a SELECT, a UNION, or one of them in parentheses.

        Raises:
            QueryError: The query is of another kind, or something in it has no translation of the same meaning.
        """
        if isinstance(tree, exp.Subquery):
            check_parts(tree, frozenset(("this", "alias")))
            return self.query(tree.this)
        if type(tree) is exp.Union:  # INTERSECT and EXCEPT are of classes below it
            return self._union(tree)
        if not isinstance(tree, exp.Select):
            raise refusal_of(tree, "is no SELECT")
        check_parts(tree, SELECT_PARTS)
        return translated_select(tree, from_clause(tree, self._with_queries(tree)))

    def named(self, table: exp.Table) -> QueryOverTables:
        """Return the table, or the query of a WITH clause, that a FROM clause names.

        Raises:
            QueryError: There is no table or query of the name.
        """
        query = self.queries.get(table.name.casefold())
        if query is None:
            raise missing_table(table.name, self.tables)
        return query

    def _with_queries(self, tree: exp.Expr) -> _QueryTranslator:
        """Return a translator that also knows the queries in the WITH clause of a query; this one without a clause.

        Raises:
            QueryError: The clause is recursive, or one of its queries has no translation.
        """
        clause = tree.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise refusal_of(clause, "is recursive")
        translator = self
        for named_query in clause.expressions:
            query = renamed(named_query, translator.query(named_query.this))
            # The queries that follow may read this one.
            translator = replace(translator, queries={**translator.queries, named_query.alias.casefold(): query})
        return translator

    def _union(self, tree: exp.Union) -> QueryOverTables:
        """Translate a UNION, whose columns are matched by their places and have the names of the first query.

        Raises:
            QueryError: The queries have columns of other types, or of types without a meaning.
        """
        check_parts(tree, frozenset(("this", "expression", "distinct", "with_")))
        translator = self._with_queries(tree)
        left = translator.query(tree.left)
        right = translator.query(tree.right)
        if [column.type for column in left.columns] != [column.type for column in right.columns]:
            raise refusal_of(tree, "unites columns of other types", "cast them to the same types")
        for column in (*left.columns, *right.columns):
            if column.refusal is not None:
                raise QueryError(column.refusal)
        word = "UNION" if tree.args.get("distinct") else "UNION ALL"
        return QueryOverTables(f"({left.sql}) {word} ({right.sql})", left.columns)
