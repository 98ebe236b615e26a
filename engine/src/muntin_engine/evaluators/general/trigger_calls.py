"""The calls of a query's trigger and of its refinement. An exception names it, and the key, window and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from muntin import EARLIEST, ResultRefinement, Window
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.triggers import FINISHED, Decision, Trigger, TriggerView
from muntin_engine.evaluators.general.window_index import TriggerState
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start
from muntin_engine.evaluators.keyed.live_output import OutputRow
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import Progress

_ABSENT: Final = object()
"""Stands for the state in calls without one: None may be a trigger's state."""


class TriggerCall:
    """Calls the trigger for the windows of a batch. An exception names the trigger, key, window and method.

    Attributes:
        is_signalled: True if the batch brought a signal that the trigger listens to.
    """

    def __init__(self, query: EvaluatorQuery, trigger: Trigger, signals: frozenset[str]) -> None:
        """Prepare to call the trigger of a query in a batch that brings signals, by their names."""
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
        arrivals: Sequence[StoredEvent],
        departures: int,
        progress: Progress,
        results: Mapping[str, Any],
    ) -> tuple[TriggerState, bool]:
        """Return a window's trigger state after a batch, and True if its trigger fires.

        Args:
            key: The window's key.
            window: The window.
            trigger_state: The state before; None for a new window.
            arrivals: The members that the window gained.
            departures: The number of members that the window lost.
            progress: The progress after the batch.
            results: The window's present results, by name, if the trigger reads any.

        Raises:
            ModuleFailedError: The trigger raised an exception.
            ModuleContractError: The trigger did not return a state and a decision.
        """
        if self._extent is not None:
            window = self._extent(window)
        if trigger_state is None:
            trigger_state = TriggerState(self._call("create_state", key, window))
        if trigger_state.is_finished:
            return trigger_state, False
        view = self._view(arrivals, departures, progress, results)
        answer = self._call("step", key, window, state=trigger_state.state, view=view)
        state, decision = self._checked(answer, window)
        if decision.is_finished:
            return trigger_state.finished(), decision.fires
        return self._with_wake_ups(trigger_state, state, key, window), decision.fires

    def merge(self, key: object, window: Window, trigger_states: Sequence[TriggerState]) -> TriggerState:
        """Merge the trigger states of windows into the state of the window that takes their place.

        Raises:
            ModuleFailedError: The trigger raised an exception.
        """
        if self._extent is not None:
            window = self._extent(window)
        states: list[Any] = []
        for trigger_state in trigger_states:
            states.append(FINISHED if trigger_state.is_finished else trigger_state.state)
        merged_state = self._call("merge", key, window, state=states)
        # The trigger's own state is merged. All else, such as the number of firings, goes on from the window that fired
        # most often, marked as changed: the new window has other members than that one had at its last firing.
        most_fired = max(trigger_states, key=attrgetter("firings"))._replace(is_changed=True)
        if merged_state is FINISHED:
            return most_fired.finished()
        return self._with_wake_ups(most_fired._replace(is_finished=False), merged_state, key, window)

    def _with_wake_ups(self, trigger_state: TriggerState, state: Any, key: object, window: Window) -> TriggerState:
        """Return a trigger state with a new state of the trigger, and the times at which the trigger is due by it."""
        due_clock = self._call("next_clock", key, window, state=state)
        due_event_time = self._call("next_event_time", key, window, state=state)
        return trigger_state._replace(state=state, due_clock=due_clock, due_event_time=due_event_time)

    def _view(
        self, arrivals: Sequence[StoredEvent], departures: int, progress: Progress, results: Mapping[str, Any]
    ) -> TriggerView:
        """Return the view of a window that its trigger gets; for arguments see `step`."""
        # The trigger gets the values of new members in order of time, whatever the order in which they came.
        ordered = sorted(arrivals, key=by_start) if self._reads else arrivals
        values: dict[str, list[Any]] = {}
        for name, read in self._reads.items():
            values[name] = [read(event.payload) for event in ordered]
        return TriggerView(
            max_event_time=progress.max_event_time,
            watermark=progress.watermark,
            clock=progress.clock,
            arrivals=len(arrivals),
            departures=departures,
            newest=max((event.start for event in arrivals), default=EARLIEST),
            signals=self._signals,
            values=values,
            results=results,
        )

    def _call(
        self, name: str, key: object, window: Window, *, state: object = _ABSENT, view: TriggerView | None = None
    ) -> Any:
        """Call a method of the trigger.

        Args:
            name: The method.
            key: The key of the window, for errors.
            window: The window.
            state: The state, or the list of states, that the method gets before the window, if it gets one.
            view: The view that the method gets after the window, if it gets one.

        Raises:
            ModuleFailedError: The method raised an exception.
        """
        arguments: list[object] = [window]
        if state is not _ABSENT:
            arguments.insert(0, state)
        if view is not None:
            arguments.append(view)
        try:
            return getattr(self._trigger, name)(*arguments)
        except Exception as error:
            trigger = self._trigger
            raise ModuleFailedError(trigger.name, trigger.version, key, window, name, error) from error

    def _checked(self, answer: object, window: Window) -> tuple[object, Decision]:
        """Check that the answer of a trigger is a pair of its state and its decision, and return it.

        Raises:
            ModuleContractError: The answer is something else.
        """
        if isinstance(answer, tuple) and len(answer) == 2:
            _state, decision = answer
            if isinstance(decision, Decision):
                return answer
        raise ModuleContractError(
            f"the trigger {self._trigger.name} {self._trigger.version} answered {answer!r} for the window "
            f"[{window.start}, {window.end})\n  expected: a pair of its state and a Decision"
        )


