"""Speculative output: windows are emitted early and corrected when they change.

The last output of a window is stored, so a module is not called again to learn what to retract.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from muntin import INFINITY, Window
from muntin_engine.core.changes import OutputChange, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.closing import Emission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.time_bound import ResultsAsKnown, shortened
from muntin_engine.evaluators.general.window_entry import WindowEntry
from muntin_engine.evaluators.general.window_index import by_window
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide, SweptWindow, WindowResults
from muntin_engine.evaluators.keyed.live_output import OutputRow, replace_rows, replace_rows_from


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

    def __init__(self, query: EvaluatorQuery, results: WindowResults) -> None:
        self._query = query
        self._results = results
        self._computations = results.computations
        self._stamper = results.stamper
        self._as_known = ResultsAsKnown(query, results.computations, results.stamper)

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
