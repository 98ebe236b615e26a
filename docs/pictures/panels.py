"""Rates of several systems at several questions as SVG: a panel for each question, in the colours of the diagrams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from docs.pictures.chart import STYLE

_PANEL: Final = 380
_COLUMNS: Final = 2
_LABELS: Final = 158
_NUMBERS: Final = 70
_ROW: Final = 19
_HEAD: Final = 34


@dataclass(frozen=True, slots=True)
class Panels:
    """A panel for each question with a bar for each system that answered it; all bars are to one scale.

    Attributes:
        name: The name of its file, without the ending.
        title: What it shows, in a few words.
        rates: Rows per second by system, by question.
        ours: How the names of our systems begin.
        shows: The kinds of windows and the policies that it is a picture of: none.
    """

    name: str
    title: str
    rates: Mapping[str, Mapping[str, int]]
    ours: str
    shows: tuple[object, ...] = ()

    @property
    def description(self) -> str:
        """What is in it, for those who do not see it."""
        return "; ".join(
            f"{question}: {', '.join(f'{system} {rate:,}' for system, rate in rates.items())}"
            for question, rates in self.rates.items()
        )

    def svg(self) -> str:
        """Return it as SVG.

        Example:
            >>> panels = Panels("rates", "rates of two systems", {"sums": {"A": 200, "B": 100}}, ours="A")
            >>> panels.svg().count("<rect"), panels.description
            (3, 'sums: A 200, B 100')
        """
        places = list(self.rates.items())
        parts, top = [f'<text x="12" y="26" class="said">{escape(self.title)}</text>'], 40
        for first in range(0, len(places), _COLUMNS):
            line = places[first : first + _COLUMNS]
            for column, (question, rates) in enumerate(line):
                parts += self._panel(column * _PANEL + 12, top, question, rates)
            top += _HEAD + _ROW * max(len(rates) for _, rates in line)
        return "\n".join([*self._opening(top), *parts, "</svg>", ""])

    def _opening(self, height: int) -> Iterator[str]:
        width = _PANEL * min(_COLUMNS, len(self.rates)) + 12
        frame = f'class="muntin-chart" role="img" aria-label={quoteattr(self.title)}'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {frame} viewBox="0 0 {width} {height}" width="{width}"'
        yield 'style="max-width:100%;height:auto">'
        yield f"<title>{escape(self.title)}</title>"
        yield f"<desc>{escape(self.description)}</desc>"
        yield f"<style>\n{STYLE}</style>"
        yield f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" class="card"/>'

    def _panel(self, left: int, top: int, question: str, rates: Mapping[str, int]) -> Iterator[str]:
        largest = max(rate for some in self.rates.values() for rate in some.values())
        scale = (_PANEL - _LABELS - _NUMBERS - 12) / largest
        yield f'<text x="{left}" y="{top + 15}" class="title">{escape(question)}</text>'
        for place, (system, rate) in enumerate(rates.items()):
            y, width = top + 22 + place * _ROW, max(1, round(rate * scale))
            look = "ours" if system.startswith(self.ours) else "theirs"
            yield f'<text x="{left}" y="{y + 12}" class="said">{escape(system)}</text>'
            yield f'<rect x="{left + _LABELS}" y="{y}" width="{width}" height="14" rx="2" class="{look}"/>'
            yield f'<text x="{left + _LABELS + width + 6}" y="{y + 12}" class="said">{rate:,}</text>'
