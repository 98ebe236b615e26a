"""GROUP BY: the keys and the aggregates of groups, which a SELECT computes first and then reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import quoted, spelled
from muntin_engine.backends.local.expressions.aggregates import aggregate_of
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, computed_where
from muntin_engine.backends.local.expressions.parsed_text import translator_of
from muntin_engine.backends.local.expressions.translator import Scope, UnknownColumnError
from muntin_engine.backends.local.plain_sql.nodes import aggregates_in, check_parts, has_order, refusal_of
from muntin_engine.backends.local.plain_sql.scopes import SourceScope
from muntin_engine.backends.local.plain_sql.select_entries import SelectEntry


class GroupScope(Scope):
    """The keys and the aggregates of groups: all that a grouped SELECT may read.

    Attributes:
        columns: The keys and the aggregates in DuckDB's SQL, with the names under which the SELECT reads them.
        keys: The keys in DuckDB's SQL.
    """

    def __init__(self, source: SourceScope) -> None:
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
        """Add a column of the groups, which the SELECT reads by a name in the place of all nodes of an identity."""
        self.columns.append(f"{sql} AS {quoted(name)}")
        self._values[text] = DuckdbExpression(quoted(name), value.type)

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return a key or an aggregate."""
        if not self._values or isinstance(node, exp.Literal):
            return None
        return self._values.get(self._identity(node))

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Refuse a column that is neither a key nor in an aggregate: `computed` has found all that are."""
        self._source.column(path)  # only for its error: there may be no such column at all
        raise UnknownColumnError("is neither grouped nor aggregated", "add it to GROUP BY, or aggregate it: MAX(x)")

    def _identity(self, node: exp.Expr) -> str:
        """Return a text that two nodes share if they mean the same, however their columns are written."""
        tree = node.copy()
        if isinstance(tree, exp.Paren):
            tree = tree.unnest()
        # `km`, `KM` and `r.km` are one column: each is replaced by what it is in DuckDB's SQL, with its fields.
        for part in [*tree.find_all(exp.Column)]:
            path = [name.name for name in part.parts]
            try:
                source_column, fields = self._source.source_column(path)
            except UnknownColumnError:
                continue  # the translation of the node says what is wrong
            resolved = exp.column(exp.to_identifier("\0".join([source_column.sql, *fields]), quoted=True))
            if part is tree:
                tree = resolved
            else:
                part.replace(resolved)
        return str(tree.sql(dialect="spark", normalize_functions="upper"))


def groups_of(
    tree: exp.Select, items: Sequence[SelectEntry], scope: SourceScope, condition: DuckdbExpression | None
) -> GroupScope:
    """Return the keys and the aggregates of a grouped SELECT.

    Args:
        tree: The SELECT.
        items: Its columns.
        scope: The columns of its FROM clause.
        condition: The condition of WHERE; None without one.

    Raises:
        QueryError: A key or an aggregate has no translation of the same meaning.
    """
    groups = GroupScope(scope)
    _add_keys(groups, tree, items, scope, condition)

    # Aggregates may stand in the columns, in HAVING and in ORDER BY; all are computed with the groups.
    nodes = [item.node for item in items if item.node is not None]
    having = tree.args.get("having")
    if having is not None:
        nodes.append(having)
    order = tree.args.get("order")
    if order is not None and not tree.args.get("distinct"):
        _check_order(order, items)
        nodes.append(order)
    for node in nodes:
        for call in aggregates_in(node):
            groups.add_aggregate(call, aggregate_of(translator_of(call, scope), call, condition))
    return groups


def _add_keys(
    groups: GroupScope,
    tree: exp.Select,
    items: Sequence[SelectEntry],
    scope: SourceScope,
    condition: DuckdbExpression | None,
) -> None:
    """Add the expressions of GROUP BY to the groups; see `groups_of`."""
    group = tree.args.get("group")
    if group is None:
        return
    check_parts(group, frozenset(("expressions",)))
    for node in group.expressions:
        key_node = _key_node(node, items, scope)
        key = translator_of(key_node, scope).translate(key_node)
        if not has_order(key.type):
            raise refusal_of(node, f"groups by {spelled(key.type)}")
        groups.add_key(key_node, computed_where(condition, key))


def _key_node(node: exp.Expr, items: Sequence[SelectEntry], scope: SourceScope) -> exp.Expr:
    """Return the expression that an entry of GROUP BY stands for: itself, a number's column, or an alias's."""
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.this) - 1 if node.this.isdigit() else -1
        if not 0 <= place < len(items):
            raise refusal_of(node, "is the number of no column", f"there are {len(items)}")
        return items[place].body
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        # A column of FROM comes before an alias of the same name.
        try:
            scope.source_column([node.name])
        except UnknownColumnError:
            return _bodies_by_alias(items).get(node.name.casefold(), node)
    return node


def _check_order(order: exp.Order, items: Sequence[SelectEntry]) -> None:
    """Refuse an aggregate of an alias in ORDER BY: there a name means the column of the SELECT, not that of FROM.

    Raises:
        QueryError: There is one, which Spark refuses too.
    """
    aliases = _bodies_by_alias(items)
    for call in aggregates_in(order):
        for column in call.find_all(exp.Column):
            if len(column.parts) == 1 and column.name.casefold() in aliases:
                fact = f"aggregates {column.name}, which is the name of a column of SELECT there"
                raise refusal_of(call, fact, "write the table before it, or order by the column of SELECT")


def _bodies_by_alias(items: Sequence[SelectEntry]) -> Mapping[str, exp.Expr]:
    """Return the expressions with an alias, by the alias in small letters; of several the first."""
    bodies: dict[str, exp.Expr] = {}
    for item in items:
        if item.alias:
            bodies.setdefault(item.alias.casefold(), item.body)
    return bodies
