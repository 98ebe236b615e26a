"""Definitions of Muntin's kinds of windows, written down as their documentation has them, from the events alone.

They call none of the methods of the kinds, and only read their fields; the reference evaluator calls `cut` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple
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

_LEAP: Final = 30
"""The number of windows that are passed over at a time on the way to a date."""


def calendar_windows(kind: CalendarWindows, events: Sequence[Event[Any]], horizon: int) -> list[Window]:
    """Return the windows that share a tick with an event."""
    stretches: list[tuple[int, int]] = []
    for event in events:
        start, end = prolonged(kind, event)
        stretches.append((start, horizon if end == INFINITY else end))
    if not stretches:
        return []

    # All windows by the clock that may lie near the events, as instants.
    first = datetime.fromtimestamp(min(start for start, _ in stretches) / kind.second, UTC)
    last = datetime.fromtimestamp(max(end for _, end in stretches) / kind.second, UTC)
    margin = timedelta(days=31 * (kind.size + kind.hop)) + 2 * _FARTHEST
    readings = _clock_readings(kind, first.replace(tzinfo=None) - margin, last.replace(tzinfo=None) + margin)
    instants = {(_first_instant(kind.zone, opens), _first_instant(kind.zone, closes)) for opens, closes in readings}

    # Where a clock is set forward, windows may begin at one instant, or end at one. Then the longest is there alone.
    latest_end = dict(sorted(instants))  # of entries with one key the last stays
    earliest_start = {end: start for start, end in sorted(instants, reverse=True)}
    windows: list[Window] = []
    for opens, closes in sorted(instants):
        if opens < closes and latest_end[opens] == closes and earliest_start[closes] == opens:
            windows.append(Window(int(opens.timestamp()) * kind.second, int(closes.timestamp()) * kind.second))
    return [window for window in windows if _has_any(window, stretches)]


def _has_any(window: Window, stretches: Sequence[tuple[int, int]]) -> bool:
    return any(start < window.end and end > window.start for start, end in stretches)


def prolonged(kind: CalendarWindows | HoppingWindows, event: Event[Any]) -> tuple[int, int]:
    """Return the lifetime of an event, prolonged by the reach of the windows."""
    end = INFINITY if event.end == INFINITY else event.end + kind.reach
    return event.start, end


def _clock_readings(kind: CalendarWindows, first: datetime, last: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield what the clock shows where each window begins and where it ends, from one date to another.

    The windows are those that begin at the latest at the last date; the first of them begins no later than the first.
    """
    start = datetime.fromisoformat(kind.start)
    units = 0  # days or months from the start of the windows on
    while _units_later(kind, start, units) > first:
        units -= kind.hop
    for step in (_LEAP * kind.hop, kind.hop):
        while _units_later(kind, start, units + step) <= first:
            units += step

    while _units_later(kind, start, units) <= last:
        yield _units_later(kind, start, units), _units_later(kind, start, units + kind.size)
        units += kind.hop


