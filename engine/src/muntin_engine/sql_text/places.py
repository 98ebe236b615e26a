"""Errors that show their place in a text of SQL."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cached_property
from typing import Any, TypeAlias

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from muntin.errors import QueryError


class SqlError(QueryError):
    """A text of SQL is not a query. The message shows the line, with a caret below the place.

    Attributes:
        line: The number of the line, from 1 on.
        column: The number of the character in it, from 1 on.
    """

    def __init__(self, text: str, start: int, said: str, advice: str = "") -> None:
        start = min(max(start, 0), len(text))
        before = text[:start]
        self.line = before.count("\n") + 1
        self.column = start - (before.rfind("\n") + 1) + 1
        lines = text.split("\n")
        shown = lines[self.line - 1].replace("\t", " ")
        place = f"line {self.line}, column {self.column}"
        caret = " " * (self.column - 1) + "^"
        tail = "".join(f"\n  {line}" for line in advice.split("\n") if line)
        super().__init__(f"{place}: {said}\n  {shown}\n  {caret}{tail}")


class SqlText:
    """A text of SQL, and where its nodes stand.

    Attributes:
        text: The text.
        nodes: By the `id` of the arguments of a call, the node that they were read from, and the one with its words.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: dict[int, tuple[Any, Any]] = {}

    def mark(self, arguments: dict[str, Any], node: Any, within: Any = None) -> dict[str, Any]:
        """Remember the node that the arguments of a call were read from, and the one that has all of its words."""
        self.nodes.setdefault(id(arguments), (node, within or node))
        return arguments

    def place_of(self, words: str, low: int, high: int) -> int | None:
        """Return where words first stand in a part of the text, in any case and with any space; None if nowhere.

        Args:
            words: The words: names, numbers and signs.
            low: Where the part begins.
            high: Where it ends.
        """
        wanted = [text for text, _, _ in _words(words)]
        if not wanted:
            return None
        places = [word for word in self._words if low <= word[1] and word[2] <= high]
        for first in range(len(places) - len(wanted) + 1):
            if [text for text, _, _ in places[first : first + len(wanted)]] == wanted:
                return places[first][1]
        return None

    @cached_property
    def _words(self) -> list[Word]:
        return _words(self.text)

    def error(self, node: Any, said: str, advice: str = "") -> SqlError:
        """Return an error about a node of the text."""
        return SqlError(self.text, span_of(node)[0], said, advice)

    def edited(self, node: Any, changes: Iterable[tuple[Any, str]]) -> str:
        """Return the text of a node as it is written, but for other text in the places of some nodes within it."""
        place, end = span_of(node)
        found = ""
        for (start, after), text in sorted((span_of(part), text) for part, text in changes):
            found += self.text[place:start] + text
            place = after
        return (found + self.text[place:end]).strip()


Word: TypeAlias = "tuple[str, int, int]"
"""A word of a text in small letters, without quotes; where it begins, and where it ends."""


def _words(text: str) -> list[Word]:
    """Return the words of a text; none if its quotes are not closed."""
    try:
        tokens = Spark().tokenize(text)
    except TokenError:
        return []
    return [(token.text.casefold(), token.start, token.end + 1) for token in tokens]


def span_of(node: Any) -> tuple[int, int]:
    """Return where a node begins in the text and where it ends; the start of the text if its nodes do not say."""
    if node is None:
        return 0, 0
    if "from" in node.meta:
        return node.meta["from"], node.meta["from"] + len(node.meta["text"])
    own = [(node.meta["start"], node.meta["end"] + 1)] if "start" in node.meta else []
    spans = [*own, *(span for part in node.iter_expressions() if (span := span_of(part))[1])]
    return min((start for start, _ in spans), default=0), max((end for _, end in spans), default=0)


def closest(word: str, known: Iterable[str]) -> str:
    """Return advice that names what is close to a word, or all that there is."""
    names = sorted(set(known))
    by_case = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), by_case, n=1, cutoff=0.6)
    return f"did you mean {by_case[close[0]]}?" if close else f"there are {', '.join(names)}"
