"""A text of SQL, the places of its nodes, and errors that show their place in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Final, NamedTuple

from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from muntin.errors import QueryError


class SqlError(QueryError):
    """A text of SQL is not a query. The message shows the line, with a caret below the place.

    Attributes:
        line: The number of the line, from 1 on.
        column: The number of the character in that line, from 1 on.
    """

    def __init__(self, text: str, start: int, fact: str, advice: str = "") -> None:
        """Make an error at a position in a text.

        Args:
            text: The whole text.
            start: The position of the character below which the caret stands.
            fact: The first line of the message, after the place: what is wrong.
            advice: What to write instead, perhaps in several lines; empty for no advice.
        """
        start = min(max(start, 0), len(text))
        before = text[:start]
        self.line = before.count("\n") + 1
        self.column = start - (before.rfind("\n") + 1) + 1
        lines = text.split("\n")
        shown_line = lines[self.line - 1].replace("\t", " ")  # so that it is as wide as the blanks before the caret
        place = f"line {self.line}, column {self.column}"
        caret = " " * (self.column - 1) + "^"
        tail = "".join(f"\n  {line}" for line in advice.split("\n") if line)
        super().__init__(f"{place}: {fact}\n  {shown_line}\n  {caret}{tail}")


def fact_and_advice(message: str) -> tuple[str, str]:
    """Return the first line of an error's message, and the lines of advice after it without their indent."""
    fact, _, advice = message.partition("\n")
    return fact, advice.replace("\n  ", "\n").strip()


class MarkedNodes(NamedTuple):
    """The nodes that the arguments of a call were read from.

    Attributes:
        node: The node that stands for the call.
        within: The node that has all words of the call.
    """

    node: Any
    within: Any


class SqlText:
    """A text of SQL, and the places of its nodes.

    Attributes:
        text: The text.
        nodes: The nodes that the arguments of a call were read from, by the `id` of the arguments: these are plain
            data, which have no place for a node.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.nodes: dict[int, MarkedNodes] = {}
        self._marked: list[dict[str, Any]] = []

    def mark(self, arguments: dict[str, Any], node: Any, within: Any = None) -> dict[str, Any]:
        """Remember the nodes that the arguments of a call were read from, to place errors about the call.

        Arguments that were marked before keep their nodes: what marked them first is nearer to them in the text.

        Args:
            arguments: The arguments of the call, by name.
            node: The node that stands for the call.
            within: The node that has all words of the call; None if that is the same node.

        Returns:
            The same arguments.
        """
        self._marked.append(arguments)  # as long as they live, no other arguments get their `id`
        self.nodes.setdefault(id(arguments), MarkedNodes(node, within or node))
        return arguments

    def place_of(self, words: str, low: int, high: int) -> int | None:
        """Return the position of words in a part of the text, whatever their case and the space between them.

        Args:
            words: The words: names, numbers and signs.
            low: The position at which the part begins.
            high: The position after the part.

        Returns:
            None if the part does not have these words one after the other.
        """
        # Words are compared one by one, as the text may have spaces and comments between them.
        searched_words = [word.text for word in _split_words(words)]
        if not searched_words:
            return None
        candidates = [word for word in self._words if low <= word.start and word.end <= high]
        count = len(searched_words)
        for number in range(len(candidates) - count + 1):
            successive_words = candidates[number : number + count]
            if [word.text for word in successive_words] == searched_words:
                return successive_words[0].start
        return None

    @cached_property
    def _words(self) -> list[Word]:
        """The words of the text."""
        return _split_words(self.text)

    def error(self, node: Any, fact: str, advice: str = "") -> SqlError:
        """Return an error about a node of the text."""
        return SqlError(self.text, span_of(node)[0], fact, advice)

    def edited(self, node: Any, changes: Iterable[tuple[Any, str]]) -> str:
        """Return the text of a node as it is written, with some of the nodes within it replaced.

        Args:
            node: The node.
            changes: The nodes within it that are replaced, none of which is within another one, each with its new text.
        """
        position, end = span_of(node)
        new_text_by_span = sorted((span_of(part), new_text) for part, new_text in changes)
        edited = ""
        # `edited` has the text up to `position`, changed.
        for (part_start, part_end), new_text in new_text_by_span:
            edited += self.text[position:part_start] + new_text
            position = part_end
        return (edited + self.text[position:end]).strip()


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        text: The word in small letters, without quotes.
        start: The place of its first character.
        end: The place after its last character.
    """

    text: str
    start: int
    end: int


def _split_words(text: str) -> list[Word]:
    """Return the words of a text; none if its quotes are not closed."""
    try:
        tokens = Spark().tokenize(text)
    except TokenError:
        return []
    return [Word(token.text.casefold(), token.start, token.end + 1) for token in tokens]


def span_of(node: Any) -> tuple[int, int]:
    """Return the positions in the text at which a node begins and ends.

    If the parser noted no position of the node itself, its span goes over those of the nodes within it. If these have
    none either, it is `_NO_SPAN`.
    """
    if node is None:
        return _NO_SPAN
    if "from" in node.meta:  # noted by our dialect
        start = node.meta["from"]
        return start, start + len(node.meta["text"])
    spans: list[tuple[int, int]] = []
    if "start" in node.meta:  # noted by sqlglot
        spans.append((node.meta["start"], node.meta["end"] + 1))
    for inner_node in node.iter_expressions():
        inner_span = span_of(inner_node)
        if inner_span != _NO_SPAN:
            spans.append(inner_span)
    if not spans:
        return _NO_SPAN
    first_start = min(start for start, _ in spans)
    last_end = max(end for _, end in spans)
    return first_start, last_end


_NO_SPAN: Final = (0, 0)
"""The span of a node that has no place in the text: an error about the node points to the start of the text."""


def did_you_mean(word: str, known_words: Iterable[str]) -> str:
    """Return advice that names the known word closest to a word, or all known words."""
    names = sorted(set(known_words))
    by_case = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word.casefold(), by_case, n=1, cutoff=0.6)
    return f"did you mean {by_case[close[0]]}?" if close else f"there are {', '.join(names)}"
