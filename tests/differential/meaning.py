"""What the reference evaluator says of a stream that is under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from muntin import EARLIEST, INFINITY, Event, OutputContract, TimestampPolicy, Window
from muntin.testing import reference
from muntin.testing.window_meaning import lives_of
from muntin.windows import (
    CalendarWindows,
    CountWindows,
    CumulateWindows,
    GlobalWindows,
    HoppingWindows,
    LandmarkWindows,
    TrailingWindows,
)
from muntin_engine.core.changes import Progress
from muntin_engine.testing.meaning import live_output
from tests.differential.cases import Case, Described

Row = tuple[Window, int, int, Hashable]
Table = dict[Hashable, Counter[Row]]
Histories = Mapping[Hashable, Sequence[Event[Any]]]


def expected_table(case: Described, histories: Histories, now: Progress) -> Table:
    """Return the rows that must stand, by key."""
    table = {key: bag(expected(case, events, now)) for key, events in histories.items()}
    return {key: rows for key, rows in table.items() if rows}


def expected(case: Described, events: Sequence[Event[Any]], now: Progress) -> list[reference.OutputEvent]:
    """Return the output that must stand for a key."""
    return live_output(case.reference, case.emit, events, now)


def least_promise(case: Case, histories: Histories, now: Progress) -> int:
    """Return the output watermark that must be reached: what may still be put out starts there or later."""
    watermark = now.watermark
    is_time_bound = case.contract is OutputContract.TIME_BOUND or case.timestamps is TimestampPolicy.TIME_BOUND
    if watermark in (EARLIEST, INFINITY) or is_time_bound:
        return watermark
    if case.contract is OutputContract.UNRESTRICTED and case.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    is_point = case.timestamps is TimestampPolicy.POINT_AT_END
    window = case.reference.window
    key_watermark = watermark
    if isinstance(window, HoppingWindows):
        places = (watermark - window.offset - window.size) // window.hop + 1
        key_watermark = places * window.hop + window.offset + (window.size if is_point else 0)
    elif isinstance(window, CountWindows) and is_point:
        key_watermark = watermark + 1
    elif isinstance(window, CumulateWindows):
        least = watermark - window.offset
        step, size = (least // length * length + window.offset for length in (window.step, window.size))
        key_watermark = step + window.step if is_point else size
    elif isinstance(window, LandmarkWindows):
        steps = max(0, (watermark - window.since) // window.step)
        key_watermark = window.since + (steps + 1) * window.step if is_point else window.since
    elif isinstance(window, TrailingWindows):
        key_watermark = watermark + 1 if is_point else watermark - window.length + 1
    elif isinstance(window, GlobalWindows):
        key_watermark = INFINITY if is_point else EARLIEST
    elif isinstance(window, CalendarWindows):
        days = (window.size + window.hop + 2) * (1 if window.unit == "day" else 31)
        later = reference.windows(window, [Event(watermark, INFINITY, None)], watermark + days * 86_400)
        key_watermark = later[0].end if is_point else later[0].start
    for events in histories.values():
        for start, end in _unsettled(case, events, now):
            key_watermark = min(key_watermark, end if is_point else start)
    return key_watermark


def _unsettled(case: Case, events: Sequence[Event[Any]], now: Progress) -> Iterable[tuple[int, int]]:
    """Return the extents of the windows that may still change; for count windows, also of those still to come."""
    query = case.reference
    for life, window, members in reference.windows_with_members(query, events, now.horizon):
        if now.watermark < life.end and not reference.is_closed(query, window, members, now.watermark):
            yield window.start, window.end
    lives = lives_of(events, query.forget_keys_after) if isinstance(query.window, CountWindows) else []
    for life in lives:
        assert isinstance(query.window, CountWindows)
        counted = {event.start if query.window.by == "start" else event.end for event in life.events} - {INFINITY}
        places = range(0, len(counted) if now.watermark < life.end else 0, query.window.every)
        waiting = [place for place in places if place > len(counted) - query.window.count]
        yield from ((sorted(counted)[place], INFINITY) for place in waiting)


def bag(output: Iterable[reference.OutputEvent]) -> Counter[Row]:
    return Counter((row.window, row.start, row.end, row.value) for row in output)
