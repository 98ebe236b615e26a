"""Output before windows close: emitted early, and corrected when it changes.

The last output of a window is stored, so a module is not called again to learn what to retract. Live output is
corrected by retracting whole rows or, for time-bound results, from the tick of a change on: a time-bound result never
changes output before its cause, so rows are shortened instead of retracted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any, NamedTuple

from muntin import INFINITY, Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_closing import Emission
from muntin_engine.evaluators.general.window_index import WindowEntry, WindowIndex, by_window
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide, SweptWindow, Timestamper, WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow, replace_rows, replace_rows_from
from muntin_engine.modules.evaluator_query import EvaluatorQuery
from muntin_engine.state.frozen_values import freeze
from muntin_engine.time.changes import OutputChange, Progress


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


class Content(NamedTuple):
    """The content of a window after a batch: its number of members, the module states to keep, and its output rows."""

    size: int
    states: list[Any]
    rows: list[OutputRow]


_NOTHING = Content(0, [], [])


class SpeculativeEmission(Emission):
    """Emits windows before they close, and keeps each emitted window up to date.

    A window that becomes visible is computed in a sweep and keeps no module state, because most windows never change
    again. One that does change gets a state, which later changes update.

    Cost: a change costs the windows it affects. In each, an incremental module that has a state is updated with the
    change; any other is computed from the members, which one sweep finds for all windows of the batch.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        self._query, self._results = query, query.once(WindowResults)
        self._computations, self._stamper = self._results.computations, self._results.stamper
        self._as_known = ResultsAsKnown(query, self._computations, self._stamper)

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the difference between the new rows of the affected windows and their live rows."""
        del before, now  # the affected windows depend on both already
        contents = self._contents(key, state, affected)
        output = self._shorten_past(state, affected, contents) if self._query.is_time_bound else []
        for window in sorted(contents, key=by_window):
            output += self._replace(state, window, contents[window], affected[window])
        return output

    def _contents(self, key: object, state: KeyState, affected: dict[Window, Affected]) -> dict[Window, Content]:
        """Return the content of the affected windows that have changed."""
        contents: dict[Window, Content] = {}
        stale: list[Window] = []
        starts = sorted(event.start for event in state.events) if self._query.is_cut_at_changes else []
        for window, change in affected.items():
            entry = state.windows.get(window)
            if not change.exists:
                contents[window] = _NOTHING
            elif not entry.size or (
                change.touches_members
                and not (
                    all(self._can_update(place, entry, change) for place in range(len(self._computations)))
                    and self._is_last_piece(window, change, starts)
                )
            ):
                contents[window] = _NOTHING
                stale.append(window)
            elif change.touches_members:
                pairs = zip(self._computations, entry.states, strict=True)
                states = [_update(computation, old, key, window, change) for computation, old in pairs]
                results = [
                    computation.result_of_state(state, key, window)
                    for computation, state in zip(self._computations, states, strict=True)
                ]
                rows = self._stamper.rows(key, window, results)
                contents[window] = Content(entry.size + change.growth, states, rows)
        if not stale:
            return contents
        slides = self._results.slides(key)
        for step in state.sweep(stale):
            if step.members:
                entry = state.windows.get(step.window)
                contents[step.window] = self._content(key, step, slides, entry, affected[step.window])
            else:
                for slide in slides:
                    slide.skip()
        return contents

    def _is_last_piece(self, window: Window, change: Affected, starts: Sequence[int]) -> bool:
        """True if a change alters only the last piece of a time-bound window."""
        if not self._query.is_cut_at_changes or self._query.window.known_at(window) is not None:
            return not self._query.hides_later_ends
        since = max(window.start, change.sync_time)
        return not self._query.hides_later_ends and bisect_right(starts, since) == bisect_left(starts, window.end)

    def _content(
        self, key: object, step: SweptWindow, slides: list[Slide], entry: WindowEntry, change: Affected
    ) -> Content:
        pieces = self._pieces(key, step, entry, change)
        if pieces is not None:
            for slide in slides:
                slide.skip()
            return Content(len(step.members), [], pieces)
        states: list[Any] = []
        results: list[Any] = []
        for place, (computation, slide) in enumerate(zip(self._computations, slides, strict=True)):
            if not (entry.size and computation.is_incremental):
                states.append(None)
                results.append(slide.result(step))
                continue
            slide.skip()
            if self._can_update(place, entry, change):
                states.append(_update(computation, entry.states[place], key, step.window, change))
            else:
                states.append(computation.build(step.members.values(), key, step.window))
            results.append(computation.result_of_state(states[-1], key, step.window))
        kept = states if any(kept is not None for kept in states) else []
        return Content(len(step.members), kept, self._stamper.rows(key, step.window, results))

    def _pieces(self, key: object, step: SweptWindow, entry: WindowEntry, change: Affected) -> list[OutputRow] | None:
        """Return the rows of a time-bound window that has several pieces; None if one result covers the window."""
        window, members = step.window, step.members.values()
        if self._query.is_cut_at_changes:
            ticks = self._as_known.ticks(window, members, change.sync_time if entry.size else window.start)
            if len(ticks) == 1 and not self._query.hides_later_ends:
                return None
            return self._as_known.rows(key, window, members, ticks)
        if self._query.is_time_bound and change.is_new and window.start < change.sync_time < INFINITY:
            return self._as_known.rows_around(key, window, members, change.sync_time)
        return None

    def _can_update(self, place: int, entry: WindowEntry, change: Affected) -> bool:
        """True if a module's state can take the change, and that is cheaper than building it anew."""
        count = entry.size + change.growth
        is_cheaper = len(change.added) + len(change.removed) < count
        has_state = bool(entry.states) and entry.states[place] is not None
        return has_state and is_cheaper and (self._computations[place].can_remove or not change.removed)

    def _shorten_past(
        self, state: KeyState, affected: dict[Window, Affected], contents: dict[Window, Content]
    ) -> list[OutputChange]:
        output: list[OutputChange] = []
        for window, since in shortened(self._query, state.windows, affected, contents.keys()).items():
            entry = state.windows.get(window)
            live, changes = replace_rows_from(since, window, entry.live, (), state.next_serial)
            state.windows.put(window, entry._replace(live=live))
            output += changes
        return output

    def _replace(self, state: KeyState, window: Window, content: Content, change: Affected) -> list[OutputChange]:
        old = state.windows.get(window).live
        if self._query.is_time_bound and not change.is_new:
            live, output = replace_rows_from(change.sync_time, window, old, content.rows, state.next_serial)
        else:
            live, output = replace_rows(window, old, content.rows, state.next_serial)
        state.windows.put(window, WindowEntry(content.size, content.states, live))
        return output


def _update(computation: ModuleComputation, state: Any, key: object, window: Window, change: Affected) -> Any:
    kept = computation.remove(state, change.removed, key, window)
    return computation.add(kept, change.added, key, window)
