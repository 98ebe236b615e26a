"""Correct live output: by retracting whole rows or, for time-bound results, from the tick of a change on.

A time-bound result never changes output before its cause: rows are shortened instead of retracted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any

from muntin import INFINITY, Window
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.frozen_values import freeze
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.window_entry import WindowEntry
from muntin_engine.evaluators.general.window_index import WindowIndex
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Timestamper
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow, replace_rows_from


def shortened(
    query: EvaluatorQuery, index: WindowIndex, affected: dict[Window, Affected], changed: Collection[Window]
) -> dict[Window, int]:
    """Return the tick at which the live output of each replaced window has to end.

    A replaced window no longer exists; its successor took its place. The successor's output begins at that tick, so its
    sync time in `affected` is moved back to it.

    Cost: linear in the entries of the index, by a logarithmic factor.
    """
    emitted = [(window, entry) for window, entry in index.items() if entry.live]
    were_past = [(window, entry) for window, entry in emitted if not entry.size]
    are_past = [(w, e) for w, e in emitted if not (affected[w].exists if w in changed else e.size)]
    existed = {window for window in changed if index.get(window).size}
    ends: dict[Window, int] = {}
    for window, successor in _successors(query, were_past, existed):
        ends[window] = affected[successor].sync_time
    for window, successor in _successors(query, are_past, [window for window in changed if affected[window].exists]):
        own = affected[window] if window in existed else affected[successor]
        ends[window] = min(own.sync_time, affected[successor].sync_time, ends.get(window, INFINITY))
        affected[successor].sync_time = ends[window]
    for window in [window for window in ends if window in changed and affected[window].exists]:
        affected[window].sync_time = min(affected[window].sync_time, ends.pop(window))
    return ends


def _successors(
    query: EvaluatorQuery, past: Iterable[tuple[Window, WindowEntry]], existing: Iterable[Window]
) -> Iterator[tuple[Window, Window]]:
    """Yield the replaced windows whose successor exists, each with its successor."""
    successors = sorted(existing, key=by_start)
    for window, entry in past:
        starts = query.window.successor(window, min(out.row.start for out in entry.live))
        if starts is None:
            continue
        least, most = starts
        place = bisect_right(successors, most, key=by_start) - 1
        if place >= 0 and least <= successors[place].start and most < successors[place].end:
            yield window, successors[place]


class ResultsAsKnown:
    """Computes a time-bound window in pieces: the result of each piece uses what is known at its start.

    Cost: an incremental module adds each member once, and computes a result per piece. A module that is not
    incremental, or that reads ends which may move, is computed for each piece from all members known so far.
    """

    def __init__(self, query: EvaluatorQuery, computations: Sequence[ModuleComputation], stamper: Timestamper) -> None:
        self._query = query
        self._computations = computations
        self._stamper = stamper

    def ticks(self, window: Window, members: Iterable[StoredEvent], since: int) -> list[int]:
        """Return the ticks of a window at which more becomes known, from a tick on; none if it is past the end."""
        at_once = self._query.window.known_at(window)
        if at_once is not None:
            return [at_once]
        first = max(window.start, since)
        changes = {event.start for event in members}
        if self._query.hides_later_ends:
            changes.update(event.end for event in members)
        return [tick for tick in sorted({first, *changes}) if first <= tick < window.end]

    def rows(
        self, key: object, window: Window, members: Iterable[StoredEvent], ticks: Sequence[int]
    ) -> list[OutputRow]:
        """Return the rows of a window from the first of the ticks on; neighbouring pieces of one value are one row."""
        ordered = sorted(members, key=by_start)
        states: list[Any] = [None] * len(self._computations)
        rows: list[OutputRow] = []
        reaching: dict[Hashable, list[int]] = {}
        came = 0
        for start, end in pairwise([*ticks, window.end]):
            place = bisect_right(ordered, start, key=by_start)
            results = self._results(key, window, ordered[:place], ordered[came:place], states, start)
            came = place
            before, reaching = reaching, {}
            for row in self._stamper.rows(key, window, results) if place else ():
                name = freeze(row.value)
                if before.get(name):
                    number = before[name].pop()
                    rows[number] = rows[number]._replace(end=end)
                else:
                    number = len(rows)
                    rows.append(OutputRow(start, end, row.value))
                reaching.setdefault(name, []).append(number)
        return rows

    def rows_around(self, key: object, window: Window, members: Iterable[StoredEvent], since: int) -> list[OutputRow]:
        """Return the rows of a window that is emitted for the first time, with a change at a tick inside it.

        Before the tick they are computed from the members that the window starts with, and from it on from all members.
        Equal rows on both sides are one row.
        """
        all_members = list(members)
        first = [as_of(event, window.start) for event in all_members if event.start <= window.start]
        before, after = (
            self._stamper.rows(key, window, [one.result_of_members(some, key, window) for one in self._computations])
            if some
            else []
            for some in (first, all_members)
        )
        live = [LiveRow(number, row) for number, row in enumerate(before)]
        left, _ = replace_rows_from(since, window, live, after, count(len(before)).__next__)
        return [out.row for out in left]

    def _results(
        self,
        key: object,
        window: Window,
        known: Sequence[StoredEvent],
        new: Sequence[StoredEvent],
        states: list[object],
        tick: int,
    ) -> list[object]:
        """Return the results from the members known at a tick; `states` are updated from one tick to the next."""
        if not known:
            return []
        if self._query.hides_later_ends:
            seen = [as_of(event, tick) for event in known]
            return [computation.result_of_members(seen, key, window) for computation in self._computations]
        results: list[Any] = []
        for place, computation in enumerate(self._computations):
            if not computation.is_incremental:
                results.append(computation.result_of_members(known, key, window))
                continue
            is_first = len(known) == len(new)
            states[place] = (
                computation.build(new, key, window) if is_first else computation.add(states[place], new, key, window)
            )
            results.append(computation.result_of_state(states[place], key, window))
        return results


def as_of(event: StoredEvent, tick: int) -> StoredEvent:
    """Return an event as it is known at a tick: without an end, if the end lies after the tick."""
    return event._replace(end=INFINITY) if event.end > tick else event
