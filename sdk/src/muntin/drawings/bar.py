"""The elements of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from muntin.axis import EARLIEST, INFINITY
from muntin.events import Lifetime


class Look(StrEnum):
    """The meaning of a bar, which SVG shows."""

    EVENT = "event"
    """An event: round at its start, open at its end; a dot if it lasts one tick."""
    WINDOW = "window"
    """A window: a box with its extent in it, and its results below."""
    RESULT = "result"
    """An event of the output: a box with its value."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a drawing.

    Attributes:
        label: The text before it.
        start: First tick.
        end: First tick after it; `INFINITY` draws an arrow, an end equal to the start a mark.
        note: The text after it.
        look: Its meaning.
        whole: The lifetime that it is a part of, or had before; SVG draws the rest of it pale.
        is_struck: True for a retracted row; SVG strikes it through.
    """

    label: str
    start: int
    end: int
    note: str = ""
    look: Look = Look.EVENT
    whole: Lifetime | None = None
    is_struck: bool = False

    @property
    def is_mark(self) -> bool:
        """True for a place on the axis that lasts no time, such as a punctuation."""
        return self.start == self.end

    @property
    def is_open(self) -> bool:
        """True if it has no end."""
        return self.end == INFINITY

    @property
    def has_no_start(self) -> bool:
        """True for the global window, which starts before every event."""
        return self.start == EARLIEST

    @property
    def extent(self) -> str:
        """The start and end, as text.

        Example:
            >>> Bar("a", 2, 5).extent, Bar("b", 2, INFINITY).extent, Bar("c", 2, 2).extent
            ('[2, 5)', '[2, ∞)', '2')
        """
        start = "(-∞" if self.has_no_start else f"[{self.start}"
        return str(self.start) if self.is_mark else f"{start}, {'∞' if self.is_open else self.end})"


def span(bars: Sequence[Bar]) -> tuple[int, int]:
    """Return the first and the last tick of a ruler above bars."""
    ends = [bar.end for bar in bars if not bar.is_open]
    starts = [bar.start for bar in bars if not bar.has_no_start] or [0]
    return min(starts), max([*ends, *(start + 1 for start in starts)])
