"""Where things go: bars in lanes from top to bottom, ticks along the width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Final

from muntin.axis import INFINITY
from muntin.testing.drawings.bar import Bar, Look
from muntin.testing.drawings.svg.canvas import width_of
from muntin.testing.drawings.svg.style import LETTERS, WIDTH

MARGIN: Final = 12
TOP: Final = 10
GAP: Final = 8
HEADING: Final = 28
LABEL: Final = 130
"""How wide a label may get."""
LEAST: Final = 150
"""How wide the axis is at least, however long the notes are."""
LAST: Final = WIDTH - 8
SPACE: Final = 8
ROUND: Final = 5.0
_STEPS: Final = tuple(step * 10**power for power in range(19) for step in (1, 2, 3, 5))
_HEIGHTS: Final = {Look.EVENT: 24, Look.WINDOW: 44, Look.RESULT: 26}
_BARE_WINDOW: Final = 26


@dataclass(frozen=True, slots=True)
class Axis:
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
    def over(cls, bars: Sequence[Bar]) -> Axis:
        """Return the axis of some bars, with room for their labels, and for notes behind those that end last."""
        ends = [bar.end for bar in bars if not bar.is_open]
        low, high = min(bar.start for bar in bars), max([*ends, *(bar.start + 1 for bar in bars)])
        labels = max(min(width_of(bar.label, LETTERS), LABEL) for bar in bars)
        widest = cls(low, high, MARGIN + labels + (14 if labels else 4), WIDTH - MARGIN - 12)
        right = min(widest.right, *(widest.right_for(bar) for bar in bars))
        return replace(widest, right=max(right, widest.left + LEAST))

    def right_for(self, bar: Bar) -> float:
        """Return how far to the right the axis may end if a bar's note is to have room."""
        if not has_note_outside(bar, self):
            return self.right
        last = right_of(replace(bar, note=""), self)
        room = LAST - SPACE - width_of(bar.note, LETTERS)
        is_beyond = last > self.right
        part = 1 if is_beyond else max((last - self.left) / (self.right - self.left), 0.01)
        return self.left + (room - (last - self.right if is_beyond else 0) - self.left) / part

    def at(self, tick: float) -> float:
        """Return where a tick is."""
        return self.left + (tick - self.low) * self.tick

    @property
    def tick(self) -> float:
        """How wide a tick is."""
        return (self.right - self.left) / (self.high - self.low)

    def end_of(self, bar: Bar) -> float:
        """Return where a bar ends; one without an end goes on to the arrow of the axis."""
        return self.right + 8 if bar.is_open else self.at(bar.end)

    def labelled(self, bars: Iterable[Bar]) -> range:
        """Return the ticks that have their number below them.

        Of about as many as there is room for, they are those at which most windows and results start or end.
        """
        widest = max(width_of(str(tick), LETTERS) for tick in (self.low, self.high)) + 12
        fitting = [step for step in _STEPS if step * self.tick >= widest] or [self.high - self.low]
        ends = [tick for bar in bars if bar.look is not Look.EVENT for tick in (bar.start, bar.end) if tick != INFINITY]
        step = max(fitting[:3], key=lambda step: sum(tick % step == 0 for tick in ends))
        return range(-(-self.low // step) * step, self.high + 1, step)


@dataclass(frozen=True, slots=True)
class Lane:
    """Bars beside one another.

    Attributes:
        label: What stands before them; only the first of several lanes of one kind has it.
        top: Where it begins.
        height: How high it is.
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
        """What all its bars stand for."""
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
        """Where it ends."""
        return self.lanes[-1].top + self.lanes[-1].height if self.lanes else self.top + HEADING

    @property
    def windows(self) -> list[Bar]:
        """Its windows; of several kinds, those of the first."""
        windows = [bar for lane in self.lanes for _, bar in lane.bars if bar.look is Look.WINDOW]
        return [bar for bar in windows if bar.label == first.label] if (first := next(iter(windows), None)) else []

    @property
    def has_events(self) -> bool:
        """True if there is something for windows to be drawn behind."""
        return any(lane.look is not Look.WINDOW for lane in self.lanes)

    @property
    def is_divided(self) -> bool:
        """True if no two of its windows overlap."""
        windows = sorted(self.windows, key=lambda bar: bar.start)
        return all(one.end <= other.start for one, other in pairwise(windows))


def blocks(rows: Sequence[Bar | str], axis: Axis) -> Iterator[Block]:
    """Yield the blocks of a drawing from top to bottom: each line of text begins one."""
    top: float = TOP
    for heading, bars in _parts(rows):
        below = top + (HEADING if heading else 0)
        block = Block(heading, top, tuple(_lanes(bars, below, axis)))
        yield block
        top = block.bottom + GAP


def _parts(rows: Sequence[Bar | str]) -> Iterator[tuple[str, list[Bar]]]:
    heading: str | None = None
    bars: list[Bar] = []
    for row in rows:
        if isinstance(row, Bar):
            bars.append(row)
            continue
        if heading or bars:
            yield heading or "", bars
        heading, bars = row.strip("-= "), []
    if heading or bars:
        yield heading or "", bars


def _lanes(bars: Sequence[Bar], top: float, axis: Axis) -> Iterator[Lane]:
    for (label, look, _), group in groupby(bars, key=lambda bar: (bar.label, bar.look, bar.is_mark)):
        kind = list(group)
        height = _height(look, kind)
        for number, fitting in enumerate(_packed(kind, axis)):
            yield Lane(label if number == 0 else "", top, height, tuple(fitting))
            top += height


def _height(look: Look, bars: Sequence[Bar]) -> int:
    return _BARE_WINDOW if look is Look.WINDOW and not any(bar.note for bar in bars) else _HEIGHTS[look]


def _packed(bars: Sequence[Bar], axis: Axis) -> list[list[tuple[int, Bar]]]:
    """Return the bars in as few lanes as they need, each in the first that has room to its right."""
    lanes: list[list[tuple[int, Bar]]] = []
    reached: list[float] = []
    for number, bar in enumerate(bars):
        place = next((place for place, end in enumerate(reached) if end <= axis.at(bar.start) + 0.01), len(lanes))
        if place == len(lanes):
            lanes.append([])
            reached.append(0)
        lanes[place].append((number, bar))
        reached[place] = right_of(bar, axis)
    return lanes


def right_of(bar: Bar, axis: Axis) -> float:
    """Return how far to the right a bar reaches with its note."""
    last = axis.end_of(bar)
    if bar.look is Look.EVENT and bar.is_open:
        last += 3
    elif bar.look is Look.EVENT and bar.end == bar.start + 1:
        last = axis.at(bar.start + 0.5) + ROUND
    if bar.whole is not None:
        last = max(last, axis.right + 8 if bar.whole.is_open else axis.at(bar.whole.end))
    return last + SPACE + width_of(bar.note, LETTERS) if has_note_outside(bar, axis) else last


def has_note_outside(bar: Bar, axis: Axis) -> bool:
    """True if a bar has a note that does not stand in it."""
    is_inside = bar.look is Look.WINDOW or (bar.look is Look.RESULT and fits(bar, axis))
    return bool(bar.note) and not is_inside and not bar.is_mark


def fits(bar: Bar, axis: Axis) -> bool:
    """True if there is room for its note inside a bar."""
    return width_of(bar.note, LETTERS) + 6 <= axis.end_of(bar) - axis.at(bar.start)
