"""Windows of a timetable: a subclass says when they open and close by the clock on the wall of a time zone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final

from muntin.axis import EARLIEST, INFINITY, Axis, ticks
from muntin.errors import WindowError
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.stretches import Stretches
from muntin.windows.wall_clock import first_shown, shown_at, zone_named

_EPOCH: Final = datetime.fromisoformat("1970-01-01")
_SECOND: Final = timedelta(seconds=1)
_FIRST: Final = datetime.fromisoformat("0002-01-01")
_LAST: Final = datetime.fromisoformat("9998-01-01")
_NO_EVENTS: Final = Stretches()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledWindows(WindowKind):
    """Windows of a timetable, such as trading sessions, shifts or school terms. Subclass it as a frozen dataclass.

    A subclass defines `ending_after` and has its parameters as fields. Times are those that a clock on the wall shows,
    without a zone; the field `zone` says where the wall is. A time that the clock skips stands for the instant at which
    the clock is set forward, and a time that it shows twice for the first of the two. A window that has no length left
    is left out. Of several windows that would begin at the same instant only the last exists, and of several that would
    end at the same instant only the first.

    An event between two windows, or after the last window if there is one, is a member of no window. There is no window
    before the year 2, and none begins after 9997.

    Cost: `ending_after` is called for each event and once for each closed window of a key, and its iterator is read
    only as far as needed. It should begin near the time that it gets.

    Attributes:
        zone: The name of the time zone in the IANA database.
        second: The number of ticks in a second; a query sets it by the unit of its times.

    Example:
        Every noon, an hour:

        >>> @dataclass(frozen=True, slots=True)
        ... class Lunches(ScheduledWindows):
        ...     name, version, title = "demo.lunches", "1.0", "lunches"
        ...     def ending_after(self, shown):
        ...         noon = shown.replace(hour=12, minute=0, second=0)
        ...         while True:
        ...             yield noon, noon + timedelta(hours=1)
        ...             noon += timedelta(days=1)
        >>> berlin = Lunches(zone="Europe/Berlin", second=1)
        >>> list(berlin.cut(Stretches(), 0, 100_000))
        [Window(start=39600, end=43200)]
    """

    lengths: ClassVar[tuple[str, ...]] = ("second",)
    waits_for_events: ClassVar[bool] = False

    zone: str = "UTC"
    second: int = ticks("1 second")

    @abstractmethod
    def ending_after(self, shown: datetime) -> Iterable[tuple[datetime, datetime]]:
        """Yield the start and the end of each window that ends after a time, in order; earlier windows may come first.

        Each window starts and ends later than the previous one. There may be no last window.

        Args:
            shown: The time that the clock shows, to the second.
        """

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime; nothing for an event between two windows."""
        window = next(self.cut(_NO_EVENTS, start, end), None)
        return (start, start) if window is None else (start, end)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows of the timetable that share a tick with `[start, end)`."""
        # No window is at either end of the axis, for which a clock has no time.
        if start < end and start not in (EARLIEST, INFINITY):
            for window in self._windows_from(start):
                if window.start >= end:
                    return
                # The timetable of a subclass may begin with windows that have ended.
                if window.end > start:
                    yield window

    @property
    def time_zone(self) -> str:
        """The name of the zone."""
        return self.zone

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `window`, without the length of a second."""
        arguments = [f"{name}={self.spell_field(name, axis)}" for name in self._fields() if name != "second"]
        return f"window({', '.join([repr(self.name), *arguments])})"

    def _windows_from(self, tick: int) -> Iterator[Window]:
        """Yield the windows of the timetable from a tick on, in ticks; windows that ended earlier may come first."""
        zone = zone_named(self.zone)
        # The timetable begins with the first year that it has, also for earlier ticks.
        shown = max(shown_at(zone, tick // self.second), _seconds(_FIRST))
        if shown >= _seconds(_LAST):
            return

        # Where the clock is set forward, two of its times are the same instant. So a window is yielded only when the
        # next one is known to begin later: one that begins at the same instant takes its place.
        previous_times: tuple[datetime, datetime] | None = None
        candidate: Window | None = None
        for opens, closes in self.ending_after(_EPOCH + shown * _SECOND):
            _check_times(opens, closes, previous_times)
            if opens >= _LAST:
                break
            previous_times = (opens, closes)
            start = first_shown(zone, _seconds(opens)) * self.second
            end = first_shown(zone, _seconds(closes)) * self.second
            if start >= end:
                continue  # the clock skipped the whole window
            if candidate is not None and end <= candidate.end:
                continue  # of windows that end at the same instant, only the first exists
            if candidate is not None and start > candidate.start:
                yield candidate
            candidate = Window(start, end)
        if candidate is not None:
            yield candidate


def _seconds(shown: datetime) -> int:
    """Return the seconds since 1970-01-01 00:00 by the same clock."""
    return (shown - _EPOCH) // _SECOND


def _check_times(opens: datetime, closes: datetime, previous: tuple[datetime, datetime] | None) -> None:
    """Refuse times that cannot be the next window of a timetable.

    Args:
        opens: The start of the window.
        closes: The end of the window.
        previous: The start and the end of the window before; None for the first one.

    Raises:
        WindowError: A time has a zone or a part of a second, or the window is empty or out of order.
    """
    for time in (opens, closes):
        if time.tzinfo is not None or time.microsecond:
            raise WindowError(
                f"a timetable has {time.isoformat()}\n"
                "  expected: a time as a clock on the wall shows it, in whole seconds and without a zone; the field "
                "zone says where the wall is"
            )
    if opens >= closes:
        raise WindowError(f"a timetable has a window that ends at {closes} and starts at {opens}")
    if previous is not None and (opens <= previous[0] or closes <= previous[1]):
        raise WindowError(
            f"a timetable has a window from {opens} to {closes} after one from {previous[0]} to {previous[1]}\n"
            "  expected: windows in order, each of which starts and ends later than the one before"
        )
