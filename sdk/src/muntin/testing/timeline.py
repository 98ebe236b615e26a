"""Time lines in ASCII: lifetimes, windows and streams as one would sketch them on paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from muntin.axis import INFINITY
from muntin.changes import Insertion, Punctuation
from muntin.events import Event
from muntin.testing.batches import Boundary, KeyedChange, Step
from muntin.windows import Window

_COLUMNS: Final = 60
_GAP: Final = 10


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a drawing.

    Attributes:
        label: What stands before it.
        start: First tick.
        end: First tick after it; `INFINITY` draws an arrow, an end equal to the start a mark.
        note: What stands behind it.
    """

    label: str
    start: int
    end: int
    note: str = ""


def timeline(rows: Iterable[Bar | str]) -> str:
    """Return lifetimes drawn below a ruler of ticks, `[` at each start and `)` at each end; text stays as it is.

    A column is one tick, or several if the drawing would get too wide.

    Example:
        >>> print(timeline([Bar("window", 0, 10), Bar("a", 2, 5, "1.5"), Bar("b", 4, INFINITY), Bar("now", 7, 7)]))
                0         10
        window  [---------)
        a         [--)        1.5
        b           [----->
        now            !
    """
    lines = list(rows)
    bars = [row for row in lines if isinstance(row, Bar)]
    if not bars:
        return "\n".join(map(str, lines))
    ruler = _Ruler.over(bars)
    indent = max(len(bar.label) for bar in bars) + 2
    drawn = [ruler.draw(row, indent) if isinstance(row, Bar) else row for row in lines]
    return "\n".join([(" " * indent + ruler.labels()).rstrip(), *drawn])


def draw_windows(windows: Iterable[Window], events: Iterable[Event[Any]] = ()) -> str:
    """Return windows as a drawing, with the events they were cut from above them.

    Example:
        >>> print(draw_windows([Window(0, 4), Window(4, 8)], [Event(1, 6, "a")]))
                0
        event    [----)     'a'
        window  [---)
        window      [---)
    """
    above = [Bar("event", event.start, event.end, repr(event.payload)) for event in events]
    return timeline([*above, *(Bar("window", window.start, window.end) for window in windows)])


def draw_steps(steps: Iterable[Step], below: Iterable[Bar | str] = ()) -> str:
    """Return a stream as a drawing, one line per step in order of arrival.

    Insertions are marked `+`, revisions `~` with the old end behind them, and retractions `-`.

    Args:
        steps: The stream.
        below: What is drawn below it along the same ruler, for example its output.

    Example:
        >>> from muntin import Revision
        >>> event = Event(1, 8, "a")
        >>> inserted, revised = KeyedChange("k", Insertion(1, event)), KeyedChange("k", Revision(1, event, 4))
        >>> print(draw_steps([inserted, Boundary.RESTART, revised, Punctuation(4), Punctuation(INFINITY)]))
                     1
        + 'k' 1      [------)   'a'
        ======= restart
        ~ 'k' 1      [--)       ended at 8
        punctuation     !       4
        the stream is closed
    """
    return timeline([*(_row(step) for step in steps), *below])


def _row(step: Step) -> Bar | str:
    if isinstance(step, Boundary):
        return "------- batch" if step is Boundary.BATCH else "======= restart"
    if isinstance(step, Punctuation):
        is_last = step.time == INFINITY
        return "the stream is closed" if is_last else Bar("punctuation", step.time, step.time, str(step.time))
    return _change(step, step.change.event)


def _change(step: KeyedChange, event: Event[Any]) -> Bar:
    name = f"{step.change.id!r}" if step.key is None else f"{step.key!r} {step.change.id!r}"
    if isinstance(step.change, Insertion):
        return Bar(f"+ {name}", event.start, event.end, repr(event.payload))
    if step.change.is_retraction:
        return Bar(f"- {name}", event.start, event.end)
    ended = "was open" if event.end == INFINITY else f"ended at {event.end}"
    return Bar(f"~ {name}", event.start, step.change.new_end, ended)


@dataclass(frozen=True, slots=True)
class _Ruler:
    low: int
    high: int
    scale: int

    @classmethod
    def over(cls, bars: Sequence[Bar]) -> _Ruler:
        ends = [bar.end for bar in bars if bar.end != INFINITY]
        low, high = min(bar.start for bar in bars), max([*ends, *(bar.start + 1 for bar in bars)])
        return cls(low, high, max(1, -(-(high - low) // _COLUMNS)))

    def column(self, tick: int) -> int:
        return (tick - self.low) // self.scale

    def labels(self) -> str:
        gap = max(_GAP, len(str(self.high)) + 2)
        ticks = range(self.low, self.high + 1, gap * self.scale)
        return "".join(str(tick).ljust(gap) for tick in ticks)

    def draw(self, bar: Bar, indent: int) -> str:
        width = self.column(self.high) + 2
        body = " " * self.column(bar.start) + self._shape(bar)
        return f"{bar.label.ljust(indent)}{body.ljust(width)}  {bar.note}".rstrip()

    def _shape(self, bar: Bar) -> str:
        if bar.end == bar.start:
            return "!"
        is_open = bar.end == INFINITY
        length = self.column(self.high if is_open else bar.end) - self.column(bar.start) - 1
        return "[" + "-" * max(0, length) + (">" if is_open else ")")
