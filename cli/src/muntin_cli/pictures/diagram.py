"""Boxes and arrows as SVG, in the colours of the drawings of windows; they follow the reader's scheme."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal
from xml.sax.saxutils import escape, quoteattr

WIDTH: Final = 400
_LINE: Final = 17
_HEAD: Final = 26
_STYLE: Final = """\
.muntin-diagram{--paper:#fff;--edge:#d5dbe1;--ink:#1f2328;--soft:#57606a;--plain:#f6f8fa;--ours:#e9f0fb;--ours-rim:#a9bcd8;\
--yours:#dff3e6;--yours-rim:#1a7f4b;--spark:#fbf1df;--spark-rim:#dcc18c}
@media(prefers-color-scheme:dark){.muntin-diagram{--paper:#171b21;--edge:#343b44;--ink:#e6edf3;--soft:#a3adb8;\
--plain:#1f252c;--ours:#202f45;--ours-rim:#4a6389;--yours:#17382a;--yours-rim:#5cc98a;--spark:#383020;--spark-rim:#7d6a41}}
.muntin-diagram text{font:13px system-ui,sans-serif;fill:var(--ink)}
.muntin-diagram .title{font-weight:600}
.muntin-diagram .said{fill:var(--soft)}
.muntin-diagram .card{fill:var(--paper);stroke:var(--edge)}
.muntin-diagram .plain{fill:var(--plain);stroke:var(--edge)}
.muntin-diagram .ours{fill:var(--ours);stroke:var(--ours-rim)}
.muntin-diagram .yours{fill:var(--yours);stroke:var(--yours-rim)}
.muntin-diagram .spark{fill:var(--spark);stroke:var(--spark-rim)}
.muntin-diagram .way{stroke:var(--soft);stroke-width:1.5;fill:none}
.muntin-diagram .head{fill:var(--soft)}
"""


@dataclass(frozen=True, slots=True)
class Box:
    """A box with a title and lines of text below it.

    Attributes:
        title: What it is.
        lines: What is to be said of it.
        look: Whose it is.
        left: Where it begins, in units of the picture's width of 400.
        width: How wide it is.
    """

    title: str
    lines: tuple[str, ...] = ()
    look: Literal["plain", "ours", "yours", "spark"] = "ours"
    left: int = 12
    width: int = WIDTH - 24

    @property
    def height(self) -> int:
        """How high it is, by its lines."""
        return _HEAD + _LINE * len(self.lines) + (6 if self.lines else 2)

    @property
    def said(self) -> str:
        """Its text."""
        return ": ".join(filter(None, (self.title, ", ".join(self.lines))))

    def drawn(self, top: int, height: int) -> Iterator[str]:
        """Yield its elements."""
        yield f'<rect x="{self.left}" y="{top}" width="{self.width}" height="{height}" rx="5" class="{self.look}"/>'
        yield _text(self.left + 10, top + 18, self.title, "title")
        for number, line in enumerate(self.lines):
            yield _text(self.left + 10, top + _HEAD + 11 + _LINE * number, line, "said")


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from the row of boxes above to the one below.

    Attributes:
        text: What stands beside it.
        at: How far from the left it is.
        height: How long it is.
    """

    text: str = ""
    at: int = 30
    height: int = 30

    @property
    def said(self) -> str:
        """Its text."""
        return self.text

    def drawn(self, top: int, height: int) -> Iterator[str]:
        """Yield its elements."""
        tip = top + height - 3
        yield f'<path d="M{self.at} {top + 3}V{tip - 6}" class="way"/>'
        yield f'<path d="M{self.at - 4} {tip - 7}h8l-4 7z" class="head"/>'
        if self.text:
            yield _text(self.at + 14, top + height // 2 + 4, self.text, "said")


@dataclass(frozen=True, slots=True, repr=False)
class Diagram:
    """Rows of boxes and of arrows, from top to bottom; a notebook shows them.

    Attributes:
        title: What it shows, in a few words.
        rows: What stands beside each other.
        text: What is in it, if other words say it better than those of its parts.
    """

    title: str
    rows: tuple[tuple[Box | Arrow, ...], ...]
    text: str = ""

    @property
    def description(self) -> str:
        """What is in it, for those who do not see it."""
        return self.text or "; ".join(filter(None, (part.said for row in self.rows for part in row)))

    def svg(self) -> str:
        """Return it as SVG.

        Example:
            >>> steps = Diagram("two steps", ((Box("one"),), (Arrow("then"),), (Box("two"),)))
            >>> steps.svg().count("<rect"), steps.description
            (3, 'one; then; two')
        """
        parts: list[str] = []
        top = 12
        for row in self.rows:
            height = max(part.height for part in row)
            parts += [line for part in row for line in part.drawn(top, height)]
            top += height
        return "\n".join([*self._opening(top + 12), *parts, "</svg>", ""])

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return self.description

    def _opening(self, height: int) -> Iterator[str]:
        frame = f'class="muntin-diagram" role="img" aria-label={quoteattr(self.title)}'
        size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH * 6 // 5}" style="max-width:100%;height:auto"'
        yield f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {size}>'
        yield f"<title>{escape(self.title)}</title>"
        yield f"<desc>{escape(self.description)}</desc>"
        yield f"<style>\n{_STYLE}</style>"
        yield f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="card"/>'


def _text(x: int, y: int, text: str, look: str) -> str:
    return f'<text x="{x}" y="{y}" class="{look}">{escape(text)}</text>'
