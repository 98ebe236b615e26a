"""Queries in Spark's SQL over tables in this process, translated for DuckDB: with the same rows and types, or refused.

A query is SELECT with FROM, joins, WHERE, GROUP BY, HAVING, ORDER BY and LIMIT, queries of WITH clauses, queries in
FROM, and UNION ALL. As with expressions, what has no translation here is refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import duckdb_type, quoted, spelled
from muntin_engine.backends.local.expressions.aggregates import aggregate_of, is_aggregate
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.parsed_text import SparkText, translator_of
from muntin_engine.backends.local.expressions.translator import Scope, UnknownColumnError, spark_text
from muntin_engine.backends.local.local_frame import LocalFrame

_ON_SPARK: Final = "write it otherwise, or run the query on Spark"

_SELECT_PARTS: Final = frozenset(
    ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_")
)
"""The parts of a SELECT that are translated, as sqlglot calls them."""

_OVER_SEVERAL_ROWS: Final = (
    *(exp.Join, exp.Union, exp.Group, exp.AggFunc, exp.Having, exp.Distinct, exp.Order, exp.Limit, exp.Offset),
)
"""The nodes of queries in which a row follows from several rows."""

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


@dataclass(frozen=True)
class TableColumn:
    """A column of a table or of a query.

    Attributes:
        name: Its name.
        type: Its Arrow type; null if values of its type are not read.
        refusal: The error for reading it, if its type has no meaning in a query.
        is_hidden: True if no expression can read it.
    """

    name: str
    type: pa.DataType
    refusal: str | None = None
    is_hidden: bool = False


@dataclass(frozen=True)
class QueryOverTables:
    """A query in DuckDB's SQL.

    Attributes:
        sql: Its text. It reads each table under the name that `table_view` returns for its number.
        columns: Its columns, in order.
        keeps_rows: True if a row of the result follows from several rows, as in joins and groups.
    """

    sql: str
    columns: tuple[TableColumn, ...]
    keeps_rows: bool = False

    def reads(self, number: int) -> int:
        """Return how often the query reads a table, by the number of the table."""
        return self.sql.count(quoted(table_view(number)))


def table_view(number: int) -> str:
    """Return the name under which a query reads a table, by the number of the table."""
    return f"muntin_table_{number}"


def columns_of(frame: LocalFrame) -> tuple[TableColumn, ...]:
    """Return the columns of a table."""
    columns: list[TableColumn] = []
    for column in frame.schema:
        name = column.name
        columns.append(TableColumn(name, column.type, frame.refusal(name), frame.is_hidden(name)))
    return tuple(columns)


def translated_query(text: str, tables: Mapping[str, Sequence[TableColumn]]) -> QueryOverTables:
    """Translate a query of Spark's SQL over tables.

    Args:
        text: The query.
        tables: The columns of the tables, by their names. The first is table 0.

    Raises:
        QueryError: It cannot be read, or something in it has no translation of the same meaning.
    """
    try:
        trees = [tree for tree in sqlglot.parse(text, read=SparkText) if tree is not None]
    except SqlglotError as error:
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()[0]
        raise QueryError("{value!r} cannot be read as a query in SQL: {reason}", value=text, reason=reason) from error
    if len(trees) != 1:
        raise QueryError(f"expected one query, got {len(trees)}")
    queries: dict[str, QueryOverTables] = {}
    for number, (name, columns) in enumerate(tables.items()):
        names = ", ".join(quoted(column.name) if column.refusal is None else _unread(column) for column in columns)
        queries[name.casefold()] = QueryOverTables(f"SELECT {names} FROM {quoted(table_view(number))}", tuple(columns))
    query = _QueryTranslator(queries, tuple(tables)).query(trees[0])
    return replace(query, keeps_rows=trees[0].find(*_OVER_SEVERAL_ROWS) is not None)


@dataclass(frozen=True)
class _SourceColumn:
    """A column that a FROM clause offers.

    Attributes:
        column: The column.
        sql: Its value in DuckDB's SQL.
        source: The name of the table that it is of; empty for one that USING makes of two.
        is_plain: True if its name alone finds it, and `*` has it; False for the two that USING joins.
    """

    column: TableColumn
    sql: str
    source: str
    is_plain: bool = True


@dataclass(frozen=True)
class _FromClause:
    """What a FROM clause reads.

    Attributes:
        sql: The clause in DuckDB's SQL; empty for a SELECT without one.
        columns: The columns that it offers, in the order of `*`.
    """

    sql: str
    columns: tuple[_SourceColumn, ...]


class _SourceScope(Scope):
    """The columns of a FROM clause."""

    def __init__(self, columns: Sequence[_SourceColumn]) -> None:
        self._columns = columns

    def source_column(self, path: Sequence[str]) -> tuple[_SourceColumn, Sequence[str]]:
        """Return the column that a path begins with, and the fields that follow: `table.column.field`.

        Raises:
            UnknownColumnError: There is no such column, or there are several.
        """
        folded = [name.casefold() for name in path]
        if len(path) > 1:
            of_table = [column for column in self._columns if column.source == folded[0]]
            candidates = [column for column in of_table if column.column.name.casefold() == folded[1]]
            if candidates:
                return self._only(candidates, ".".join(path[:2])), path[2:]
        candidates = []
        for column in self._columns:
            if column.is_plain and column.column.name.casefold() == folded[0]:
                candidates.append(column)
        if not candidates:
            names = [column.column.name for column in self._columns if column.is_plain]
            close = difflib.get_close_matches(path[-1], names, n=1)
            meant = f"did you mean {close[0]}? " if close else ""
            raise UnknownColumnError("is not a column of the tables", f"{meant}they have {', '.join(names)}")
        return self._only(candidates, path[0]), path[1:]

    @staticmethod
    def _only(candidates: Sequence[_SourceColumn], name: str) -> _SourceColumn:
        if len(candidates) > 1:
            sources = ", ".join(f"{column.source}.{column.column.name}" for column in candidates)
            raise UnknownColumnError(f"may be any of {sources}", f"write the table before {name}")
        return candidates[0]

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return a column whose values are read."""
        source_column, fields = self.source_column(path)
        column = source_column.column
        if column.is_hidden:
            raise UnknownColumnError("is of a type that has no meaning in a query", "leave it out")
        return DuckdbExpression(source_column.sql, column.type), fields


