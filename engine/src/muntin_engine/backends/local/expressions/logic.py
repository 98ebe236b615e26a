"""Conditions, and choices among values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import spelled
from muntin_engine.backends.local.expressions.comparisons import in_one_type
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression, any_raises, is_not_null
from muntin_engine.backends.local.expressions.translator import Translator, rule


class _Connective(NamedTuple):
    """A word that connects two conditions.

    Attributes:
        word: The word.
        decisive: The value of the first condition that decides without the second.
    """

    word: str
    decisive: str


_CONNECTIVES: Final[Mapping[type[exp.Binary], _Connective]] = {
    exp.And: _Connective("AND", decisive="FALSE"),
    exp.Or: _Connective("OR", decisive="TRUE"),
}

_EXTREMES: Final[Mapping[type[exp.Func], str]] = {exp.Greatest: "GREATEST", exp.Least: "LEAST"}
"""The functions of DuckDB that choose the largest or the smallest value."""


@rule(*_CONNECTIVES)
def _(translator: Translator, node: exp.Binary) -> DuckdbExpression:
    word, decisive = _CONNECTIVES[type(node)]
    left = condition(translator, node.this)
    right = condition(translator, node.expression)
    sql = f"(({left.sql}) {word} ({right.sql}))"
    if right.may_raise:
        # Spark does not compute the second part where the first decides; DuckDB computes them in any order.
        sql = f"(CASE WHEN {left.sql} IS {decisive} THEN {decisive} ELSE {sql} END)"
    return DuckdbExpression(sql, pa.bool_(), any_raises(left, right))


@rule(exp.Not)
def _(translator: Translator, node: exp.Not) -> DuckdbExpression:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        value = translator.of(node.this.this)
        return DuckdbExpression(f"({value.sql} IS NOT NULL)", pa.bool_(), value.may_raise)
    value = condition(translator, node.this)
    return DuckdbExpression(f"(NOT {value.sql})", pa.bool_(), value.may_raise)


def condition(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    """Return a node that is true or false.

    Raises:
        QueryError: It is of another type.
    """
    value = translator.of(node)
    if not (pa.types.is_boolean(value.type) or pa.types.is_null(value.type)):
        raise translator.refusal(node, f"is {spelled(value.type)}", "expected: a condition, such as km > 2")
    return value


@rule(exp.If)
def _(translator: Translator, node: exp.If) -> DuckdbExpression:
    test = condition(translator, node.this)
    choices = in_one_type(translator, node, [node.args["true"], node.args.get("false") or exp.Null()])
    return case_when([(test, choices[0])], choices[1])


@rule(exp.Nvl2)
def _(translator: Translator, node: exp.Nvl2) -> DuckdbExpression:
    value = translator.of(node.this)
    choices = in_one_type(translator, node, [node.args["true"], node.args["false"]])
    return case_when([(is_not_null(value), choices[0])], choices[1])


@rule(exp.Case)
def _(translator: Translator, node: exp.Case) -> DuckdbExpression:
    branches: list[exp.If] = node.args["ifs"]
    default = node.args.get("default") or exp.Null()
    *results, otherwise = in_one_type(translator, node, [*(branch.args["true"] for branch in branches), default])
    conditions: list[DuckdbExpression] = []
    for branch in branches:
        if node.this is None:
            conditions.append(condition(translator, branch.this))
        else:
            conditions.append(translator.of(exp.EQ(this=node.this.copy(), expression=branch.this.copy())))
    return case_when(list(zip(conditions, results, strict=True)), otherwise)


def case_when(
    branches: Sequence[tuple[DuckdbExpression, DuckdbExpression]], otherwise: DuckdbExpression
) -> DuckdbExpression:
    """Return the value of the first branch whose condition is true.

    Args:
        branches: The branches, each a condition and its value.
        otherwise: The value where no condition is true.
    """
    parts = [f"WHEN {condition.sql} THEN {result.sql}" for condition, result in branches]
    may_raise = otherwise.may_raise or any(part.may_raise for branch in branches for part in branch)
    return DuckdbExpression(f"(CASE {' '.join(parts)} ELSE {otherwise.sql} END)", otherwise.type, may_raise)


@rule(exp.Coalesce)
def _(translator: Translator, node: exp.Coalesce) -> DuckdbExpression:
    values = in_one_type(translator, node, [node.this, *node.expressions])
    *first_values, last = values
    if any_raises(*values):
        # As CASE, which computes no value after the first that is not null; COALESCE may compute all.
        return case_when([(is_not_null(value), value) for value in first_values], last)
    return DuckdbExpression(f"COALESCE({', '.join(value.sql for value in values)})", last.type)


@rule(exp.Nullif)
def _(translator: Translator, node: exp.Nullif) -> DuckdbExpression:
    equal = translator.of(exp.EQ(this=node.this.copy(), expression=node.expression.copy()))
    value = translator.of(node.this)
    return DuckdbExpression(f"(CASE WHEN {equal.sql} THEN NULL ELSE {value.sql} END)", value.type, equal.may_raise)


@rule(*_EXTREMES)
def _(translator: Translator, node: exp.Func) -> DuckdbExpression:
    # Newer versions of sqlglot note that Spark's leave nulls out; those of DuckDB do so too.
    _ = node.args.get("ignore_nulls")
    values = in_one_type(translator, node, [node.this, *node.expressions])
    listed = ", ".join(value.sql for value in values)
    return DuckdbExpression(f"{_EXTREMES[type(node)]}({listed})", values[0].type, any_raises(*values))
