"""Call triggers and refinements of one's own. An exception names the trigger or refinement, key, window and method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from muntin import EARLIEST, INFINITY, ResultRefinement, Window
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.triggers import Decision, Trigger, TriggerView
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.window_entry import TriggerState
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start
from muntin_engine.evaluators.keyed.live_output import OutputRow


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
