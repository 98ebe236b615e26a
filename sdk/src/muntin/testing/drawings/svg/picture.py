"""A whole picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from muntin.axis import EARLIEST, INFINITY
from muntin.testing.drawings.bar import Bar, Look
from muntin.testing.drawings.svg.canvas import Canvas, shortened, width_of
from muntin.testing.drawings.svg.lanes import HEADING, Block, Lane, blocks
from muntin.testing.drawings.svg.scale import LABEL, MARGIN, Scale
from muntin.testing.drawings.svg.shapes import draw_bar
from muntin.testing.drawings.svg.style import LETTERS, STYLE, WIDTH

_FOOT: Final = 34
_NATURAL: Final = 480
"""The width in pixels where nothing else says how wide it is to be."""


def render(rows: Sequence[Bar | str], title: str, description: str) -> str:
    """Return bars and lines of text as SVG."""
    bars = [row for row in rows if isinstance(row, Bar)]
    scale = Scale.over(bars or [Bar("", 0, 1)])
    parts = list(blocks(rows, scale))
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
    return _document(str(canvas), height, title, description)


def _document(content: str, height: float, title: str, description: str) -> str:
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{_NATURAL}" style="max-width:100%;height:auto"'
    said = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="muntin-drawing" role="img" aria-label={quoteattr(title)}'
    return f"{opening} {size}>\n{said}\n<style>\n{STYLE}</style>\n{content}\n</svg>\n"


def _behind(canvas: Canvas, scale: Scale, block: Block) -> None:
    """Draw windows that divide the axis as boxes behind the events; of others, draw the starts and ends."""
    if not block.has_events:
        return
    top = block.top + (HEADING - 4 if block.heading else 0)
    if block.windows and block.is_divided:
        for number, bar in enumerate(block.windows):
            left, look = scale.at(bar.start), "other-veil" if number % 2 else "veil"
            canvas.rect(left + 0.5, top, scale.end_of(bar) - left - 1, block.bottom - top, look, 3)
        return
    edges = {tick: lane.top for lane in block.lanes for tick in _edges(lane)}
    for tick, bottom in sorted(edges.items()):
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
        canvas.text(scale.at(tick), top + 15, str(tick), "mid soft")


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
