"""Triggers one after the other: each, the same again, or one until another fires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.axis import INFINITY
from muntin.errors import PolicyError
from muntin.triggers.trigger import Decision, Trigger, TriggerView
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Each(Trigger):
    """Fires as each of its triggers in turn; made by `each`. The state is the place of the current one, and its state.

    Attributes:
        triggers: One or more.
    """

    name: ClassVar[str] = "each"

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise PolicyError("each() needs at least one trigger")

    def __str__(self) -> str:
        return f"each({', '.join(map(str, self.triggers))})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The triggers."""
        return self.triggers

    def create_state(self, window: Window) -> list[object]:
        """Return the state of the first."""
        return [0, self.triggers[0].create_state(window)]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Ask the current one, and go on to the next if it is finished."""
        place, own = state
        own, decision = self.triggers[place].step(own, window, view)
        if not decision.is_finished or place + 1 == len(self.triggers):
            return [place, own], decision
        following = [place + 1, self.triggers[place + 1].create_state(window)]
        return following, Decision.FIRE if decision.fires else Decision.WAIT

    def next_clock(self, state: list[Any], window: Window) -> int:
        """Return the wake-up of the current one."""
        current, own = self._current(state)
        return current.next_clock(own, window)

    def next_event_time(self, state: list[Any], window: Window) -> int:
        """Return the wake-up of the current one."""
        current, own = self._current(state)
        return current.next_event_time(own, window)

    def _current(self, state: list[Any]) -> tuple[Trigger, object]:
        place, own = state
        return self.triggers[place], own


def each(*triggers: Trigger) -> Trigger:
    """Return a trigger that is each of several in turn, until the last is finished (Beam's AfterEach).

    The next one begins with the micro-batch after the one in which the one before it finished. After one that never
    finishes, such as `every(...)`, no other gets its turn; bound it by `until`.

    Raises:
        PolicyError: There is no trigger.

    Example:
        >>> from muntin.triggers import after_count, every
        >>> print(each(after_count(1), every("1 minute")))
        each(after_count(1), repeat(after('1 minute', aligned)))
    """
    return Each(triggers)


@dataclass(frozen=True, slots=True)
class Repeat(Trigger):
    """Never finishes; made by `repeat`.

    Attributes:
        repeated: The trigger that is started again and again.
    """

    name: ClassVar[str] = "repeat"

    repeated: Trigger

    def __str__(self) -> str:
        return f"repeat({self.repeated})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The repeated trigger."""
        return (self.repeated,)

    def create_state(self, window: Window) -> object:
        """Return the state of the repeated trigger."""
        return self.repeated.create_state(window)

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Ask the repeated trigger, and start it anew if it is finished."""
        state, decision = self.repeated.step(state, window, view)
        if decision.is_finished:
            state = self.repeated.create_state(window)
        return state, Decision.FIRE if decision.fires else Decision.WAIT

    def next_clock(self, state: object, window: Window) -> int:
        """Return the wake-up of the repeated trigger."""
        return self.repeated.next_clock(state, window)

    def next_event_time(self, state: object, window: Window) -> int:
        """Return the wake-up of the repeated trigger."""
        return self.repeated.next_event_time(state, window)


def repeat(trigger: Trigger) -> Trigger:
    """Return a trigger that starts another one anew each time that is finished (Beam's Repeatedly).

    What is repeated begins with the next micro-batch after it finished.

    Example:
        >>> from muntin.triggers import after_count, any_of, on_signal
        >>> print(repeat(any_of(after_count(10), on_signal("refresh"))))
        repeat(any_of(after_count(10), on_signal('refresh')))
    """
    return Repeat(trigger)


@dataclass(frozen=True, slots=True)
class Until(Trigger):
    """Fires as one trigger until another one fires; made by `until`.

    The state is that of the trigger, that of its end, and whether the end can still come.

    Attributes:
        trigger: The trigger that fires.
        end: The trigger that fires once more and ends it.
    """

    name: ClassVar[str] = "until"

    trigger: Trigger
    end: Trigger

    def __str__(self) -> str:
        return f"until({self.trigger}, {self.end})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """Both triggers."""
        return self.trigger, self.end

    def create_state(self, window: Window) -> list[object]:
        """Return the states of both."""
        return [self.trigger.create_state(window), self.end.create_state(window), True]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Ask the end first, then the trigger."""
        own, end, has_end = state
        if has_end:
            end, ending = self.end.step(end, window, view)
            if ending.fires:
                return [None, None, False], Decision.FIRE_LAST
            has_end = not ending.is_finished
        own, decision = self.trigger.step(own, window, view)
        return [own, end if has_end else None, has_end], decision

    def next_clock(self, state: list[Any], window: Window) -> int:
        """Return the earlier wake-up of the two."""
        own, end, has_end = state
        ending = self.end.next_clock(end, window) if has_end else INFINITY
        return min(self.trigger.next_clock(own, window), ending)

    def next_event_time(self, state: list[Any], window: Window) -> int:
        """Return the earlier wake-up of the two."""
        own, end, has_end = state
        ending = self.end.next_event_time(end, window) if has_end else INFINITY
        return min(self.trigger.next_event_time(own, window), ending)


def until(trigger: Trigger, end: Trigger) -> Trigger:
    """Return a trigger that fires as one does, and is finished when another one has fired (Beam's OrFinally).

    The end fires too. If it ends without firing, the trigger goes on without it.

    Example:
        >>> from muntin.triggers import every, past_end
        >>> print(until(every("1 minute"), past_end()))
        until(repeat(after('1 minute', aligned)), past_end())
    """
    return Until(trigger, end)
