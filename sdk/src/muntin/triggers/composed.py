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


class ComposedTrigger(Trigger):
    """A trigger made of parts, which is woken whenever one of the parts that it waits for is to be woken."""

    __slots__ = ()

    @abstractmethod
    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the parts that can still change its decision, each with its state."""

    def next_clock(self, state: Any, window: Window) -> int:
        """Return the earliest reading of the clock at which a part is to be called."""
        readings = [part.next_clock(part_state, window) for part, part_state in self._waiting(state)]
        return min(readings, default=INFINITY)

    def next_event_time(self, state: Any, window: Window) -> int:
        """Return the earliest max event time at which a part is to be called."""
        times = [part.next_event_time(part_state, window) for part, part_state in self._waiting(state)]
        return min(times, default=INFINITY)


def check_parts(call: str, parts: Iterable[object]) -> None:
    """Refuse parts that are no triggers: a period, say, has to be written as `every("1 minute")`.

    Args:
        call: The name of the function that composes the trigger.
        parts: The arguments of the call.

    Raises:
        PolicyError: A part is something else.
    """
    for part in parts:
        if not isinstance(part, Trigger):
            # A function such as `every`, given without its call, is named by its name.
            spelled = getattr(part, "__name__", None) or safe_repr(part)
            raise PolicyError(
                f"{call}() is made of triggers, got {spelled}\n"
                "  expected, for example, every_count(100), or for a period every('1 minute')"
            )


@dataclass(frozen=True, slots=True)
class SeveralTriggers(ComposedTrigger):
    """A trigger made of one or more others."""

    triggers: tuple[Trigger, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise PolicyError(
                f"{self.name}() needs at least one trigger\n  expected, for example, {self.name}(every_count(100))"
            )
        check_parts(self.name, self.triggers)


class ParallelTriggers(SeveralTriggers):
    """Triggers in parallel.

    The state is a pair for each part: if the part is done, because it has fired or stopped, and the part's state.
    """

    __slots__ = ()

    def create_state(self, window: Window) -> list[list[object]]:
        """Return the first states of all parts."""
        return [[False, part.create_state(window)] for part in self.triggers]

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states part by part.

        Where the whole trigger is finished, each of its parts counts as done.
        """
        merged: list[list[object]] = []  # for each part: if it is done, and its state
        for index, part in enumerate(self.triggers):
            part_states = []
            for state in states:
                was_done, part_state = (True, None) if state is FINISHED else state[index]
                part_states.append(FINISHED if was_done else part_state)
            merged_state = part.merge(part_states, window)
            merged.append([True, None] if merged_state is FINISHED else [False, merged_state])

        # If all parts are done but the trigger was finished for no window, each part was done in another window. The
        # whole trigger has fired for none of them, so it is not finished: the next step decides if it fires or stops.
        is_finished = FINISHED in states and _all_done(merged)
        return FINISHED if is_finished else merged

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the parts that have not fired or stopped yet, each with its state."""
        waiting: list[tuple[Trigger, Any]] = []
        for part, (is_done, part_state) in zip(self.triggers, state, strict=True):
            if not is_done:
                waiting.append((part, part_state))
        return waiting

    def _step_waiting(self, state: Any, window: Window, view: TriggerView) -> tuple[list[list[object]], list[Decision]]:
        """Step the parts that are not done: those that have neither fired nor stopped.

        Returns:
            The new state of all parts, which says of each if it is done; and the decisions of those that were stepped.
        """
        new_state: list[list[object]] = []  # for each part: if it is done, and its state
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


class AllOf(ParallelTriggers):
    """Fires once, when the last of its triggers has; made by `all_of`."""

    __slots__ = ()
    name: ClassVar[str] = "all_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Fire when the last part has fired; stop when a part stops without firing."""
        state, decisions = self._step_waiting(state, window, view)
        if Decision.STOP in decisions:
            return state, Decision.STOP
        return state, Decision.FIRE_LAST if _all_done(state) else Decision.WAIT


class AnyOf(ParallelTriggers):
    """Fires once, when the first of its triggers does; made by `any_of`."""

    __slots__ = ()
    name: ClassVar[str] = "any_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Fire when a part fires; stop when all have stopped without firing."""
        state, decisions = self._step_waiting(state, window, view)
        if any(decision.fires for decision in decisions):
            return state, Decision.FIRE_LAST
        return state, Decision.STOP if _all_done(state) else Decision.WAIT


