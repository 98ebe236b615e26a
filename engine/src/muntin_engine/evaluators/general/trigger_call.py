"""Calls of a trigger for a window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import EARLIEST, INFINITY, Decision, ModuleContractError, ModuleFailedError, Trigger, TriggerView, Window
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.event_index import StoredEvent, by_start
from muntin_engine.evaluators.general.trigger_state import TriggerState


class TriggerCall:
    """Steps the triggers of a batch's windows. A failure inside one names it, the key, the window and the method.

    Attributes:
        is_signalled: True if the batch brought a signal that the trigger listens to.
    """

    def __init__(self, query: EvaluatorQuery, trigger: Trigger, signals: frozenset[str]) -> None:
        self.is_signalled = bool(signals & trigger.signals)
        self._trigger = trigger
        self._signals = signals
        self._reads = {expression: query.expressions[expression] for expression in trigger.reads}

    def ask(
        self,
        key: object,
        window: Window,
        trigger_state: TriggerState | None,
        came: Sequence[StoredEvent],
        left: int,
        now: Progress,
    ) -> tuple[TriggerState, bool]:
        """Return a window's trigger state after a batch, and True if its trigger fires.

        Args:
            key: The window's key.
            window: The window.
            trigger_state: The state before; None for a new window.
            came: Its new members.
            left: The number of members that it lost.
            now: The progress after the batch.

        Raises:
            ModuleFailedError: The trigger raised an exception.
            ModuleContractError: It did not return a state and a decision.
        """
        if trigger_state is None:
            trigger_state = TriggerState(self._call("create_state", key, window))
        if trigger_state.is_finished:
            return trigger_state, False
        answer = self._call("step", key, window, before=(trigger_state.state,), after=(self._view(came, left, now),))
        state, decision = self._checked(answer, window)
        if decision.is_finished:
            return trigger_state._replace(
                state=None, is_finished=True, clock=INFINITY, max_event_time=INFINITY
            ), decision.fires
        clock, max_event_time = (self._call(name, key, window, (state,)) for name in ("next_clock", "next_event_time"))
        return trigger_state._replace(state=state, clock=clock, max_event_time=max_event_time), decision.fires

    def _view(self, came: Sequence[StoredEvent], left: int, now: Progress) -> TriggerView:
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
