"""Early output: final results, and results of open windows whenever a trigger fires.

A micro-batch has a fixed order:

1. Its changes are applied, and the output of windows that have no members any more is retracted.
2. New windows take over the trigger states of those in whose place they are.
3. The windows that close are emitted as final.
4. The triggers of the open windows that changed or are due are called once each.
5. The windows that fire are computed and emitted.

Final results do not depend on the trigger, except with `discard`: they then have only the members since the last
firing. An exception names the trigger or the refinement, and the key, window and method.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, cast

from muntin import EarlyEmission, Refinement, ResultRefinement, Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.replaced_windows import ReplacedWindow, predecessors
from muntin_engine.evaluators.general.trigger_calls import RefinementCall, TriggerCall
from muntin_engine.evaluators.general.window_closing import Closing
from muntin_engine.evaluators.general.window_index import NEW, TriggerState, WindowEntry, by_window
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow
from muntin_engine.evaluators.keyed.sweep import SweptWindow
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import OutputChange, OutputKind, Progress, Timing


class _WindowChange(NamedTuple):
    """The effect of a batch on an open window.

    Attributes:
        size: The number of members of the window after the batch.
        alters_result: True if the result of the window may have changed.
        arrivals: The members that came.
        departures: The number of members that left.
        is_moved: True if the window took the place of one with the same members, whose live result was retracted.
    """

    size: int
    alters_result: bool = False
    arrivals: Sequence[StoredEvent] = ()
    departures: int = 0
    is_moved: bool = False


class TriggeredEmission(Emission):
    """Keeps a trigger state for each open window with members, and computes the windows that fire in one sweep.

    Cost: the changes of a batch cost at most one trigger call for each window that they affect. A firing costs as much
    as closing the window: windows that fire together share the sweep, and no module state is kept. A trigger that reads
    results costs as much as a firing for each window that it is called for. An open window that did not change and is
    not due costs reading and writing its trigger state. Where events cut windows, windows that come or go also cost a
    pass through their members.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        closing: Closing,
        results: WindowResults,
        emission: EarlyEmission,
        signals: frozenset[str],
    ) -> None:
        """Begin a micro-batch.

        Args:
            query: The query.
            closing: Closes windows.
            results: Computes the results of windows.
            emission: The trigger and the refinement.
            signals: The names of the signals that the batch brings.
        """
        self._query = query
        self._closing = closing
        self._results = results
        self._refinement = emission.refinement
        self._refinement_call: RefinementCall | None = None
        if isinstance(emission.refinement, ResultRefinement):
            self._refinement_call = RefinementCall(query, emission.refinement)
        self._trigger_call = TriggerCall(query, emission.trigger, signals)
        self._trigger_reads_results = bool(emission.trigger.reads_results)
        self.is_signalled = self._trigger_call.is_signalled
        # One window replaces another only where events cut windows, or where a window may move to another life.
        self._replaces_windows = query.window.waits_for_events or query.forget_keys_after is not None
        self._replaced: list[ReplacedWindow] = []

    def begin_key(self) -> None:
        """Forget the replaced windows of the previous key."""
        self._replaced = []

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], previous: Progress, progress: Progress
    ) -> list[OutputChange]:
        """Call the triggers, update the entries of windows, and return the rows of those that close or fire."""
        output = self._retract_removed(state, affected)

        # New windows take over the trigger states of the windows that they replace.
        changes: dict[Window, _WindowChange] = {}
        for step, replaced_windows in self._replacing_windows(state, affected):
            if len(replaced_windows) == 1 and replaced_windows[0].is_unchanged_in(step):
                output += self._continue_window(state, step.window, replaced_windows[0].entry)
                affected[step.window].exists = False  # no trigger is called, as nothing in the window has changed
            else:
                changes[step.window] = self._take_over(key, state, step, replaced_windows)

        # Windows that close are emitted as final. Their entries are removed at the end: `_window_changes` would take a
        # window without an entry for a new one.
        closed_windows: set[Window] = set()
        for step, rows in self._rows(key, state, self._closing.steps(state, previous, progress)):
            output += self._emit_window(key, state, step.window, rows, Timing.FINAL)
            closed_windows.add(step.window)
        self.windows_closed += len(closed_windows)

        # The triggers of open windows are called. The changes of windows that replace others are known already.
        changes = self._window_changes(state, affected, closed_windows, progress) | changes
        open_changes = {window: change for window, change in changes.items() if window not in closed_windows}
        firing_windows = self._step_triggers(key, state, open_changes, progress)
        for step, rows in self._rows(key, state, state.sweep(firing_windows)):
            output += self._emit_window(key, state, step.window, rows, Timing.EARLY)
        for window in closed_windows:
            state.windows.put(window, NEW)
        return output

    def rename(self, key: object, state: KeyState, renamed: Mapping[Window, Window]) -> list[OutputChange]:
        """Move the entries of windows that go on with other ends: their triggers go on, their live rows are retracted.

        Args:
            key: The key.
            state: The state of the key, or of the life of the key that has the windows.
            renamed: The new window by the old one.
        """
        output: list[OutputChange] = []
        for old_window, new_window in renamed.items():
            entry = state.windows.get(old_window)
            output += _retractions(old_window, entry)
            trigger_state = entry.trigger_state
            if trigger_state is not None:  # by `merge` the trigger learns of its new window
                trigger_state = self._trigger_call.merge(key, new_window, [trigger_state])
            state.windows.put(old_window, NEW)
            state.windows.put(new_window, entry._replace(live_rows=[], trigger_state=trigger_state))
        return output

    def _retract_removed(self, state: KeyState, affected: dict[Window, Affected]) -> list[OutputChange]:
        """Retract the live output of windows that no longer exist or lost all members, and drop their entries.

        In `affected`, these windows are marked as windows that do not exist. If new windows may take over their trigger
        states, they are collected in `self._replaced`.
        """
        output: list[OutputChange] = []
        for window in sorted(affected, key=by_window):
            entry = state.windows.get(window)
            change = affected[window]
            if not entry.size:
                continue  # the window had no members
            if change.exists and entry.size + change.growth:
                continue  # it still has some
            output += _retractions(window, entry)
            if self._replaces_windows and entry.trigger_state is not None:
                self._replaced.append(ReplacedWindow.of(state, window, entry, change))
            state.windows.put(window, NEW)
            change.exists = False
        return output

    def _replacing_windows(
        self, state: KeyState, affected: Mapping[Window, Affected]
    ) -> Iterator[tuple[SweptWindow, list[ReplacedWindow]]]:
        """Yield the new windows that take the place of others, each with the windows that it replaces."""
        if not self._replaced:
            return
        new_windows: list[Window] = []
        for window, change in affected.items():
            if change.exists and not state.windows.get(window).size:
                new_windows.append(window)

        def is_member(id: Hashable) -> bool:
            """Return True if the event of an id is a member of windows now."""
            event = state.event(id)
            return event is not None and event.is_member

        for step in state.sweep(new_windows):
            replaced_windows = predecessors(step, self._replaced, is_member)
            if replaced_windows:
                yield step, replaced_windows

    def _continue_window(self, state: KeyState, window: Window, entry: WindowEntry) -> list[OutputChange]:
        """Continue a window that has moved to another life of the key unchanged, with its entry of before the batch.

        Its live rows were retracted in the life that it came from. They are inserted again with the same firing index:
        so retraction and insertion cancel out, and the output does not change.
        """
        live_rows = [LiveRow(state.next_serial(), live_row.row) for live_row in entry.live_rows]
        entry = entry._replace(live_rows=live_rows)
        state.windows.put(window, entry)
        return _changes_of_live_rows(OutputKind.INSERT, window, entry)

    def _take_over(
        self, key: object, state: KeyState, step: SweptWindow, replaced_windows: Sequence[ReplacedWindow]
    ) -> _WindowChange:
        """Give a new window the merged trigger state of the windows that it replaces.

        Returns:
            The effect of the batch on the new window: members that no replaced window had have arrived.
        """
        size = len(step.members)
        previous_ids: set[Hashable] = set()
        for replaced_window in replaced_windows:
            previous_ids.update(replaced_window.members)
        arrivals = [event for event in step.members.values() if event.id not in previous_ids]
        remaining_count = size - len(arrivals)
        departures = len(previous_ids) - remaining_count
        replaced_states = [replaced_window.trigger_state for replaced_window in replaced_windows]
        trigger_state = self._trigger_call.merge(key, step.window, replaced_states)
        state.windows.put(step.window, NEW._replace(size=size, trigger_state=trigger_state))
        had_live_result = len(replaced_windows) == 1 and bool(replaced_windows[0].entry.live_rows)
        return _WindowChange(
            size=size,
            alters_result=True,
            arrivals=arrivals,
            departures=departures,
            is_moved=had_live_result and not arrivals and not departures,
        )

    def _window_changes(
        self, state: KeyState, affected: dict[Window, Affected], closed_windows: Set[Window], progress: Progress
    ) -> dict[Window, _WindowChange]:
        """Return the open windows whose trigger has to be called, with the effect of the batch on each.

        Args:
            state: The state of the key.
            affected: The windows that the batch affects.
            closed_windows: The windows that closed in this batch.
            progress: The progress after the batch.
        """
        # Windows whose members changed.
        changes: dict[Window, _WindowChange] = {}
        new_windows: list[Window] = []
        for window, effect in affected.items():
            if not effect.exists or window in closed_windows:
                continue
            entry = state.windows.get(window)
            if not entry.size:
                new_windows.append(window)
            elif effect.touches_members:
                # A member that changed is both removed and added: it has neither come nor left.
                removed_ids = {event.id for event in effect.removed}
                added_ids = {event.id for event in effect.added}
                changes[window] = _WindowChange(
                    size=entry.size + effect.growth,
                    alters_result=True,
                    arrivals=[event for event in effect.added if event.id not in removed_ids],
                    departures=len(removed_ids - added_ids),
                )

        # New windows, with all their members.
        for step in state.sweep(new_windows):
            if step.members:
                members = list(step.members.values())
                changes[step.window] = _WindowChange(size=len(members), alters_result=True, arrivals=members)

        # Windows without a change whose trigger is due, or gets a signal.
        for window, entry in state.windows.items():
            trigger_state = entry.trigger_state
            if trigger_state is None or trigger_state.is_finished or window in changes or window in closed_windows:
                continue
            if self.is_signalled or trigger_state.wakes(clock=progress.clock, max_event_time=progress.max_event_time):
                changes[window] = _WindowChange(size=entry.size)
        return changes

    def _step_triggers(
        self, key: object, state: KeyState, changes: Mapping[Window, _WindowChange], progress: Progress
    ) -> list[Window]:
        """Call the triggers of windows, and store their states; return the windows that fire."""
        results: Mapping[Window, dict[str, Any]] = {}
        if self._trigger_reads_results:
            results = self._present_results(key, state, changes)
        firing_windows: list[Window] = []
        for window in sorted(changes, key=by_window):
            change = changes[window]
            entry = state.windows.get(window)
            trigger_state, fires = self._trigger_call.step(
                key,
                window,
                entry.trigger_state,
                arrivals=change.arrivals,
                departures=change.departures,
                progress=progress,
                results=results.get(window, {}),
            )
            # The window stays changed until it fires.
            trigger_state = trigger_state._replace(is_changed=trigger_state.is_changed or change.alters_result)
            state.windows.put(window, entry._replace(size=change.size, trigger_state=trigger_state))
            # A result that was live and only has another extent now is emitted at once, whatever the trigger decides.
            if change.is_moved or (fires and trigger_state.is_changed):
                firing_windows.append(window)
        return firing_windows

    def _present_results(self, key: object, state: KeyState, windows: Iterable[Window]) -> dict[Window, dict[str, Any]]:
        """Return the results of windows by name, where their triggers may still fire."""
        active_windows: list[Window] = []
        for window in windows:
            trigger_state = state.windows.get(window).trigger_state
            if trigger_state is None or not trigger_state.is_finished:
                active_windows.append(window)
        names = [binding.name for binding in self._query.bindings]
        results: dict[Window, dict[str, Any]] = {}
        for step, values in self._results.values(key, state.sweep(active_windows)):
            results[step.window] = dict(zip(names, values, strict=True))
        return results

    def _rows(
        self, key: object, state: KeyState, steps: Iterable[SweptWindow]
    ) -> Iterator[tuple[SweptWindow, list[OutputRow]]]:
        """Yield the steps of a sweep that have members, each with the rows to emit."""
        if self._refinement is not Refinement.DISCARD:
            yield from self._results.rows(key, steps)
            return
        for step in steps:
            if step.members:
                yield step, self._rows_of_new_members(key, state, step)

    def _rows_of_new_members(self, key: object, state: KeyState, step: SweptWindow) -> list[OutputRow]:
        """Return the rows of the members that came since the window was last emitted."""
        trigger_state = state.windows.get(step.window).trigger_state or TriggerState()
        last_serial = trigger_state.last_serial
        # Ids are serial numbers here: queries whose events have ids refuse to discard.
        new_members = [event for event in step.members.values() if cast(int, event.id) > last_serial]
        if not new_members:
            return []
        results: list[Any] = []
        for computation in self._results.computations:
            results.append(computation.result_of_members(new_members, key, step.window))
        return self._results.stamper.rows(key, step.window, results)

    def _emit_window(
        self, key: object, state: KeyState, window: Window, rows: list[OutputRow], timing: Timing
    ) -> list[OutputChange]:
        """Emit a window, and retract its live output if the refinement says so."""
        entry = state.windows.get(window)
        trigger_state = entry.trigger_state or TriggerState()
        if self._refinement_call is not None:
            is_final = timing is Timing.FINAL
            refined, rows = self._refinement_call.refine(key, window, trigger_state.refined, rows, is_final=is_final)
            trigger_state = trigger_state._replace(refined=refined)

        output = _retractions(window, entry)  # live rows are kept only if the refinement retracts them
        # Members that come after this firing have larger serial numbers, and so have the rows that are emitted here.
        last_serial = state.serial
        firings = trigger_state.firings
        live_rows = [LiveRow(state.next_serial(), row) for row in rows]
        for live_row in live_rows:
            output.append(live_row.change(OutputKind.INSERT, window, timing=timing, firing=firings))
        if timing is Timing.EARLY:
            trigger_state = trigger_state._replace(firings=firings + 1, is_changed=False, last_serial=last_serial)
            revisable = live_rows if self._refinement is Refinement.RETRACT else []
            state.windows.put(window, entry._replace(live_rows=revisable, trigger_state=trigger_state))
        return output


def _retractions(window: Window, entry: WindowEntry) -> list[OutputChange]:
    """Return the retractions of the live rows of a window."""
    return _changes_of_live_rows(OutputKind.RETRACT, window, entry)


def _changes_of_live_rows(kind: OutputKind, window: Window, entry: WindowEntry) -> list[OutputChange]:
    """Return the live rows of a window as changes of a kind, with the index of the firing that emitted them."""
    # The last firing emitted them: any later one would have replaced them.
    firing = 0 if entry.trigger_state is None else entry.trigger_state.firings - 1
    changes: list[OutputChange] = []
    for live_row in entry.live_rows:
        changes.append(live_row.change(kind, window, timing=Timing.EARLY, firing=firing))
    return changes