class Each(SeveralTriggers):
    """Fires as each of its triggers in turn; made by `each`.

    The state is the index of the current part, and that part's state.
    """

    __slots__ = ()
    name: ClassVar[str] = "each"

    def create_state(self, window: Window) -> list[object]:
        """Return the first state of the first part."""
        return [0, self.triggers[0].create_state(window)]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Step the current part, and go on to the next if it is finished."""
        index, part_state = state
        part_state, decision = self.triggers[index].step(part_state, window, view)
        is_last = index + 1 == len(self.triggers)
        if is_last or not decision.is_finished:
            return [index, part_state], decision
        # A part that stopped without firing makes way for the next one all the same.
        next_part = self.triggers[index + 1]
        next_state = [index + 1, next_part.create_state(window)]
        # The firing that was the last of the part is not the last of the whole.
        return next_state, Decision.FIRE if decision.fires else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Go on with the first part whose merged state is not finished; the parts after it start anew (as in Beam)."""
        for index, part in enumerate(self.triggers):
            part_states = []
            for state in states:
                if state is FINISHED:
                    part_states.append(FINISHED)
                    continue
                # A window that has not come to this part yet, with a lower current index, has no state for it.
                current_index, current_state = state
                if current_index > index:
                    part_states.append(FINISHED)
                elif current_index == index:
                    part_states.append(current_state)
            part_state = part.merge(part_states, window) if part_states else part.create_state(window)
            if part_state is not FINISHED:
                return [index, part_state]
        return FINISHED

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the current part with its state: the others wait for their turn, or have had it."""
        index, part_state = state
        return [(self.triggers[index], part_state)]


@dataclass(frozen=True, slots=True)
class Repeat(ComposedTrigger):
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
        if decision.is_finished:
            state = self.repeated.create_state(window)
        # The last firing of the repeated trigger is one of many: its FIRE_LAST is a FIRE of the whole.
        return state, Decision.FIRE if decision.fires else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of the repeated trigger, and start it anew if that finishes it."""
        # `FINISHED` is no state of a repetition, which never ends. A trigger around it, such as `all_of`, passes it for
        # a window for which this part has fired. Then the part has fired for the merged window too.
        if FINISHED in states:
            return FINISHED
        merged = self.repeated.merge(states, window)
        return self.repeated.create_state(window) if merged is FINISHED else merged

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the repeated trigger with its state."""
        return [(self.repeated, state)]


@dataclass(frozen=True, slots=True)
class Until(ComposedTrigger):
    """Fires as one trigger until another one fires; made by `until`.

    The state is a list: the state of the trigger, the state of the end, and if the end can still fire. After a merge of
    windows in all of which the whole was finished, a fourth entry says that the trigger starts anew with the next step.
    """

    name: ClassVar[str] = "until"

    trigger: Trigger
    end: Trigger

    def __post_init__(self) -> None:
        check_parts(self.name, [self.trigger, self.end])

    def create_state(self, window: Window) -> list[object]:
        """Return the first states of the trigger and of the end."""
        return [self.trigger.create_state(window), self.end.create_state(window), True]

    def step(self, state: list[Any], window: Window, view: TriggerView) -> tuple[list[object], Decision]:
        """Step the end first, and then the trigger, unless the end fires: that finishes the whole."""
        # Only after some merges is there a fourth entry: then the trigger starts anew.
        trigger_state, end_state, end_can_fire, *starts_anew = state
        if starts_anew:
            trigger_state = self.trigger.create_state(window)

        if end_can_fire:
            end_state, end_decision = self.end.step(end_state, window, view)
            if end_decision.fires:
                return [None, None, False], Decision.FIRE_LAST
            # An end that stops without firing leaves the trigger to go on alone.
            end_can_fire = not end_decision.is_finished
        kept_end_state = end_state if end_can_fire else None

        trigger_state, decision = self.trigger.step(trigger_state, window, view)
        return [trigger_state, kept_end_state, end_can_fire], decision

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of the trigger, and those of the end.

        If all states are finished and the merged end is not, such as `past_end()` in a longer window, the trigger
        starts anew.
        """
        trigger_states: list[Any] = []
        end_states: list[Any] = []
        for state in states:
            if state is FINISHED:
                # Whichever of the two has finished the whole, it takes part in the merge as a finished end.
                end_states.append(FINISHED)
                continue
            trigger_state, end_state, end_can_fire, *starts_anew = state
            if end_can_fire:
                end_states.append(end_state)
            if not starts_anew:  # a trigger that starts anew has no state yet
                trigger_states.append(trigger_state)

        # The end can fire in the new window only if it can still fire, or has fired, in one of the replaced windows.
        merged_end_can_fire = bool(end_states)
        merged_end = self.end.merge(end_states, window) if merged_end_can_fire else None
        if merged_end is FINISHED:
            return FINISHED
        if not trigger_states:
            return [None, merged_end, merged_end_can_fire, True]  # the trigger starts anew with the next step
        merged_trigger = self.trigger.merge(trigger_states, window)
        return FINISHED if merged_trigger is FINISHED else [merged_trigger, merged_end, merged_end_can_fire]

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the trigger and, if it can still fire, the end, each with its state."""
        trigger_state, end_state, end_can_fire, *starts_anew = state
        # A trigger that starts anew has no state yet, and waits for nothing. Its window gets a step in any case, and
        # this step starts the trigger.
        waiting = [] if starts_anew else [(self.trigger, trigger_state)]
        if end_can_fire:
            waiting.append((self.end, end_state))
        return waiting


def all_of(*triggers: Trigger) -> Trigger:
    """Return a trigger that fires once, when each of several has fired since it started (Beam's AfterAll).

    A trigger that has fired is remembered and not called again. If one of them ends without firing, so does the whole.

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

    The whole is then finished, even if the trigger that fired would fire again; `repeat(any_of(...))` starts all of
    them anew. A trigger that ends without firing drops out.

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

    When a trigger finishes, the next one begins with the following micro-batch. After a trigger that never finishes,
    such as `every(...)`, no other gets its turn; bound it by `until`.

    Raises:
        PolicyError: No trigger is given, or something else than a trigger.

    Example:
        >>> from muntin.triggers import after_count, every
        >>> print(each(after_count(1), every("1 minute")))
        each(after_count(1), repeat(after('1 minute', aligned)))
    """
    return Each(triggers)


def repeat(trigger: Trigger) -> Trigger:
    """Return a trigger that starts another one anew each time that one is finished (Beam's Repeatedly).

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

    The firing of the end emits a result, too. If the end finishes without firing, the trigger goes on without it.

    Raises:
        PolicyError: An argument is not a trigger.

    Example:
        >>> from muntin.triggers import every, past_end
        >>> print(until(every("1 minute"), past_end()))
        until(repeat(after('1 minute', aligned)), past_end())
    """
    return Until(trigger, end)
