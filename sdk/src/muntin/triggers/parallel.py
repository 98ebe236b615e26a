"""Triggers that watch a window side by side: all of them, or any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import INFINITY
from muntin.errors import PolicyError
from muntin.triggers.trigger import Decision, Trigger, TriggerView
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


@dataclass(frozen=True, slots=True)
class AllOf(Parallel):
    """Fires once, when the last of its triggers has; made by `all_of`."""

    name: ClassVar[str] = "all_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Remember who has fired."""
        state, decisions = self._ask(state, window, view)
        if Decision.STOP in decisions:
            return state, Decision.STOP
        return state, Decision.FIRE_LAST if all(is_done for is_done, _ in state) else Decision.WAIT


def all_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when each of several has fired since it started (Beam's AfterAll).

    A trigger that has fired is remembered and not called again. If one ends without firing, so does the whole.

    Raises:
        PolicyError: There is no trigger.

    Example:
        >>> from muntin.triggers import after_count, on_signal
        >>> print(all_of(after_count(10), on_signal("open")))
        all_of(after_count(10), on_signal('open'))
    """
    return AllOf(triggers)


@dataclass(frozen=True, slots=True)
class AnyOf(Parallel):
    """Fires once, when the first of its triggers does; made by `any_of`."""

    name: ClassVar[str] = "any_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """See whether one fires."""
        state, decisions = self._ask(state, window, view)
        if any(decision.fires for decision in decisions):
            return state, Decision.FIRE_LAST
        return state, Decision.STOP if all(is_done for is_done, _ in state) else Decision.WAIT


def any_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when the first of several fires (Beam's AfterFirst).

    It is then finished, also if that one is not; `repeat(any_of(...))` starts all of them anew. One that ends without
    firing drops out.

    Raises:
        PolicyError: There is no trigger.

    Example:
        >>> from muntin.triggers import after_count, on_signal
        >>> print(any_of(after_count(10), on_signal("open")))
        any_of(after_count(10), on_signal('open'))
    """
    return AnyOf(triggers)
