"""Faster assigners for some kinds of windows: grids, which no event changes, and cuts by the times of events.

They make the same windows as the general one, and tests run both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import Any, Final

from sortedcontainers import SortedList

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import CountWindows, HoppingWindows, SnapshotWindows, WindowKind
from muntin_engine.evaluators.general.assigner import Assigner, FirstOpen, GeneralAssigner
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent, by_since, by_until
from muntin_engine.plan.evaluator_query import EvaluatorQuery

_FEW_WINDOWS: Final = 4
"""The most windows per event that are listed whether or not they have members; of more, those with members alone."""


class GridAssigner(Assigner):
    """Windows of one size at every multiple of a hop.

    Cost: arithmetic alone; listing windows takes time for each window listed, never for the gaps between events.

    Attributes:
        has_gaps: True if an event may lie between two windows.
    """

    closes_in_order = True

    def __init__(self, specification: HoppingWindows) -> None:
        """Cut windows of a size at every hop."""
        self._size = specification.size
        self._hop = specification.hop
        self._reach = specification.reach
        self.has_gaps = specification.hop > specification.size
        self._start_ending_after = specification.next_start  # the start of the first window that ends after a tick

    def copy(self) -> GridAssigner:
        """Return another assigner of the same windows, with the same frontier: each key has one.

        The specification is not read again, as each key that a batch touches needs a copy.
        """
        assigner = object.__new__(GridAssigner)
        assigner.__dict__.update(self.__dict__)
        return assigner

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, extended by the reach; an empty stretch for an event between two windows."""
        until = end if end == INFINITY else end + self._reach
        if self.has_gaps and self._start_ending_after(start) >= until:
            return start, start
        return start, until

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the lifetimes themselves, unless there are gaps between windows, or a reach."""
        if self.has_gaps or self._reach:
            return super().memberships(starts, ends)
        return starts, ends

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the windows over a stretch."""
        first = max(self._start_ending_after(start), self.frontier)
        starts = range(first, min(end, self._stop(limit)), self._hop)
        size = self._size
        return [Window(window_start, window_start + size) for window_start in starts]

    def over(self, stretches: Iterable[tuple[int, int]], limit: int) -> list[Window]:
        """Return the windows over stretches, each once."""
        next_new_start = self.frontier  # a window that starts before it is in `starts` already, or closed
        stop = self._stop(limit)
        starts: list[int] = []
        for stretch_start, stretch_end in stretches:
            first = max(self._start_ending_after(stretch_start), next_new_start)
            starts += range(first, min(stretch_end, stop), self._hop)
            if starts:
                next_new_start = starts[-1] + self._hop
        size = self._size
        return [Window(start, start + size) for start in starts]

    def newly_visible(self, events: EventIndex, ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows of all events that end after `ends_after`, and at `limit` or before.

        Cost: a constant if no window ends there, as in most batches of a long window; otherwise one walk over the
        events that end after the first such window starts.
        """
        first = max(self._start_ending_after(ends_after), self.frontier)
        if first >= self._stop(limit):
            return []
        members = [event for event in events.until_after(first) if event.since < limit]
        return self.ending(members, ends_after, limit, horizon)

    def ending(self, events: Sequence[StoredEvent], ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows over events that end after `ends_after` and at `limit` or before, in order, each once.

        It is the windows that end there. Some of them may be without members.
        """
        if not events:
            return []
        earliest = min(map(by_since, events))
        first_start = max(self._start_ending_after(max(ends_after, earliest)), self.frontier)
        last_end = max(map(by_until, events))
        if last_end == INFINITY:  # an event without an end counts up to the horizon
            last_end = max([horizon, *[event.until for event in events if event.until < INFINITY]])
        stop = min(last_end, self._stop(limit))

        # All windows from the first event to the last one are listed, some without members. If there are too many of
        # them, they are listed event by event, and none is without members.
        starts: Iterable[int] = range(first_start, stop, self._hop)
        if (stop - first_start) // self._hop > _FEW_WINDOWS * len(events):
            starts = self._starts(events, first_start, self._stop(limit), horizon)
        size = self._size
        return [Window(start, start + size) for start in starts]

    def close(self, limit: int) -> None:
        """Move the frontier to the start of the first window that ends after the limit."""
        self.frontier = max(self.frontier, self._start_ending_after(limit))

    def first_open(self, earliest: int) -> FirstOpen:
        """Return the start and the end of the first window at or after the frontier with a member."""
        start = max(self._start_ending_after(earliest), self.frontier)
        return FirstOpen(start, min(start + self._size, INFINITY))

    def next_end(self, events: EventIndex, tick: int) -> int:
        """Return the smallest end after a tick among the windows of the events."""
        first_start = max(self._start_ending_after(tick), self.frontier)
        # An event whose membership ends at the first start or before it is in none of these windows.
        earliest = events.earliest(first_start)
        if earliest == INFINITY:
            return INFINITY
        return max(self._start_ending_after(earliest), first_start) + self._size

    def next_horizon(self, horizon: int) -> int:
        """Return the tick after the first start at the horizon or later."""
        # A window starts at the horizon or later if it ends at least a size after the horizon.
        return self._start_ending_after(horizon + self._size - 1) + 1

    def start_after(self, watermark: int) -> int:
        """Return the start of the first window that ends after the watermark."""
        return self._start_ending_after(watermark)

    def end_after(self, watermark: int) -> int:
        """Return the end of the first window that ends after the watermark."""
        return self._start_ending_after(watermark) + self._size

    def _starts(self, events: Sequence[StoredEvent], first: int, stop: int, horizon: int) -> list[int]:
        """Return the starts in `[first, stop)` of the windows that have one of the events as a member, in order."""
        starts: list[int] = []
        next_new_start = first  # all windows before it are listed already, or start before `first`
        for event in sorted(events, key=by_since):
            next_new_start = max(self._start_ending_after(event.since), next_new_start)
            until = horizon if event.until == INFINITY else event.until
            starts += range(next_new_start, min(until, stop), self._hop)
            if starts:
                next_new_start = max(next_new_start, starts[-1] + self._hop)
        return starts

    def _stop(self, limit: int) -> int:
        """Return a tick after the start of every window that ends at the limit or before."""
        return INFINITY if limit == INFINITY else limit - self._size + 1


_FEW_TICKS: Final = 32
"""The most ticks that are put into their places one by one; more of them together."""


class Marks:
    """A sorted multiset of ticks.

    Cost: adding, removing and finding a tick is logarithmic, and hardly more with many distinct ticks than with few.
    """

    def __init__(self) -> None:
        """Hold no ticks."""
        self._ticks: SortedList[int] = SortedList()
        self._repeats: dict[int, int] = {}  # the number of times that a tick counts beyond the first

    def __len__(self) -> int:
        return len(self._ticks)

    def add(self, ticks: Iterable[int]) -> None:
        """Count each tick once more."""
        new_ticks = list(ticks)
        if len(new_ticks) > _FEW_TICKS or not self._ticks:
            self._add_many(new_ticks)
            return
        present_ticks = self._ticks
        repeats = self._repeats
        for tick in new_ticks:
            if tick in present_ticks:
                repeats[tick] = repeats.get(tick, 0) + 1
            else:
                present_ticks.add(tick)

    def _add_many(self, ticks: Sequence[int]) -> None:
        """Count each tick once more, putting all new ticks into their places together."""
        present_ticks = self._ticks
        repeats = self._repeats
        counts = Counter(ticks)
        repeated_ticks = [tick for tick in counts if tick in present_ticks] if present_ticks else []
        for tick in repeated_ticks:
            repeats[tick] = repeats.get(tick, 0) + counts.pop(tick)
        present_ticks.update(counts)
        if len(counts) < len(ticks):  # some tick is there more than once
            repeats.update((tick, count - 1) for tick, count in counts.items() if count > 1)

    def remove(self, ticks: Iterable[int]) -> None:
        """Count each tick once less."""
        repeats = self._repeats
        for tick in ticks:
            repeat_count = repeats.pop(tick, 0)
            if repeat_count > 1:
                repeats[tick] = repeat_count - 1
            elif repeat_count == 0:  # with one repeat, the tick stays and has none now
                self._ticks.remove(tick)

    def place(self, tick: int) -> int:
        """Return the place of a tick in order, be it there or not: the number of distinct ticks before it."""
        return self._ticks.bisect_left(tick)

    def at(self, place: int) -> int:
        """Return the tick at a place in order; `INFINITY` after the last one."""
        return self._ticks[place] if place < len(self._ticks) else INFINITY

    def all(self) -> Sequence[int]:
        """Return the distinct ticks."""
        return self._ticks

    def between(self, start: int, end: int) -> list[int]:
        """Return the distinct ticks in `[start, end)`."""
        return list(self._ticks.irange(start, end, (True, False)))


class SnapshotAssigner(Assigner):
    """Cuts windows between neighbouring endpoints. The frontier stays a boundary when the events that made it are gone.

    Cost: as `Marks`, plus the windows returned.
    """

    closes_in_order = True

    def __init__(self, specification: SnapshotWindows) -> None:
        """Cut snapshots: they have no parameters."""
        del specification
        self._marks = Marks()

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event: its lifetime."""
        return start, end

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Count both endpoints of each event that is a member."""
        self._marks.add(tick for event in events if event.is_member for tick in (event.start, event.end))

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Stop counting the endpoints of events."""
        self._marks.remove(tick for event in events if event.is_member for tick in (event.start, event.end))

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the snapshots over a stretch."""
        # From the last endpoint at the start of the stretch or before it, to the first at its end or after it.
        first_place = self._marks.place(start + 1) - 1
        first = self._marks.at(first_place) if first_place >= 0 else start
        last = self._marks.at(self._marks.place(end))
        snapshots = self._snapshots(max(first, self.frontier), min(last, limit))
        return [window for window in snapshots if window.end > start and window.start < end]

    def ending(self, events: Sequence[StoredEvent], ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the open snapshots that end after `ends_after`, and at the limit or before, whatever the events are.

        The endpoints of all events of the key are known: so the events are not needed to find the snapshots.
        """
        place = self._marks.place(ends_after + 1) - 1
        first = self._marks.at(place) if place >= 0 else EARLIEST
        return self._snapshots(max(first, self.frontier), limit)

    def newly_visible(self, events: EventIndex, ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the snapshots of `ending`, which needs no events."""
        return self.ending((), ends_after, limit, horizon)

    def close(self, limit: int) -> None:
        """Move the frontier to the last endpoint at the limit or before."""
        if limit == INFINITY:  # the input has ended: no snapshot comes any more
            self.frontier = INFINITY
            return
        place = self._marks.place(limit + 1) - 1
        if place >= 0:  # there is such an endpoint
            self.frontier = max(self.frontier, self._marks.at(place))

    def first_open(self, earliest: int) -> FirstOpen:
        """Return the start and the end of the first snapshot at or after the frontier with a member."""
        start = max(self.frontier, earliest)
        return FirstOpen(start, self._marks.at(self._marks.place(start + 1)))

    def next_end(self, events: EventIndex, tick: int) -> int:
        """Return the next endpoint."""
        return self._marks.at(self._marks.place(tick + 1))

    def _snapshots(self, first: int, last: int) -> list[Window]:
        """Return the snapshots between two ticks. The first tick is an endpoint, the frontier, or before all endpoints.

        The frontier was an endpoint, and is still a boundary if the events that ended or started there are gone.
        """
        boundaries = self._marks.between(first, last + 1)
        begins_at_frontier = first == self.frontier and first != EARLIEST
        if begins_at_frontier and boundaries[:1] != [first]:
            boundaries.insert(0, first)
        return [Window(start, end) for start, end in pairwise(boundaries)]


class CountAssigner(Assigner):
    """Cuts windows over n distinct times. Membership is the one tick that is counted.

    A window may close before an earlier one. The times that only closed windows count are then dropped, and the next
    time that is kept becomes a *break*: no window reaches across it, since every window that did is closed.

    Cost: as `Marks`, plus the windows returned.
    """

    def __init__(self, specification: CountWindows) -> None:
        """Cut windows over a number of times."""
        self._count = specification.count
        self._counts_starts = specification.by == "start"
        self._marks = Marks()
        self._breaks: list[int] = []

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the membership of an event: the one tick that is counted, or none if the event has no end to count."""
        counted = start if self._counts_starts else end
        if counted == INFINITY:
            return counted, counted
        return counted, counted + 1

    def add(self, events: Iterable[StoredEvent]) -> None:
        """Count the time of each event that is a member."""
        self._marks.add(event.since for event in events if event.is_member)

    def remove(self, events: Iterable[StoredEvent]) -> None:
        """Stop counting the times of events."""
        self._marks.remove(event.since for event in events if event.is_member)

    def overlapping(self, start: int, end: int, limit: int) -> list[Window]:
        """Return the windows with a counted time in a stretch."""
        # A window that has a time begins at that time, or at one of the `count - 1` times before it. Its last time has
        # to lie before the limit.
        first = self._marks.place(start) - self._count + 1
        stop = min(self._marks.place(end), self._marks.place(limit) - self._count + 1)
        return list(self._windows(first, stop))

    def ending(self, events: Sequence[StoredEvent], ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows that end after `ends_after`, and at the limit or before.

        The counted times say which these are; events and horizon do not matter.
        """
        # A window ends right after its last time: so that time lies in `[ends_after, limit)`. `place` counts the times
        # before a tick.
        first = self._marks.place(ends_after) - self._count + 1
        stop = self._marks.place(limit) - self._count + 1
        return list(self._windows(first, stop))

    def newly_visible(self, events: EventIndex, ends_after: int, limit: int, horizon: int) -> list[Window]:
        """Return the windows of `ending`, which needs no events."""
        return self.ending((), ends_after, limit, horizon)

    def close(self, limit: int) -> None:
        """Move the frontier to the first time whose window is not complete before the limit."""
        # The last `count - 1` times before the limit begin windows that need later times too.
        place = max(self._marks.place(self.frontier), self._marks.place(limit) - self._count + 1)
        first_open = INFINITY if limit == INFINITY else self._marks.at(place)
        # No window that starts at the limit or later is closed: a time may still come there.
        self.frontier = max(self.frontier, min(limit, first_open))

    def first_open(self, earliest: int) -> FirstOpen:
        """Return the start of the first window that is not closed, complete or not, and the end of the first complete.

        A window is complete once it has as many times as it counts.
        """
        first_start = self._marks.at(self._marks.place(self.frontier))
        complete_window = next(self._windows(0, len(self._marks)), None)
        return FirstOpen(first_start, INFINITY if complete_window is None else complete_window.end)

    def next_end(self, events: EventIndex, tick: int) -> int:
        """Return the tick after the next counted time: a window's end comes right after its last time."""
        return min(self._marks.at(self._marks.place(tick)) + 1, INFINITY)

    def end_after(self, watermark: int) -> int:
        """Return the tick after the watermark: a window ends right after its last time."""
        return watermark + 1

    def release(
        self, events: Iterable[StoredEvent], movable: Sequence[StoredEvent], watermark: int
    ) -> list[StoredEvent]:
        """Return the events that only closed windows count, and set breaks where these were.

        No window counts times on both sides of a break: so no new window is made of the times that are left there.
        """
        needed_ticks = self._needed_ticks({event.since for event in movable}, watermark)
        self._break_between(needed_ticks)
        return [event for event in events if event.is_member and event.since not in needed_ticks]

    def _needed_ticks(self, movable_ticks: Iterable[int], watermark: int) -> set[int]:
        """Return the counted times of windows that may still change.

        Args:
            movable_ticks: The times of events whose end may still move.
            watermark: The watermark: times from it on may still be added.
        """
        ticks = self._marks.all()
        reach = self._count - 1  # a window of a time reaches so many times before it, and after it

        # The places at which runs of times between breaks begin: no window reaches from one run into another.
        run_starts = [0, *[self._marks.place(tick) for tick in self._breaks]]
        needed: set[int] = set()
        for place in map(self._marks.place, sorted(movable_ticks)):
            next_run = bisect_right(run_starts, place)
            run_start = run_starts[next_run - 1]
            run_end = run_starts[next_run] if next_run < len(run_starts) else len(ticks)
            needed.update(ticks[max(place - reach, run_start) : min(place + reach + 1, run_end)])

        # A time that comes from now on lies in the last run.
        needed.update(ticks[max(self._marks.place(watermark) - reach, run_starts[-1]) :])
        return needed

    def _break_between(self, needed: Set[int]) -> None:
        """Put a break before each needed time whose predecessor is dropped; remove breaks before dropped times."""
        if self._count == 1:
            return  # a window has one time, and so reaches across no break
        breaks = {tick for tick in self._breaks if tick in needed}
        for previous_tick, tick in pairwise(self._marks.all()):
            if tick in needed and previous_tick not in needed:
                breaks.add(tick)
        self._breaks = sorted(breaks)

    def to_data(self) -> list[object]:
        """Return the frontier and the breaks."""
        return [self.frontier, *self._breaks]

    def restore(self, data: Sequence[Any]) -> None:
        """Restore the state that `to_data` returned."""
        self.frontier, *self._breaks = data

    def _windows(self, first: int, stop: int) -> Iterator[Window]:
        """Yield the windows whose first counted time has a place in `[first, stop)` and is not before the frontier."""
        begin = max(first, self._marks.place(self.frontier), 0)  # callers subtract from places: `first` may be negative
        ticks = self._marks.all()
        reach = self._count - 1
        breaks = self._breaks
        for place in range(begin, min(stop, len(ticks) - reach)):
            start = ticks[place]
            last = ticks[place + reach]
            # Two times lie in one run if there are as many breaks up to both.
            if not breaks or bisect_right(breaks, start) == bisect_right(breaks, last):
                yield Window(start, last + 1)


FAST_ASSIGNERS: Final[dict[type[WindowKind], Callable[[Any], Assigner]]] = {
    HoppingWindows: GridAssigner,
    SnapshotWindows: SnapshotAssigner,
    CountWindows: lambda kind: CountAssigner(kind) if kind.every == 1 else GeneralAssigner(kind),
}
"""Faster assigners for some kinds; the general one makes the same windows, and tests run both."""


def assigner_of(kind: WindowKind) -> Assigner:
    """Return a new assigner for the windows of one key."""
    make_assigner = FAST_ASSIGNERS.get(type(kind), GeneralAssigner)
    return make_assigner(kind)


def shared_assigner(query: EvaluatorQuery) -> Assigner:
    """Make the assigner that all keys of a query share: a function to give to `query.once`, which calls it once.

    No caller changes that assigner. It knows no events, like that of a key whose events all lie in the future.
    """
    return assigner_of(query.window)
