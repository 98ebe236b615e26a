"""Windows on a grid, of events with ids: each event is merged into the range of the windows that it overlaps.

What a legal row may still change is kept event by event; once an event has ended for good, it is merged with the others
of its key and range, as events are that are never revised.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import Progress
from muntin_engine.core.slice_grid import RangeGrid
from muntin_engine.evaluators.arrays.held_partials import HeldPartials
from muntin_engine.evaluators.arrays.lifting import ranges_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, ends_before, merge_alike
from muntin_engine.evaluators.revised.events import Events, LiveEvents
from muntin_engine.evaluators.revised.windows import RevisedWindows


class RevisedGrid(RevisedWindows):
    """Hopping and tumbling windows, and those of a calendar.

    Cost: a live event costs a few steps for each batch that completes windows, and so does a range of a key of which
    all events have ended; never one for each window that it overlaps.
    """

    def __init__(self, grid: RangeGrid, *, at_end: bool) -> None:
        """Make them; `at_end` says that results are points at the ends of windows."""
        self._grid, self._at_end = grid, at_end
        self._ended = HeldPartials([grid])

    def close(self, live: LiveEvents, before: int, now: Progress) -> Iterator[StretchTable]:
        """Yield the windows that end after the watermark before the batch, and not after the one after it.

        Once the stream is closed, windows that begin at the horizon or later have no end to wait for, and no result.
        """
        windows = self._grid.windows
        first, last = windows.first_open(before), windows.first_open(now.watermark)
        yield from self._between(live, first, min(last, windows.first_unbegun(now.horizon)))

    def visible(
        self, live: LiveEvents, before: Progress, now: Progress, are_touched: BoolArray
    ) -> Iterator[StretchTable]:
        """Yield the windows with members that are shown for the first time, and those of touched keys."""
        windows = self._grid.windows
        first, known = windows.first_open(before.watermark), windows.first_open(before.max_event_time)
        last = min(windows.first_open(now.max_event_time), windows.first_unbegun(now.horizon))
        yield from self._between(live, max(first, known), last)
        if are_touched.any():
            yield from self._between(live, first, min(known, last), are_touched)

    def _between(
        self, live: LiveEvents, first: int, last: int, of_keys: BoolArray | None = None
    ) -> Iterator[StretchTable]:
        """Yield the windows with members from `first` up to but not including `last`."""
        if last <= first:
            return
        members = live.members
        more = [] if members is None else [self._ranged(members, first, last)]
        yield from self._ended.close(0, first, last, more, of_keys)

    def forget(self, live: LiveEvents, watermark: int) -> None:
        """Merge the events that end before a watermark, and drop what is a member of no open window."""
        first, is_over = self._grid.windows.first_open(watermark), ends_before(live.ends, watermark)
        if is_over.any():
            members = live.partials(np.flatnonzero(is_over & live.are_members))
            ended = self._ranged(members, first, INFINITY)
            if len(ended):
                self._ended.add(merge_alike(replace(ended, low=np.maximum(ended.low, first))))
            live.keep(~is_over)
        self._ended.forget(first)

    def needed(self, events: Events, is_member: BoolArray, watermark: int) -> Events:
        """Return the events that are live, or members of an open window."""
        firsts, lasts = ranges_of(self._grid, events.starts, events.ends)
        is_in_open = is_member & (lasts >= np.maximum(firsts, self._grid.windows.first_open(watermark)))
        return events.take(np.flatnonzero(~ends_before(events.ends, watermark) | is_in_open))

    def are_over(self, events: Events, live: LiveEvents, watermark: int) -> BoolArray:
        """Return for each event whether it has ended, and is a member of no open window."""
        del live
        firsts, lasts = ranges_of(self._grid, events.starts, events.ends)
        is_in_open = lasts >= np.maximum(firsts, self._grid.windows.first_open(watermark))
        found: BoolArray = ends_before(events.ends, watermark) & ~is_in_open
        return found

    def first_start(self, live: LiveEvents) -> int:
        """Return that events cut no window."""
        del live
        return INFINITY

    def output_watermark(self, watermark: int, first_start: int) -> int:
        """Return the start of the first open window, or its end if results are points there."""
        del first_start
        if watermark in (EARLIEST, INFINITY):
            return watermark
        window = self._grid.windows.window(self._grid.windows.first_open(watermark))
        return window.end if self._at_end else window.start

    @property
    def ended_events(self) -> int:
        """The number of events that have ended, and are members of open windows."""
        return self._ended.rows

    @property
    def nbytes(self) -> int:
        """About how many bytes their partial states take."""
        return self._ended.nbytes

    def keys(self) -> IntArray:
        """Return the codes of the keys of events that have ended, ascending."""
        return self._ended.keys()

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._ended.renumber(places)

    def _ranged(self, events: StretchTable, first: int, last: int) -> StretchTable:
        """Return events as ranges of windows, without those that overlap none from `first` up to but not `last`."""
        firsts, lasts = ranges_of(self._grid, events.low, events.high)
        is_in = (lasts >= np.maximum(firsts, first)) & (firsts < last)
        return events.moved(firsts, lasts).where(is_in)
