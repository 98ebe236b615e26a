"""The columns of a SELECT as they are written: expressions, with an alias or not, and all columns for `*`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from muntin_engine.backends.local.expressions.aggregates import is_aggregate
from muntin_engine.backends.local.plain_sql.nodes import aggregates_in, refusal_of
from muntin_engine.backends.local.plain_sql.scopes import SourceColumn


@dataclass(frozen=True)
class SelectEntry:
    """A column of a SELECT as it is written.

    Attributes:
        node: The expression, with its alias if it has one; None for a column that `*` stands for.
        star_column: A column of FROM that `*` stands for; None for an expression.
    """

    node: exp.Expr | None = None
    star_column: SourceColumn | None = None

    @property
    def body(self) -> exp.Expr:
        """The expression without its alias."""
        if self.star_column is not None:
            return exp.column(self.star_column.column.name, table=self.star_column.source or None, quoted=True)
        assert self.node is not None
        return self.node.unalias()

    @property
    def alias(self) -> str:
        """The alias; empty without one."""
        return self.node.alias if isinstance(self.node, exp.Alias) else ""

    @property
    def name(self) -> str:
        """The name that Spark gives the column; empty where it is not known."""
        return self.alias or _name_of(self.body)

    @property
    def has_aggregate(self) -> bool:
        """True if an aggregate is part of the expression."""
        return self.node is not None and next(aggregates_in(self.node), None) is not None


def entries_of(tree: exp.Select, columns: Sequence[SourceColumn]) -> list[SelectEntry]:
    """Return the columns of a SELECT as entries, with an entry for each column that `*` stands for.

    Args:
        tree: The SELECT.
        columns: The columns of its FROM clause.

    Raises:
        QueryError: The SELECT has no columns, or `*` leaves some out.
    """
    entries: list[SelectEntry] = []
    for node in tree.expressions:
        star = node
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            star = node.this  # `rides.*`
        if not isinstance(star, exp.Star):
            entries.append(SelectEntry(node))
            continue
        if any(star.args.values()):  # such as EXCEPT and REPLACE
            raise refusal_of(node, "leaves columns out, or replaces some", "name the columns")
        for column in _star_columns(node, columns):
            entries.append(SelectEntry(star_column=column))
    if not entries:
        raise refusal_of(tree, "has no columns")
    return entries


def _star_columns(node: exp.Expr, columns: Sequence[SourceColumn]) -> list[SourceColumn]:
    """Return the columns that stand for `*`, or for `rides.*`.

    Args:
        node: The star, with the table before it or not.
        columns: The columns of the FROM clause.

    Raises:
        QueryError: The FROM clause has no such table.
    """
    # `*` has each column once: of the two that USING compares and the one that it makes of them, only the latter is
    # plain.
    if not isinstance(node, exp.Column):
        return [column for column in columns if column.is_plain]
    # `rides.*` has all columns of its table, also one that USING compares.
    table = ".".join(part.name for part in node.parts[:-1])
    table_columns = [column for column in columns if column.source == table.casefold()]
    if not table_columns:
        known_tables = dict.fromkeys(column.source for column in columns if column.source)
        advice = f"the query reads {', '.join(known_tables) or 'no table'}"
        raise refusal_of(node, "has the columns of a table that is not there", advice)
    return table_columns


def _name_of(node: exp.Expr) -> str:
    """Return the name that Spark gives a column without an alias; empty where it is not known."""
    if isinstance(node, exp.Column | exp.Dot):
        return str(node.name)
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count(1)"
    operand: Any = node.this if is_aggregate(node) else None
    if isinstance(operand, exp.Column) and len(operand.parts) == 1:
        return f"{node.key}({operand.name})"
    return ""