class _OutputScope(Scope):
    """The columns of a SELECT, by their aliases, before those of its FROM clause."""

    def __init__(self, outputs: Mapping[str, DuckdbExpression], inner: Scope) -> None:
        self._outputs = outputs
        self._inner = inner

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return an output, or a column of the FROM clause."""
        output = self._outputs.get(path[0].casefold()) if len(path) == 1 else None
        if output is not None:
            return output, ()
        return self._inner.column(path)

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return what the inner scope has computed."""
        return self._inner.computed(node)


class _GroupScope(Scope):
    """The keys and the aggregates of groups: all that a grouped SELECT may read."""

    def __init__(self, source: _SourceScope) -> None:
        self._source = source
        self._values: dict[str, DuckdbExpression] = {}
        self.columns: list[str] = []
        self.keys: list[str] = []

    def add_key(self, node: exp.Expr, value: DuckdbExpression) -> None:
        """Add an expression by which rows are grouped."""
        text = self._identity(node)
        if text in self._values:
            return
        name = f"key_{len(self.keys)}"
        sql = value.sql
        if pa.types.is_floating(value.type):
            sql = f"({sql} + 0)"  # the key of 0.0 and -0.0 is 0.0 on Spark
        self.keys.append(sql)
        self._add(text, name, sql, value)

    def add_aggregate(self, node: exp.Expr, value: DuckdbExpression) -> None:
        """Add an aggregate."""
        text = self._identity(node)
        if text not in self._values:
            self._add(text, f"aggregate_{len(self._values)}", value.sql, value)

    def _add(self, text: str, name: str, sql: str, value: DuckdbExpression) -> None:
        self.columns.append(f"{sql} AS {quoted(name)}")
        self._values[text] = DuckdbExpression(quoted(name), value.type)

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return a key or an aggregate."""
        if not self._values or isinstance(node, exp.Literal):
            return None
        return self._values.get(self._identity(node))

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Refuse a column that is neither a key nor in an aggregate."""
        self._source.column(path)
        raise UnknownColumnError("is neither grouped nor aggregated", "add it to GROUP BY, or aggregate it: MAX(x)")

    def _identity(self, node: exp.Expr) -> str:
        """Return a text that two nodes share if they mean the same, however their columns are written."""
        tree = node.copy()
        if isinstance(tree, exp.Paren):
            tree = tree.unnest()
        for part in [*tree.find_all(exp.Column)]:
            path = [name.name for name in part.parts]
            try:
                source_column, fields = self._source.source_column(path)
            except UnknownColumnError:
                continue
            resolved = exp.column(exp.to_identifier("\0".join([source_column.sql, *fields]), quoted=True))
            if part is tree:
                tree = resolved
            else:
                part.replace(resolved)
        return str(tree.sql(dialect="spark", normalize_functions="upper"))


