"""Muntin's own windows as their definitions say, word for word, from the events alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final
from zoneinfo import ZoneInfo

from muntin.axis import EARLIEST, INFINITY
from muntin.events import Event
from muntin.testing import reference
from muntin.windows import (
    CalendarWindows,
    CountWindows,
    CumulateWindows,
    GlobalWindows,
    HoppingWindows,
    LandmarkWindows,
    SessionWindows,
    SnapshotWindows,
    TrailingWindows,
    WindowKind,
)
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
    shown_bounds = {(_begin(kind.zone, since), _begin(kind.zone, until)) for since, until in named}
    latest = dict(sorted(shown_bounds))
    earliest = {until: since for since, until in sorted(shown_bounds, reverse=True)}
    windows = [
        Window(int(since.timestamp()) * kind.second, int(until.timestamp()) * kind.second)
        for since, until in sorted(shown_bounds)
        # Of windows that begin at once the last to end is one, of those that end at once the first to begin.
        if since < until and latest[since] == until and earliest[until] == since
    ]
    return [window for window in windows if any(s < window.end and e > window.start for s, e in counted)]


def prolonged(kind: CalendarWindows | HoppingWindows, event: Event[Any]) -> tuple[int, int]:
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


Pairs = set[tuple[tuple[int, int], Window]]
"""Lifetimes of events, each with the extent of a window that it is in."""


def pairs_defined(kind: WindowKind, events: Sequence[Event[Any]], horizon: int) -> Pairs:
    """Return which events are in which windows, by the definition of one of Muntin's kinds."""
    windows, stretch = DEFINED[type(kind)]
    counted = [(event, *stretch(kind, event)) for event in events]
    return {
        ((event.start, event.end), window)
        for window in windows(kind, events, horizon)
        for event, since, until in counted
        if since < until and since < window.end and until > window.start
    }


def pairs_of(kind: WindowKind, events: Sequence[Event[Any]], horizon: int) -> Pairs:
    """Return which events are in which windows, by what a kind says and the reference evaluator makes of it."""
    counted = [(event, *kind.membership(event.start, event.end)) for event in events]
    return {
        ((event.start, event.end), kind.extent(window))
        for window in reference.windows(kind, events, horizon)
        for event, since, until in counted
        if since < until and since < window.end and until > window.start
    }


def _hopping(kind: HoppingWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    starts: set[int] = set()
    for event in events:
        end = horizon if event.end == INFINITY else event.end + kind.reach
        first = (event.start - kind.size - kind.offset) // kind.hop + 1
        last = -((kind.offset - end) // kind.hop) - 1
        starts.update(place * kind.hop + kind.offset for place in range(first, last + 1))
    return [Window(start, start + kind.size) for start in sorted(starts)]


def _snapshots(kind: SnapshotWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    marks = sorted({event.start for event in events} | {event.end for event in events})
    return [Window(start, end) for start, end in pairwise(marks)]


def _counts(kind: CountWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    times = sorted({event.start if kind.by == "start" else event.end for event in events} - {INFINITY})
    pairs = list(zip(times, times[kind.count - 1 :], strict=False))[:: kind.every]
    return [Window(first, last + 1) for first, last in pairs]


def _counted_tick(kind: CountWindows, event: Event[object]) -> tuple[int, int]:
    counted = event.start if kind.by == "start" else event.end
    return counted, min(counted + 1, INFINITY)


def _sessions(kind: SessionWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    sessions: list[tuple[int, int]] = []
    for event in sorted(events, key=lambda event: event.start):
        first = event.start
        last = INFINITY if event.end == INFINITY else event.end - 1
        if sessions and first - sessions[-1][1] <= kind.gap:
            first, latest = sessions.pop()
            last = max(last, latest)
        sessions.append((first, last))
    return [Window(first, min(last + kind.gap, INFINITY)) for first, last in sessions]


def _lifetime_and_gap(kind: SessionWindows, event: Event[object]) -> tuple[int, int]:
    return event.start, min(event.end - 1 + kind.gap, INFINITY)


def _cumulating(kind: CumulateWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows with an event; of one without an end, those whose last step begins before the horizon."""
    windows_found: set[Window] = set()
    for event in events:
        end = horizon if event.end == INFINITY else event.end
        period = (event.start - kind.offset) // kind.size * kind.size + kind.offset
        while period < end:
            windows = [Window(period, period + length) for length in range(kind.step, kind.size + 1, kind.step)]
            last = horizon if event.end == INFINITY else INFINITY
            windows_found.update(w for w in windows if w.end > event.start and w.end - kind.step < last)
            period += kind.size
    return sorted(windows_found)


def _since_landmark(kind: LandmarkWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows that end after an event has started and whose last step begins before the horizon."""
    starts = [max(event.start, kind.since) for event in events if event.end > kind.since]
    ends = range(kind.since + kind.step, horizon + kind.step, kind.step) if starts else ()
    return [Window(kind.since, end) for end in ends if end > min(starts)]


def _global(kind: GlobalWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    return [Window(EARLIEST, INFINITY)]


def _trailing(kind: TrailingWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    starts = sorted({event.start for event in events})
    return [Window(at - kind.length + 1, at + 1) for at in starts[:: kind.every]]


def _as_it_lasts(kind: WindowKind, event: Event[object]) -> tuple[int, int]:
    return event.start, event.end


DEFINED: Final[Mapping[type[WindowKind], tuple[Callable[..., list[Window]], Callable[..., tuple[int, int]]]]] = {
    HoppingWindows: (_hopping, prolonged),
    SnapshotWindows: (_snapshots, _as_it_lasts),
    CountWindows: (_counts, _counted_tick),
    SessionWindows: (_sessions, _lifetime_and_gap),
    CalendarWindows: (calendar_windows, prolonged),
    CumulateWindows: (_cumulating, _as_it_lasts),
    LandmarkWindows: (_since_landmark, _as_it_lasts),
    GlobalWindows: (_global, _as_it_lasts),
    TrailingWindows: (_trailing, _as_it_lasts),
}
"""The windows of some events up to a horizon, and the stretch on which an event counts, of each kind."""
