"""Drawings of lifetimes, windows and streams: one description, as text and as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from muntin.drawings.bar import Bar, Look, span
from muntin.drawings.svg import render
from muntin.events import Event
from muntin.windows.extent import Window

_COLUMNS: Final = 60
_GAP: Final = 10


def ruled(rows: Iterable[Bar | str]) -> str:
    """Return bars drawn below a ruler of ticks; text stays as it is."""
    lines = list(rows)
    bars = [row for row in lines if isinstance(row, Bar)]
    if not bars:
        return "\n".join(map(str, lines))
    ruler = _Ruler.over(bars)
    indent = max(len(bar.label) for bar in bars) + 2
    drawn = [ruler.draw(row, indent) if isinstance(row, Bar) else row for row in lines]
    return "\n".join([(" " * indent + ruler.labels()).rstrip(), *drawn])


@dataclass(frozen=True, slots=True)
class _Ruler:
    low: int
    high: int
    scale: int

    @classmethod
    def over(cls, bars: Sequence[Bar]) -> _Ruler:
        low, high = span(bars)
        return cls(low, high, max(1, -(-(high - low) // _COLUMNS)))

    def column(self, tick: int) -> int:
        return (max(tick, self.low) - self.low) // self.scale

    def labels(self) -> str:
        gap = max(_GAP, len(str(self.high)) + 2)
        ticks = range(self.low, self.high + 1, gap * self.scale)
        return "".join(str(tick).ljust(gap) for tick in ticks)

    def draw(self, bar: Bar, indent: int) -> str:
        width = self.column(self.high) + 2
        body = " " * self.column(bar.start) + self._shape(bar)
        return f"{bar.label.ljust(indent)}{body.ljust(width)}  {bar.note}".rstrip()

    def _shape(self, bar: Bar) -> str:
        if bar.is_mark:
            return "!"
        length = self.column(self.high if bar.is_open else bar.end) - self.column(bar.start) - 1
        return "[" + "-" * max(0, length) + (">" if bar.is_open else ")")


@dataclass(frozen=True)
class Drawing:
    """Bars and lines of text along one axis, from top to bottom.

    `str(drawing)` is the drawing in ASCII, `drawing.svg()` a picture of the same; a notebook shows the picture.

    Attributes:
        rows: Bars, and text between them. An empty text is a gap.
        title: The subject, in a few words; a picture's alternative text begins with it.

    Example:
        >>> drawing = Drawing([Bar("a", 1, 4), Bar("b", 3, 8)], "two events")
        >>> print(drawing)
           1
        a  [--)
        b    [----)
        >>> drawing.svg().partition(" ")[0]
        '<svg'
        >>> drawing.description
        'a [1, 4); b [3, 8)'
    """

    rows: Sequence[Bar | str]
    title: str = "a time line"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def __str__(self) -> str:
        return ruled(self.rows)

    @property
    def description(self) -> str:
        """The content in words, for readers who cannot see it."""
        return "; ".join(_spell(row) for row in self.rows if row)

    def svg(self) -> str:
        """Return a picture: SVG that scales to the width it gets and follows a light or dark scheme.

        The same drawing gives the same text. Letters are readable from 340 pixels of width on.
        """
        return render(self.rows, self.title, self.description)

    def _repr_svg_(self) -> str:
        return self.svg()


def timeline(rows: Iterable[Bar | str]) -> str:
    """Return lifetimes drawn below a ruler of ticks, `[` at each start and `)` at each end; text stays as it is.

    A column is one tick, or several if the drawing would get too wide.

    Example:
        >>> from muntin import INFINITY
        >>> print(timeline([Bar("window", 0, 10), Bar("a", 2, 5, "1.5"), Bar("b", 4, INFINITY), Bar("now", 7, 7)]))
                0         10
        window  [---------)
        a         [--)        1.5
        b           [----->
        now            !
    """
    return str(Drawing(tuple(rows)))


def draw_windows(windows: Iterable[Window], events: Iterable[Event[object]] = ()) -> str:
    """Return windows as a drawing, with the events they were cut from above them.

    Example:
        >>> print(draw_windows([Window(0, 4), Window(4, 8)], [Event(1, 6, "a")]))
                0
        event    [----)     'a'
        window  [---)
        window      [---)
    """
    above = [Bar("event", event.start, event.end, repr(event.payload)) for event in events]
    return timeline([*above, *(Bar("window", window.start, window.end, look=Look.WINDOW) for window in windows)])


def _spell(row: Bar | str) -> str:
    if isinstance(row, str):
        return row.strip("-= ")
    where = " ".join(part for part in (row.label, row.extent) if part)
    said = f"{where}: {row.note}" if row.note else where
    return f"{said}, retracted" if row.is_struck else said
