"""Elements of SVG, one per line."""

from __future__ import annotations

from typing import Final
from xml.sax.saxutils import escape, quoteattr

_WIDE: Final = frozenset("mwMW∞→")
_NARROW: Final = frozenset(" .,:;'|!ijl()[]")


def width_of(text: str, size: float) -> float:
    """Return about how wide a text gets, at most, in a sans-serif font."""
    return sum(0.95 if c in _WIDE else 0.4 if c in _NARROW else 0.64 for c in text) * size


def shortened(text: str, room: float, size: float) -> str:
    """Return a text, or as much of it as there is room for.

    Example:
        >>> shortened("a long text", 50, 13), shortened("short", 50, 13)
        ('a lon…', 'short')
    """
    if width_of(text, size) <= room:
        return text
    return next((f"{text[:end]}…" for end in range(len(text), 0, -1) if width_of(text[:end], size) + size <= room), "…")


class Canvas:
    """Takes elements, and writes them in that order."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def rect(self, x: float, y: float, width: float, height: float, look: str, corner: float = 0) -> None:
        """Draw a box from its upper left corner."""
        self._add("rect", x=x, y=y, width=width, height=height, rx=corner, **{"class": look})

    def dot(self, x: float, y: float, radius: float, look: str) -> None:
        """Draw a circle."""
        self._add("circle", cx=x, cy=y, r=radius, **{"class": look})

    def line(self, start: tuple[float, float], end: tuple[float, float], look: str) -> None:
        """Draw a straight line."""
        self._add("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], **{"class": look})

    def arrow_head(self, x: float, y: float, look: str, size: float = 4) -> None:
        """Draw the head of an arrow to the right, with its tip at a point."""
        points = f"{_spell(x - size * 1.6)},{_spell(y - size)} {_spell(x)},{_spell(y)} "
        self._add("polygon", points=f"{points}{_spell(x - size * 1.6)},{_spell(y + size)}", **{"class": look})

    def text(self, x: float, y: float, text: str, look: str = "") -> None:
        """Write a text from its left end on, around its middle (`mid`) or up to its right end (`end`)."""
        self._add("text", text, x=x, y=y, **({"class": look} if look else {}))

    def _add(self, name: str, text: str | None = None, /, **attributes: str | float) -> None:
        spelled = "".join(f" {key}={quoteattr(_spell(value))}" for key, value in attributes.items() if value != 0)
        self._lines.append(f"<{name}{spelled}/>" if text is None else f"<{name}{spelled}>{escape(text)}</{name}>")


def _spell(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
