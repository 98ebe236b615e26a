"""A canvas that writes SVG as text, with the letters and colours of all pictures."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

LETTERS: Final = 13
"""The height of letters, which makes them readable on a phone that shows `WIDTH` at its full width."""

WIDTH: Final = 400
"""The width of a picture in its own units."""

LIGHT: Final = (
    "--paper:#fff;--edge:#d5dbe1;--ink:#1f2328;--soft:#57606a;--event:#1f6feb;--result:#1a7f4b;--mark:#b3400d;"
    "--pane:#e9f0fb;--other:#fbf1df;--rim:#a9bcd8;--rim2:#dcc18c;--fill:#dff3e6;--pale:#94baf5;--pale2:#8cc5a5"
)
"""The colours of a drawing for readers who prefer light ones; the page of a recording has them too."""

DARK: Final = (
    "--paper:#171b21;--edge:#343b44;--ink:#e6edf3;--soft:#a3adb8;--event:#6cb0ff;--result:#5cc98a;--mark:#f5996b;"
    "--pane:#202f45;--other:#383020;--rim:#4a6389;--rim2:#7d6a41;--fill:#17382a;--pale:#44699a;--pale2:#3c7a58"
)
"""The colours of a drawing for readers who prefer dark ones."""

STYLE: Final = f"""\
.muntin-drawing{{{LIGHT}}}
@media(prefers-color-scheme:dark){{.muntin-drawing{{{DARK}}}}}
.muntin-drawing text{{font:{LETTERS}px system-ui,sans-serif;fill:var(--ink);dominant-baseline:central}}
.muntin-drawing .mid{{text-anchor:middle}}
.muntin-drawing .end{{text-anchor:end}}
.muntin-drawing .soft{{fill:var(--soft)}}
.muntin-drawing .bold{{font-weight:600}}
.muntin-drawing .halo{{stroke:var(--paper);stroke-width:4;paint-order:stroke}}
.muntin-drawing .card{{fill:var(--paper);stroke:var(--edge)}}
.muntin-drawing .axis{{stroke:var(--soft)}}
.muntin-drawing .tip{{fill:var(--soft)}}
.muntin-drawing .rule{{stroke:var(--edge)}}
.muntin-drawing .guide{{stroke:var(--rim);stroke-dasharray:1.5 3}}
.muntin-drawing .pane,.muntin-drawing .veil{{fill:var(--pane)}}
.muntin-drawing .other,.muntin-drawing .other-veil{{fill:var(--other)}}
.muntin-drawing .pane{{stroke:var(--rim)}}
.muntin-drawing .other{{stroke:var(--rim2)}}
.muntin-drawing .veil,.muntin-drawing .other-veil{{opacity:.6}}
.muntin-drawing .life{{stroke:var(--event);stroke-width:5}}
.muntin-drawing .start{{fill:var(--event)}}
.muntin-drawing .stop{{fill:var(--paper);stroke:var(--event);stroke-width:2.5}}
.muntin-drawing .past{{stroke:var(--pale);stroke-width:2.5}}
.muntin-drawing line.past{{stroke-dasharray:3 4}}
.muntin-drawing circle.past{{stroke-width:1.5}}
.muntin-drawing .past.start,.muntin-drawing .gone.start{{fill:var(--pale)}}
.muntin-drawing .gone.life,.muntin-drawing .gone.stop{{stroke:var(--pale)}}
.muntin-drawing .past.stop{{stroke:var(--pale)}}
.muntin-drawing .past.given{{stroke:var(--pale2)}}
.muntin-drawing .box{{fill:var(--fill);stroke:var(--result)}}
.muntin-drawing .base{{fill:var(--result)}}
.muntin-drawing .mark{{stroke:var(--mark);stroke-width:1.5;stroke-dasharray:5 4}}
.muntin-drawing .way{{stroke:var(--mark);stroke-width:1.5}}
.muntin-drawing .head{{fill:var(--mark)}}
.muntin-drawing .note{{fill:var(--mark)}}
.muntin-drawing rect.gone{{opacity:.55}}
.muntin-drawing text.gone{{fill:var(--soft)}}
.muntin-drawing .strike{{stroke:var(--mark);stroke-width:2}}
"""


_WIDE: Final = frozenset("mwMW∞→")
_NARROW: Final = frozenset(" .,:;'|!ijl()[]")


def width_of(text: str, size: float) -> float:
    """Return an upper estimate of the width of a text in a sans-serif font."""
    width = 0.0
    for letter in text:
        if letter in _WIDE:
            width += 0.95
        elif letter in _NARROW:
            width += 0.4
        else:
            width += 0.64
    return width * size


def shortened(text: str, room: float, size: float) -> str:
    """Return a text, cut off with an ellipsis if it is wider than the room."""
    if width_of(text, size) <= room:
        return text
    # The longest beginning that fits, with the ellipsis, is found by trying.
    for end in range(len(text), 0, -1):
        if width_of(text[:end], size) + size <= room:
            return f"{text[:end]}…"
    return "…"


class Canvas:
    """Collects elements of an SVG document, in the order in which they are drawn."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def rect(self, x: float, y: float, width: float, height: float, look: str, *, corner: float = 0) -> None:
        """Draw a box from its upper left corner; `corner` is the radius of its corners."""
        self._add("rect", x=x, y=y, width=width, height=height, rx=corner, **{"class": look})

    def dot(self, x: float, y: float, radius: float, look: str) -> None:
        """Draw a circle."""
        self._add("circle", cx=x, cy=y, r=radius, **{"class": look})

    def line(self, start: tuple[float, float], end: tuple[float, float], look: str) -> None:
        """Draw a straight line."""
        self._add("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], **{"class": look})

    def arrow_head(self, x: float, y: float, look: str, *, size: float = 4) -> None:
        """Draw the head of an arrow to the right, with its tip at a point."""
        back = x - size * 1.6
        self._triangle((back, y - size), (x, y), (back, y + size), look)

    def arrow_down(self, x: float, y: float, look: str, size: float = 4) -> None:
        """Draw the head of an arrow downwards, with its tip at a point."""
        back = y - size * 1.6
        self._triangle((x - size, back), (x, y), (x + size, back), look)

    def text(self, x: float, y: float, text: str, look: str = "") -> None:
        """Write a text whose left end is at a point; with the style `mid` its middle is, with `end` its right end."""
        if look:
            self._add("text", text, x=x, y=y, **{"class": look})
        else:
            self._add("text", text, x=x, y=y)

    def _triangle(
        self, first: tuple[float, float], second: tuple[float, float], third: tuple[float, float], look: str
    ) -> None:
        """Draw a filled triangle between three points."""
        corners = [f"{_spell(x)},{_spell(y)}" for x, y in (first, second, third)]
        self._add("polygon", points=" ".join(corners), **{"class": look})

    def _add(self, name: str, text: str | None = None, /, **attributes: str | float) -> None:
        """Add an element, with a text in it or empty.

        Args:
            name: The name of the element.
            text: The text; None for an element without any.
            attributes: The attributes; one that is zero is left out, as that is its default.
        """
        spelled = ""
        for key, value in attributes.items():
            if value != 0:
                spelled += f" {key}={quoteattr(_spell(value))}"
        if text is None:
            self._lines.append(f"<{name}{spelled}/>")
        else:
            self._lines.append(f"<{name}{spelled}>{escape(text)}</{name}>")


def _spell(value: str | float) -> str:
    """Return the value of an attribute as text, a number with one decimal place at most."""
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
