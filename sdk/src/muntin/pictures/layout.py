"""The positions of bars in a picture: across by a scale of ticks, down by blocks and lanes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from muntin.axis import EARLIEST, INFINITY, Axis
from muntin.drawings import Bar, Look, span, spell_tick
from muntin.events import Lifetime
from muntin.pictures.canvas import LETTERS, WIDTH, width_of

MARGIN: Final = 12
"""Margin at the left and at the right."""

LABEL: Final = 130
"""Greatest width of a label."""

LAST: Final = WIDTH - 8
"""Right edge of the notes."""

ROUND: Final = 5.0
"""The radius of the dot at an event's start."""

ARROW: Final = 8
"""Width of the arrow behind the last tick, up to which bars without an end go on."""

_NARROWEST: Final = 150
"""The least width of the ticks, however wide the notes beside bars are."""
_NOTE_GAP: Final = 8
"""Space between a bar and the note beside it."""
_LABEL_GAP: Final = 12
"""Space between the numbers below the axis."""

_SECOND: Final = 10**6
_DAY: Final = 86_400 * _SECOND


def _round_steps() -> Iterator[int]:
    """Yield 1, 2, 3, 5, 10, 20, 30, 50, 100 and so on, as far as ticks go."""
    for power in range(19):
        for digit in (1, 2, 3, 5):
            yield digit * 10**power


_STEPS: Final = tuple(_round_steps())
"""Distances between numbers below the axis, from small to large."""

_SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200)
_TIME_STEPS: Final = (
    *(step for step in _STEPS if step < _SECOND),
    *(seconds * _SECOND for seconds in _SECONDS),
    *(days * _DAY for days in _STEPS),
)
"""Distances between numbers below an axis of time: parts of a second, of a minute, of an hour, of a day, and days."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps ticks to positions across the picture.

    Attributes:
        low: First tick.
        high: Last tick.
        left: Position of the first tick.
        right: Position of the last tick.
        axis: Meaning of ticks.
    """

    low: int
    high: int
    left: float
    right: float
    axis: Axis = Axis.TICKS

    @classmethod
    def over(cls, bars: Sequence[Bar], axis: Axis = Axis.TICKS) -> Scale:
        """Return a scale for bars, with room for labels to their left and for notes to their right."""
        label_width = max(min(width_of(bar.label, LETTERS), LABEL) for bar in bars)
        label_gap = 14 if label_width else 4
        low, high = span(bars)
        scale = cls(low, high, left=MARGIN + label_width + label_gap, right=WIDTH - MARGIN - 12, axis=axis)
        # Narrow it twice: on a narrower scale some notes no longer fit into their boxes and are written beside them.
        return scale.narrowed(bars).narrowed(bars)

    def narrowed(self, bars: Sequence[Bar]) -> Scale:
        """Return a scale that leaves room for the notes beside bars, but is not narrower than the least width."""
        right = min(self.right_for(bar) for bar in bars)
        return replace(self, right=min(self.right, max(right, self.left + _NARROWEST)))

    def right_for(self, bar: Bar) -> float:
        """Return the rightmost position of the last tick that leaves room for a bar's note."""
        if not has_note_outside(bar, self):
            return self.right
        bar_end = right_of(replace(bar, note=""), self)
        # The note may reach to the right edge of the picture: the bar has to end this far left of it.
        latest_end = LAST - _NOTE_GAP - width_of(bar.note, LETTERS)
        if bar_end > self.right:
            # The part of the bar behind the last tick, such as an arrow, keeps its width on any scale.
            return latest_end - (bar_end - self.right)
        # The bar ends at the same share of any scale: choose the width at which this share is at `latest_end`.
        share = max((bar_end - self.left) / (self.right - self.left), 0.01)
        return self.left + (latest_end - self.left) / share

    def at(self, tick: float) -> float:
        """Return the position of a tick."""
        return self.left + (max(tick, self.low) - self.low) * self.tick

    @property
    def tick(self) -> float:
        """The width of a tick."""
        return (self.right - self.left) / (self.high - self.low)

    def end_of(self, bar: Bar | Lifetime) -> float:
        """Return the position of a bar's end; a bar without an end goes on to the tip of the arrow."""
        return self.right + ARROW if bar.is_open else self.at(bar.end)

    def labelled(self, bars: Iterable[Bar]) -> Sequence[int]:
        """Return the ticks that have their number below them: the multiples of one distance.

        Three distances are compared, the closest at which numbers do not touch. The chosen distance is the one whose
        multiples are most often the start or end of a window or result.
        """
        # The steps ascend, so the first ones with room for their numbers are the closest distances.
        steps = _TIME_STEPS if self.axis is Axis.TIME else _STEPS
        steps_with_room = [step for step in steps if self._has_room(self._multiples(step))]
        if not steps_with_room:
            steps_with_room = [self.high - self.low]  # so long that at most two ticks have their number

        bounds: list[int] = []
        for bar in bars:
            if bar.look is not Look.EVENT:
                bounds += finite_bounds(bar)
        best_step = max(steps_with_room[:3], key=lambda step: sum(bound % step == 0 for bound in bounds))
        return self._multiples(best_step) or [self.low]

    def _multiples(self, step: int) -> range:
        """Return the multiples of a step on the scale."""
        first = -(-self.low // step) * step  # rounded up
        return range(first, self.high + 1, step)

    def _has_room(self, ticks: range) -> bool:
        """Return True if the numbers of ticks, written below them, do not touch."""
        # The first or the last tick has the widest number.
        widest = 0.0
        for tick in (*ticks[:1], *ticks[-1:]):
            widest = max(widest, width_of(spell_tick(tick, self.axis), LETTERS))
        return ticks.step * self.tick >= widest + _LABEL_GAP


def finite_bounds(bar: Bar) -> list[int]:
    """Return the start and end of a bar, as far as they lie on the axis."""
    return [tick for tick in (bar.start, bar.end) if EARLIEST < tick < INFINITY]


def right_of(bar: Bar, scale: Scale) -> float:
    """Return the right edge of a bar with its note."""
    right = scale.end_of(bar)
    if bar.look is Look.EVENT and bar.is_open:
        right += 3  # the head of its arrow
    elif bar.look is Look.EVENT and bar.end == bar.start + 1:
        right = scale.at(bar.start + 0.5) + ROUND  # a point is a dot in the middle of its tick
    if bar.whole is not None:
        right = max(right, scale.end_of(bar.whole))
    if has_note_outside(bar, scale):
        right += _NOTE_GAP + width_of(bar.note, LETTERS)
    return right


def has_note_outside(bar: Bar, scale: Scale) -> bool:
    """Return True if a bar has a note that is written beside it, and not inside."""
    if not bar.note or bar.is_mark or bar.look is Look.WINDOW:
        return False
    return bar.look is Look.EVENT or not fits(bar, scale)


def fits(bar: Bar, scale: Scale) -> bool:
    """Return True if a bar has room for its note inside."""
    return width_of(bar.note, LETTERS) + 6 <= scale.end_of(bar) - scale.at(bar.start)


def extent_of(bar: Bar, axis: Axis = Axis.TICKS) -> str:
    """Return the start and end of a bar as text; for a point in time, only its time.

    Example:
        >>> extent_of(Bar("a", 2, 5)), extent_of(Bar("b", 2, INFINITY)), extent_of(Bar("c", 2, 2))
        ('[2, 5)', '[2, ∞)', '2')
    """
    if bar.is_mark or (axis is Axis.TIME and bar.end == bar.start + 1):
        return spell_tick(bar.start, axis)
    start = "(-∞" if bar.has_no_start else f"[{spell_tick(bar.start, axis)}"
    end = "∞" if bar.is_open else spell_tick(bar.end, axis)
    return f"{start}, {end})"


HEADING: Final = 28
"""Height of a line of text."""

_TOP: Final = 10
_GAP: Final = 8
_HEIGHTS: Final = {Look.EVENT: 24, Look.WINDOW: 44, Look.RESULT: 26}
_BARE_WINDOW: Final = 26


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars beside one another, at one height.

    Attributes:
        label: Text before the bars; empty for all but the first of several lanes with the same label.
        top: Upper edge.
        height: Height.
        bars: Bars, each after its number among the bars with the same label and meaning.
    """

    label: str
    top: float
    height: float
    bars: tuple[tuple[int, Bar], ...]

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return self.top + self.height / 2

    @property
    def look(self) -> Look:
        """The meaning that all its bars share."""
        return self.bars[0][1].look


@dataclass(frozen=True, slots=True)
class Block:
    """Lanes below one another, with a line of text above them.

    Attributes:
        heading: Text; empty for none.
        top: Upper edge.
        lanes: Lanes below the text.
    """

    heading: str
    top: float
    lanes: tuple[Lane, ...]

    @property
    def bottom(self) -> float:
        """The lower edge."""
        if not self.lanes:
            return self.top + HEADING
        return self.lanes[-1].top + self.lanes[-1].height


def blocks(rows: Sequence[Bar | str], scale: Scale) -> Iterator[Block]:
    """Yield the blocks of a drawing from top to bottom: each line of text begins a block."""
    top: float = _TOP
    for heading, bars in _headings_with_bars(rows):
        top_of_lanes = top + (HEADING if heading else 0)
        block = Block(heading, top, tuple(_lanes(bars, top_of_lanes, scale)))
        yield block
        top = block.bottom + _GAP


def _headings_with_bars(rows: Iterable[Bar | str]) -> list[tuple[str, list[Bar]]]:
    """Return the lines of text, each with the bars below it; bars before the first line have an empty heading."""
    headings: list[tuple[str, list[Bar]]] = [("", [])]
    for row in rows:
        if isinstance(row, Bar):
            _, bars = headings[-1]
            bars.append(row)
        else:
            headings.append((row.strip("-= "), []))  # without the line beside a text such as "------- batch"
    return [(heading, bars) for heading, bars in headings if heading or bars]


def _lanes(bars: Sequence[Bar], top: float, scale: Scale) -> Iterator[Lane]:
    """Yield the lanes of bars from top to bottom.

    Consecutive bars with the same label and meaning share as few lanes as they need.
    """
    for (label, look, _), group in groupby(bars, key=lambda bar: (bar.label, bar.look, bar.is_mark)):
        group_bars = list(group)
        height = _HEIGHTS[look]
        if look is Look.WINDOW and not any(bar.note for bar in group_bars):
            height = _BARE_WINDOW
        for number, lane_bars in enumerate(_packed(group_bars, scale)):
            yield Lane(label if number == 0 else "", top=top, height=height, bars=tuple(lane_bars))
            top += height


def _packed(bars: Sequence[Bar], scale: Scale) -> list[list[tuple[int, Bar]]]:
    """Distribute bars over lanes in which none overlaps another; return the bars of each lane, with their numbers.

    The bar of a window or a result goes into the first lane in which it has room. The bar of an event goes into the
    last lane or into a new one below it: read from left to right and from top to bottom, events stay in their order.
    """
    lanes: list[list[tuple[int, Bar]]] = []
    lane_ends: list[float] = []  # the right edge of the last bar of each lane
    for number, bar in enumerate(bars):
        first_allowed = max(len(lanes) - 1, 0) if bar.look is Look.EVENT else 0
        left = scale.at(bar.start) + 0.01  # bars that touch may differ by an error of rounding
        free_lanes = (index for index in range(first_allowed, len(lanes)) if lane_ends[index] <= left)
        index = next(free_lanes, len(lanes))
        if index == len(lanes):
            lanes.append([])
            lane_ends.append(0)
        lanes[index].append((number, bar))
        lane_ends[index] = right_of(bar, scale)
    return lanes
