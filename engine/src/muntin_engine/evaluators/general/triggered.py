"""Early output: final results, and results of open windows whenever a trigger fires.

A micro-batch has a fixed order: its changes are applied, the windows that close are emitted as final, and the triggers
of the open windows that changed or are due are called once each. Final results do not depend on the trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from muntin import EarlyEmission, Refinement, ResultRefinement, Window
from muntin_engine.core.changes import OutputChange, OutputKind, Progress, Timing
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.calls import RefinementCall, TriggerCall
from muntin_engine.evaluators.general.closing import Closing, Emission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_entry import NEW, TriggerState, WindowEntry
from muntin_engine.evaluators.general.window_index import by_window
from muntin_engine.evaluators.keyed.computation import SweptWindow, WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow


class _WindowChange(NamedTuple):
    """The effect of a batch on an open window: its size now, the members that came, and the number that left."""

    size: int
    is_change: bool = False
    came: Sequence[StoredEvent] = ()
    left: int = 0


class TriggeredEmission(Emission):
    """Keeps a trigger state for each open window with members, and computes the windows that fire in one sweep.

    Cost: the changes of a batch cost at most one trigger call for each window that they affect. A firing costs as much
    as closing the window: windows that fire together share the sweep, and no module state is kept. A trigger that
    reads results costs as much as a firing for each window that it is called for. An open window that
    did not change and is not due costs reading and writing its trigger state.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        closing: Closing,
        results: WindowResults,
        emission: EarlyEmission,
        signals: frozenset[str],
    ) -> None:
        """Prepare for a batch."""
        self._query, self._closing = query, closing
        self._refinement = own = emission.refinement
        self._refinement_call = RefinementCall(query, own) if isinstance(own, ResultRefinement) else None
        self._reads_results = bool(emission.trigger.reads_results)
        self._trigger_call = TriggerCall(query, emission.trigger, signals)
        self.is_signalled = self._trigger_call.is_signalled
        self._results = results

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close, and of the open ones that fire."""
        output = self._retract_removed(state, affected)
        closed: set[Window] = set()
        for step, rows in self._rows(key, state, self._closing.steps(state, before, now)):
            output += self._emit_window(key, state, step.window, rows, Timing.FINAL)
            closed.add(step.window)
        self.windows_closed += len(closed)
        firing = self._step_triggers(key, state, self._happenings(state, affected, closed, now), now)
        for step, rows in self._rows(key, state, state.sweep(firing)):
            output += self._emit_window(key, state, step.window, rows, Timing.EARLY)
        for window in closed:
            state.windows.put(window, NEW)
        return output

    def rename(self, state: KeyState, renamed: Mapping[Window, Window]) -> list[OutputChange]:
        """Move entries to the windows that replace theirs: triggers go on, and what is live of them is retracted."""
        output: list[OutputChange] = []
        for before, after in renamed.items():
            entry = state.windows.get(before)
            output += _retractions(before, entry)
            trigger_state = entry.trigger_state and entry.trigger_state._replace(is_changed=True)
            state.windows.put(before, NEW)
            state.windows.put(after, entry._replace(live=[], trigger_state=trigger_state))
        return output

    def _retract_removed(self, state: KeyState, affected: dict[Window, Affected]) -> list[OutputChange]:
        """Retract the live output of windows that no longer exist or lost all members, and drop their entries."""
        output: list[OutputChange] = []
        for window in sorted(affected, key=by_window):
            entry, change = state.windows.get(window), affected[window]
            if entry.size and not (change.exists and entry.size + change.growth):
                output += _retractions(window, entry)
                state.windows.put(window, NEW)
                change.exists = False
        return output

    def _happenings(
        self, state: KeyState, affected: dict[Window, Affected], closed: set[Window], now: Progress
    ) -> dict[Window, _WindowChange]:
        """Return the open windows whose trigger has to be called, with the effect of the batch on them."""
        happenings: dict[Window, _WindowChange] = {}
        new: list[Window] = []
        for window, change in affected.items():
            entry = state.windows.get(window)
            if not change.exists or window in closed:
                continue
            if not entry.size:
                new.append(window)
            elif change.touches_members:  # an event that remains a member has neither come nor left
                were, are = {event.id for event in change.removed}, {event.id for event in change.added}
                came = [event for event in change.added if event.id not in were]
                happenings[window] = _WindowChange(entry.size + change.growth, True, came, len(were - are))
        for step in state.sweep(new):
            is_closed = state.closes_out_of_order and self._closing.has_closed(step, now.watermark)
            if step.members and not is_closed:
                happenings[step.window] = _WindowChange(len(step.members), True, list(step.members.values()))
        for window, entry in state.windows.items():
            at = entry.trigger_state
            if at is None or at.is_finished or window in happenings or window in closed:
                continue
            if self.is_signalled or at.wakes(now.clock, now.max_event_time):
                happenings[window] = _WindowChange(entry.size)
        return happenings

    def _step_triggers(
        self, key: object, state: KeyState, happenings: dict[Window, _WindowChange], now: Progress
    ) -> list[Window]:
        """Call the trigger for some windows; return the windows that fire."""
        firing: list[Window] = []
        results = self._results_now(key, state, list(happenings)) if self._reads_results else {}
        for window in sorted(happenings, key=by_window):
            happening, entry = happenings[window], state.windows.get(window)
            trigger_state, fires = self._trigger_call.step(
                key, window, entry.trigger_state, happening.came, happening.left, now, results.get(window, {})
            )
            trigger_state = trigger_state._replace(is_changed=trigger_state.is_changed or happening.is_change)
            state.windows.put(window, entry._replace(size=happening.size, trigger_state=trigger_state))
            if fires and trigger_state.is_changed:
                firing.append(window)
        return firing

    def _results_now(self, key: object, state: KeyState, windows: list[Window]) -> dict[Window, dict[str, Any]]:
        """Return the results of some windows by name, where their triggers may still fire."""
        entries = ((window, state.windows.get(window).trigger_state) for window in windows)
        asked = [window for window, trigger_state in entries if trigger_state is None or not trigger_state.is_finished]
        names = [binding.name for binding in self._query.bindings]
        return {
            step.window: dict(zip(names, values, strict=True))
            for step, values in self._results.values(key, state.sweep(asked))
        }

    def _rows(
        self, key: object, state: KeyState, steps: Iterable[SweptWindow]
    ) -> Iterator[tuple[SweptWindow, list[OutputRow]]]:
        if self._refinement is Refinement.DISCARD:
            return ((step, self._rest(key, state, step)) for step in steps if step.members)
        return self._results.rows(key, steps)

    def _rest(self, key: object, state: KeyState, step: SweptWindow) -> list[OutputRow]:
        """Return the rows of the members that came since the window was last emitted."""
        trigger_state = state.windows.get(step.window).trigger_state or TriggerState()
        last = trigger_state.last_serial  # of ids, which are serial numbers: events with ids refuse discard
        rest = [event for event in step.members.values() if cast(int, event.id) > last]
        if not rest:
            return []
        results = [one.result_of_members(rest, key, step.window) for one in self._results.computations]
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
        output = _retractions(window, entry)
        serial = state.serial
        live = [LiveRow(state.next_serial(), row) for row in rows]
        firings = trigger_state.firings
        output += [out.change(OutputKind.INSERT, window, timing=timing, firing=firings) for out in live]
        if timing is Timing.EARLY:
            trigger_state = trigger_state._replace(firings=firings + 1, is_changed=False, last_serial=serial)
            kept = live if self._refinement is Refinement.RETRACT else []
            state.windows.put(window, entry._replace(live=kept, trigger_state=trigger_state))
        return output


def _retractions(window: Window, entry: WindowEntry) -> list[OutputChange]:
    firing = entry.trigger_state.firings - 1 if entry.trigger_state is not None else 0
    return [out.change(OutputKind.RETRACT, window, timing=Timing.EARLY, firing=firing) for out in entry.live]
