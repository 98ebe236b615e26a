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
        """Begin without keys and aggregates.

        Args:
            source: The columns of the FROM clause, whose rows are grouped.
        """
        self._source = source
        # The keys and aggregates, by the identities of their nodes (`_identity`).
        self._columns_by_identity: dict[str, DuckdbExpression] = {}
        self.columns: list[str] = []  # all keys and aggregates in DuckDB's SQL, each with its name
        self.keys: list[str] = []  # the expressions of GROUP BY in DuckDB's SQL

    def add_key(self, node: exp.Expr, value: DuckdbExpression) -> None:
        """Add an expression by which rows are grouped, unless the groups have its column already.

        Args:
            node: The expression as it is written.
            value: The translated expression.
        """
        identity = self._identity(node)
        if identity in self._columns_by_identity:
            return
        name = f"key_{len(self.keys)}"
        sql = value.sql
        if pa.types.is_floating(value.type):
            sql = f"({sql} + 0)"  # makes 0.0 of -0.0: on Spark, the two are one group, whose key is 0.0
        self.keys.append(sql)
        self._add_column(identity, name, sql, value.type)

    def add_aggregate(self, node: exp.Expr, value: DuckdbExpression) -> None:
        """Add an aggregate, unless the groups have its column already.

        Args:
            node: The aggregate as it is written.
            value: The translated aggregate.
        """
        identity = self._identity(node)
        if identity not in self._columns_by_identity:
            self._add_column(identity, f"aggregate_{len(self._columns_by_identity)}", value.sql, value.type)

    def _add_column(self, identity: str, name: str, sql: str, data_type: pa.DataType) -> None:
        """Add a column of the groups, which the SELECT reads by its name.

        Args:
            identity: The identity of the nodes whose value the column has.
            name: The name of the column.
            sql: The value in DuckDB's SQL.
            data_type: The type of the value.
        """
        self.columns.append(f"{sql} AS {quoted(name)}")
        self._columns_by_identity[identity] = DuckdbExpression(quoted(name), data_type)

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return the key or aggregate that a node means; None for another node, and for a literal."""
        if not self._columns_by_identity or isinstance(node, exp.Literal):
            return None
        return self._columns_by_identity.get(self._identity(node))

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Refuse a column: a grouped SELECT reads only keys and aggregates, which `computed` returns."""
        self._source.column(path)  # only for its error if there is no such column
        raise UnknownColumnError("is neither grouped nor aggregated", "add it to GROUP BY, or aggregate it: MAX(x)")

    def _identity(self, node: exp.Expr) -> str:
        """Return a text that two nodes share if they mean the same, however their columns are written."""
        tree = node.copy()
        if isinstance(tree, exp.Paren):
            tree = tree.unnest()
        # `km`, `KM` and `r.km` are one column: each is replaced by the column in DuckDB's SQL and the fields behind it.
        for part in [*tree.find_all(exp.Column)]:
            path = [name.name for name in part.parts]
            try:
                source_column, fields = self._source.source_column(path)
            except UnknownColumnError:
                continue  # the translation of the node raises the error
            # No name has the character 0, so the parts of two paths are never taken for each other.
            resolved = exp.column(exp.to_identifier("\0".join([source_column.sql, *fields]), quoted=True))
            if part is tree:  # `replace` needs a parent
                tree = resolved
            else:
                part.replace(resolved)
        return str(tree.sql(dialect="spark", normalize_functions="upper"))


def groups_of(
    tree: exp.Select, entries: Sequence[SelectEntry], scope: SourceScope, condition: DuckdbExpression | None
) -> GroupScope:
    """Return the keys and the aggregates of a grouped SELECT.

    Args:
        tree: The SELECT.
        entries: The columns of the SELECT.
        scope: The columns of its FROM clause.
        condition: The condition of WHERE; None without one.

    Raises:
        QueryError: A key or an aggregate has no translation of the same meaning.
    """
    groups = GroupScope(scope)
    _add_keys(groups, tree, entries, scope, condition)

    # Aggregates may stand in the columns, in HAVING and in ORDER BY; all are computed with the groups.
    nodes = [entry.node for entry in entries if entry.node is not None]
    having = tree.args.get("having")
    if having is not None:
        nodes.append(having)
    order = tree.args.get("order")
    if order is not None and not tree.args.get("distinct"):  # after DISTINCT, only the columns are left to order by
        _check_order(order, entries)
        nodes.append(order)
    for node in nodes:
        for call in aggregates_in(node):
            groups.add_aggregate(call, aggregate_of(translator_of(call, scope), call, condition))
    return groups


def _add_keys(
    groups: GroupScope,
    tree: exp.Select,
    entries: Sequence[SelectEntry],
    scope: SourceScope,
    condition: DuckdbExpression | None,
) -> None:
    """Translate the expressions of GROUP BY, and add them to the groups.

    Args:
        groups: The groups.
        tree: The SELECT.
        entries: The columns of the SELECT, which a number or an alias may name.
        scope: The columns of the FROM clause.
        condition: The condition of WHERE; None without one.

    Raises:
        QueryError: An expression has no translation of the same meaning, or a type that Spark and DuckDB compare
            differently.
    """
    group = tree.args.get("group")
    if group is None:
        return
    check_parts(group, frozenset(("expressions",)))
    for node in group.expressions:
        key_node = _key_node(node, entries, scope)
        key = translator_of(key_node, scope).translate(key_node)
        if not has_order(key.type):
            raise refusal_of(node, f"groups by {spelled(key.type)}")
        groups.add_key(key_node, computed_where(condition, key))


def _key_node(node: exp.Expr, entries: Sequence[SelectEntry], scope: SourceScope) -> exp.Expr:
    """Return the expression that a part of GROUP BY means.

    A number means the column of the SELECT at that place, and an alias its expression. Any other part means itself.

    Args:
        node: The part of GROUP BY.
        entries: The columns of the SELECT.
        scope: The columns of the FROM clause.

    Raises:
        QueryError: A number is the place of no column.
    """
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.this) - 1 if node.this.isdigit() else -1
        if not 0 <= place < len(entries):
            raise refusal_of(node, "is the number of no column", f"there are {len(entries)}")
        return entries[place].body
    if isinstance(node, exp.Column) and len(node.parts) == 1:
        # A column of FROM comes before an alias of the same name.
        try:
            scope.source_column([node.name])
        except UnknownColumnError:
            return _bodies_by_alias(entries).get(node.name.casefold(), node)
    return node


def _check_order(order: exp.Order, entries: Sequence[SelectEntry]) -> None:
    """Refuse an aggregate in ORDER BY that reads an alias of the SELECT.

    In ORDER BY, a name means the column of the SELECT before that of FROM. So the aggregate would be one of a column
    that is computed of groups, which Spark refuses too.

    Raises:
        QueryError: There is such an aggregate.
    """
    aliases = _bodies_by_alias(entries)
    for call in aggregates_in(order):
        for column in call.find_all(exp.Column):
            if len(column.parts) == 1 and column.name.casefold() in aliases:
                fact = f"aggregates {column.name}, which is the name of a column of SELECT there"
                raise refusal_of(call, fact, "write the table before it, or order by the column of SELECT")


def _bodies_by_alias(entries: Sequence[SelectEntry]) -> Mapping[str, exp.Expr]:
    """Return the expressions that have an alias, by the alias in small letters; the first if several have the same."""
    bodies: dict[str, exp.Expr] = {}
    for entry in entries:
        if entry.alias:
            bodies.setdefault(entry.alias.casefold(), entry.body)
    return bodies