def _units_later(kind: CalendarWindows, start: datetime, units: int) -> datetime:
    """Return the reading of the clock some days, or months, after a reading."""
    if kind.unit == "day":
        return start + timedelta(days=units)
    months = start.year * 12 + start.month - 1 + units
    return start.replace(year=months // 12, month=months % 12 + 1)


@lru_cache(maxsize=4096)
def _first_instant(zone: str, reading: datetime) -> datetime:
    """Return the first second at which a clock shows a reading, or a later one."""
    clock = UTC if zone == "UTC" else ZoneInfo(zone)

    def is_before(instant: datetime) -> bool:
        return instant.astimezone(clock).replace(tzinfo=None) < reading

    # From well before it on: forward by minutes, then back by seconds.
    instant = reading.replace(tzinfo=UTC) - _FARTHEST
    while is_before(instant):
        instant += _MINUTE
    while not is_before(instant - _SECOND):
        instant -= _SECOND
    return instant


Pairs = set[tuple[tuple[int, int], Window]]
"""Lifetimes of events, each with the extent of a window that the event is a member of."""


def pairs_defined(kind: WindowKind, events: Sequence[Event[Any]], horizon: int) -> Pairs:
    """Return each event with each of its windows, by the definition of one of Muntin's kinds."""
    definition = DEFINED[type(kind)]
    windows = definition.windows(kind, events, horizon)
    pairs: Pairs = set()
    for event in events:
        start, end = definition.stretch(kind, event)
        for window in windows:
            if start < end and start < window.end and end > window.start:
                pairs.add(((event.start, event.end), window))
    return pairs


def pairs_of(kind: WindowKind, events: Sequence[Event[Any]], horizon: int) -> Pairs:
    """Return each event with each of its windows, by the methods of a kind, as the reference evaluator calls them."""
    windows = reference.windows(kind, events, horizon)
    pairs: Pairs = set()
    for event in events:
        for window in windows:
            if reference.belongs(kind, event, window):
                pairs.add(((event.start, event.end), kind.extent(window)))
    return pairs


def _hopping(kind: HoppingWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows from the offset on, one for each hop, that share a tick with an event and its reach."""
    starts: set[int] = set()
    for event in events:
        end = horizon if event.end == INFINITY else event.end + kind.reach
        # Windows are numbered from the offset on: the first of the event ends after its start, the last one starts
        # before its end.
        first = (event.start - kind.size - kind.offset) // kind.hop + 1
        last = -((kind.offset - end) // kind.hop) - 1
        starts.update(number * kind.hop + kind.offset for number in range(first, last + 1))
    return [Window(start, start + kind.size) for start in sorted(starts)]


def _snapshots(kind: SnapshotWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows between neighbours among all starts and ends."""
    edges = sorted({event.start for event in events} | {event.end for event in events})
    return [Window(start, end) for start, end in pairwise(edges)]


def _counts(kind: CountWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows that span so many different starts, or ends, beginning with every so many of them."""
    times = sorted({event.start if kind.by == "start" else event.end for event in events} - {INFINITY})
    firsts_and_lasts = list(zip(times, times[kind.count - 1 :], strict=False))
    return [Window(first, last + 1) for first, last in firsts_and_lasts[:: kind.every]]


def _counted_tick(kind: CountWindows, event: Event[object]) -> tuple[int, int]:
    counted = event.start if kind.by == "start" else event.end
    return counted, min(counted + 1, INFINITY)


def _sessions(kind: SessionWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the sessions: an event is in the one before it if it starts within the gap after its last tick."""
    sessions: list[tuple[int, int]] = []  # the first and the last tick of each, without the gap
    for event in sorted(events, key=lambda event: event.start):
        first = event.start
        last = INFINITY if event.end == INFINITY else event.end - 1
        if sessions and first - sessions[-1][1] <= kind.gap:
            first, last_of_session = sessions.pop()
            last = max(last, last_of_session)
        sessions.append((first, last))
    return [Window(first, min(last + kind.gap, INFINITY)) for first, last in sessions]


def _lifetime_and_gap(kind: SessionWindows, event: Event[object]) -> tuple[int, int]:
    return event.start, min(event.end - 1 + kind.gap, INFINITY)


def _cumulating(kind: CumulateWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows from the start of a period to the end of each of its steps, as far as an event is in them.

    For an event without an end these are the windows whose last step begins before the horizon.
    """
    windows: set[Window] = set()
    for event in events:
        has_end = event.end < INFINITY
        last = event.end if has_end else horizon
        period = (event.start - kind.offset) // kind.size * kind.size + kind.offset
        while period < last:
            for end in range(period + kind.step, period + kind.size + 1, kind.step):
                if end > event.start and (has_end or end - kind.step < horizon):
                    windows.add(Window(period, end))
            period += kind.size
    return sorted(windows)


def _since_landmark(kind: LandmarkWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows that end after an event has started and whose last step begins before the horizon."""
    starts = [max(event.start, kind.since) for event in events if event.end > kind.since]
    if not starts:
        return []
    ends = range(kind.since + kind.step, horizon + kind.step, kind.step)
    return [Window(kind.since, end) for end in ends if end > min(starts)]


def _global(kind: GlobalWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the one window that has the whole axis."""
    return [Window(EARLIEST, INFINITY)]


def _trailing(kind: TrailingWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows of a length that end with a start, one for each, or for every so many."""
    starts = sorted({event.start for event in events})
    return [Window(start - kind.length + 1, start + 1) for start in starts[:: kind.every]]


def _as_it_lasts(kind: WindowKind, event: Event[object]) -> tuple[int, int]:
    return event.start, event.end


class Definition(NamedTuple):
    """The definition of a kind of windows.

    Attributes:
        windows: The function from the kind, the events and a horizon to all windows up to that.
        stretch: The function from the kind and an event to the stretch on which the event counts.
    """

    windows: Callable[[Any, Sequence[Event[Any]], int], list[Window]]
    stretch: Callable[[Any, Event[Any]], tuple[int, int]]


DEFINED: Final[Mapping[type[WindowKind], Definition]] = {
    HoppingWindows: Definition(_hopping, prolonged),
    SnapshotWindows: Definition(_snapshots, _as_it_lasts),
    CountWindows: Definition(_counts, _counted_tick),
    SessionWindows: Definition(_sessions, _lifetime_and_gap),
    CalendarWindows: Definition(calendar_windows, prolonged),
    CumulateWindows: Definition(_cumulating, _as_it_lasts),
    LandmarkWindows: Definition(_since_landmark, _as_it_lasts),
    GlobalWindows: Definition(_global, _as_it_lasts),
    TrailingWindows: Definition(_trailing, _as_it_lasts),
}
"""The definition of each of Muntin's kinds."""