class RefinementCall:
    """Calls a refinement for windows that fire or close. An exception names the refinement, key and window."""

    def __init__(self, query: EvaluatorQuery, refinement: ResultRefinement) -> None:
        """Prepare to call the refinement of a query."""
        self._refinement = refinement
        self._names = [binding.name for binding in query.bindings]
        self._extent = query.once(WindowResults).extent

    def refine(
        self, key: object, window: Window, state: Any, rows: list[OutputRow], *, is_final: bool
    ) -> tuple[Any, list[OutputRow]]:
        """Refine the results of a window; return the refinement's new state of the window, and the rows to emit.

        Args:
            key: The window's key.
            window: The window.
            state: The state that the refinement returned for the window last; None at first.
            rows: The results of the window: one row, or none if the timestamping policy leaves it out.
            is_final: True if the results are final.

        Raises:
            ModuleFailedError: The refinement raised an exception.
            ModuleContractError: The refinement did not return a state and a value for each column, or None.
        """
        extent = window if self._extent is None else self._extent(window)
        refined: list[OutputRow] = []
        for row in rows:
            result = dict(zip(self._names, row.value, strict=True))
            state, emitted = self._call(key, extent, state, result, is_final=is_final)
            if emitted is not None:
                refined.append(row._replace(value=tuple(emitted[name] for name in self._names)))
        return state, refined

    def _call(
        self, key: object, window: Window, state: Any, result: Mapping[str, Any], *, is_final: bool
    ) -> tuple[Any, Mapping[str, Any] | None]:
        """Call the refinement with a result; return its new state, and the result to emit, or None to emit none.

        Raises:
            ModuleFailedError: The refinement raised an exception.
            ModuleContractError: The refinement returned something else than it has to.
        """
        refinement = self._refinement
        try:
            answer: Any = refinement.refine(state, result, is_final)
        except Exception as error:
            raise ModuleFailedError(refinement.name, refinement.version, key, window, "refine", error) from error
        if isinstance(answer, tuple) and len(answer) == 2:
            emitted = answer[1]
            if emitted is None or (isinstance(emitted, Mapping) and emitted.keys() == set(self._names)):
                return answer
        raise ModuleContractError(
            f"the refinement {refinement.name} {refinement.version} answered {answer!r} for the window "
            f"[{window.start}, {window.end})\n"
            f"  expected: a pair of its state and a dict with {', '.join(self._names)}, or None instead of the dict"
        )