_SelectItem: TypeAlias = "exp.Expr | _SourceColumn"
"""An entry of a SELECT; or a column that stands for `*` in part."""


@dataclass(frozen=True)
class _OutputColumn:
    """A column of a SELECT.

    Attributes:
        name: Its name.
        value: Its value.
        column: The column of a table that is passed on as it is; None for other values.
    """

    name: str
    value: DuckdbExpression
    column: TableColumn | None = None

    @property
    def output(self) -> TableColumn:
        """The column as others see it."""
        if self.column is None:
            return TableColumn(self.name, self.value.type)
        return replace(self.column, name=self.name)

    @property
    def refusal(self) -> str | None:
        """The error for reading the column."""
        return None if self.column is None else self.column.refusal


@dataclass(frozen=True)
class _QueryTranslator:
    """Translates the queries of one text.

    Attributes:
        queries: The tables and the queries of WITH clauses that are seen here, by name in small letters.
        tables: The names of the tables, for errors.
    """

    queries: Mapping[str, QueryOverTables]
    tables: Sequence[str]

    def query(self, tree: exp.Expr) -> QueryOverTables:
        """Translate a query.

        Raises:
            QueryError: It is no query that can be translated.
        """
        if isinstance(tree, exp.Subquery):
            self._check_parts(tree, frozenset(("this", "alias")))
            return self.query(tree.this)
        if isinstance(tree, exp.Union) and type(tree) is exp.Union:
            return self._union(tree)
        if not isinstance(tree, exp.Select):
            raise self._refusal(tree, "is no SELECT")
        self._check_parts(tree, _SELECT_PARTS)
        return self._with_queries(tree)._select(tree)

    # -------------------------------------------------------------------------------------------- WITH, UNION, FROM

    def _with_queries(self, tree: exp.Expr) -> _QueryTranslator:
        """Return the translator that sees the queries of a WITH clause."""
        clause = tree.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self._refusal(clause, "is recursive")
        translator = self
        for cte in clause.expressions:
            query = translator._renamed(cte, translator.query(cte.this))
            translator = replace(translator, queries={**translator.queries, cte.alias.casefold(): query})
        return translator

    def _renamed(self, node: exp.Expr, query: QueryOverTables) -> QueryOverTables:
        """Return a query under the names that an alias gives its columns: `AS r(a, b)`."""
        alias = node.args.get("alias")
        names = [] if alias is None else [column.name for column in alias.args.get("columns") or ()]
        if not names:
            return query
        if len(names) != len(query.columns):
            raise self._refusal(node, f"names {len(names)} columns of {len(query.columns)}")
        columns: list[TableColumn] = []
        listed: list[str] = []
        for name, column in zip(names, query.columns, strict=True):
            columns.append(replace(column, name=name))
            listed.append(f"{quoted(column.name)} AS {quoted(name)}")
        return QueryOverTables(f"SELECT {', '.join(listed)} FROM ({query.sql})", tuple(columns))

    def _union(self, tree: exp.Union) -> QueryOverTables:
        self._check_parts(tree, frozenset(("this", "expression", "distinct", "with_")))
        translator = self._with_queries(tree)
        left = translator.query(tree.left)
        right = translator.query(tree.right)
        if [column.type for column in left.columns] != [column.type for column in right.columns]:
            raise self._refusal(tree, "unites columns of other types", "cast them to the same types")
        for column in (*left.columns, *right.columns):
            if column.refusal is not None:
                raise QueryError(column.refusal)
        word = "UNION" if tree.args.get("distinct") else "UNION ALL"
        return QueryOverTables(f"({left.sql}) {word} ({right.sql})", left.columns)

    def _from_clause(self, tree: exp.Select) -> _FromClause:
        clause = tree.args.get("from_")
        if clause is None:
            return _FromClause("", ())
        sources = self._source(clause.this, 0)
        for place, join in enumerate(tree.args.get("joins") or (), 1):
            sources = self._join(sources, join, place)
        return sources

    def _source(self, node: exp.Expr, place: int) -> _FromClause:
        """Return the table or the query that stands in a FROM clause."""
        if isinstance(node, exp.Subquery):
            self._check_parts(node, frozenset(("this", "alias")))
            query = self._renamed(node, self.query(node.this))
            name = node.alias
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            self._check_parts(node, frozenset(("this", "alias")))
            query = self._renamed(node, self._named_query(node))
            name = node.alias or node.name
        else:
            raise self._refusal(node, "is no table")
        view = f"source_{place}"
        columns: list[_SourceColumn] = []
        for column in query.columns:
            columns.append(_SourceColumn(column, f"{view}.{quoted(column.name)}", name.casefold()))
        return _FromClause(f"({query.sql}) AS {view}", tuple(columns))

    def _named_query(self, table: exp.Table) -> QueryOverTables:
        query = self.queries.get(table.name.casefold())
        if query is not None:
            return query
        raise missing_table(table.name, self.tables)

    def _join(self, left: _FromClause, join: exp.Join, place: int) -> _FromClause:
        self._check_parts(join, _JOIN_PARTS)
        words = f"{join.side} {join.kind}".strip().upper()
        kind = _JOINS.get(words)
        if kind is None:
            raise self._refusal(join, f"is a {words} JOIN")
        right = self._source(join.this, place)
        if {column.source for column in left.columns} & {column.source for column in right.columns}:
            raise self._refusal(join.this, "has the name of another table of FROM", "rename one of them: rides AS r")
        if join.args.get("using"):
            return self._join_using(left, right, kind, join)

        both = (*left.columns, *right.columns)
        on = join.args.get("on")
        columns = left.columns if kind in ("SEMI JOIN", "ANTI JOIN") else both
        if on is None:
            if kind not in ("INNER JOIN", "CROSS JOIN"):
                raise self._refusal(join, "has no condition", "write ON or USING")
            return _FromClause(f"{left.sql} CROSS JOIN {right.sql}", columns)
        condition = self._condition(on, _SourceScope(both))
        return _FromClause(f"{left.sql} {kind} {right.sql} ON {condition.sql}", columns)

    def _join_using(self, left: _FromClause, right: _FromClause, kind: str, join: exp.Join) -> _FromClause:
        """Join by columns of the same names, of which `*` has one."""
        conditions: list[str] = []
        joint: list[_SourceColumn] = []
        replaced: list[_SourceColumn] = []
        for identifier in join.args["using"]:
            sides = [self._using_column(join, identifier.name, side) for side in (left, right)]
            of_left, of_right = sides
            if of_left.column.type != of_right.column.type or of_left.column.is_hidden:
                types = " and ".join(spelled(side.column.type) for side in sides)
                raise self._refusal(join, f"compares {types} in USING", "cast one of them in a query in FROM")
            conditions.append(f"{of_left.sql} = {of_right.sql}")
            sql = of_left.sql
            if kind == "RIGHT JOIN":
                sql = of_right.sql
            elif kind == "FULL JOIN":
                sql = f"COALESCE({of_left.sql}, {of_right.sql})"
            joint.append(_SourceColumn(replace(of_left.column, name=of_left.column.name), sql, ""))
            replaced += sides
        on = " AND ".join(conditions)
        sql = f"{left.sql} {kind} {right.sql} ON {on}"
        if kind in ("SEMI JOIN", "ANTI JOIN"):
            return _FromClause(sql, left.columns)
        columns = list(joint)
        for column in (*left.columns, *right.columns):
            columns.append(replace(column, is_plain=False) if column in replaced else column)
        return _FromClause(sql, tuple(columns))

    def _using_column(self, join: exp.Join, name: str, side: _FromClause) -> _SourceColumn:
        try:
            column, _ = _SourceScope(side.columns).source_column([name])
        except UnknownColumnError as error:
            raise QueryError(
                "{value!r} in USING {fact}\n  {advice}", value=name, fact=error.fact, advice=error.advice
            ) from error
        return column

    # -------------------------------------------------------------------------------------------------------- SELECT

    def _select(self, tree: exp.Select) -> QueryOverTables:
        sources = self._from_clause(tree)
        scope = _SourceScope(sources.columns)
        where = tree.args.get("where")
        condition = None if where is None else self._condition(where.this, scope)
        from_sql = f" FROM {sources.sql}" if sources.sql else ""
        if condition is not None:
            from_sql += f" WHERE {condition.sql}"

        items = self._expanded(tree, sources)
        item_scope: Scope = scope
        if tree.args.get("group") or tree.args.get("having") or any(map(_has_aggregate, items)):
            groups = self._groups(tree, items, scope, condition)
            keys = f" GROUP BY {', '.join(groups.keys)}" if groups.keys else ""
            listed = ", ".join(groups.columns) or "COUNT(*) AS row_count"
            from_sql = f" FROM (SELECT {listed}{from_sql}{keys})"
            item_scope = groups
            condition = None

        columns = [self._item(item, item_scope, sources) for item in items]
        if condition is not None:
            columns = [_guarded(column, condition) for column in columns]
        outputs = {column.name.casefold(): column.value for column in columns}
        output_scope = _OutputScope(outputs, item_scope)
        if having := tree.args.get("having"):
            from_sql += f" WHERE {self._condition(having.this, output_scope).sql}"
        order = self._order(tree, columns, output_scope)
        distinct = "DISTINCT " if self._is_distinct(tree, columns) else ""
        listed = ", ".join(f"{column.value.sql} AS {quoted(column.name)}" for column in columns)
        self._check_names(tree, columns)
        sql = f"SELECT {distinct}{listed}{from_sql}{order}{self._limit(tree)}"
        return QueryOverTables(sql, tuple(column.output for column in columns))

    def _expanded(self, tree: exp.Select, sources: _FromClause) -> list[_SelectItem]:
        """Return the columns of a SELECT, with all columns in the place of `*`."""
        items: list[_SelectItem] = []
        for node in tree.expressions:
            star = node.this if isinstance(node, exp.Column) and isinstance(node.this, exp.Star) else node
            if not isinstance(star, exp.Star):
                items.append(node)
                continue
            if any(star.args.values()):
                raise self._refusal(node, "leaves columns out, or replaces some", "name the columns")
            table = node.args["table"].name.casefold() if isinstance(node, exp.Column) else None
            for column in sources.columns:
                if column.source == table or (table is None and column.is_plain):
                    items.append(column)
        if not items:
            raise self._refusal(tree, "has no columns")
        return items

    def _item(self, node: _SelectItem, scope: Scope, sources: _FromClause) -> _OutputColumn:
        """Translate a column of a SELECT."""
        if isinstance(node, _SourceColumn):
            if isinstance(scope, _GroupScope):
                raise QueryError("a grouped SELECT has '*'\n  name the columns")
            column = node.column
            return _OutputColumn(column.name, DuckdbExpression(node.sql, column.type), column)
        body = node.unalias()
        name = node.alias or _spark_name(body)
        if not name:
            raise self._refusal(node, "has no name", "name it: ... AS km")
        if isinstance(body, exp.Column) and isinstance(scope, _SourceScope):
            passed = _passed_column(body, sources)
            if passed is not None:
                return _OutputColumn(name, DuckdbExpression(passed.sql, passed.column.type), passed.column)
        value = translator_of(body, scope).of(body)
        if pa.types.is_null(value.type):
            value = DuckdbExpression(f"CAST({value.sql} AS {duckdb_type(value.type)})", value.type)
        return _OutputColumn(name, value)

    def _groups(
        self, tree: exp.Select, items: Sequence[_SelectItem], scope: _SourceScope, condition: DuckdbExpression | None
    ) -> _GroupScope:
        """Return the keys and the aggregates of a grouped SELECT."""
        groups = _GroupScope(scope)
        group = tree.args.get("group")
        if group is not None:
            self._check_parts(group, frozenset(("expressions",)))
        for node in () if group is None else group.expressions:
            key_node = self._key_node(node, items, scope)
            key = translator_of(key_node, scope).of(key_node)
            if not _is_atom(key.type):
                raise self._refusal(node, f"groups by {spelled(key.type)}")
            groups.add_key(key_node, _guarded_value(key, condition))
        clauses = [tree.args.get("having"), tree.args.get("order")]
        nodes = [item for item in items if isinstance(item, exp.Expr)]
        for node in [*nodes, *(clause for clause in clauses if clause is not None)]:
            for call in _aggregates_in(node):
                groups.add_aggregate(call, aggregate_of(translator_of(call, scope), call, condition))
        return groups

    def _key_node(self, node: exp.Expr, items: Sequence[_SelectItem], scope: _SourceScope) -> exp.Expr:
        """Return the expression that an entry of GROUP BY stands for: itself, a number's column, or an alias's."""
        if isinstance(node, exp.Literal) and not node.is_string:
            place = int(node.this) - 1 if node.this.isdigit() else -1
            if not 0 <= place < len(items):
                raise self._refusal(node, "is the number of no column", f"there are {len(items)}")
            return _body(items[place])
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            try:
                scope.source_column([node.name])
            except UnknownColumnError:
                for item in items:
                    if isinstance(item, exp.Alias) and item.alias.casefold() == node.name.casefold():
                        return _body(item)
        return node

    def _order(self, tree: exp.Select, columns: Sequence[_OutputColumn], scope: Scope) -> str:
        order = tree.args.get("order")
        if order is None:
            return ""
        parts: list[str] = []
        for node in order.expressions:
            if isinstance(node.this, exp.Literal) and not node.this.is_string:
                place = int(node.this.this) - 1 if node.this.this.isdigit() else -1
                if not 0 <= place < len(columns):
                    raise self._refusal(node, "is the number of no column", f"there are {len(columns)}")
                value = columns[place].value
            else:
                value = translator_of(node.this, scope).of(node.this)
            if not _is_atom(value.type):
                raise self._refusal(node, f"orders by {spelled(value.type)}")
            direction = "DESC" if node.args.get("desc") else "ASC"
            nulls = "FIRST" if node.args.get("nulls_first") else "LAST"
            parts.append(f"{value.sql} {direction} NULLS {nulls}")
        return f" ORDER BY {', '.join(parts)}"

    def _limit(self, tree: exp.Select) -> str:
        sql = ""
        for part, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
            node = tree.args.get(part)
            if node is None:
                continue
            number = node.expression
            if not (isinstance(number, exp.Literal) and number.this.isdigit()):
                raise self._refusal(node, "is no number of rows", f"write {word} 10")
            sql += f" {word} {number.this}"
        return sql

    def _is_distinct(self, tree: exp.Select, columns: Sequence[_OutputColumn]) -> bool:
        distinct = tree.args.get("distinct")
        if distinct is None:
            return False
        self._check_parts(distinct, frozenset())
        for column in columns:
            if column.refusal is not None or not _is_atom(column.value.type):
                raise self._refusal(tree, f"compares {column.name}, which is {spelled(column.value.type)}")
            if pa.types.is_floating(column.value.type):
                raise self._refusal(tree, f"compares {column.name}, a float", "GROUP BY it instead")
        return True

    def _check_names(self, tree: exp.Select, columns: Sequence[_OutputColumn]) -> None:
        names = [column.name.casefold() for column in columns]
        for column in columns:
            if names.count(column.name.casefold()) > 1:
                raise self._refusal(tree, f"has several columns {column.name}", "rename all but one of them: AS other")

    def _condition(self, node: exp.Expr, scope: Scope) -> DuckdbExpression:
        value = translator_of(node, scope).of(node)
        if not (pa.types.is_boolean(value.type) or pa.types.is_null(value.type)):
            raise self._refusal(node, f"is {spelled(value.type)}", "expected: a condition, such as km > 2")
        return value

    def _check_parts(self, node: exp.Expr, known: frozenset[str]) -> None:
        """Refuse a node that has a part which is not translated."""
        for name, part in node.args.items():
            if part and name not in known:
                raise self._refusal(part if isinstance(part, exp.Expr) else node, "is not translated")

    def _refusal(self, node: exp.Expr, fact: str, advice: str = _ON_SPARK) -> QueryError:
        return QueryError("{value!r} {fact}\n  {advice}", value=spark_text(node), fact=fact, advice=advice)


