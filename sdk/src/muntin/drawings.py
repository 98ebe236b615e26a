"""Drawings of lifetimes, windows and streams as text; `muntin.pictures` makes pictures of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from muntin.axis import EARLIEST, INFINITY, Axis, moment
from muntin.events import Event, Lifetime
from muntin.windows.extent import Window

__all__ = ["Bar", "Drawing", "Look", "draw_windows", "timeline"]

_COLUMNS: Final = 60
_GAP: Final = 10
_SECONDS: Final = (1, 2, 3, 6, 12, 30, 60, 120, 180, 360, 720, 1440, 2160, 4320)
_DAY: Final = 86_400 * 10**6
_TENTHS_OF_DAYS: Final = [digit * 10**power for power in range(9) for digit in (1, 2, 5)]
_TIMES: Final = (
    *(10**power for power in range(6)),
    *(seconds * 10**6 for seconds in _SECONDS),
    *(tenths * _DAY // 10 for tenths in _TENTHS_OF_DAYS),
)
"""The scales of an axis of time, in microseconds a column: ten columns, from label to label, are a round length."""


class Look(StrEnum):
    """The meaning of a bar, which pictures show."""

    EVENT = "event"
    """An event: round at its start, open at its end; a dot if it lasts one tick."""
    WINDOW = "window"
    """A window: a box with its extent in it, and its results below."""
    RESULT = "result"
    """An event of the output: a box with its value."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a drawing.

    Attributes:
        label: The text before it.
        start: First tick.
        end: First tick after it; `INFINITY` draws an arrow, an end equal to the start a mark.
        note: The text after it.
        look: Its meaning.
        whole: The lifetime that the bar is a part of, or had before; pictures draw the rest of that lifetime pale.
        is_struck: True for a retracted row; pictures strike it through.
    """

    label: str
    start: int
    end: int
    note: str = ""
    look: Look = Look.EVENT
    whole: Lifetime | None = None
    is_struck: bool = False

    @property
    def is_mark(self) -> bool:
        """True for a place on the axis that lasts no time, such as a punctuation."""
        return self.start == self.end

    @property
    def is_open(self) -> bool:
        """True if it has no end."""
        return self.end == INFINITY

    @property
    def has_no_start(self) -> bool:
        """True for the global window, which starts before every event."""
        return self.start == EARLIEST


def span(bars: Sequence[Bar]) -> tuple[int, int]:
    """Return the first and the last tick of a ruler above bars.

    A bar without a start does not move the first tick, and one without an end not the last. The ruler reaches at least
    a tick past each start, so that a bar without an end is seen.
    """
    ends = [bar.end for bar in bars if not bar.is_open]
    starts = [bar.start for bar in bars if not bar.has_no_start] or [0]
    ticks_after_starts = [start + 1 for start in starts]
    return min(starts), max([*ends, *ticks_after_starts])


@dataclass(frozen=True)
class Drawing:
    """Bars and lines of text along one axis, from top to bottom; as text it is a `timeline`.

    Attributes:
        rows: Bars, and text between them. An empty text is a gap.
        title: The subject, in a few words.
        axis: `Axis.TIME` if ticks are microseconds; they are then shown as times of the day.
    """

    rows: Sequence[Bar | str]
    title: str = "a time line"
    axis: Axis = Axis.TICKS

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))

    def __str__(self) -> str:
        return timeline(self.rows, self.axis)


def spell_tick(tick: int, axis: Axis) -> str:
    """Return a tick as drawings show it: where the axis is time, the time of the day in UTC, or a date at midnight.

    A tick beyond the years of a calendar stays a number.

    Example:
        >>> spell_tick(30_600_000_000, Axis.TIME), spell_tick(0, Axis.TIME), spell_tick(7, Axis.TICKS)
        ('08:30', '1970-01-01', '7')
    """
    try:
        tick_moment = moment(tick) if axis is Axis.TIME else None
    except OverflowError:
        tick_moment = None
    if tick_moment is None:
        return str(tick)
    time = tick_moment.time().isoformat().removesuffix(":00")  # without seconds that are zero
    return tick_moment.date().isoformat() if time == "00:00" else time


def timeline(rows: Iterable[Bar | str], axis: Axis = Axis.TICKS) -> str:
    """Return lifetimes drawn below a ruler of ticks, `[` at each start and `)` at each end; text stays as it is.

    A column is one tick, or several if the drawing would get too wide.

    Example:
        >>> from muntin import INFINITY
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
    ruler = _Ruler.over(bars, axis)
    indent = max(len(bar.label) for bar in bars) + 2
    label_line = (" " * indent + ruler.labels()).rstrip()
    drawn_lines = [ruler.draw(row, indent) if isinstance(row, Bar) else row for row in lines]
    return "\n".join([label_line, *drawn_lines])


