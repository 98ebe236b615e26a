"""The conditions of joins, of which those that may fail are computed for the pairs of rows for which Spark does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlglot import exp

from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.logic import condition
from muntin_engine.backends.local.expressions.parsed_text import translator_of
from muntin_engine.backends.local.expressions.translator import UnknownColumnError
from muntin_engine.backends.local.plain_sql.nodes import refusal_of
from muntin_engine.backends.local.plain_sql.scopes import SourceColumn, SourceScope

_LEFT: Final = frozenset(("left",))
_RIGHT: Final = frozenset(("right",))

_FILTERED_SIDES: Final[Mapping[str, tuple[frozenset[str], ...]]] = {
    "INNER JOIN": (_LEFT, _RIGHT),
    "CROSS JOIN": (_LEFT, _RIGHT),
    "SEMI JOIN": (_LEFT, _RIGHT),
    "LEFT JOIN": (_RIGHT,),
    "ANTI JOIN": (_RIGHT,),
    "RIGHT JOIN": (_LEFT,),
    "FULL JOIN": (),
}
"""The sides of each join that a condition of this side alone filters before rows are paired."""


class JoinSides:
    """The two sides of a join, and the condition of their pairs."""

    def __init__(self, left: Sequence[SourceColumn], right: Sequence[SourceColumn], kind: str) -> None:
        """Take the columns that a condition may read.

        Args:
            left: The columns of the left side.
            right: The columns of the right side.
            kind: The join, in DuckDB's words.
        """
        self._left_columns = left
        self._kind = kind
        self._scope = SourceScope((*left, *right))

    def condition(self, on: exp.Expr) -> str:
        """Translate the condition of ON into DuckDB's SQL.

        Spark first computes the parts that filter a side or compare keys, and then the other parts for the pairs that
        are left, one after the other. DuckDB computes parts in any order, also for rows without a pair. So a part that
        may fail is refused, or computed only where Spark computes it.

        Raises:
            QueryError: A part has no translation of the same meaning.
        """
        nodes = list(on.flatten()) if isinstance(on, exp.And) else [on]
        if len(nodes) == 1:
            return self._translated(on).sql  # no other part leaves rows out, so the part may fail as on Spark

        # The parts that Spark computes before rows are paired. They must not fail, as DuckDB may compute them for
        # rows that another part leaves out.
        conditions_of_rows: list[str] = []
        nodes_of_pairs: list[exp.Expr] = []
        for node in nodes:
            if not self._is_of_rows(node):
                nodes_of_pairs.append(node)
                continue
            row_condition = self._translated(node)
            if row_condition.may_raise:
                raise refusal_of(
                    node,
                    "may fail for rows that have no pair, as DuckDB looks at the other conditions of ON first",
                    "write what cannot fail, such as try_add(n, 1) and try_divide(a, b), or run the query on Spark",
                )
            conditions_of_rows.append(row_condition.sql)

        if not nodes_of_pairs:
            return " AND ".join(conditions_of_rows)

        # The parts that Spark computes for pairs, as one AND: its translation does not compute a part that may fail
        # where a part before it is false.
        pair_node = nodes_of_pairs[0]
        for node in nodes_of_pairs[1:]:
            pair_node = exp.And(this=pair_node.copy(), expression=node.copy())
        pair_condition = self._translated(pair_node)
        if not conditions_of_rows:
            return pair_condition.sql
        row_sql = " AND ".join(conditions_of_rows)
        if pair_condition.may_raise:  # the CASE computes it only for rows that the other parts keep
            return f"{row_sql} AND (CASE WHEN {row_sql} THEN {pair_condition.sql} END)"
        return f"{row_sql} AND {pair_condition.sql}"

    def _translated(self, node: exp.Expr) -> DuckdbExpression:
        """Translate a condition over the columns of both sides."""
        return condition(translator_of(node, self._scope), node)

    def _is_of_rows(self, node: exp.Expr) -> bool:
        """True if Spark computes a part before it pairs rows: the part filters one side, or compares keys of both."""
        # A part about one side alone filters this side, unless the join also keeps rows of the side without a pair.
        sides = self._sides_in(node)
        if sides in _FILTERED_SIDES[self._kind]:
            return True
        if not isinstance(node, exp.EQ | exp.NullSafeEQ):
            return False
        # An equality of an expression of the left side and one of the right side compares keys.
        sides_of_operands = {self._sides_in(node.this), self._sides_in(node.expression)}
        return sides_of_operands == {_LEFT, _RIGHT}

    def _sides_in(self, node: exp.Expr) -> frozenset[str]:
        """Return the sides whose columns an expression reads."""
        sides: set[str] = set()
        for part in node.find_all(exp.Column):
            try:
                column, _ = self._scope.source_column([name.name for name in part.parts])
            except UnknownColumnError:
                continue  # the translation of the expression raises the error
            sides.add("left" if column in self._left_columns else "right")
        return frozenset(sides)
