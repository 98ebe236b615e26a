"""Bars as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from muntin.drawings import Bar, Drawing, Look, spell_tick
from muntin.events import Lifetime
from muntin.pictures.canvas import LETTERS, STYLE, WIDTH, Canvas, shortened, width_of
from muntin.pictures.layout import (
    ARROW,
    HEADING,
    LABEL,
    LAST,
    MARGIN,
    ROUND,
    Block,
    Lane,
    Scale,
    blocks,
    extent_of,
    finite_bounds,
    fits,
    right_of,
)


def draw_bar(canvas: Canvas, scale: Scale, number: int, bar: Bar, middle: float, height: float) -> None:
    """Draw a bar that is not a mark.

    Args:
        canvas: The canvas.
        scale: The positions of ticks.
        number: The number of the bar among those of its kind: neighbouring windows differ in colour.
        bar: The bar.
        middle: The vertical middle of its lane.
        height: The height of its lane.
    """
    if bar.look is Look.WINDOW:
        _window(canvas, scale, number, bar, middle, height)
    elif bar.look is Look.RESULT:
        _result(canvas, scale, bar, middle)
    else:
        _event(canvas, scale, bar, middle)
    if bar.is_struck:
        left = scale.at(bar.start) - 4
        right = scale.end_of(bar) + 4
        canvas.line((left, middle + 6), (right, middle - 6), "strike")


def _look(bar: Bar, look: str) -> str:
    """Return a style for a bar, which is paler if the bar is struck through."""
    return f"gone {look}".strip() if bar.is_struck else look


def _note(canvas: Canvas, scale: Scale, bar: Bar, middle: float, look: str = "") -> None:
    """Write the note of a bar to its right, cut off at the edge of the picture."""
    left = right_of(bar, scale) - width_of(bar.note, LETTERS)
    canvas.text(left, middle, shortened(bar.note, LAST - left + 1, LETTERS), _look(bar, look))


def _event(canvas: Canvas, scale: Scale, bar: Bar, middle: float) -> None:
    """Draw the lifetime of an event: a dot for a point, an arrow if it has no end, or a line between two dots."""
    left = scale.at(bar.start)
    right = scale.end_of(bar)
    if bar.whole is not None:
        _cut_away(canvas, scale, bar, bar.whole, middle)
    if bar.end == bar.start + 1:
        canvas.dot((left + right) / 2, middle, ROUND, _look(bar, "start"))
    elif bar.is_open:
        canvas.line((left, middle), (right - 5, middle), _look(bar, "life"))
        canvas.arrow_head(right + 2, middle, _look(bar, "start"), size=6)
        canvas.dot(left + ROUND, middle, ROUND, _look(bar, "start"))
    else:
        # A short lifetime has smaller dots, so that a line is left between them.
        radius = min(ROUND, (right - left) / 4)
        canvas.line((left + radius, middle), (right - radius - 3, middle), _look(bar, "life"))
        canvas.dot(left + radius, middle, radius, _look(bar, "start"))
        canvas.dot(right - radius, middle, radius - 1, _look(bar, "stop"))
    if bar.note:
        _note(canvas, scale, bar, middle)


def _cut_away(canvas: Canvas, scale: Scale, bar: Bar, whole: Lifetime, middle: float) -> None:
    """Draw the parts of a whole lifetime before and after its bar as pale dashed lines that end in dots.

    Args:
        canvas: The canvas.
        scale: The positions of ticks.
        bar: The bar, which is the part of the lifetime that is left.
        whole: The whole lifetime.
        middle: The vertical middle of the lane.
    """
    past = "past given" if bar.look is Look.RESULT else "past"  # classes of the style sheet
    if whole.start < bar.start:
        canvas.line((scale.at(whole.start) + 8, middle), (scale.at(bar.start), middle), past)
        canvas.dot(scale.at(whole.start) + 4, middle, 3.5, f"{past} start")
    if whole.is_open and not bar.is_open:
        canvas.line((scale.at(bar.end), middle), (scale.right + ARROW, middle), past)
    elif whole.end > bar.end:
        canvas.line((scale.at(bar.end), middle), (scale.at(whole.end) - 8, middle), past)
        canvas.dot(scale.at(whole.end) - 4, middle, 3.5, f"{past} stop")


def _result(canvas: Canvas, scale: Scale, bar: Bar, middle: float) -> None:
    """Draw a result as a box, with its value in it, or beside it where the box is too narrow."""
    left = scale.at(bar.start)
    right = scale.end_of(bar)
    if bar.whole is not None:  # the box is a part of a longer lifetime
        _cut_away(canvas, scale, bar, bar.whole, middle)
    canvas.rect(left + 0.5, middle - 10, right - left - 1, 20, _look(bar, "box"), corner=3)
    if bar.note and fits(bar, scale):
        canvas.text((left + right) / 2, middle, bar.note, _look(bar, "mid bold"))
    elif bar.note:
        _note(canvas, scale, bar, middle, "bold")


def _window(canvas: Canvas, scale: Scale, number: int, bar: Bar, middle: float, height: float) -> None:
    """Draw a window as a box, with its extent inside if there is room, and its note above a line at the bottom."""
    look = "other" if number % 2 else "pane"  # neighbours differ in colour
    left = scale.at(bar.start)
    right = scale.end_of(bar)
    top = middle - height / 2 + 2
    bottom = middle + height / 2 - 2
    canvas.rect(left + 0.5, top, right - left - 1, bottom - top, look, corner=3)
    extent = extent_of(bar, scale.axis)
    has_room = width_of(extent, LETTERS) + 3 <= right - left
    # The note and the extent share the height of the box; one without the other stands in the middle.
    if bar.note:
        note_middle = bottom - 13 if has_room else middle - 1
        canvas.rect(left + 2, bottom - 3, right - left - 4, 3, "base", corner=1.5)
        canvas.text((left + right) / 2, note_middle, bar.note, "mid bold")
    if has_room:
        extent_middle = top + 11 if bar.note else middle
        canvas.text((left + right) / 2, extent_middle, extent, "mid soft")


_FOOT: Final = 34
"""The height of the axis with its numbers, at the bottom of a picture."""

_NATURAL: Final = 480
"""The width of a picture in pixels if its page does not set another one."""


def render(drawing: Drawing, description: str) -> str:
    """Return a drawing as SVG, with a description of its content in words."""
    bars = [row for row in drawing.rows if isinstance(row, Bar)]
    scale = Scale.over(bars or [Bar("", 0, 1)], drawing.axis)
    drawn_blocks = list(blocks(drawing.rows, scale))
    lanes: list[Lane] = []
    for block in drawn_blocks:
        lanes += block.lanes
    bottom = drawn_blocks[-1].bottom if drawn_blocks else 0
    height = bottom + (_FOOT if bars else MARGIN)

    # An element that is drawn later covers earlier ones: so backgrounds come first, then marks, and bars last.
    canvas = Canvas()
    canvas.rect(0.5, 0.5, WIDTH - 1, height - 1, "card", corner=8)
    for block in drawn_blocks:
        _background(canvas, scale, block)
    for block in drawn_blocks:
        if block.heading:
            _heading(canvas, block)
    if bars:
        _ruler(canvas, scale, scale.labelled(bars), bottom + 6)
    _marks(canvas, scale, lanes, bottom + 6)
    for lane in lanes:
        _lane(canvas, scale, lane)
    return document(str(canvas), height, drawing.title, description)


def document(content: str, height: float, title: str, description: str) -> str:
    """Return a whole SVG document.

    Args:
        content: The elements of the picture.
        height: The height of the picture in its own units.
        title: The subject, in a few words.
        description: The content in words, for readers who cannot see it.
    """
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{_NATURAL}" style="max-width:100%;height:auto"'
    texts = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="muntin-drawing" role="img" aria-label={quoteattr(title)}'
    return f"{opening} {size}>\n{texts}\n<style>\n{STYLE}</style>\n{content}\n</svg>\n"


def _background(canvas: Canvas, scale: Scale, block: Block) -> None:
    """Draw the windows of a block behind its events: as pale boxes, or, if they overlap, as lines at their ends."""
    if all(lane.look is Look.WINDOW for lane in block.lanes):
        return  # there is nothing but windows, which are boxes already
    top = block.top + (HEADING - 4 if block.heading else 0)

    windows = _windows_of_first_label(block)
    by_start = sorted(windows, key=lambda bar: bar.start)
    overlap = any(window.end > next_window.start for window, next_window in pairwise(by_start))
    if windows and not overlap:
        for number, window in enumerate(windows):
            left = scale.at(window.start)
            look = "other-veil" if number % 2 else "veil"
            canvas.rect(left + 0.5, top, scale.end_of(window) - left - 1, block.bottom - top, look, corner=3)
        return

    # A line goes down to the lowest lane with a window that starts or ends there.
    lane_tops: dict[int, float] = {}
    for lane in block.lanes:
        for tick in _window_bounds(lane):
            lane_tops[tick] = lane.top
    for tick, bottom in sorted(lane_tops.items()):
        canvas.line((scale.at(tick), top), (scale.at(tick), bottom + 2), "guide")


def _windows_of_first_label(block: Block) -> list[Bar]:
    """Return the windows of a block that have the label of its first window.

    Windows with another label are another kind, and would overlap these behind the events.
    """
    windows: list[Bar] = []
    for lane in block.lanes:
        for _, bar in lane.bars:
            if bar.look is Look.WINDOW and (not windows or bar.label == windows[0].label):
                windows.append(bar)
    return windows


def _window_bounds(lane: Lane) -> list[int]:
    """Return the starts and ends of the windows in a lane."""
    bounds: list[int] = []
    for _, bar in lane.bars:
        if bar.look is Look.WINDOW:
            bounds += finite_bounds(bar)
    return bounds


def _heading(canvas: Canvas, block: Block) -> None:
    """Write the text of a block, and draw a line from its end to the edge if there is room."""
    heading = shortened(block.heading, WIDTH - 2 * MARGIN, LETTERS)
    width = width_of(heading, 1.1 * LETTERS)  # bold letters are wider
    middle = block.top + HEADING / 2
    canvas.text(MARGIN, middle, heading, "bold")
    if MARGIN + width + 16 < WIDTH - MARGIN:
        canvas.line((MARGIN + width + 8, middle), (WIDTH - MARGIN, middle), "rule")


def _ruler(canvas: Canvas, scale: Scale, labelled: Iterable[int], top: float) -> None:
    """Draw the axis as an arrow, with a stroke and a number at each labelled tick."""
    canvas.line((scale.left, top), (scale.right + ARROW, top), "axis")
    canvas.arrow_head(scale.right + 12, top, "tip", size=3)
    for tick in labelled:
        canvas.line((scale.at(tick), top), (scale.at(tick), top + 5), "axis")
        canvas.text(scale.at(tick), top + 15, spell_tick(tick, scale.axis), "mid soft")


def _lane(canvas: Canvas, scale: Scale, lane: Lane) -> None:
    """Draw the label and the bars of a lane, but no marks: their lines lead from lane to lane, see `_marks`."""
    _, first_bar = lane.bars[0]
    has_marks = first_bar.is_mark  # all bars of a lane are marks, or none is
    if lane.label:
        canvas.text(MARGIN, lane.middle, shortened(lane.label, LABEL, LETTERS), "note" if has_marks else "")
    if has_marks:
        return
    for number, bar in lane.bars:
        draw_bar(canvas, scale, number, bar, lane.middle, lane.height)


def _marks(canvas: Canvas, scale: Scale, lanes: Sequence[Lane], bottom: float) -> None:
    """Draw marks, such as watermarks, as a step line: across to each mark's tick, and down to the next mark's lane."""
    marks: list[tuple[float, Bar]] = []  # each after the vertical middle of its lane
    for lane in lanes:
        for _, bar in lane.bars:
            if bar.is_mark:
                marks.append((lane.middle, bar))

    previous_position = scale.left
    for number, (middle, bar) in enumerate(marks):
        position = scale.at(bar.start)
        if position - previous_position > 1:
            canvas.line((previous_position, middle), (position - 6, middle), "way")
            canvas.arrow_head(position, middle, "head")
        next_middle = bottom
        if number + 1 < len(marks):
            next_middle, _ = marks[number + 1]
        canvas.line((position, middle), (position, next_middle), "mark")

        # The note stands right of the mark if there is room, and otherwise left of it, over the line.
        if position + 8 + width_of(bar.note, LETTERS) <= scale.right + 12:
            canvas.text(position + 8, middle, bar.note, "note")
        else:
            canvas.text(position - 12, middle, bar.note, "said end halo")
        previous_position = position
