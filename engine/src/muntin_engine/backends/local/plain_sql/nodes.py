"""What is refused of the nodes of a query, and what its expressions read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin.errors import QueryError
from muntin_engine.backends.local.expressions.aggregates import is_aggregate
from muntin_engine.backends.local.expressions.translator import spark_text

_ON_SPARK: Final = "write it otherwise, or run the query on Spark"


def refusal_of(node: exp.Expr, fact: str, advice: str = _ON_SPARK) -> QueryError:
    """Return the error about a node of a query that is not translated.

    Args:
        node: The node.
        fact: The words about the node that follow its text in the message.
        advice: The words on what to write instead.
    """
    return QueryError("{value!r} {fact}\n  {advice}", value=spark_text(node), fact=fact, advice=advice)


def check_parts(node: exp.Expr, translated_parts: frozenset[str]) -> None:
    """Refuse a node that has a part whose meaning the translation would lose.

    Args:
        node: The node.
        translated_parts: The names of the parts that are translated, as sqlglot calls them.

    Raises:
        QueryError: The node has another part.
    """
    for name, part in node.args.items():
        if part and name not in translated_parts:
            raise refusal_of(part if isinstance(part, exp.Expr) else node, "is not translated")


def aggregates_in(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the aggregates of an expression, without those within another aggregate and those over windows."""
    for part in node.walk(prune=is_aggregate):
        if is_aggregate(part) and not isinstance(part.parent, exp.Window):
            yield part


def has_order(data_type: pa.DataType) -> bool:
    """True if values of a type have the same order on Spark and in DuckDB."""
    return not pa.types.is_nested(data_type) and not pa.types.is_null(data_type)
