"""Boxes below one another with arrows between them: the way of rows through a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muntin.pictures.canvas import LETTERS, WIDTH, Canvas, width_of
from muntin.pictures.layout import MARGIN
from muntin.pictures.svg import document

_LINE: Final = 18
"""The height of a line of text."""

_PADDING: Final = 9
"""The space between the edge of a box and its text."""

_ARROW: Final = 22
"""The height of an arrow between two rows of boxes."""

_SIDE: Final = 10
"""The space between boxes side by side."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box of a chart.

    Attributes:
        heading: The first line.
        lines: The lines below; lines that are too long are broken.
        look: The style of the box: `"card"`, `"pane"` like a window, or `"box"` like a result.
    """

    heading: str
    lines: tuple[str, ...] = ()
    look: str = "card"


@dataclass(frozen=True, slots=True)
class Chart:
    """Boxes in rows from top to bottom, with an arrow from each box to the row below it; a notebook shows it.

    Attributes:
        title: The subject, in a few words.
        rows: The rows, each of one box or several side by side.

    Example:
        >>> chart = Chart("a query", ((Box("input", ("by station",)),), (Box("results", ("n",), "box"),)))
        >>> chart.svg().count("<rect"), chart.description
        (3, 'input: by station; results: n')
    """

    title: str
    rows: tuple[tuple[Box, ...], ...]

    @property
    def description(self) -> str:
        """The content in words, for readers who cannot see it."""
        texts: list[str] = []
        for row in self.rows:
            for box in row:
                texts.append(f"{box.heading}: {', '.join(box.lines)}")
        return "; ".join(texts)

    def svg(self) -> str:
        """Return the chart as SVG, in the light or dark colours that its reader prefers."""
        canvas = Canvas()
        placed_rows = list(self._placed_rows())
        height = placed_rows[-1].bottom + MARGIN if placed_rows else 2 * MARGIN
        canvas.rect(0.5, 0.5, WIDTH - 1, height - 1, "card", corner=8)
        for number, row in enumerate(placed_rows):
            row.draw(canvas)
            is_last = number + 1 == len(placed_rows)
            if not is_last:
                row.draw_arrows(canvas)
        return document(str(canvas), height, self.title, self.description)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _placed_rows(self) -> Iterator[_PlacedRow]:
        """Yield the rows from top to bottom, each with its position and room for arrows below it."""
        top: float = MARGIN
        for boxes in self.rows:
            row = _PlacedRow.at(top, boxes)
            yield row
            top = row.bottom + _ARROW


@dataclass(frozen=True, slots=True)
class _PlacedRow:
    """Boxes side by side, with their positions.

    Attributes:
        top: Upper edge.
        width: Width of each box.
        boxes: The boxes, with their lines broken so that they fit.
    """

    top: float
    width: float
    boxes: tuple[Box, ...]

    @classmethod
    def at(cls, top: float, boxes: Sequence[Box]) -> _PlacedRow:
        """Place boxes in a row: each gets an equal share of the width, and lines that are too long for it are broken.

        Args:
            top: The top of the row.
            boxes: The boxes, from left to right.
        """
        width_of_boxes = WIDTH - 2 * MARGIN - _SIDE * (len(boxes) - 1)
        width = width_of_boxes / len(boxes)
        boxes_with_broken_lines: list[Box] = []
        for box in boxes:
            lines: list[str] = []
            for line in box.lines:
                lines += broken(line, width - 2 * _PADDING, LETTERS)
            boxes_with_broken_lines.append(Box(box.heading, tuple(lines), box.look))
        return cls(top, width, tuple(boxes_with_broken_lines))

    @property
    def bottom(self) -> float:
        """The lower edge of all boxes, which are as high as the one with the most lines."""
        line_count = 1 + max(len(box.lines) for box in self.boxes)
        return self.top + line_count * _LINE + 2 * _PADDING - 4

    def left_of(self, index: int) -> float:
        """Return the left edge of a box, by its index from the left."""
        return MARGIN + index * (self.width + _SIDE)

    def draw(self, canvas: Canvas) -> None:
        """Draw the boxes with their texts."""
        for index, box in enumerate(self.boxes):
            left = self.left_of(index)
            canvas.rect(left, self.top, self.width, self.bottom - self.top, box.look, corner=5)
            heading_middle = self.top + _PADDING + _LINE / 2 - 2
            canvas.text(left + _PADDING, heading_middle, box.heading, "bold")
            for number, line in enumerate(box.lines, start=1):
                canvas.text(left + _PADDING, heading_middle + number * _LINE, line)

    def draw_arrows(self, canvas: Canvas) -> None:
        """Draw an arrow from the middle of each box downwards."""
        for index in range(len(self.boxes)):
            middle = self.left_of(index) + self.width / 2
            tip = self.bottom + _ARROW - 2
            canvas.line((middle, self.bottom), (middle, tip - 6), "axis")
            canvas.arrow_down(middle, tip, "tip")


def broken(text: str, room: float, size: float) -> list[str]:
    """Break a text into lines that fit into a room: between words, or inside a word that is too long for a line.

    Args:
        text: The text.
        room: The width of the room.
        size: The height of letters.

    Example:
        >>> broken("km = stats.average, miles = stats.average", 150, 13)
        ['km = stats.average,', 'miles =', 'stats.average']
    """
    lines: list[str] = [""]
    for word in text.split(" "):
        extended = f"{lines[-1]} {word}".lstrip()
        if width_of(extended, size) <= room:
            lines[-1] = extended
            continue
        if lines[-1]:
            lines.append("")
        # The word begins a line; it is broken wherever that line is full.
        for letter in word:
            if lines[-1] and width_of(lines[-1] + letter, size) > room:
                lines.append("")
            lines[-1] += letter
    return lines