def _unread(column: TableColumn) -> str:
    """Return a column whose values are not read."""
    return f"NULL AS {quoted(column.name)}" if column.is_hidden else quoted(column.name)


def missing_table(name: str, tables: Iterable[str]) -> QueryError:
    """Return the error about a table that is not there."""
    known = list(tables)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    advice = f"did you mean {close[0]}?" if close else f"there are {', '.join(known) or 'none'}"
    return QueryError("{value!r} is no table\n  {advice}", value=name, advice=advice)


def _passed_column(node: exp.Column, sources: _FromClause) -> _SourceColumn | None:
    """Return a column that is only passed on, so that it may be of a type that is not read."""
    try:
        column, fields = _SourceScope(sources.columns).source_column([part.name for part in node.parts])
    except UnknownColumnError:
        return None
    return None if fields else column


def _guarded(item: _OutputColumn, condition: DuckdbExpression) -> _OutputColumn:
    return replace(item, value=_guarded_value(item.value, condition))


def _guarded_value(value: DuckdbExpression, condition: DuckdbExpression | None) -> DuckdbExpression:
    """Return a value that is only computed for rows which meet the condition of WHERE.

    DuckDB may move a condition of an outer query below this one's, and compute the value before it.
    """
    if condition is None or not value.may_raise:
        return value
    return replace(value, sql=f"(CASE WHEN {condition.sql} THEN {value.sql} END)")


def _body(item: _SelectItem) -> exp.Expr:
    """Return an entry of a SELECT without its alias."""
    if isinstance(item, _SourceColumn):
        return exp.column(item.column.name, table=item.source or None, quoted=True)
    return item.unalias()


def _has_aggregate(item: _SelectItem) -> bool:
    return isinstance(item, exp.Expr) and next(_aggregates_in(item), None) is not None


def _aggregates_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the aggregates of an expression."""
    for part in node.walk():
        if is_aggregate(part) and not isinstance(part.parent, exp.Window):
            yield part


def _is_atom(data_type: pa.DataType) -> bool:
    """Say whether values of a type have an order that both systems share."""
    return not pa.types.is_nested(data_type) and not pa.types.is_null(data_type)


def _spark_name(node: exp.Expr) -> str:
    """Return the name that Spark gives a column without an alias; empty where it is not known."""
    if isinstance(node, exp.Column | exp.Dot):
        return str(node.name)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count(1)"
    operand: Any = node.this if is_aggregate(node) else None
    if isinstance(operand, exp.Column) and len(operand.parts) == 1:
        return f"{node.key}({operand.name})"
    return ""
