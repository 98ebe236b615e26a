"""Early output: final results, and results of open windows whenever a trigger fires.

A micro-batch has a fixed order: its changes are applied, new windows take over the trigger states of those in whose
place they are, the windows that close are emitted as final, and the triggers of the open windows that changed or are
due are called once each. Final results do not depend on the trigger. An exception names the trigger or the refinement,
and the key, window and method.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from operator import attrgetter
from typing import Any, NamedTuple, cast

from muntin import EARLIEST, INFINITY, EarlyEmission, Refinement, ResultRefinement, Window
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.triggers import FINISHED, Decision, Trigger, TriggerView
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.window_closing import Closing, Emission
from muntin_engine.evaluators.general.window_index import NEW, TriggerState, WindowEntry, by_window
from muntin_engine.evaluators.keyed.computation import SweptWindow, WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow
from muntin_engine.modules.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import OutputChange, OutputKind, Progress, Timing


class TriggerCall:
    """Calls the trigger for the windows of a batch. An exception names the trigger, key, window and method.

    Attributes:
        is_signalled: True if the batch brought a signal that the trigger listens to.
    """

    def __init__(self, query: EvaluatorQuery, trigger: Trigger, signals: frozenset[str]) -> None:
        self.is_signalled = bool(signals & trigger.signals)
        self._trigger = trigger
        self._signals = signals
        self._extent = query.once(WindowResults).extent
        self._reads = {expression: query.expressions[expression] for expression in trigger.reads}

    def step(
        self,
        key: object,
        window: Window,
        trigger_state: TriggerState | None,
        came: Sequence[StoredEvent],
        left: int,
        now: Progress,
        results: Mapping[str, Any],
    ) -> tuple[TriggerState, bool]:
        """Return a window's trigger state after a batch, and True if its trigger fires.

        Args:
            key: The window's key.
            window: The window.
            trigger_state: The state before; None for a new window.
            came: Its new members.
            left: The number of members that it lost.
            now: The progress after the batch.
            results: The window's results now, by name, if the trigger reads any.

        Raises:
            ModuleFailedError: The trigger raised an exception.
            ModuleContractError: It did not return a state and a decision.
        """
        if self._extent is not None:
            window = self._extent(window)
        if trigger_state is None:
            trigger_state = TriggerState(self._call("create_state", key, window))
        if trigger_state.is_finished:
            return trigger_state, False
        answer = self._call(
            "step", key, window, before=(trigger_state.state,), after=(self._view(came, left, now, results),)
        )
        state, decision = self._checked(answer, window)
        if decision.is_finished:
            return trigger_state._replace(
                state=None, is_finished=True, due_clock=INFINITY, due_event_time=INFINITY
            ), decision.fires
        due_clock, due_event_time = (
            self._call(name, key, window, (state,)) for name in ("next_clock", "next_event_time")
        )
        return trigger_state._replace(state=state, due_clock=due_clock, due_event_time=due_event_time), decision.fires

    def merge(self, key: object, window: Window, trigger_states: Sequence[TriggerState]) -> TriggerState:
        """Return the trigger state of a window that takes the place of others, by theirs.

        Raises:
            ModuleFailedError: The trigger raised an exception.
        """
        if self._extent is not None:
            window = self._extent(window)
        states = [FINISHED if one.is_finished else one.state for one in trigger_states]
        merged = self._call("merge", key, window, before=(states,))
        most_fired = max(trigger_states, key=attrgetter("firings"))
        trigger_state = most_fired._replace(
            state=None, is_finished=True, is_changed=True, due_clock=INFINITY, due_event_time=INFINITY
        )
        if merged is FINISHED:
            return trigger_state
        due_clock, due_event_time = (
            self._call(name, key, window, (merged,)) for name in ("next_clock", "next_event_time")
        )
        return trigger_state._replace(
            state=merged, is_finished=False, due_clock=due_clock, due_event_time=due_event_time
        )

    def _view(self, came: Sequence[StoredEvent], left: int, now: Progress, results: Mapping[str, Any]) -> TriggerView:
        ordered = sorted(came, key=by_start) if self._reads else came
        return TriggerView(
            max_event_time=now.max_event_time,
            watermark=now.watermark,
            clock=now.clock,
            came=len(came),
            left=left,
            newest=max((event.start for event in came), default=EARLIEST),
            signals=self._signals,
            values={name: [read(event.payload) for event in ordered] for name, read in self._reads.items()},
            results=results,
        )

    def _call(
        self, name: str, key: object, window: Window, before: tuple[object, ...] = (), after: tuple[object, ...] = ()
    ) -> Any:
        """Call a method of the trigger with its window, and what goes before and after that."""
        try:
            return getattr(self._trigger, name)(*before, window, *after)
        except Exception as error:
            trigger = self._trigger
            raise ModuleFailedError(trigger.name, trigger.version, key, window, name, error) from error

    def _checked(self, answer: object, window: Window) -> tuple[object, Decision]:
        if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Decision):
            return answer
        raise ModuleContractError(
            f"the trigger {self._trigger.name} {self._trigger.version} answered {answer!r} for the window "
            f"[{window.start}, {window.end})\n  expected: a pair of its state and a Decision"
        )


class RefinementCall:
    """Calls a refinement for windows that fire or close. An exception names the refinement, key and window."""

    def __init__(self, query: EvaluatorQuery, refinement: ResultRefinement) -> None:
        self._refinement = refinement
        self._names = [binding.name for binding in query.bindings]
        self._extent = query.once(WindowResults).extent

    def refine(
        self, key: object, window: Window, state: Any, rows: list[OutputRow], *, is_final: bool
    ) -> tuple[Any, list[OutputRow]]:
        """Return the state to keep of a window, and the rows to emit of it.

        Args:
            key: The window's key.
            window: The window.
            state: The state that was kept of it; None at first.
            rows: Its results: one row, or none if the timestamping policy leaves it out.
            is_final: True if it is final.

        Raises:
            ModuleFailedError: The refinement raised an exception.
            ModuleContractError: It did not return a state and a value for each column, or None.
        """
        refined: list[OutputRow] = []
        for row in rows:
            result = dict(zip(self._names, row.value, strict=True))
            state, emitted = self._call(
                key, window if self._extent is None else self._extent(window), state, result, is_final
            )
            if emitted is not None:
                refined.append(row._replace(value=tuple(emitted[name] for name in self._names)))
        return state, refined

    def _call(
        self, key: object, window: Window, state: Any, result: Mapping[str, Any], is_final: bool
    ) -> tuple[Any, Mapping[str, Any] | None]:
        named = self._refinement
        try:
            answer: Any = named.refine(state, result, is_final)
        except Exception as error:
            raise ModuleFailedError(named.name, named.version, key, window, "refine", error) from error
        if isinstance(answer, tuple) and len(answer) == 2:
            emitted = answer[1]
            if emitted is None or (isinstance(emitted, Mapping) and emitted.keys() == set(self._names)):
                return answer
        raise ModuleContractError(
            f"the refinement {named.name} {named.version} answered {answer!r} for the window "
            f"[{window.start}, {window.end})\n"
            f"  expected: a pair of its state and a dict with {', '.join(self._names)}, or None instead of the dict"
        )


class _WindowChange(NamedTuple):
    """The effect of a batch on an open window.

    Attributes:
        size: The number of its members now.
        is_change: True if its result may have changed.
        came: The members that came.
        left: The number of members that left.
        is_moved: True if it is in the place of a window with the same members, whose live result was retracted.
    """

    size: int
    is_change: bool = False
    came: Sequence[StoredEvent] = ()
    left: int = 0
    is_moved: bool = False


class ReplacedWindow(NamedTuple):
    """A window that no longer exists, and whose trigger state another one may take over.

    Attributes:
        window: The window.
        entry: Its entry before the batch.
        trigger_state: The state of its trigger.
        members: Its members before the batch, by their ids.
    """

    window: Window
    entry: WindowEntry
    trigger_state: TriggerState
    members: Mapping[Hashable, StoredEvent]

    def is_the_same(self, step: SweptWindow) -> bool:
        """Return True for a window with the same extent and members, which another life of the key has now."""
        return self.window == step.window and self.members == step.members


def predecessors(
    step: SweptWindow, replaced: Sequence[ReplacedWindow], is_member: Callable[[Hashable], bool]
) -> list[ReplacedWindow]:
    """Return the windows whose trigger states a new window takes over.

    It is in the place of the one with which it shares the most members; of several, the one that starts nearest. So
    each part of a snapshot that was cut goes on with the state of the whole, and a snapshot that parts become again
    with that of the first. It is also in the place of each other window that it has as a whole, such as a session that
    another one reached; not where they share members, which would count twice.

    Args:
        step: The new window, with its members.
        replaced: The windows that no longer exist.
        is_member: Returns True for the id of an event that is still a member of windows.
    """
    members = step.members.keys()
    shared: dict[int, Set[Hashable]] = {}
    for place, window in enumerate(replaced):
        shared[place] = members & window.members.keys()
    nearest = sorted(
        (place for place in shared if shared[place]),
        key=lambda place: (-len(shared[place]), abs(replaced[place].window.start - step.window.start), place),
    )
    chosen: list[int] = []
    taken: set[Hashable] = set()
    for place in nearest:
        if chosen:
            is_whole = not any(map(is_member, replaced[place].members.keys() - members))
            if not is_whole or shared[place] & taken:
                continue
        chosen.append(place)
        taken |= shared[place]
    return [replaced[place] for place in sorted(chosen)]


class TriggeredEmission(Emission):
    """Keeps a trigger state for each open window with members, and computes the windows that fire in one sweep.

    Cost: the changes of a batch cost at most one trigger call for each window that they affect. A firing costs as much
    as closing the window: windows that fire together share the sweep, and no module state is kept. A trigger that
    reads results costs as much as a firing for each window that it is called for. An open window that
    did not change and is not due costs reading and writing its trigger state. Where events cut windows, going through
    the members of those that come and go is added.
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
        self._replaces = query.window.waits_for_events or query.forget_keys_after is not None
        self._replaced: list[ReplacedWindow] = []

    def begin_key(self) -> None:
        """Forget the windows of the key before that were replaced."""
        self._replaced = []

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close, and of the open ones that fire."""
        output = self._retract_removed(state, affected)
        happenings: dict[Window, _WindowChange] = {}
        for step, sources in self._replacing_windows(state, affected, before):
            if len(sources) == 1 and sources[0].is_the_same(step):
                output += self._go_on(state, step.window, sources[0].entry)
                affected[step.window].exists = False  # nothing in it has changed
            else:
                happenings[step.window] = self._take_over(key, state, step, sources)
        closed: set[Window] = set()
        for step, rows in self._rows(key, state, self._closing.steps(state, before, now)):
            output += self._emit_window(key, state, step.window, rows, Timing.FINAL)
            closed.add(step.window)
        self.windows_closed += len(closed)
        for window, happening in self._happenings(state, affected, closed, now).items():
            happenings.setdefault(window, happening)
        for window in closed:
            happenings.pop(window, None)
        firing = self._step_triggers(key, state, happenings, now)
        for step, rows in self._rows(key, state, state.sweep(firing)):
            output += self._emit_window(key, state, step.window, rows, Timing.EARLY)
        for window in closed:
            state.windows.put(window, NEW)
        return output

    def rename(self, key: object, state: KeyState, renamed: Mapping[Window, Window]) -> list[OutputChange]:
        """Move entries to the windows that replace theirs: triggers go on, and what is live of them is retracted."""
        output: list[OutputChange] = []
        for before, after in renamed.items():
            entry = state.windows.get(before)
            output += _retractions(before, entry)
            trigger_state = entry.trigger_state
            if trigger_state is not None:
                trigger_state = self._trigger_call.merge(key, after, [trigger_state])
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
                if self._replaces and entry.trigger_state is not None:
                    self._replaced.append(_replaced_window(state, window, entry, change))
                state.windows.put(window, NEW)
                change.exists = False
        return output

    def _replacing_windows(
        self, state: KeyState, affected: Mapping[Window, Affected], before: Progress
    ) -> Iterator[tuple[SweptWindow, list[ReplacedWindow]]]:
        """Yield the new windows that are in the place of others, each with these."""
        if not self._replaced:
            return
        new = [window for window, change in affected.items() if change.exists and not state.windows.get(window).size]

        def is_member(id: Hashable) -> bool:
            event = state.event(id)
            return event is not None and event.is_member and event.since < event.until

        for step in state.sweep(new):
            if state.closes_out_of_order and self._closing.has_closed(step, before.watermark):
                continue
            sources = predecessors(step, self._replaced, is_member)
            if sources:
                yield step, sources

    def _go_on(self, state: KeyState, window: Window, entry: WindowEntry) -> list[OutputChange]:
        """Let a window that only is another life's now go on as it was, with an entry of before the batch.

        What was live of it has been retracted in the other life. It is inserted again as of the same firing, so the
        two cancel out, and nobody sees that.
        """
        live = [LiveRow(state.next_serial(), out.row) for out in entry.live]
        entry = entry._replace(live=live)
        state.windows.put(window, entry)
        return _changes_of_live_rows(OutputKind.INSERT, window, entry)

    def _take_over(
        self, key: object, state: KeyState, step: SweptWindow, sources: Sequence[ReplacedWindow]
    ) -> _WindowChange:
        """Give a new window the trigger states of those in whose place it is.

        Returns:
            The effect of the batch on it. New members are those that the windows before did not have.
        """
        size = len(step.members)
        known = frozenset[Hashable]().union(*(source.members for source in sources))
        came = [event for event in step.members.values() if event.id not in known]
        left = len(known) - (size - len(came))
        trigger_state = self._trigger_call.merge(key, step.window, [source.trigger_state for source in sources])
        state.windows.put(step.window, NEW._replace(size=size, trigger_state=trigger_state))
        is_moved = len(sources) == 1 and bool(sources[0].entry.live) and not came and not left
        return _WindowChange(size, True, came, left, is_moved)

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
            # A result that was live and only has another extent now is emitted at once, whatever the trigger decides.
            if happening.is_moved or (fires and trigger_state.is_changed):
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


def _replaced_window(state: KeyState, window: Window, entry: WindowEntry, change: Affected) -> ReplacedWindow:
    """Describe a window that no longer exists, by the events of the key now and what the batch changed in it."""
    assert entry.trigger_state is not None, "each window with members has one"
    added = {event.id for event in change.added}
    members = {event.id: event for event in change.removed}
    for event in state.events.overlapping(window.start, window.end):
        if event.is_member and event.id not in added:
            members[event.id] = event
    return ReplacedWindow(window, entry, entry.trigger_state, members)


def _retractions(window: Window, entry: WindowEntry) -> list[OutputChange]:
    return _changes_of_live_rows(OutputKind.RETRACT, window, entry)


def _changes_of_live_rows(kind: OutputKind, window: Window, entry: WindowEntry) -> list[OutputChange]:
    """Return the live rows of a window as changes of a kind, with the number of the firing that emitted them."""
    firing = entry.trigger_state.firings - 1 if entry.trigger_state is not None else 0
    return [out.change(kind, window, timing=Timing.EARLY, firing=firing) for out in entry.live]
