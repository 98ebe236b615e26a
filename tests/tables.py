"""Tables of text: an expression, and indented below it what is said of it, where `…` stands for any text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent


def entries(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield each expression of a table with the lines below it.

    Example:
        >>> list(entries("tumbling(0)\n    needs a size above zero\n\nsession(0)\n    needs a gap\n      write: 1"))
        [('tumbling(0)', 'needs a size above zero'), ('session(0)', 'needs a gap\n  write: 1')]
    """
    for entry in re.split(r"\n(?=\S)", dedent(text).strip("\n")):
        expression, _, expected = entry.partition("\n    ")
        yield expression, dedent(f"    {expected}").strip()


def says(text: str, pattern: str) -> bool:
    """Return True if a text is what a pattern says, in which `…` stands for any text.

    Example:
        >>> says("the axis is time", "…is time"), says("the axis is time", "the axis")
        (True, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL) is not None
