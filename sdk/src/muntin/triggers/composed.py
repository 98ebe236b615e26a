"""Triggers composed of triggers: in parallel, in sequence, repeated, or bounded by one that ends them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.axis import INFINITY
from muntin.errors import PolicyError
from muntin.errors.safe_text import safe_repr
from muntin.triggers.trigger import FINISHED, Decision, Trigger, TriggerView
from muntin.windows.extent import Window


class Composed(Trigger):
    """A trigger made of parts: it is woken when a part is that it waits for."""

    __slots__ = ()

    @abstractmethod
    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the parts that it waits for, each with its state."""

    def next_clock(self, state: Any, window: Window) -> int:
        """Return the earliest reading of the clock at which a part is to be called."""
        readings = [part.next_clock(part_state, window) for part, part_state in self._waiting(state)]
        return min(readings, default=INFINITY)

    def next_event_time(self, state: Any, window: Window) -> int:
        """Return the earliest max event time at which a part is to be called."""
        times = [part.next_event_time(part_state, window) for part, part_state in self._waiting(state)]
        return min(times, default=INFINITY)


def check_parts(call: str, parts: Iterable[object]) -> None:
    """Refuse to compose a trigger of anything but triggers, such as a period.

    Raises:
        PolicyError: A part is something else.
    """
    for part in parts:
        if not isinstance(part, Trigger):
            spelled = getattr(part, "__name__", None) or safe_repr(part)
            raise PolicyError(
                f"{call}() is made of triggers, got {spelled}\n"
                "  expected, for example, every_count(100), or for a period every('1 minute')"
            )


@dataclass(frozen=True, slots=True)
class Several(Composed):
    """A trigger made of one or more others."""

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise PolicyError(
                f"{self.name}() needs at least one trigger\n  expected, for example, {self.name}(every_count(100))"
            )
        check_parts(self.name, self.triggers)


class Parallel(Several):
    """Triggers in parallel.

    The state is a pair for each part: True if it is done, because it has fired or stopped, and its state.
    """

    __slots__ = ()

    def create_state(self, window: Window) -> list[list[object]]:
        """Return the first states of all parts."""
        return [[False, part.create_state(window)] for part in self.triggers]

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of each part; in a state that is finished, all parts are done.

        If the parts were done in different windows, the next step decides for the whole.
        """
        merged: list[list[object]] = []
        for place, part in enumerate(self.triggers):
            part_states = []
            for state in states:
                # A state is finished where the whole trigger fired: then no part of it waits any more.
                is_done = state is FINISHED or state[place][0]
                part_states.append(FINISHED if is_done else state[place][1])
            part_state = part.merge(part_states, window)
            merged.append([True, None] if part_state is FINISHED else [False, part_state])
        # Where none was finished, even parts that are all done leave it to the next step to fire or to stop.
        is_finished = FINISHED in states and _all_done(merged)
        return FINISHED if is_finished else merged

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        waiting: list[tuple[Trigger, Any]] = []
        for part, (is_done, part_state) in zip(self.triggers, state, strict=True):
            if not is_done:
                waiting.append((part, part_state))
        return waiting

    def _step_waiting(self, state: Any, window: Window, view: TriggerView) -> tuple[list[list[object]], list[Decision]]:
        """Step the parts that are not done; return the new state, and the decisions of these parts."""
        new_state: list[list[object]] = []
        decisions: list[Decision] = []
        for part, (was_done, part_state) in zip(self.triggers, state, strict=True):
            if was_done:
                new_state.append([True, None])
                continue
            new_part_state, decision = part.step(part_state, window, view)
            is_done = decision is not Decision.WAIT
            new_state.append([is_done, None if is_done else new_part_state])
            decisions.append(decision)
        return new_state, decisions


def _all_done(state: list[list[object]]) -> bool:
    """Return True if each part of a parallel trigger has fired or stopped."""
    return all(is_done for is_done, _ in state)


class AllOf(Parallel):
    """Fires once, when the last of its triggers has; made by `all_of`."""

    __slots__ = ()
    name: ClassVar[str] = "all_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Fire when the last part has fired; stop when a part stops without firing."""
        state, decisions = self._step_waiting(state, window, view)
        if Decision.STOP in decisions:
            return state, Decision.STOP
        return state, Decision.FIRE_LAST if _all_done(state) else Decision.WAIT


