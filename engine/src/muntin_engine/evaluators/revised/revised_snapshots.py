"""Snapshots of events with ids: running sums from edge to edge; nothing is kept of events that have ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.arrays.held_events import opened_since
from muntin_engine.evaluators.arrays.snapshots import snapshots_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, ends_before
from muntin_engine.evaluators.revised.events import Events, LiveEvents
from muntin_engine.evaluators.revised.windows import RevisedWindows


class RevisedSnapshots(RevisedWindows):
    """Snapshots, for modules all of whose components can be subtracted.

    A live event that began before the watermark is cut: its partial state begins where the first open snapshot of its
    key starts.
    """

    def __init__(self, *, at_end: bool) -> None:
        """Make them; `at_end` says that results are points at the ends of snapshots, so one without an end has none."""
        self._at_end = at_end

    def close(self, live: LiveEvents, before: int, now: Progress) -> Iterator[StretchTable]:
        """Yield the snapshots that end at the watermark before the batch or later, and before the one after it."""
        members = live.members
        if members is None or before == now.watermark:
            return
        ended = snapshots_of(members, before, now.watermark)
        if self._at_end:
            ended = ended.where(ended.high < INFINITY)
        if len(ended):
            yield ended

    def forget(self, live: LiveEvents, watermark: int) -> None:
        """Drop the events that end before a watermark, and cut those that begin before it."""
        if (members := live.members) is not None:
            since = live.since.copy()
            since[live.are_members] = opened_since(members, watermark)
            live.begin_at(since)
        live.keep(~ends_before(live.ends, watermark))

    def needed(self, events: Events, is_member: BoolArray, watermark: int) -> Events:
        """Return the live events, cut."""
        since, some = events.since.copy(), events.take(np.flatnonzero(is_member))
        if len(some):
            members = StretchTable(some.codes, some.since, some.ends, np.ones(len(some), np.int8), {})
            since[is_member] = opened_since(members, watermark)
        return replace(events, since=since).take(np.flatnonzero(~ends_before(events.ends, watermark)))

    def are_over(self, events: Events, live: LiveEvents, watermark: int) -> BoolArray:
        """Return for each event whether it has ended, unless an open snapshot starts where it ended."""
        members = live.members
        codes = events.codes if members is None else np.concatenate([events.codes, members.keys])
        opened = np.full(int(codes.max(initial=-1)) + 1, EARLIEST)
        if members is not None:
            is_begun = ends_before(members.low, watermark)
            opened[members.keys[is_begun]] = members.low[is_begun]
        found: BoolArray = ends_before(events.ends, watermark) & (events.ends != opened[events.codes])
        return found

    def first_start(self, live: LiveEvents) -> int:
        """Return the least start of an open snapshot with an event."""
        members = live.members
        return INFINITY if members is None else int(members.low.min())

    def output_watermark(self, watermark: int, first_start: int) -> int:
        """Return the least start of an open snapshot, or the watermark; points at ends lie past it."""
        return watermark if self._at_end or watermark == INFINITY else min(watermark, first_start)

    def keys(self) -> IntArray:
        """Return no codes."""
        return np.empty(0, np.int64)

    def renumber(self, places: IntArray) -> None:
        """Do nothing: no key is held."""
