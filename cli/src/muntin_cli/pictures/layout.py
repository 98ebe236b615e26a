"""The places of bars in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from muntin.axis import EARLIEST, INFINITY, Axis
from muntin.drawings import Bar, Look, span, spell_tick
from muntin_cli.pictures.canvas import LETTERS, WIDTH, width_of

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
_SECOND: Final = 10**6
_DAY: Final = 86_400 * _SECOND
_PARTS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
_TIMES: Final = (
    *(step for step in _STEPS if step < _SECOND),
    *(seconds * _SECOND for seconds in _PARTS),
    *(days * _DAY for days in _STEPS),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """The ticks along the width.

    Attributes:
        low: The first tick.
        high: The last one.
        left: Where the first one is.
        right: Where the last one is.
        axis: The meaning of ticks.
    """

    low: int
    high: int
    left: float
    right: float
    axis: Axis = Axis.TICKS

    @classmethod
    def over(cls, bars: Sequence[Bar], axis: Axis = Axis.TICKS) -> Scale:
        """Return the scale of some bars, with room for their labels, and for notes behind those that end last."""
        labels = max(min(width_of(bar.label, LETTERS), LABEL) for bar in bars)
        widest = cls(*span(bars), MARGIN + labels + (14 if labels else 4), WIDTH - MARGIN - 12, axis)
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
        steps = _TIMES if self.axis is Axis.TIME else _STEPS
        fitting = [step for step in steps if self._has_room(self._multiples(step))] or [self.high - self.low]
        ends = [
            tick
            for bar in bars
            if bar.look is not Look.EVENT
            for tick in (bar.start, bar.end)
            if EARLIEST < tick < INFINITY
        ]
        step = max(fitting[:3], key=lambda step: sum(tick % step == 0 for tick in ends))
        return self._multiples(step) or [self.low]

    def _multiples(self, step: int) -> range:
        return range(-(-self.low // step) * step, self.high + 1, step)

    def _has_room(self, ticks: range) -> bool:
        widest = max((width_of(spell_tick(tick, self.axis), LETTERS) for tick in (*ticks[:1], *ticks[-1:])), default=0)
        return ticks.step * self.tick >= widest + 12


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


def extent_of(bar: Bar, axis: Axis = Axis.TICKS) -> str:
    """Return the start and end of a bar, as text; of a point in time, its time.

    Example:
        >>> extent_of(Bar("a", 2, 5)), extent_of(Bar("b", 2, INFINITY)), extent_of(Bar("c", 2, 2))
        ('[2, 5)', '[2, ∞)', '2')
    """
    if bar.is_mark or (axis is Axis.TIME and bar.end == bar.start + 1):
        return spell_tick(bar.start, axis)
    start = "(-∞" if bar.has_no_start else f"[{spell_tick(bar.start, axis)}"
    return f"{start}, {'∞' if bar.is_open else spell_tick(bar.end, axis)})"


HEADING: Final = 28
"""Height of a line of text."""

_TOP: Final = 10
_GAP: Final = 8
_HEIGHTS: Final = {Look.EVENT: 24, Look.WINDOW: 44, Look.RESULT: 26}
_BARE_WINDOW: Final = 26


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars beside one another.

    Attributes:
        label: The text before them; only the first of several lanes of one kind has it.
        top: Where it begins.
        height: Its height.
        bars: With their numbers among those of their kind.
    """

    label: str
    top: float
    height: float
    bars: tuple[tuple[int, Bar], ...]

    @property
    def middle(self) -> float:
        """Half way down."""
        return self.top + self.height / 2

    @property
    def look(self) -> Look:
        """The meaning that all its bars share."""
        return self.bars[0][1].look


@dataclass(frozen=True, slots=True)
class Block:
    """Lanes below one another, with a line of text above them or none.

    Attributes:
        heading: The text.
        top: Where it begins.
        lanes: The lanes below the text.
    """

    heading: str
    top: float
    lanes: tuple[Lane, ...]

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.lanes[-1].top + self.lanes[-1].height if self.lanes else self.top + HEADING


def blocks(rows: Sequence[Bar | str], scale: Scale) -> Iterator[Block]:
    """Yield the blocks of a drawing from top to bottom: each line of text begins one."""
    top: float = _TOP
    for heading, bars in _parts(rows):
        below = top + (HEADING if heading else 0)
        block = Block(heading, top, tuple(_lanes(bars, below, scale)))
        yield block
        top = block.bottom + _GAP


def _parts(rows: Iterable[Bar | str]) -> list[tuple[str, list[Bar]]]:
    """Return each line of text with the bars below it, the first without; none of nothing but a gap."""
    parts: list[tuple[str, list[Bar]]] = [("", [])]
    for row in rows:
        if isinstance(row, Bar):
            parts[-1][1].append(row)
        else:
            parts.append((row.strip("-= "), []))
    return [(heading, bars) for heading, bars in parts if heading or bars]


def _lanes(bars: Sequence[Bar], top: float, scale: Scale) -> Iterator[Lane]:
    for (label, look, _), group in groupby(bars, key=lambda bar: (bar.label, bar.look, bar.is_mark)):
        kind = list(group)
        height = _BARE_WINDOW if look is Look.WINDOW and (not any(bar.note for bar in kind)) else _HEIGHTS[look]
        for number, fitting in enumerate(_packed(kind, scale)):
            yield Lane(label if number == 0 else "", top, height, tuple(fitting))
            top += height


def _packed(bars: Sequence[Bar], scale: Scale) -> list[list[tuple[int, Bar]]]:
    """Return the bars in as few lanes as they need.

    Each is in the first that has room to its right. An event is in the last one, or in a new one below it: read from
    left to right and from top to bottom, events stay in their order.
    """
    lanes: list[list[tuple[int, Bar]]] = []
    reached: list[float] = []
    for number, bar in enumerate(bars):
        first = max(len(lanes) - 1, 0) if bar.look is Look.EVENT else 0
        free = (place for place in range(first, len(lanes)) if reached[place] <= scale.at(bar.start) + 0.01)
        place = next(free, len(lanes))
        if place == len(lanes):
            lanes.append([])
            reached.append(0)
        lanes[place].append((number, bar))
        reached[place] = right_of(bar, scale)
    return lanes
