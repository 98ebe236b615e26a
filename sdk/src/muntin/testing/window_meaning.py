"""The windows that exist, and their members: the definitions that the reference evaluator uses.

Muntin's own kinds are defined here once more, plainly and from the events as they are, so that the evaluators of the
engine are tested against code that they do not call. A plugin's kind is called, for all of its windows at once: it is
its own definition, and `WindowKindLaws` tests that its shortcuts agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from muntin.axis import EARLIEST, INFINITY
from muntin.events import Event
from muntin.testing.calendar_meaning import calendar_windows, prolonged
from muntin.windows import (
    CalendarWindows,
    CountWindows,
    CumulateWindows,
    GlobalWindows,
    HoppingWindows,
    LandmarkWindows,
    SessionWindows,
    SnapshotWindows,
    Stretches,
    TrailingWindows,
    WindowKind,
)
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class WindowMeaning:
    """The definition of a kind of windows.

    Attributes:
        windows: Returns every window that could have a member, in order, from the kind, the events and the horizon.
        counted: Returns the stretch on which an event counts.
        extent: Returns what modules see and results report of one of these windows; by default itself.
        closes_late: True if a window that ends at the watermark may still change.
        is_known_at_end: True if all that a window says becomes known at its last tick.
    """

    windows: Callable[[Any, Sequence[Event[Any]], int], list[Window]]
    counted: Callable[[Any, Event[Any]], tuple[int, int]]
    extent: Callable[[Any, Window], Window] = lambda _kind, window: window
    closes_late: bool = False
    is_known_at_end: bool = False


def meaning_of(kind: WindowKind) -> WindowMeaning:
    """Return the definition of a kind: one of those below, or what the kind says of itself."""
    return _DEFINED.get(type(kind)) or WindowMeaning(_asked, _membership, _extent, closes_late=kind.ends_move)


def members_defined(
    kind: WindowKind, lifetimes: Sequence[tuple[int, int]], horizon: int
) -> set[tuple[tuple[int, int], Window]] | None:
    """Return the pairs of an event and the extent of a window that it is in; None of a kind that is not defined here.

    Args:
        kind: The windows.
        lifetimes: The start and end of each event.
        horizon: As for the windows of a `WindowMeaning`.
    """
    meaning = _DEFINED.get(type(kind))
    if meaning is None:
        return None
    events = [Event(start, end, None) for start, end in lifetimes]
    counted = [(event, *meaning.counted(kind, event)) for event in events]
    return {
        ((event.start, event.end), window)
        for window in meaning.windows(kind, events, horizon)
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


def _prolonged(kind: HoppingWindows, event: Event[object]) -> tuple[int, int]:
    return event.start, INFINITY if event.end == INFINITY else event.end + kind.reach


def _snapshots(kind: SnapshotWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    del kind, horizon
    marks = sorted({event.start for event in events} | {event.end for event in events})
    return [Window(start, end) for start, end in pairwise(marks)]


def _counts(kind: CountWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    del horizon
    times = sorted({event.start if kind.by == "start" else event.end for event in events} - {INFINITY})
    pairs = list(zip(times, times[kind.count - 1 :], strict=False))[:: kind.every]
    return [Window(first, last + 1) for first, last in pairs]


def _counted_tick(kind: CountWindows, event: Event[object]) -> tuple[int, int]:
    counted = event.start if kind.by == "start" else event.end
    return counted, min(counted + 1, INFINITY)


def _sessions(kind: SessionWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    del horizon
    sessions: list[tuple[int, int]] = []
    for event in sorted(events, key=lambda event: event.start):
        first, last = event.start, INFINITY if event.end == INFINITY else event.end - 1
        if sessions and first - sessions[-1][1] <= kind.gap:
            first, latest = sessions.pop()
            last = max(last, latest)
        sessions.append((first, last))
    return [Window(first, min(last + kind.gap, INFINITY)) for first, last in sessions]


def _lifetime_and_gap(kind: SessionWindows, event: Event[object]) -> tuple[int, int]:
    return event.start, min(event.end - 1 + kind.gap, INFINITY)


def _asked(kind: WindowKind, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the whole cut of all stretches, none of them forgotten; up to the horizon where it would not end."""
    stretches = [(start, end) for start, end in (_membership(kind, event) for event in events) if start < end]
    if not stretches:
        return []
    ends = [end if end < INFINITY or kind.waits_for_events else horizon for _, end in stretches]
    return list(kind.cut(Stretches(stretches), min(start for start, _ in stretches), max(ends)))


def _extent(kind: WindowKind, window: Window) -> Window:
    return kind.extent(window)


def _cumulating(kind: CumulateWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows with an event; of one without an end, those whose last step begins before the horizon."""
    found: set[Window] = set()
    for event in events:
        end = horizon if event.end == INFINITY else event.end
        period = (event.start - kind.offset) // kind.size * kind.size + kind.offset
        while period < end:
            windows = [Window(period, period + length) for length in range(kind.step, kind.size + 1, kind.step)]
            last = horizon if event.end == INFINITY else INFINITY
            found.update(w for w in windows if w.end > event.start and w.end - kind.step < last)
            period += kind.size
    return sorted(found)


def _since_landmark(kind: LandmarkWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    """Return the windows that end after an event has started and whose last step begins before the horizon."""
    starts = [max(event.start, kind.since) for event in events if event.end > kind.since]
    ends = range(kind.since + kind.step, horizon + kind.step, kind.step) if starts else ()
    return [Window(kind.since, end) for end in ends if end > min(starts)]


def _global(kind: GlobalWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    del kind, events, horizon
    return [Window(EARLIEST, INFINITY)]


def _trailing(kind: TrailingWindows, events: Sequence[Event[object]], horizon: int) -> list[Window]:
    del horizon
    starts = sorted({event.start for event in events})
    return [Window(at - kind.length + 1, at + 1) for at in starts[kind.every - 1 :: kind.every]]


def _as_it_lasts(kind: WindowKind, event: Event[object]) -> tuple[int, int]:
    del kind
    return event.start, event.end


def _membership(kind: WindowKind, event: Event[object]) -> tuple[int, int]:
    return kind.membership(event.start, event.end)


_DEFINED: Final[Mapping[type[WindowKind], WindowMeaning]] = {
    HoppingWindows: WindowMeaning(_hopping, _prolonged),
    SnapshotWindows: WindowMeaning(_snapshots, _as_it_lasts, closes_late=True),
    CountWindows: WindowMeaning(_counts, _counted_tick, is_known_at_end=True),
    SessionWindows: WindowMeaning(_sessions, _lifetime_and_gap, closes_late=True),
    CalendarWindows: WindowMeaning(calendar_windows, prolonged),
    CumulateWindows: WindowMeaning(_cumulating, _as_it_lasts),
    LandmarkWindows: WindowMeaning(_since_landmark, _as_it_lasts),
    GlobalWindows: WindowMeaning(_global, _as_it_lasts),
    TrailingWindows: WindowMeaning(_trailing, _as_it_lasts),
}