class AnyOf(Parallel):
    """Fires once, when the first of its triggers does; made by `any_of`."""

    __slots__ = ()
    name: ClassVar[str] = "any_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Fire when a part fires; stop when all have stopped without firing."""
        state, decisions = self._step_waiting(state, window, view)
        if any(decision.fires for decision in decisions):
            return state, Decision.FIRE_LAST
        return state, Decision.STOP if _all_done(state) else Decision.WAIT


class Each(Several):
    """Fires as each of its triggers in turn; made by `each`.

    The state is the place of the current part, and its state.
    """

    __slots__ = ()
    name: ClassVar[str] = "each"

    def create_state(self, window: Window) -> list[object]:
        """Return the state of the first."""
        return [0, self.triggers[0].create_state(window)]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Step the current part, and go on to the next if it is finished."""
        place, part_state = state
        part_state, decision = self.triggers[place].step(part_state, window, view)
        is_last = place + 1 == len(self.triggers)
        if is_last or not decision.is_finished:
            return [place, part_state], decision
        # A part that stopped without firing makes way for the next one all the same.
        following = [place + 1, self.triggers[place + 1].create_state(window)]
        return following, Decision.FIRE if decision.fires else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Go on with the first part that is not finished when merged; parts after it have not started (as in Beam)."""
        for place, part in enumerate(self.triggers):
            part_states = []
            for state in states:
                if state is FINISHED or state[0] > place:
                    part_states.append(FINISHED)
                # A window that has not come to this part yet says nothing about it.
                elif state[0] == place:
                    part_states.append(state[1])
            part_state = part.merge(part_states, window) if part_states else part.create_state(window)
            if part_state is not FINISHED:
                return [place, part_state]
        return FINISHED

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        place, part_state = state
        return [(self.triggers[place], part_state)]


@dataclass(frozen=True, slots=True)
class Repeat(Composed):
    """Starts a trigger again and again, and never finishes; made by `repeat`."""

    name: ClassVar[str] = "repeat"

    repeated: Trigger

    def __post_init__(self) -> None:
        check_parts(self.name, [self.repeated])

    def create_state(self, window: Window) -> object:
        """Return the state of the repeated trigger."""
        return self.repeated.create_state(window)

    def step(self, state: object, window: Window, view: TriggerView) -> tuple[object, Decision]:
        """Step the repeated trigger, and start it anew if it is finished."""
        state, decision = self.repeated.step(state, window, view)
        # Its last firing was one of many: FIRE_LAST of the part is FIRE of the whole.
        if decision.is_finished:
            state = self.repeated.create_state(window)
        return state, Decision.FIRE if decision.fires else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of the repeated trigger.

        It never finishes, so `FINISHED` comes from a composition in which it has fired: it has for the whole, too.
        """
        if FINISHED in states:
            return FINISHED
        merged = self.repeated.merge(states, window)
        return self.repeated.create_state(window) if merged is FINISHED else merged

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        return [(self.repeated, state)]


@dataclass(frozen=True, slots=True)
class Until(Composed):
    """Fires as one trigger until another one fires; made by `until`.

    The state is a list: the state of the trigger, the state of the end, and if the end can still come. A fourth entry,
    after a merge of windows in which it was finished, says that the trigger starts anew with the next step.
    """

    name: ClassVar[str] = "until"

    trigger: Trigger
    end: Trigger

    def __post_init__(self) -> None:
        check_parts(self.name, [self.trigger, self.end])

    def create_state(self, window: Window) -> list[object]:
        """Return the states of both."""
        return [self.trigger.create_state(window), self.end.create_state(window), True]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Step the end first, then the trigger."""
        trigger_state, end_state, has_end, *starts_anew = state
        if starts_anew:
            trigger_state = self.trigger.create_state(window)
        if has_end:
            end_state, end_decision = self.end.step(end_state, window, view)
            if end_decision.fires:
                return [None, None, False], Decision.FIRE_LAST
            has_end = not end_decision.is_finished
        trigger_state, decision = self.trigger.step(trigger_state, window, view)
        return [trigger_state, end_state if has_end else None, has_end], decision

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of both; where all were finished and the end is not any more, the trigger starts anew."""
        # Of a window in which the whole is finished the end alone takes part, as one that is finished.
        trigger_states: list[Any] = []
        end_states: list[Any] = []
        for state in states:
            if state is FINISHED:
                end_states.append(FINISHED)
                continue
            trigger_state, end_state, has_end, *starts_anew = state
            if has_end:
                end_states.append(end_state)
            if not starts_anew:
                trigger_states.append(trigger_state)

        # An end that no window waits for any more cannot come.
        has_end = bool(end_states)
        merged_end = self.end.merge(end_states, window) if has_end else None
        if merged_end is FINISHED:
            return FINISHED
        # The trigger was finished in all windows, and the merged end is not: the trigger starts with the next step.
        if not trigger_states:
            return [None, merged_end, has_end, True]
        merged = self.trigger.merge(trigger_states, window)
        return FINISHED if merged is FINISHED else [merged, merged_end, has_end]

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        trigger_state, end_state, has_end, *starts_anew = state
        waiting = [] if starts_anew else [(self.trigger, trigger_state)]
        if has_end:
            waiting.append((self.end, end_state))
        return waiting


def all_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when each of several has fired since it started (Beam's AfterAll).

    A trigger that has fired is remembered and not called again. If one ends without firing, so does the whole.

    Raises:
        PolicyError: No trigger is given, or something else than a trigger.

    Example:
        >>> from muntin.triggers import after_count, on_signal
        >>> print(all_of(after_count(10), on_signal("open")))
        all_of(after_count(10), on_signal('open'))
    """
    return AllOf(triggers)


