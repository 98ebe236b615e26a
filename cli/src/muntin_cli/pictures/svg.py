"""Bars as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from muntin.axis import EARLIEST, INFINITY
from muntin.drawings import Bar, Drawing, Look, spell_tick
from muntin_cli.pictures.canvas import LETTERS, STYLE, WIDTH, Canvas, shortened, width_of
from muntin_cli.pictures.layout import (
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
    fits,
    right_of,
)


def draw_bar(canvas: Canvas, scale: Scale, number: int, bar: Bar, middle: float, height: float) -> None:
    """Draw a bar that is no mark."""
    if bar.look is Look.WINDOW:
        _window(canvas, scale, number, bar, middle, height)
    elif bar.look is Look.RESULT:
        _result(canvas, scale, bar, middle)
    else:
        _event(canvas, scale, bar, middle)
    if bar.is_struck:
        left, right = scale.at(bar.start) - 4, scale.end_of(bar) + 4
        canvas.line((left, middle + 6), (right, middle - 6), "strike")


def _note(canvas: Canvas, scale: Scale, bar: Bar, middle: float, look: str = "") -> None:
    """Write a note to the right of a bar."""
    left = right_of(bar, scale) - width_of(bar.note, LETTERS)
    canvas.text(
        left, middle, shortened(bar.note, LAST - left + 1, LETTERS), f"{'gone ' if bar.is_struck else ''}{look}".strip()
    )


def _event(canvas: Canvas, scale: Scale, bar: Bar, middle: float) -> None:
    gone = "gone " if bar.is_struck else ""
    left, right = scale.at(bar.start), scale.end_of(bar)
    if bar.whole is not None:
        _rest(canvas, scale, bar, middle)
    if bar.end == bar.start + 1:
        canvas.dot((left + right) / 2, middle, ROUND, f"{gone}start")
    elif bar.is_open:
        canvas.line((left, middle), (right - 5, middle), f"{gone}life")
        canvas.arrow_head(right + 2, middle, f"{gone}start", 6)
        canvas.dot(left + ROUND, middle, ROUND, f"{gone}start")
    else:
        size = min(ROUND, (right - left) / 4)
        canvas.line((left + size, middle), (right - size - 3, middle), f"{gone}life")
        canvas.dot(left + size, middle, size, f"{gone}start")
        canvas.dot(right - size, middle, size - 1, f"{gone}stop")
    if bar.note:
        _note(canvas, scale, bar, middle)


def _rest(canvas: Canvas, scale: Scale, bar: Bar, middle: float) -> None:
    """Draw what was cut away on either side."""
    assert bar.whole is not None
    past = "past given" if bar.look is Look.RESULT else "past"
    if bar.whole.start < bar.start:
        canvas.line((scale.at(bar.whole.start) + 8, middle), (scale.at(bar.start), middle), past)
        canvas.dot(scale.at(bar.whole.start) + 4, middle, 3.5, f"{past} start")
    if bar.whole.is_open and not bar.is_open:
        canvas.line((scale.at(bar.end), middle), (scale.right + 8, middle), past)
    elif bar.whole.end > bar.end:
        canvas.line((scale.at(bar.end), middle), (scale.at(bar.whole.end) - 8, middle), past)
        canvas.dot(scale.at(bar.whole.end) - 4, middle, 3.5, f"{past} stop")


def _result(canvas: Canvas, scale: Scale, bar: Bar, middle: float) -> None:
    gone = "gone " if bar.is_struck else ""
    left, right = scale.at(bar.start), scale.end_of(bar)
    if bar.whole is not None:
        _rest(canvas, scale, bar, middle)
    canvas.rect(left + 0.5, middle - 10, right - left - 1, 20, f"{gone}box", 3)
    if bar.note and fits(bar, scale):
        canvas.text((left + right) / 2, middle, bar.note, f"{gone}mid bold")
    elif bar.note:
        _note(canvas, scale, bar, middle, "bold")


def _window(canvas: Canvas, scale: Scale, number: int, bar: Bar, middle: float, height: float) -> None:
    look = "other" if number % 2 else "pane"
    left, right, top, bottom = scale.at(bar.start), scale.end_of(bar), middle - height / 2 + 2, middle + height / 2 - 2
    canvas.rect(left + 0.5, top, right - left - 1, bottom - top, look, 3)
    extent = extent_of(bar, scale.axis)
    has_room = width_of(extent, LETTERS) + 3 <= right - left
    if bar.note:
        canvas.rect(left + 2, bottom - 3, right - left - 4, 3, "base", 1.5)
        canvas.text((left + right) / 2, bottom - 13 if has_room else middle - 1, bar.note, "mid bold")
    if has_room:
        canvas.text((left + right) / 2, top + 11 if bar.note else middle, extent, "mid soft")


_FOOT: Final = 34
_NATURAL: Final = 480
"""The width in pixels where nothing else says how wide it is to be."""


def render(drawing: Drawing, description: str) -> str:
    """Return a drawing as SVG."""
    bars = [row for row in drawing.rows if isinstance(row, Bar)]
    scale = Scale.over(bars or [Bar("", 0, 1)], drawing.axis)
    parts = list(blocks(drawing.rows, scale))
    bottom = parts[-1].bottom if parts else 0
    canvas = Canvas()
    height = bottom + (_FOOT if bars else MARGIN)
    canvas.rect(0.5, 0.5, WIDTH - 1, height - 1, "card", 8)
    for block in parts:
        _behind(canvas, scale, block)
    for block in parts:
        _heading(canvas, block)
    if bars:
        _ruler(canvas, scale, scale.labelled(bars), bottom + 6)
    lanes = [lane for block in parts for lane in block.lanes]
    _marks(canvas, scale, lanes, bottom + 6)
    for lane in lanes:
        _lane(canvas, scale, lane)
    return _document(str(canvas), height, drawing.title, description)


def _document(content: str, height: float, title: str, description: str) -> str:
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{_NATURAL}" style="max-width:100%;height:auto"'
    said = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="muntin-drawing" role="img" aria-label={quoteattr(title)}'
    return f"{opening} {size}>\n{said}\n<style>\n{STYLE}</style>\n{content}\n</svg>\n"


def _behind(canvas: Canvas, scale: Scale, block: Block) -> None:
    """Draw windows that divide the axis as boxes behind the events; of others, draw the starts and ends."""
    if all(lane.look is Look.WINDOW for lane in block.lanes):
        return
    top = block.top + (HEADING - 4 if block.heading else 0)
    windows = [bar for lane in block.lanes for _, bar in lane.bars if bar.look is Look.WINDOW]
    windows = [bar for bar in windows if bar.label == windows[0].label]  # of several kinds, those of the first
    ordered = sorted(windows, key=lambda bar: bar.start)
    if windows and all(one.end <= other.start for one, other in pairwise(ordered)):
        for number, bar in enumerate(windows):
            left, look = scale.at(bar.start), "other-veil" if number % 2 else "veil"
            canvas.rect(left + 0.5, top, scale.end_of(bar) - left - 1, block.bottom - top, look, 3)
        return
    ends = [(tick, lane.top) for lane in block.lanes for tick in _edges(lane)]
    for tick, bottom in sorted(dict(ends).items()):
        canvas.line((scale.at(tick), top), (scale.at(tick), bottom + 2), "guide")


def _edges(lane: Lane) -> list[int]:
    windows = [bar for _, bar in lane.bars if bar.look is Look.WINDOW]
    return [tick for bar in windows for tick in (bar.start, bar.end) if EARLIEST < tick < INFINITY]


def _heading(canvas: Canvas, block: Block) -> None:
    if block.heading:
        heading = shortened(block.heading, WIDTH - 2 * MARGIN, LETTERS)
        middle, width = block.top + HEADING / 2, width_of(heading, 1.1 * LETTERS)
        canvas.text(MARGIN, middle, heading, "bold")
        if MARGIN + width + 16 < WIDTH - MARGIN:
            canvas.line((MARGIN + width + 8, middle), (WIDTH - MARGIN, middle), "rule")


def _ruler(canvas: Canvas, scale: Scale, labelled: Iterable[int], top: float) -> None:
    canvas.line((scale.left, top), (scale.right + 8, top), "axis")
    canvas.arrow_head(scale.right + 12, top, "tip", 3)
    for tick in labelled:
        canvas.line((scale.at(tick), top), (scale.at(tick), top + 5), "axis")
        canvas.text(scale.at(tick), top + 15, spell_tick(tick, scale.axis), "mid soft")


def _lane(canvas: Canvas, scale: Scale, lane: Lane) -> None:
    is_mark = lane.bars[0][1].is_mark
    if lane.label:
        canvas.text(MARGIN, lane.middle, shortened(lane.label, LABEL, LETTERS), "said" if is_mark else "")
    for number, bar in lane.bars:
        if not is_mark:
            draw_bar(canvas, scale, number, bar, lane.middle, lane.height)


def _marks(canvas: Canvas, scale: Scale, lanes: Sequence[Lane], bottom: float) -> None:
    """Draw how far marks move along the axis: each holds until the next one."""
    marks = [(lane.middle, bar) for lane in lanes for _, bar in lane.bars if bar.is_mark]
    ends = [middle for middle, _ in marks[1:]] + [bottom]
    before = scale.left
    for (middle, bar), end in zip(marks, ends, strict=False):
        place = scale.at(bar.start)
        if place - before > 1:
            canvas.line((before, middle), (place - 6, middle), "way")
            canvas.arrow_head(place, middle, "head")
        canvas.line((place, middle), (place, end), "mark")
        _say(canvas, scale, place, middle, bar.note)
        before = place


def _say(canvas: Canvas, scale: Scale, place: float, middle: float, note: str) -> None:
    if place + 8 + width_of(note, LETTERS) <= scale.right + 12:
        canvas.text(place + 8, middle, note, "said")
    else:
        canvas.text(place - 12, middle, note, "said end halo")
