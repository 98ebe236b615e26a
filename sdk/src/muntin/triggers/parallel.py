"""The common part of all_of and any_of: several triggers that watch a window side by side."""

from __future__ import annotations

from dataclasses import dataclass

from muntin.axis import INFINITY
from muntin.errors import PolicyError
from muntin.triggers.decision import Decision
from muntin.triggers.trigger import Trigger
from muntin.triggers.view import TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Parallel(Trigger):
    """Triggers side by side. The state is a pair for each: whether it has had its say, and its state.

    Attributes:
        triggers: One or more.
    """

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise PolicyError(f"{self.name}() needs at least one trigger")

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.triggers))})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The triggers."""
        return self.triggers

    def create_state(self, window: Window) -> list[list[object]]:
        """Return the states of all."""
        return [[False, part.create_state(window)] for part in self.triggers]

    def next_clock(self, state: list[list[object]], window: Window) -> int:
        """Return the earliest of their wake-ups."""
        return min((part.next_clock(own, window) for part, own in self._waiting(state)), default=INFINITY)

    def next_event_time(self, state: list[list[object]], window: Window) -> int:
        """Return the earliest of their wake-ups."""
        return min((part.next_event_time(own, window) for part, own in self._waiting(state)), default=INFINITY)

    def _ask(
        self, state: list[list[object]], window: Window, view: TriggerView
    ) -> tuple[list[list[object]], list[Decision]]:
        """Ask those that have not had their say; return the new state, and what each of them says."""
        new: list[list[object]] = []
        decisions: list[Decision] = []
        for part, (was_done, old) in zip(self.triggers, state, strict=True):
            if was_done:
                new.append([True, None])
                continue
            own, decision = part.step(old, window, view)
            is_done = decision is not Decision.WAIT
            new.append([is_done, None if is_done else own])
            decisions.append(decision)
        return new, decisions

    def _waiting(self, state: list[list[object]]) -> list[tuple[Trigger, object]]:
        return [(part, own) for part, (is_done, own) in zip(self.triggers, state, strict=True) if not is_done]
