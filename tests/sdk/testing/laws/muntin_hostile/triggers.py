"""Triggers that break a law of triggers each, and some that keep all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

from hypothesis import strategies as st

from muntin import Window
from muntin.triggers import (
    Decision,
    Trigger,
    TriggerView,
    after,
    after_count,
    all_of,
    any_of,
    each,
    every,
    on_signal,
    past_end,
    percentile,
    reaches,
    repeat,
    until,
    when,
)

VALUES = {"x > 5": st.booleans(), "n": st.none() | st.integers(0, 9)}
_CALLS = count()


def honest_triggers() -> list[Trigger]:
    return [
        after_count(3),
        every(10),
        until(repeat(any_of(when("x > 5"), after(7))), past_end(3)),
        repeat(reaches("n", 5)),
        each(all_of(on_signal("bell"), percentile(0.5)), every(25), after_count(2)),
    ]


@dataclass(frozen=True)
class Holder(Trigger):
    """Has a field that no checkpoint can hold."""

    name: ClassVar[str] = "hostile.holder"

    held: Any = object

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.WAIT


@dataclass(frozen=True)
class Rich(Trigger):
    """Has the view itself as its state, which no checkpoint can hold."""

    name: ClassVar[str] = "hostile.rich"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return view, Decision.WAIT


@dataclass(frozen=True)
class Appender(Trigger):
    """Grows the state it is given."""

    name: ClassVar[str] = "hostile.appender"

    def create_state(self, window: Window) -> list[int]:
        return []

    def step(self, state: list[int], window: Window, view: TriggerView) -> tuple[Any, Decision]:
        state.append(view.arrivals)
        return state, Decision.FIRE if sum(state) > 3 else Decision.WAIT


@dataclass(frozen=True)
class Moody(Trigger):
    """Fires at two of three calls, which it counts over all windows."""

    name: ClassVar[str] = "hostile.moody"

    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return None, Decision.FIRE if next(_CALLS) % 3 else Decision.WAIT


@dataclass(frozen=True)
class Sleepless(Trigger):
    """Fires at the third micro-batch, and does not ask to be woken in any."""

    name: ClassVar[str] = "hostile.sleepless"

    def create_state(self, window: Window) -> int:
        return 0

    def step(self, state: int, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return state + 1, Decision.FIRE if state >= 2 else Decision.WAIT


@dataclass(frozen=True)
class Forgetful(Trigger):
    """Fires from the tenth member on, and forgets those of all windows but the first when windows merge."""

    name: ClassVar[str] = "hostile.forgetful"

    def create_state(self, window: Window) -> int:
        return 0

    def step(self, state: int, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        return state + view.arrivals, Decision.FIRE if state + view.arrivals >= 10 else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        return states[0]


HOSTILE_TRIGGERS: dict[str, Trigger] = {
    "test_definition_is_complete": Holder(),
    "test_states_are_plain_data": Rich(),
    "test_a_step_leaves_its_state_as_it_was": Appender(),
    "test_the_same_views_give_the_same_decisions": Moody(),
    "test_it_sleeps_until_it_is_woken": Sleepless(),
    "test_it_does_not_matter_how_states_are_merged": Forgetful(),
}
