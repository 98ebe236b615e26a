"""Output before windows close: emitted early, and corrected when it changes.

The last output of a window is stored, so a module is not called again to learn what to retract. Live output is
corrected by retracting whole rows or, for time-bound results, from the tick of a change on: a time-bound result never
changes output before its cause, so rows are shortened instead of retracted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from muntin import INFINITY, Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.successors import OutputCuts, output_cuts
from muntin_engine.evaluators.general.time_bound_results import ResultsAsKnown
from muntin_engine.evaluators.general.window_index import WindowEntry, by_window
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide, WindowResults
from muntin_engine.evaluators.keyed.live_output import OutputRow, replace_rows, replace_rows_from
from muntin_engine.evaluators.keyed.sweep import SweptWindow
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import OutputChange, Progress


class Content(NamedTuple):
    """The content of a window after a batch.

    Attributes:
        size: The number of its members.
        states: The module states to keep; empty if none is worth keeping.
        rows: Its output rows.
    """

    size: int
    states: list[Any]
    rows: list[OutputRow]


_NO_CONTENT: Final = Content(0, [], [])


class SpeculativeEmission(Emission):
    """Emits windows before they close, and keeps each emitted window up to date.

    A window that becomes visible is computed in a sweep and keeps no module state, because most windows never change
    again. One that does change gets a state, which later changes update.

    Cost: a change costs the windows it affects. In each, an incremental module that has a state is updated with the
    change; any other is computed from the members, which one sweep finds for all windows of the batch. A batch of a
    time-bound query also looks at all events and windows of each key that it touches.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        """Prepare to emit the windows of a query."""
        self._query = query
        self._results = query.once(WindowResults)
        self._computations = self._results.computations
        self._stamper = self._results.stamper
        self._as_known = ResultsAsKnown(query, self._computations, self._stamper)

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], previous: Progress, progress: Progress
    ) -> list[OutputChange]:
        """Update the entries of the affected windows; return the difference between their new and their live rows."""
        del previous, progress  # the affected windows depend on both already
        contents = self._contents(key, state, affected)
        output: list[OutputChange] = []
        begins: Mapping[Window, int] = {}
        if self._query.is_time_bound:
            cuts = output_cuts(self._query, state.windows, affected, contents.keys())
            output += self._shorten_replaced(state, cuts)
            begins = cuts.begins
        for window in sorted(contents, key=by_window):
            # Output before a change stays as it is, unless the window is emitted for the first time.
            since = None if affected[window].opened_by_time else begins.get(window)
            output += self._replace(state, window, contents[window], since)
        return output

    def _contents(self, key: object, state: KeyState, affected: dict[Window, Affected]) -> dict[Window, Content]:
        """Return the content of the affected windows that have changed."""
        contents: dict[Window, Content] = {}
        windows_to_sweep: list[Window] = []

        # Time-bound windows are computed in pieces, between the starts of events.
        event_starts: list[int] = []
        if self._query.is_cut_at_changes:
            event_starts = sorted(event.start for event in state.events)

        # The states of some windows can be updated with the change; all others are computed in one sweep.
        for window, change in affected.items():
            entry = state.windows.get(window)
            was_visible = bool(entry.size)
            if was_visible and change.exists and not change.touches_members:
                continue  # its content is as before
            contents[window] = _NO_CONTENT  # unless the window exists, and has members
            if not change.exists:
                continue
            # A stored state has all members of the window. In a window of several pieces only the last one is computed
            # from all members: so the state is of use if the change is in that piece.
            can_update = was_visible and self._can_update_all(entry, change)
            if can_update and self._alters_last_piece_alone(window, change, event_starts):
                contents[window] = self._updated_content(key, window, entry, change)
            else:
                windows_to_sweep.append(window)
        if not windows_to_sweep:
            return contents

        # A slide carries the state of a module from one swept window to the next. Where a window's result is not asked
        # for, the module begins anew at the next window.
        slides = self._results.slides(key)
        for step in state.sweep(windows_to_sweep):
            if step.members:
                entry = state.windows.get(step.window)
                contents[step.window] = self._swept_content(key, step, slides, entry, affected[step.window])
            else:
                for slide in slides:
                    slide.skip()
        return contents

    def _can_update_all(self, entry: WindowEntry, change: Affected) -> bool:
        """Return True if the states of all modules can be updated with a change."""
        return all(self._can_update(place, entry, change) for place in range(len(self._computations)))

    def _can_update(self, place: int, entry: WindowEntry, change: Affected) -> bool:
        """Return True if a module's state can be updated, and that is cheaper than building it anew."""
        if not entry.states or entry.states[place] is None:
            return False
        if change.removed and not self._computations[place].can_remove:
            return False
        # To build the state anew, the module gets all members after the change.
        return len(change.added) + len(change.removed) < entry.size + change.growth

    def _alters_last_piece_alone(self, window: Window, change: Affected, event_starts: Sequence[int]) -> bool:
        """Return True if a change alters only the last piece of a window, whose result uses all its members.

        A time-bound window has a piece for each stretch between the starts of members; any other window is one piece.

        Args:
            window: The window.
            change: The effect of the batch on the window.
            event_starts: The starts of the key's events, in order.
        """
        if self._query.hides_later_ends:
            return False  # each piece is computed from the ends that are known at its tick, which no state has
        if not self._query.is_cut_at_changes or self._query.window.known_at(window) is not None:
            return True  # all members of such a window are known at one tick: it is one piece
        # No event starts between the change and the end of the window.
        since = max(window.start, change.sync_time)
        return bisect_right(event_starts, since) == bisect_left(event_starts, window.end)

    def _updated_content(self, key: object, window: Window, entry: WindowEntry, change: Affected) -> Content:
        """Return the content of a window whose module states are updated with a change."""
        states: list[Any] = []
        for computation, state in zip(self._computations, entry.states, strict=True):
            states.append(_update(computation, state, key, window, change))
        results: list[Any] = []
        for computation, state in zip(self._computations, states, strict=True):
            results.append(computation.result_of_state(state, key, window))
        return Content(entry.size + change.growth, states, self._stamper.rows(key, window, results))

    def _swept_content(
        self, key: object, step: SweptWindow, slides: list[Slide], entry: WindowEntry, change: Affected
    ) -> Content:
        """Return the content of a window that a sweep has come to, which has members.

        The content of a time-bound window may be computed in pieces, between the starts of its members.

        Args:
            key: The key of the window.
            step: The window, with its members.
            slides: The results of each module along the sweep.
            entry: The entry of the window before the batch.
            change: The effect of the batch on the window.
        """
        size = len(step.members)
        piece_rows = self._rows_of_pieces(key, step, entry, change)
        if piece_rows is not None:
            for slide in slides:
                slide.skip()
            return Content(size, [], piece_rows)

        # Otherwise one result of each module covers the window. A slide whose result is not used here has to skip the
        # window: its state does not follow it.
        states: list[Any] = []
        results: list[Any] = []
        for place, (computation, slide) in enumerate(zip(self._computations, slides, strict=True)):
            # A window that is emitted for the first time keeps no state; one that changes gets one here.
            if not (entry.size and computation.is_incremental):
                states.append(None)
                results.append(slide.result(step))
                continue
            slide.skip()
            if self._can_update(place, entry, change):
                state = _update(computation, entry.states[place], key, step.window, change)
            else:
                state = computation.build(step.members.values(), key, step.window)
            states.append(state)
            results.append(computation.result_of_state(state, key, step.window))
        has_states = any(state is not None for state in states)
        return Content(size, states if has_states else [], self._stamper.rows(key, step.window, results))

    def _rows_of_pieces(
        self, key: object, step: SweptWindow, entry: WindowEntry, change: Affected
    ) -> list[OutputRow] | None:
        """Return the rows of a time-bound window that has several pieces; None if one result covers the window."""
        window = step.window
        members = step.members.values()
        if self._query.is_cut_at_changes:
            # Of a window that was emitted already, the pieces before the change stay as they are.
            since = change.sync_time if entry.size else window.start
            ticks = self._as_known.ticks(window, members, since)
            if len(ticks) == 1 and not self._query.hides_later_ends:
                return None
            return self._as_known.rows(key, window, members, ticks)
        # A window may become visible with a change inside it: its output before the change does not depend on that.
        if self._query.is_time_bound and change.opened_by_time and window.start < change.sync_time < INFINITY:
            return self._as_known.rows_around(key, window, members, change.sync_time)
        return None

    def _shorten_replaced(self, state: KeyState, cuts: OutputCuts) -> list[OutputChange]:
        """Shorten the live output of each window that no longer exists and in whose place there is another one."""
        output: list[OutputChange] = []
        for window, end in cuts.ends.items():
            entry = state.windows.get(window)
            live_rows, changes = replace_rows_from(end, window, entry.live_rows, rows=(), next_id=state.next_serial)
            state.windows.put(window, entry._replace(live_rows=live_rows))
            output += changes
        return output

    def _replace(self, state: KeyState, window: Window, content: Content, since: int | None) -> list[OutputChange]:
        """Replace the live rows of a window by those of its new content; return the changes of the output.

        Args:
            state: The state of the key.
            window: The window.
            content: Its new content.
            since: The tick from which on the output is replaced; None to replace all of it.
        """
        previous_live = state.windows.get(window).live_rows
        if since is None:
            live_rows, output = replace_rows(window, previous_live, content.rows, next_id=state.next_serial)
        else:
            live_rows, output = replace_rows_from(since, window, previous_live, content.rows, next_id=state.next_serial)
        state.windows.put(window, WindowEntry(content.size, content.states, live_rows))
        return output


def _update(computation: ModuleComputation, state: Any, key: object, window: Window, change: Affected) -> Any:
    """Return a module state with the change of a window's members."""
    state = computation.remove(state, change.removed, key, window)
    return computation.add(state, change.added, key, window)
