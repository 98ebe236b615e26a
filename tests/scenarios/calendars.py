"""Calendar windows for random streams: a tick is a second, and a step of a stream some hours or days."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from muntin import EARLIEST, INFINITY, Event
from muntin.changes import Insertion, Punctuation, Revision
from muntin.testing.batches import KeyedChange, KeyPunctuation, Step
from muntin.testing.scripts import Script
from muntin.windows import CalendarWindows, WindowKind

HOUR = 3_600


class Scale(NamedTuple):
    """Calendar windows, and how random streams are spread over the calendar.

    Attributes:
        window: The windows.
        origin: The date of tick 0.
        seconds: How many seconds a tick is.
    """

    window: CalendarWindows
    origin: str
    seconds: int


SCALES: dict[str, Scale] = {
    "days": Scale(CalendarWindows(1, 1, "day", "Europe/Berlin", "2024-03-20", second=1), "2024-03-31", 5 * HOUR),
    "days without midnight": Scale(
        CalendarWindows(1, 1, "day", "America/Sao_Paulo", "2018-10-20", second=1),
        "2018-11-04",
        6 * HOUR,
    ),
    "a day that was skipped": Scale(
        CalendarWindows(3, 1, "day", "Pacific/Apia", "2011-12-20 06:00", second=1),
        "2011-12-30",
        9 * HOUR,
    ),
    "every other day": Scale(
        CalendarWindows(1, 2, "day", "Africa/Cairo", "2024-10-20", reach=20 * HOUR, second=1),
        "2024-10-31",
        7 * HOUR,
    ),
    "months": Scale(
        CalendarWindows(2, 1, "month", "America/New_York", "2024-01-15", second=1), "2024-03-10", 100 * HOUR
    ),
}
"""Calendar windows for all evaluators."""

SLICED: dict[str, Scale] = {
    "days, forward": Scale(CalendarWindows(1, 1, "day", "Europe/Berlin", second=1), "2024-03-31", 5 * HOUR),
    "days, back": Scale(CalendarWindows(1, 1, "day", "America/New_York", second=1), "2024-11-03", 5 * HOUR),
    "days without midnight": Scale(CalendarWindows(1, 1, "day", "America/Sao_Paulo", second=1), "2018-11-04", 6 * HOUR),
    "days, half an hour": Scale(CalendarWindows(1, 1, "day", "Australia/Lord_Howe", second=1), "2024-04-07", 3 * HOUR),
    "days, a quarter": Scale(CalendarWindows(1, 1, "day", "Asia/Kathmandu", second=1), "1986-01-01", 4 * HOUR),
    "a day that was skipped": Scale(CalendarWindows(1, 1, "day", "Pacific/Apia", second=1), "2011-12-30", 4 * HOUR),
    "a day shown twice, in seconds": Scale(
        CalendarWindows(1, 1, "day", "America/Juneau", "1970-01-01 02:30", second=1),
        "1867-10-18",
        4 * HOUR,
    ),
    "weeks with a day less": Scale(CalendarWindows(7, 7, "day", "Pacific/Apia", second=1), "2011-12-30", 30 * HOUR),
    "three days, by day": Scale(
        CalendarWindows(3, 1, "day", "Pacific/Apia", "2011-12-20 06:00", second=1),
        "2011-12-30",
        9 * HOUR,
    ),
    "three days, by two": Scale(CalendarWindows(3, 2, "day", "America/New_York", second=1), "2024-03-10", 9 * HOUR),
    "every other day": Scale(
        CalendarWindows(1, 2, "day", "Africa/Cairo", "2024-10-20", second=1), "2024-10-31", 7 * HOUR
    ),
    "ten days, by week": Scale(CalendarWindows(10, 7, "day", "Europe/Berlin", second=1), "2024-10-27", 20 * HOUR),
    "weeks": Scale(CalendarWindows(7, 7, "day", "Europe/Berlin", "1970-01-04", second=1), "2024-10-27", 20 * HOUR),
    "months": Scale(
        CalendarWindows(2, 1, "month", "America/New_York", "2024-01-15", second=1), "2024-03-10", 100 * HOUR
    ),
    "quarters": Scale(CalendarWindows(3, 3, "month", second=1), "2024-01-01", 200 * HOUR),
    "years": Scale(CalendarWindows(12, 12, "month", "Europe/London", "1970-04-01", second=1), "2020-01-01", 900 * HOUR),
}
"""Calendar windows for evaluation over slices, which have no reach."""

LASTING = [name for name in SLICED if name != "a day that was skipped"]
"""The windows of `SLICED` that also suit events that last: ranges of the others have an empty window."""

CALENDARS: dict[str, WindowKind] = {name: scale.window for name, scale in SCALES.items()}


def spread(stream: Script, origin: str, scale: int) -> Script:
    """Return a stream with its tick 0 at a date, and so many seconds for each of its ticks."""
    first = int(datetime.fromisoformat(origin).replace(tzinfo=UTC).timestamp())

    def moved(tick: int) -> int:
        return tick if tick in (EARLIEST, INFINITY) else first + tick * scale

    def step_moved(step: Step) -> Step:
        if isinstance(step, Punctuation):
            return Punctuation(moved(step.time))
        if isinstance(step, KeyPunctuation):
            return KeyPunctuation(step.key, moved(step.time))
        return KeyedChange(step.key, change_moved(step.change)) if isinstance(step, KeyedChange) else step

    def change_moved(change: Insertion[Any] | Revision[Any]) -> Insertion[Any] | Revision[Any]:
        event = Event(moved(change.event.start), moved(change.event.end), change.event.payload)
        if isinstance(change, Insertion):
            return Insertion(change.id, event)
        return Revision(change.id, event, moved(change.new_end))

    return Script(tuple(map(step_moved, stream.steps)))
