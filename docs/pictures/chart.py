"""Bars of a measurement as SVG, in the colours of the diagrams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape, quoteattr

WIDTH: Final = 400
_BAR: Final = 14
_ROOM_FOR_NUMBERS: Final = 88
STYLE: Final = """\
.muntin-chart{--paper:#fff;--edge:#d5dbe1;--ink:#1f2328;--soft:#57606a;--ours:#14918a;--theirs:#c9a24f}
@media(prefers-color-scheme:dark){.muntin-chart{--paper:#171b21;--edge:#343b44;--ink:#e6edf3;--soft:#a3adb8;\
--ours:#2bb3a9;--theirs:#a88540}}
.muntin-chart text{font:13px system-ui,sans-serif;fill:var(--ink)}
.muntin-chart .title{font-weight:600}
.muntin-chart .said{fill:var(--soft)}
.muntin-chart .end{text-anchor:end}
.muntin-chart .card{fill:var(--paper);stroke:var(--edge)}
.muntin-chart .ours{fill:var(--ours)}
.muntin-chart .theirs{fill:var(--theirs)}
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rates of one work, side by side.

    Attributes:
        work: What was computed.
        ours: Rows per second with Muntin.
        theirs: Rows per second without.
        ratio: The first over the second, in words.
    """

    work: str
    ours: int
    theirs: int
    ratio: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Pairs of bars, all to one scale.

    Attributes:
        name: The name of its file, without the ending.
        title: What it shows, in a few words.
        legend: What the two bars of a pair stand for.
        pairs: From top to bottom.
        shows: The kinds of windows and the policies that it is a picture of: none.
    """

    name: str
    title: str
    legend: tuple[str, str]
    pairs: tuple[Pair, ...]
    shows: tuple[object, ...] = ()

    @property
    def description(self) -> str:
        """What is in it, for those who do not see it."""
        ours, theirs = self.legend
        return "; ".join(
            f"{pair.work}: {ours} {pair.ours:,}, {theirs} {pair.theirs:,}, {pair.ratio}" for pair in self.pairs
        )

    def svg(self) -> str:
        """Return it as SVG.

        Example:
            >>> chart = Chart("rates", "rates of two systems", ("A", "B"), (Pair("sums", 200, 100, "2 times"),))
            >>> chart.svg().count("<rect"), chart.description
            (5, 'sums: A 200, B 100, 2 times')
        """
        top = 52
        parts = [*self._legend()]
        for pair in self.pairs:
            parts += self._drawn(pair, top)
            top += 62
        return "\n".join([*self._opening(top), *parts, "</svg>", ""])

    def _opening(self, height: int) -> Iterator[str]:
        frame = f'class="muntin-chart" role="img" aria-label={quoteattr(self.title)}'
        size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 6 // 5}" style="max-width:100%;height:auto"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {size}>'
        yield f"<title>{escape(self.title)}</title>"
        yield f"<desc>{escape(self.description)}</desc>"
        yield f"<style>\n{STYLE}</style>"
        yield f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="card"/>'

    def _legend(self) -> Iterator[str]:
        for left, look, text in ((12, "ours", self.legend[0]), (150, "theirs", self.legend[1])):
            yield f'<rect x="{left}" y="14" width="12" height="12" rx="2" class="{look}"/>'
            yield f'<text x="{left + 18}" y="25" class="said">{escape(text)}</text>'

    def _drawn(self, pair: Pair, top: int) -> Iterator[str]:
        scale = (WIDTH - 24 - _ROOM_FOR_NUMBERS) / max(max(pair.ours, pair.theirs) for pair in self.pairs)
        yield f'<text x="12" y="{top}" class="title">{escape(pair.work)}</text>'
        yield f'<text x="{WIDTH - 12}" y="{top}" class="said end">{escape(pair.ratio)}</text>'
        for place, (look, rate) in enumerate((("ours", pair.ours), ("theirs", pair.theirs))):
            y, width = top + 7 + place * (_BAR + 3), max(1, round(rate * scale))
            yield f'<rect x="12" y="{y}" width="{width}" height="{_BAR}" rx="2" class="{look}"/>'
            yield f'<text x="{18 + width}" y="{y + 12}" class="said">{rate:,}</text>'
