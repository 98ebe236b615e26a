"""The grammar of queries in SQL as railroads, from the clauses that are read."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from railroad import Choice, Diagram, NonTerminal, OneOrMore, Optional, Sequence, Stack, Terminal, ZeroOrMore

from muntin_cli.pictures.canvas import STYLE
from muntin_engine.sql_text.clauses import EMITS, REFINEMENTS
from muntin_engine.sql_text.dialect import QUERY_CLAUSES, STREAM_CLAUSES

_LINES: Final = (
    ".muntin-drawing path{fill:none;stroke:var(--soft);stroke-width:2}"
    ".muntin-drawing rect{fill:var(--pane);stroke:var(--rim);stroke-width:1.5}"
    ".muntin-drawing .terminal rect{fill:var(--other);stroke:var(--rim2)}"
    ".muntin-drawing text{fill:var(--ink);font:13px ui-monospace,monospace;dominant-baseline:auto}"
)


@dataclass(frozen=True)
class Railroad:
    """A rule of a grammar as a railroad.

    Attributes:
        name: The name of its file, without the ending.
        title: What it is the grammar of.
        said: The same in words, for who cannot see it.
        rule: Makes the rule; the library draws one into itself, once.
        shows: The kinds of windows and the policies that it is a picture of: none.
    """

    name: str
    title: str
    said: str
    rule: Callable[[], Any]
    shows: tuple[object, ...] = ()

    def svg(self) -> str:
        """Return it as SVG."""
        text = io.StringIO()
        diagram = Diagram(self.rule())
        diagram.writeSvg(text.write)
        body = re.sub(r"^<svg[^>]*>", "", text.getvalue()).removesuffix("</svg>\n").removesuffix("</svg>")
        body = body.replace("<text ", '<text class="mid" ').strip()
        width, height = float(diagram.attrs["width"]), float(diagram.attrs["height"])
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="muntin-drawing" role="img" aria-label="{self.title}" '
            f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" style="max-width:100%;height:auto">\n'
            f"<title>{self.title}</title>\n<desc>{self.said}</desc>\n<style>\n{STYLE}{_LINES}\n</style>\n"
            f'<rect x="0" y="0" width="{width:g}" height="{height:g}" style="fill:var(--paper);stroke:none"/>\n'
            f"{body}\n</svg>\n"
        )


def _word(text: str) -> Any:
    return Terminal(text)


def _part(text: str) -> Any:
    return NonTerminal(text)


def pictures() -> Iterator[Railroad]:
    """Yield the rules: a query, a stream, its table, and when results are emitted."""
    emit, clip, timestamps, forget, evaluator = QUERY_CLAUSES
    watermark, late, then = STREAM_CLAUSES
    yield Railroad(
        "sql-query",
        "the grammar of a query in SQL",
        "SELECT columns FROM a stream, perhaps a JOIN with another one ON equal keys, then WHERE, GROUP BY, HAVING, "
        "and the clauses of its windows",
        lambda: Stack(
            Sequence(_word("SELECT"), OneOrMore(_part("column"), _word(",")), _word("FROM"), _part("stream")),
            Sequence(
                Optional(Sequence(_part("JOIN"), _part("stream"), _word("ON"), _part("equal keys"))),
                Optional(Sequence(_word("WHERE"), _part("condition"))),
            ),
            Sequence(
                Optional(Sequence(_word("GROUP BY"), _part("keys, window_start, window_end"))),
                Optional(Sequence(_word("HAVING"), _part("condition"))),
            ),
            ZeroOrMore(
                Choice(
                    0,
                    Sequence(_word(emit), _part("emission")),
                    Sequence(_word(clip), _part("clip")),
                    Sequence(_word(timestamps), _part("timestamps")),
                    Sequence(_word(f"{forget} KEYS AFTER"), _part("length")),
                    Sequence(_word(evaluator), _part("name")),
                )
            ),
        ),
    )
    yield Railroad(
        "sql-stream",
        "the grammar of a stream in SQL",
        "the name of a window function or EVENTS, and in parentheses TABLE with its data, DESCRIPTOR with one or two "
        "columns of times, and arguments by place or by name",
        lambda: Stack(
            Sequence(_part("window function"), _word("("), _word("TABLE"), _part("data")),
            Sequence(_word(", DESCRIPTOR ("), OneOrMore(_part("column"), _word(",")), _word(")")),
            Sequence(ZeroOrMore(Sequence(_word(","), Optional(_part("NAME =>")), _part("argument"))), _word(")")),
        ),
    )
    yield Railroad(
        "sql-table",
        "the grammar of the data of a stream in SQL",
        "a table or a SELECT in parentheses, then PARTITION BY and ORDER BY, and the clauses WATERMARK, LATE and THEN",
        lambda: Stack(
            Sequence(
                Choice(0, _part("table"), Sequence(_word("("), _part("SELECT"), _word(")"))),
                Optional(Sequence(_word("PARTITION BY"), _part("key, or (keys)"))),
                Optional(Sequence(_word("ORDER BY"), _part("column"))),
            ),
            ZeroOrMore(
                Choice(
                    0,
                    Sequence(_word(watermark), Optional(_part("column")), _word("DELAY OF"), _part("length")),
                    Sequence(_word(watermark), _part("policy(...)")),
                    Sequence(_word(late), Choice(0, _word("SIDE"), _word("DROP"), _word("ADJUST"))),
                    Sequence(_word(f"{late} CORRECT WITHIN"), _part("length")),
                    Sequence(_word(then), _part("step(...)")),
                )
            ),
        ),
    )
    yield Railroad(
        "sql-emission",
        "the grammar of emission in SQL",
        "FINAL, SPECULATIVE, CHANGES or its other name EAGER; or EARLY with a period or a trigger, and how later "
        "results refine earlier ones",
        lambda: Choice(
            0,
            *map(_word, EMITS),
            Sequence(
                _word("EARLY"),
                Choice(0, Sequence(_word("EVERY"), _part("length")), _part("trigger(...)")),
                Optional(Choice(0, *(_word(how.upper()) for how in REFINEMENTS))),
            ),
        ),
    )
