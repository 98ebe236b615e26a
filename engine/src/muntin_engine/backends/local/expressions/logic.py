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
def _translate_connective(translator: Translator, node: exp.Binary) -> DuckdbExpression:
    """Translate `AND` or `OR`."""
    word, decisive = _CONNECTIVES[type(node)]
    left = condition(translator, node.this)
    right = condition(translator, node.expression)
    sql = f"(({left.sql}) {word} ({right.sql}))"
    if right.may_raise:
        # Spark does not compute the second part where the first decides; DuckDB computes them in any order.
        sql = f"(CASE WHEN {left.sql} IS {decisive} THEN {decisive} ELSE {sql} END)"
    return DuckdbExpression(sql, pa.bool_(), may_raise=any_raises(left, right))


@rule(exp.Not)
def _translate_not(translator: Translator, node: exp.Not) -> DuckdbExpression:
    """Translate `NOT`; `NOT (x IS NULL)` becomes `x IS NOT NULL`."""
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        value = translator.translate(node.this.this)
        return DuckdbExpression(f"({value.sql} IS NOT NULL)", pa.bool_(), may_raise=value.may_raise)
    value = condition(translator, node.this)
    return DuckdbExpression(f"(NOT {value.sql})", pa.bool_(), may_raise=value.may_raise)


def condition(translator: Translator, node: exp.Expr) -> DuckdbExpression:
    """Translate a node that has to be true, false or null.

    Raises:
        QueryError: The node is of another type.
    """
    value = translator.translate(node)
    if not (pa.types.is_boolean(value.type) or pa.types.is_null(value.type)):
        raise translator.refusal(node, f"is {spelled(value.type)}", "expected: a condition, such as km > 2")
    return value


@rule(exp.If)
def _translate_if(translator: Translator, node: exp.If) -> DuckdbExpression:
    """Translate `if(condition, a, b)`; without `b`, it is null where the condition is not true."""
    test = condition(translator, node.this)
    choices = in_one_type(translator, node, [node.args["true"], node.args.get("false") or exp.Null()])
    return case_when([(test, choices[0])], choices[1])


@rule(exp.Nvl2)
def _translate_nvl2(translator: Translator, node: exp.Nvl2) -> DuckdbExpression:
    """Translate `nvl2(x, a, b)`: `a` where `x` is not null, and `b` elsewhere."""
    value = translator.translate(node.this)
    choices = in_one_type(translator, node, [node.args["true"], node.args["false"]])
    return case_when([(is_not_null(value), choices[0])], choices[1])


@rule(exp.Case)
def _translate_case(translator: Translator, node: exp.Case) -> DuckdbExpression:
    """Translate `CASE WHEN condition THEN value ...`, and `CASE x WHEN choice THEN value ...`."""
    branches: list[exp.If] = node.args["ifs"]
    default = node.args.get("default") or exp.Null()
    values = [branch.args["true"] for branch in branches]
    *results, otherwise = in_one_type(translator, node, [*values, default])
    conditions: list[DuckdbExpression] = []
    for branch in branches:
        if node.this is None:
            conditions.append(condition(translator, branch.this))
        else:  # `CASE x WHEN 1 ...` compares x with the choice of each branch
            conditions.append(translator.translate(exp.EQ(this=node.this.copy(), expression=branch.this.copy())))
    return case_when(list(zip(conditions, results, strict=True)), otherwise)


def case_when(
    branches: Sequence[tuple[DuckdbExpression, DuckdbExpression]], otherwise: DuckdbExpression
) -> DuckdbExpression:
    """Return the value of the first branch whose condition is true.

    Args:
        branches: The branches, each a condition and its value.
        otherwise: The value where no condition is true.
    """
    parts: list[str] = []
    may_raise = otherwise.may_raise
    for test, result in branches:
        parts.append(f"WHEN {test.sql} THEN {result.sql}")
        may_raise = may_raise or any_raises(test, result)
    return DuckdbExpression(f"(CASE {' '.join(parts)} ELSE {otherwise.sql} END)", otherwise.type, may_raise=may_raise)


@rule(exp.Coalesce)
def _translate_coalesce(translator: Translator, node: exp.Coalesce) -> DuckdbExpression:
    """Translate `coalesce(...)`: the first value that is not null."""
    values = in_one_type(translator, node, [node.this, *node.expressions])
    *first_values, last = values
    if any_raises(*values):
        # Spark computes no value after the first that is not null. DuckDB does so in CASE, and not in COALESCE.
        return case_when([(is_not_null(value), value) for value in first_values], last)
    return DuckdbExpression(f"COALESCE({', '.join(value.sql for value in values)})", last.type)


@rule(exp.Nullif)
def _translate_nullif(translator: Translator, node: exp.Nullif) -> DuckdbExpression:
    """Translate `nullif(x, y)`: null where the two are equal, and `x` elsewhere."""
    equal = translator.translate(exp.EQ(this=node.this.copy(), expression=node.expression.copy()))
    value = translator.translate(node.this)
    return DuckdbExpression(
        f"(CASE WHEN {equal.sql} THEN NULL ELSE {value.sql} END)", value.type, may_raise=equal.may_raise
    )


@rule(*_EXTREMES)
def _translate_extreme(translator: Translator, node: exp.Func) -> DuckdbExpression:
    """Translate `greatest` or `least`, which leave nulls out."""
    # Newer versions of sqlglot note that Spark leaves nulls out, as DuckDB does. The part is read only because the
    # translator refuses a node with a part that its rule has not read.
    _ = node.args.get("ignore_nulls")
    values = in_one_type(translator, node, [node.this, *node.expressions])
    listed = ", ".join(value.sql for value in values)
    return DuckdbExpression(f"{_EXTREMES[type(node)]}({listed})", values[0].type, may_raise=any_raises(*values))
