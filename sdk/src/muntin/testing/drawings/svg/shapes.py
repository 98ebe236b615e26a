"""The shape of each kind of bar."""

from __future__ import annotations

from muntin.testing.drawings.bar import Bar, Look
from muntin.testing.drawings.svg.canvas import Canvas, shortened, width_of
from muntin.testing.drawings.svg.scale import LAST, ROUND, Scale, fits, right_of
from muntin.testing.drawings.svg.style import LETTERS


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
    has_room = width_of(bar.extent, LETTERS) + 3 <= right - left
    if bar.note:
        canvas.rect(left + 2, bottom - 3, right - left - 4, 3, "base", 1.5)
        canvas.text((left + right) / 2, bottom - 13 if has_room else middle - 1, bar.note, "mid bold")
    if has_room:
        canvas.text((left + right) / 2, top + 11 if bar.note else middle, bar.extent, "mid soft")
