"""The definition of calendar windows that the reference evaluator uses: dates, minutes and seconds one by one.

It shares nothing with `muntin.windows.calendar`: dates are counted with Python's, and the start of each is found by
looking at the clock every minute, and then every second: before zones were made, clocks differed by seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from muntin.axis import INFINITY
from muntin.events import Event
from muntin.windows import CalendarWindows
from muntin.windows.extent import Window

_MINUTE: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
_FARTHEST: Final = timedelta(hours=16)
"""No clock is farther from UTC."""

_MANY: Final = 30
"""Windows that are passed over at a time on the way to a date."""


def calendar_windows(kind: CalendarWindows, events: Sequence[Event[Any]], horizon: int) -> list[Window]:
    """Return the windows that share a tick with an event."""
    counted = [(start, horizon if end == INFINITY else end) for start, end in (prolonged(kind, e) for e in events)]
    if not counted:
        return []
    first, last = (
        datetime.fromtimestamp(tick / kind.second, UTC) for tick in (min(counted)[0], max(end for _, end in counted))
    )
    margin = timedelta(days=31 * (kind.size + kind.hop)) + 2 * _FARTHEST
    named = _named(kind, first.replace(tzinfo=None) - margin, last.replace(tzinfo=None) + margin)
    found = {(_begin(kind.zone, since), _begin(kind.zone, until)) for since, until in named}
    latest, earliest = dict(sorted(found)), {until: since for since, until in sorted(found, reverse=True)}
    windows = [
        Window(int(since.timestamp()) * kind.second, int(until.timestamp()) * kind.second)
        for since, until in sorted(found)
        # Of windows that begin at once the last to end is one, of those that end at once the first to begin.
        if since < until and latest[since] == until and earliest[until] == since
    ]
    return [window for window in windows if any(s < window.end and e > window.start for s, e in counted)]


def prolonged(kind: CalendarWindows, event: Event[Any]) -> tuple[int, int]:
    """Return the lifetime of an event with the reach of the windows."""
    return event.start, INFINITY if event.end == INFINITY else event.end + kind.reach


def _named(kind: CalendarWindows, first: datetime, last: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the readings of the clock where windows begin and end, from before a date to after one."""
    start = datetime.fromisoformat(kind.start)
    place = 0
    while _later(kind, start, place) > first:
        place -= kind.hop
    for hop in (_MANY * kind.hop, kind.hop):
        while _later(kind, start, place + hop) <= first:
            place += hop
    while _later(kind, start, place) <= last:
        yield _later(kind, start, place), _later(kind, start, place + kind.size)
        place += kind.hop


def _later(kind: CalendarWindows, start: datetime, units: int) -> datetime:
    if kind.unit == "day":
        return start + timedelta(days=units)
    months = start.year * 12 + start.month - 1 + units
    return start.replace(year=months // 12, month=months % 12 + 1)


@lru_cache(maxsize=4096)
def _begin(zone: str, shown: datetime) -> datetime:
    """Return the first second at which a clock shows a time, or a later one."""
    clock = UTC if zone == "UTC" else ZoneInfo(zone)

    def is_before(instant: datetime) -> bool:
        return instant.astimezone(clock).replace(tzinfo=None) < shown

    instant = shown.replace(tzinfo=UTC) - _FARTHEST
    while is_before(instant):
        instant += _MINUTE
    while not is_before(instant - _SECOND):
        instant -= _SECOND
    return instant
