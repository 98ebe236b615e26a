"""Kinds of windows that users write: windows of events with even starts, and shifts with gaps, overlaps and an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from muntin import INFINITY, Window
from muntin.testing import Script
from muntin.windows import ScheduledWindows, Stretches, WindowKind
from tests.scenarios.calendars import SCALES, spread
from tests.scenarios.query import Query
from tests.scenarios.scenario import Scenario
from tests.scenarios.streams import lasting


@dataclass(frozen=True, slots=True)
class EvenStarts(WindowKind):
    """Windows of twelve ticks in which events count that start at even ticks; the others only prolong lives."""

    name = "test.even_starts"
    version = "1.0"
    title = "windows of even starts"
    waits_for_events = False

    def membership(self, start: int, end: int) -> tuple[int, int]:
        if start % 2:
            return start, start  # such an event is in no window
        return start, end

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        first = start // 12 * 12
        for tick in range(first, end, 12):
            yield Window(tick, tick + 12)


@dataclass(frozen=True, slots=True)
class LateSessions(WindowKind):
    """Stretches that events cover together, each from the tick after its start: an event of one tick covers nothing."""

    name = "test.late_sessions"
    version = "1.0"
    title = "sessions from the second tick"
    ends_move = True

    def membership(self, start: int, end: int) -> tuple[int, int]:
        return start + 1, max(start + 1, end)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        for session_start, session_end in stretches.covered:
            if session_start < end and start < session_end:
                yield Window(session_start, session_end)

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        return start - 1, min(end + 1, INFINITY)


@dataclass(frozen=True, slots=True)
class Shifts(ScheduledWindows):
    """A plan that is data: the seconds at which shifts start and end."""

    name = "test.shifts"
    version = "1.0"
    title = "shifts"

    plan: tuple[tuple[int, int], ...]

    def ending_after(self, shown: datetime) -> Iterator[tuple[datetime, datetime]]:
        epoch = datetime.fromisoformat("1970-01-01")
        for start, end in self.plan:
            yield epoch + timedelta(seconds=start), epoch + timedelta(seconds=end)


CUSTOM_KINDS: Final[dict[str, WindowKind]] = {
    "even starts": EvenStarts(),
    "late sessions": LateSessions(),
    "a plan that ends": Shifts(((-9, 3), (3, 8), (12, 20), (15, 24), (30, 41)), second=1),
    "a plan that starts late": Shifts(((20, 21), (21, 41)), second=1),
}


def spread_over_calendar(scenario: Scenario) -> Scenario:
    """Return a scenario over a calendar with its streams spread over days or months; others as they are."""
    for window, origin, seconds in SCALES.values():
        if isinstance(scenario.query, Query) and scenario.query.first == window:
            streams = tuple(spread(stream, origin, seconds) for stream in scenario.scripts)
            if scenario.query.lifetimes in ("points", "retracted"):
                streams = tuple(Script(tuple(lasting(stream.steps, 1))) for stream in streams)
            return replace(scenario, streams=streams)
    return scenario
