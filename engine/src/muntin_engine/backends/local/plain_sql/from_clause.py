"""FROM: tables, queries, and joins of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted, spelled
from muntin_engine.backends.local.expressions.translator import UnknownColumnError
from muntin_engine.backends.local.plain_sql.join_condition import JoinSides
from muntin_engine.backends.local.plain_sql.nodes import check_parts, refusal_of
from muntin_engine.backends.local.plain_sql.scopes import SourceColumn, SourceScope
from muntin_engine.backends.local.plain_sql.tables import QueryOverTables, TableColumn

_JOIN_PARTS: Final = frozenset(("this", "side", "kind", "on", "using"))

_JOINS: Final[Mapping[str, str]] = {
    "": "INNER JOIN",
    "INNER": "INNER JOIN",
    "CROSS": "CROSS JOIN",
    "LEFT": "LEFT JOIN",
    "LEFT OUTER": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "RIGHT OUTER": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "FULL OUTER": "FULL JOIN",
    "SEMI": "SEMI JOIN",
    "LEFT SEMI": "SEMI JOIN",
    "ANTI": "ANTI JOIN",
    "LEFT ANTI": "ANTI JOIN",
}
"""The joins of DuckDB by the words of Spark."""

_ONLY_LEFT_COLUMNS: Final = ("SEMI JOIN", "ANTI JOIN")
"""The joins whose rows have the columns of the left side alone."""


class Queries(ABC):
    """The queries that a FROM clause may read."""

    @abstractmethod
    def query(self, tree: exp.Expr) -> QueryOverTables:
        """Translate a query that stands in the clause."""

    @abstractmethod
    def named(self, table: exp.Table) -> QueryOverTables:
        """Return the table, or the query of a WITH clause, that the clause names."""


@dataclass(frozen=True)
class FromClause:
    """What a FROM clause reads.

    Attributes:
        sql: The clause in DuckDB's SQL; empty for a SELECT without one.
        columns: The columns that it offers, in the order of `*`.
    """

    sql: str
    columns: tuple[SourceColumn, ...]


def from_clause(tree: exp.Select, queries: Queries) -> FromClause:
    """Translate the FROM clause of a SELECT, with its joins.

    Raises:
        QueryError: Something in it has no translation of the same meaning.
    """
    clause = tree.args.get("from_")
    if clause is None:
        return FromClause(sql="", columns=())
    sources = _source(clause.this, 0, queries)
    for number, join in enumerate(tree.args.get("joins") or (), 1):
        joined_source = _source(join.this, number, queries)
        sources = _joined(sources, join, joined_source)
    return sources


def renamed(node: exp.Expr, query: QueryOverTables) -> QueryOverTables:
    """Return a query whose columns have the names in its alias, such as `AS r(a, b)`.

    The query stays as it is if the alias names no columns.

    Args:
        node: The node of the query in the tree, with its alias if it has one.
        query: The translated query.

    Raises:
        QueryError: The alias names another number of columns than the query has.
    """
    alias = node.args.get("alias")
    if alias is None or not alias.args.get("columns"):
        return query
    names = [column.name for column in alias.args["columns"]]
    if len(names) != len(query.columns):
        raise refusal_of(node, f"names {len(names)} columns of {len(query.columns)}")
    columns: list[TableColumn] = []
    listed: list[str] = []
    for name, column in zip(names, query.columns, strict=True):
        columns.append(replace(column, name=name))
        listed.append(f"{quoted(column.name)} AS {quoted(name)}")
    return QueryOverTables(f"SELECT {', '.join(listed)} FROM ({query.sql})", tuple(columns))


def _source(node: exp.Expr, number: int, queries: Queries) -> FromClause:
    """Translate one table or query of a FROM clause.

    Args:
        node: The table or the query.
        number: The number of the table or query in the clause.
        queries: The queries that the clause may read.

    Raises:
        QueryError: The node is something else, or has no translation of the same meaning.
    """
    if isinstance(node, exp.Subquery):
        check_parts(node, frozenset(("this", "alias")))
        query = renamed(node, queries.query(node.this))
        name = node.alias
    elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        check_parts(node, frozenset(("this", "alias")))
        query = renamed(node, queries.named(node))
        name = node.alias or node.name
    else:
        raise refusal_of(node, "is no table")
    # DuckDB gets a name with a number in the place of the name in the query, which could be a word of DuckDB's SQL.
    view = f"source_{number}"
    columns: list[SourceColumn] = []
    for column in query.columns:
        columns.append(SourceColumn(column, f"{view}.{quoted(column.name)}", name.casefold()))
    return FromClause(f"({query.sql}) AS {view}", tuple(columns))


def _joined(left: FromClause, join: exp.Join, right: FromClause) -> FromClause:
    """Translate a join.

    Args:
        left: All that stands before the join in the clause.
        join: The join, with its kind and its condition.
        right: The table or query that is joined.

    Raises:
        QueryError: The join has no translation of the same meaning.
    """
    check_parts(join, _JOIN_PARTS)
    words = f"{join.side} {join.kind}".strip().upper()
    kind = _JOINS.get(words)
    if kind is None:
        raise refusal_of(join, f"is a {words} JOIN")
    names_of_both = {column.source for column in left.columns} & {column.source for column in right.columns}
    if any(names_of_both):  # an empty name is of a query without an alias, and several queries may have none
        raise refusal_of(join.this, "has the name of another table of FROM", "rename one of them: rides AS r")
    on = join.args.get("on")
    if kind == "CROSS JOIN" and (on is not None or join.args.get("using")):
        kind = "INNER JOIN"  # as in Spark; DuckDB takes no condition after CROSS JOIN
    if join.args.get("using"):
        return _joined_using(left, right, kind, join)

    columns = left.columns if kind in _ONLY_LEFT_COLUMNS else (*left.columns, *right.columns)
    if on is not None:
        condition = JoinSides(left.columns, right.columns, kind).condition(on)
        return FromClause(f"{left.sql} {kind} {right.sql} ON {condition}", columns)
    if kind not in ("INNER JOIN", "CROSS JOIN"):
        raise refusal_of(join, "has no condition", "write ON or USING")
    return FromClause(f"{left.sql} CROSS JOIN {right.sql}", columns)


def _joined_using(left: FromClause, right: FromClause, kind: str, join: exp.Join) -> FromClause:
    """Translate a join with USING, which compares columns of the same names and makes one column of each two.

    Args:
        left: All that stands before the join in the clause.
        right: The table or query that is joined.
        kind: The join, in DuckDB's words.
        join: The join, which names the columns.

    Raises:
        QueryError: A side does not have a column, the two columns are of different types, or one of them has values
            that have no meaning in a query.
    """
    conditions: list[str] = []
    joint_columns: list[SourceColumn] = []
    replaced_columns: list[SourceColumn] = []
    for identifier in join.args["using"]:
        left_column = _using_column(identifier.name, left)
        right_column = _using_column(identifier.name, right)
        is_hidden = left_column.column.is_hidden or right_column.column.is_hidden
        if is_hidden or left_column.column.type != right_column.column.type:
            types = f"{spelled(left_column.column.type)} and {spelled(right_column.column.type)}"
            raise refusal_of(join, f"compares {types} in USING", "cast one of them in a query in FROM")
        conditions.append(f"{left_column.sql} = {right_column.sql}")
        joint_columns.append(SourceColumn(left_column.column, _joint_value(left_column, right_column, kind), source=""))
        replaced_columns += [left_column, right_column]

    sql = f"{left.sql} {kind} {right.sql} ON {' AND '.join(conditions)}"
    if kind in _ONLY_LEFT_COLUMNS:
        return FromClause(sql, left.columns)

    # The joint columns come first, as in Spark. The columns that they replace are then found only with a table before
    # them, such as `rides.station`.
    columns = list(joint_columns)
    for column in (*left.columns, *right.columns):
        is_replaced = column in replaced_columns
        columns.append(replace(column, is_plain=False) if is_replaced else column)
    return FromClause(sql, tuple(columns))


def _joint_value(left_column: SourceColumn, right_column: SourceColumn, kind: str) -> str:
    """Return the value of a column that USING makes of two, in DuckDB's SQL.

    In a RIGHT JOIN the left side may have no row for a row of the join, and in a FULL JOIN either side.

    Args:
        left_column: The column of the left side.
        right_column: The column of the right side.
        kind: The join, in DuckDB's words.
    """
    if kind == "RIGHT JOIN":
        return right_column.sql
    if kind == "FULL JOIN":
        return f"COALESCE({left_column.sql}, {right_column.sql})"
    return left_column.sql


def _using_column(name: str, side: FromClause) -> SourceColumn:
    """Return a column of one side that USING names.

    Raises:
        QueryError: The side does not have the column.
    """
    try:
        column, _ = SourceScope(side.columns).source_column([name])
    except UnknownColumnError as error:
        raise QueryError(
            "{value!r} in USING {fact}\n  {advice}", value=name, fact=error.fact, advice=error.advice
        ) from error
    return column
