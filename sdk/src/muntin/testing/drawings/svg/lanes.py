"""Bars in lanes, from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from muntin.testing.drawings.bar import Bar, Look
from muntin.testing.drawings.svg.scale import Scale, right_of

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

    @property
    def windows(self) -> list[Bar]:
        """Its windows; of several kinds, those of the first."""
        windows = [bar for lane in self.lanes for _, bar in lane.bars if bar.look is Look.WINDOW]
        return [bar for bar in windows if bar.label == windows[0].label]

    @property
    def has_events(self) -> bool:
        """True if there is something for windows to be drawn behind."""
        return any(lane.look is not Look.WINDOW for lane in self.lanes)

    @property
    def is_divided(self) -> bool:
        """True if no two of its windows overlap."""
        windows = sorted(self.windows, key=lambda bar: bar.start)
        return all(one.end <= other.start for one, other in pairwise(windows))


def blocks(rows: Sequence[Bar | str], scale: Scale) -> Iterator[Block]:
    """Yield the blocks of a drawing from top to bottom: each line of text begins one."""
    top: float = _TOP
    for heading, bars in _parts(rows):
        below = top + (HEADING if heading else 0)
        block = Block(heading, top, tuple(_lanes(bars, below, scale)))
        yield block
        top = block.bottom + _GAP


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
