"""Parses BETWEEN as Spark does: sqlglot also reads what other systems have."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]  # it is where its pages name it

_WORDS_OF_OTHERS: Final = {
    "SYMMETRIC": "leave the word out, or write x BETWEEN a AND b OR x BETWEEN b AND a",
    "ASYMMETRIC": "leave the word out",
}
"""The words that may follow BETWEEN in other systems, with what to write. In Spark they are names of columns."""


def parse_between(parser: Any, value: exp.Expr) -> exp.Expr:
    """Parse the bounds of `value BETWEEN low AND high`.

    Args:
        parser: The parser, which has just read the word BETWEEN.
        value: The value before the word.

    Raises:
        ParseError: There are no two bounds with AND between them.
    """
    first = parser._curr
    low = parser._parse_bitwise()
    if not parser._match(TokenType.AND):
        word = first.text.upper() if first else ""
        if word in _WORDS_OF_OTHERS:
            parser.raise_error(f"There is no BETWEEN {word} in Spark's SQL: {_WORDS_OF_OTHERS[word]}", first)
        parser.raise_error("Expected AND between the bounds of BETWEEN")
    high = parser._parse_bitwise()
    node: exp.Expr = parser.expression(exp.Between(this=value, low=low, high=high))
    return node
