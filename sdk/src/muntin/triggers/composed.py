"""Triggers made of others: side by side, one after the other, the same again, or one until another fires."""

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
    """A trigger that is woken when one of those is that it waits for."""

    __slots__ = ()

    @abstractmethod
    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        """Return the triggers that it waits for, each with its state."""

    def next_clock(self, state: Any, window: Window) -> int:
        """Return the earliest wake-up."""
        return min((part.next_clock(own, window) for part, own in self._waiting(state)), default=INFINITY)

    def next_event_time(self, state: Any, window: Window) -> int:
        """Return the earliest wake-up."""
        return min((part.next_event_time(own, window) for part, own in self._waiting(state)), default=INFINITY)


def check_parts(call: str, parts: Iterable[object]) -> None:
    """Refuse to make a trigger of what is none, such as a period.

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
    """Triggers side by side. The state is a pair for each: whether it has had its say, and its state."""

    __slots__ = ()

    def create_state(self, window: Window) -> list[list[object]]:
        """Return the states of all."""
        return [[False, part.create_state(window)] for part in self.triggers]

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of each; where the whole is finished, each of them has had its say.

        If the last of them had it in another window than the first, the next step decides for the whole.
        """
        merged: list[list[object]] = []
        for place, part in enumerate(self.triggers):
            of_part = []
            for state in states:
                is_done = state is FINISHED or state[place][0]
                of_part.append(FINISHED if is_done else state[place][1])
            own = part.merge(of_part, window)
            merged.append([True, None] if own is FINISHED else [False, own])
        is_finished = FINISHED in states and all(is_done for is_done, _ in merged)
        return FINISHED if is_finished else merged

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        return [(part, own) for part, (is_done, own) in zip(self.triggers, state, strict=True) if not is_done]

    def _ask(self, state: Any, window: Window, view: TriggerView) -> tuple[list[list[object]], list[Decision]]:
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


class AllOf(Parallel):
    """Fires once, when the last of its triggers has; made by `all_of`."""

    __slots__ = ()
    name: ClassVar[str] = "all_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """Remember who has fired."""
        state, decisions = self._ask(state, window, view)
        if Decision.STOP in decisions:
            return state, Decision.STOP
        return state, Decision.FIRE_LAST if all(is_done for is_done, _ in state) else Decision.WAIT


class AnyOf(Parallel):
    """Fires once, when the first of its triggers does; made by `any_of`."""

    __slots__ = ()
    name: ClassVar[str] = "any_of"

    def step(self, state: list[list[object]], window: Window, view: TriggerView) -> tuple[list[list[object]], Decision]:
        """See whether one fires."""
        state, decisions = self._ask(state, window, view)
        if any(decision.fires for decision in decisions):
            return state, Decision.FIRE_LAST
        return state, Decision.STOP if all(is_done for is_done, _ in state) else Decision.WAIT


class Each(Several):
    """Fires as each of its triggers in turn; made by `each`. The state is the place of the current one, and its own."""

    __slots__ = ()
    name: ClassVar[str] = "each"

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

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Go on with the first that is not finished once it is merged; those after it have not started (as in Beam)."""
        for place, part in enumerate(self.triggers):
            of_part = []
            for state in states:
                if state is FINISHED or state[0] > place:
                    of_part.append(FINISHED)
                elif state[0] == place:
                    of_part.append(state[1])
            own = part.merge(of_part, window) if of_part else part.create_state(window)
            if own is not FINISHED:
                return [place, own]
        return FINISHED

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        place, own = state
        return [(self.triggers[place], own)]


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
        """Ask the repeated trigger, and start it anew if it is finished."""
        state, decision = self.repeated.step(state, window, view)
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

    The state is that of the trigger, that of its end, and whether the end can still come; after a merge of windows in
    which it was finished, also that the trigger starts anew with the next step.
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
        """Ask the end first, then the trigger."""
        own, end, has_end, *starts_anew = state
        if starts_anew:
            own = self.trigger.create_state(window)
        if has_end:
            end, ending = self.end.step(end, window, view)
            if ending.fires:
                return [None, None, False], Decision.FIRE_LAST
            has_end = not ending.is_finished
        own, decision = self.trigger.step(own, window, view)
        return [own, end if has_end else None, has_end], decision

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Merge the states of both; where all were finished and the end is not any more, the trigger starts anew."""
        running: list[Any] = []
        ends: list[Any] = []
        for state in states:
            if state is FINISHED:
                ends.append(FINISHED)
                continue
            own, end, has_end, *starts_anew = state
            if has_end:
                ends.append(end)
            if not starts_anew:
                running.append(own)
        has_end = bool(ends)
        end = self.end.merge(ends, window) if has_end else None
        if end is FINISHED:
            return FINISHED
        if not running:
            return [None, end, has_end, True]
        own = self.trigger.merge(running, window)
        return FINISHED if own is FINISHED else [own, end, has_end]

    def _waiting(self, state: Any) -> Iterable[tuple[Trigger, Any]]:
        own, end, has_end, *starts_anew = state
        waiting = [] if starts_anew else [(self.trigger, own)]
        if has_end:
            waiting.append((self.end, end))
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

    What is repeated begins with the next micro-batch after it finished.

    Raises:
        PolicyError: It is not a trigger.

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
        PolicyError: One of them is not a trigger.

    Example:
        >>> from muntin.triggers import every, past_end
        >>> print(until(every("1 minute"), past_end()))
        until(repeat(after('1 minute', aligned)), past_end())
    """
    return Until(trigger, end)