def any_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when the first of several fires (Beam's AfterFirst).

    It is then finished, also if that one is not; `repeat(any_of(...))` starts all of them anew. One that ends without
    firing drops out.

    Raises:
        PolicyError: No trigger is given, or something else than a trigger.

    Example:
        >>> from muntin.triggers import after_count, on_signal
        >>> print(any_of(after_count(10), on_signal("open")))
        any_of(after_count(10), on_signal('open'))
    """
    return AnyOf(triggers)


def each(*triggers: Trigger) -> Trigger:
    """Return a trigger that is each of several in turn, until the last is finished (Beam's AfterEach).

    The next one begins with the micro-batch after the one in which the one before it finished. After one that never
    finishes, such as `every(...)`, no other gets its turn; bound it by `until`.

    Raises:
        PolicyError: No trigger is given, or something else than a trigger.

    Example:
        >>> from muntin.triggers import after_count, every
        >>> print(each(after_count(1), every("1 minute")))
        each(after_count(1), repeat(after('1 minute', aligned)))
    """
    return Each(triggers)


def repeat(trigger: Trigger) -> Trigger:
    """Return a trigger that starts another one anew each time that is finished (Beam's Repeatedly).

    A repetition begins with the micro-batch after the one in which the trigger finished.

    Raises:
        PolicyError: The argument is not a trigger.

    Example:
        >>> from muntin.triggers import after_count, any_of, on_signal
        >>> print(repeat(any_of(after_count(10), on_signal("refresh"))))
        repeat(any_of(after_count(10), on_signal('refresh')))
    """
    return Repeat(trigger)


def until(trigger: Trigger, end: Trigger) -> Trigger:
    """Return a trigger that fires as another does until a second one fires and ends it (Beam's OrFinally).

    The end fires too. If it ends without firing, the trigger goes on without it.

    Raises:
        PolicyError: An argument is not a trigger.

    Example:
        >>> from muntin.triggers import every, past_end
        >>> print(until(every("1 minute"), past_end()))
        until(repeat(after('1 minute', aligned)), past_end())
    """
    return Until(trigger, end)