@dataclass(frozen=True, slots=True)
class _Ruler:
    """The scale of a drawing, from its first tick to its last.

    Attributes:
        low: The first tick.
        high: The last tick.
        scale: The number of ticks in a column.
        axis: The axis, which says how ticks are labelled.
    """

    low: int
    high: int
    scale: int
    axis: Axis

    @classmethod
    def over(cls, bars: Sequence[Bar], axis: Axis) -> _Ruler:
        """Return a ruler for bars, with the finest round scale on which they fit."""
        low, high = span(bars)
        # The length is divided by the columns and rounded up: by `//` of the negative, as `//` rounds down.
        scale = max(1, -(-(high - low) // _COLUMNS))
        if axis is Axis.TIME:
            # The last bar may be a point, whose single microsecond needs no column: hence the `- 1`.
            round_scales = [time_scale for time_scale in _TIMES if time_scale * _COLUMNS >= high - low - 1]
            if round_scales:  # empty if the bars are too long for the longest round scale
                scale = round_scales[0]
        return cls(low, high, scale, axis)

    def column(self, tick: int) -> int:
        """Return the column of a tick; the first column for ticks before the ruler."""
        return (max(tick, self.low) - self.low) // self.scale

    def labels(self) -> str:
        """Return the line above the bars: a label every ten columns, or at fewer places if labels would touch."""
        ticks_apart = _GAP * self.scale
        texts = [self._label(tick, ticks_apart) for tick in range(self.low, self.high + 1, ticks_apart)]
        longest = max(map(len, texts))
        every_nth = -(-(longest + 2) // _GAP)  # rounded up: two columns stay free between labels
        return "".join(text.ljust(every_nth * _GAP) for text in texts[::every_nth])

    def _label(self, tick: int, ticks_apart: int) -> str:
        """Return the label at a tick: the date where labels are whole days apart, and else its time or number.

        Args:
            tick: The tick.
            ticks_apart: The distance to the next label, in ticks.
        """
        if self.axis is Axis.TIME and ticks_apart % _DAY == 0:
            tick -= tick % _DAY  # midnight is spelled as a date
        return spell_tick(tick, self.axis)

    def draw(self, bar: Bar, indent: int) -> str:
        """Return the line of a bar: its label in `indent` columns, its shape below the ruler, and its note."""
        width = self.column(self.high) + 2
        body = " " * self.column(bar.start) + self._shape(bar)
        return f"{bar.label.ljust(indent)}{body.ljust(width)}  {bar.note}".rstrip()

    def _shape(self, bar: Bar) -> str:
        """Return the shape of a bar, such as `[---)`: at least its two ends, however short it is."""
        if bar.is_mark:
            return "!"
        end_column = self.column(self.high if bar.is_open else bar.end)
        between_ends = max(0, end_column - self.column(bar.start) - 1)
        end_sign = ">" if bar.is_open else ")"
        return "[" + "-" * between_ends + end_sign


def draw_windows(windows: Iterable[Window], events: Iterable[Event[object]] = ()) -> str:
    """Return windows as a drawing, with the events they were cut from above them.

    Example:
        >>> print(draw_windows([Window(0, 4), Window(4, 8)], [Event(1, 6, "a")]))
                0
        event    [----)     'a'
        window  [---)
        window      [---)
    """
    event_bars = [Bar("event", event.start, event.end, repr(event.payload)) for event in events]
    window_bars = [Bar("window", window.start, window.end, look=Look.WINDOW) for window in windows]
    return timeline([*event_bars, *window_bars])
