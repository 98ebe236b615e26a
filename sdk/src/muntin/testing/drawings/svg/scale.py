"""The scale from ticks to positions along the width, and the space that bars take with their notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from muntin.axis import EARLIEST, INFINITY
from muntin.testing.drawings.bar import Bar, Look
from muntin.testing.drawings.svg.canvas import width_of
from muntin.testing.drawings.svg.style import LETTERS, WIDTH

MARGIN: Final = 12
"""Margin at the left and at the right."""

LABEL: Final = 130
"""Greatest width of a label."""

LAST: Final = WIDTH - 8
"""Right edge of the notes."""

ROUND: Final = 5.0
"""The radius of the dot at an event's start."""

_LEAST: Final = 150
_SPACE: Final = 8
_STEPS: Final = tuple(step * 10**power for power in range(19) for step in (1, 2, 3, 5))


@dataclass(frozen=True, slots=True)
class Scale:
    """The ticks along the width.

    Attributes:
        low: The first tick.
        high: The last one.
        left: Where the first one is.
        right: Where the last one is.
    """

    low: int
    high: int
    left: float
    right: float

    @classmethod
    def over(cls, bars: Sequence[Bar]) -> Scale:
        """Return the scale of some bars, with room for their labels, and for notes behind those that end last."""
        ends = [bar.end for bar in bars if not bar.is_open]
        starts = [bar.start for bar in bars if not bar.has_no_start] or [0]
        low, high = min(starts), max([*ends, *(start + 1 for start in starts)])
        labels = max(min(width_of(bar.label, LETTERS), LABEL) for bar in bars)
        widest = cls(low, high, MARGIN + labels + (14 if labels else 4), WIDTH - MARGIN - 12)
        return widest.narrowed(bars).narrowed(bars)

    def narrowed(self, bars: Sequence[Bar]) -> Scale:
        """Return a scale that leaves room for all notes, without making boxes too small for theirs."""
        right = min(self.right_for(bar) for bar in bars)
        return replace(self, right=min(self.right, max(right, self.left + _LEAST)))

    def right_for(self, bar: Bar) -> float:
        """Return the rightmost position of the last tick that leaves room for a bar's note."""
        if not has_note_outside(bar, self):
            return self.right
        last = right_of(replace(bar, note=""), self)
        room = LAST - _SPACE - width_of(bar.note, LETTERS)
        is_beyond = last > self.right
        part = 1 if is_beyond else max((last - self.left) / (self.right - self.left), 0.01)
        return self.left + (room - (last - self.right if is_beyond else 0) - self.left) / part

    def at(self, tick: float) -> float:
        """Return the position of a tick."""
        return self.left + (max(tick, self.low) - self.low) * self.tick

    @property
    def tick(self) -> float:
        """The width of a tick."""
        return (self.right - self.left) / (self.high - self.low)

    def end_of(self, bar: Bar) -> float:
        """Return the position of a bar's end; one without an end goes on to the arrow of the scale."""
        return self.right + 8 if bar.is_open else self.at(bar.end)

    def labelled(self, bars: Iterable[Bar]) -> Sequence[int]:
        """Return the ticks that have their number below them.

        Of about as many as there is room for, they are those at which most windows and results start or end.
        """
        widest = max(width_of(str(tick), LETTERS) for tick in (self.low, self.high)) + 12
        fitting = [step for step in _STEPS if step * self.tick >= widest] or [self.high - self.low]
        ends = [
            tick
            for bar in bars
            if bar.look is not Look.EVENT
            for tick in (bar.start, bar.end)
            if EARLIEST < tick < INFINITY
        ]
        step = max(fitting[:3], key=lambda step: sum(tick % step == 0 for tick in ends))
        return range(-(-self.low // step) * step, self.high + 1, step) or [self.low]


def right_of(bar: Bar, scale: Scale) -> float:
    """Return the right edge of a bar with its note."""
    last = scale.end_of(bar)
    if bar.look is Look.EVENT and bar.is_open:
        last += 3
    elif bar.look is Look.EVENT and bar.end == bar.start + 1:
        last = scale.at(bar.start + 0.5) + ROUND
    if bar.whole is not None:
        last = max(last, scale.right + 8 if bar.whole.is_open else scale.at(bar.whole.end))
    return last + _SPACE + width_of(bar.note, LETTERS) if has_note_outside(bar, scale) else last


def has_note_outside(bar: Bar, scale: Scale) -> bool:
    """True if a bar has a note that lies outside of it."""
    is_inside = bar.look is Look.WINDOW or (bar.look is Look.RESULT and fits(bar, scale))
    return bool(bar.note) and not is_inside and not bar.is_mark


def fits(bar: Bar, scale: Scale) -> bool:
    """True if there is room for its note inside a bar."""
    return width_of(bar.note, LETTERS) + 6 <= scale.end_of(bar) - scale.at(bar.start)
