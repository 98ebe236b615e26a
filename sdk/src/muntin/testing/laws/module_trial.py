"""One attempt to break a law of a module, with one way to drive modules of all base classes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from inspect import formatannotation
from random import Random
from types import NoneType
from typing import Any, Final, TypeVar, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.axis import EARLIEST, INFINITY
from muntin.drawings import Bar
from muntin.events import Event, Lifetime
from muntin.modules.aggregate import rows_of
from muntin.policies import ClipPolicy
from muntin.testing.equality import same_bag
from muntin.testing.laws import strategies
from muntin.testing.laws.trial import ANY_PAYLOAD, CallError, Law, LawError, Trial, calling
from muntin.testing.plain_data import records_in, restored
from muntin.testing.reference import clip
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Subject:
    """A module under test, in one window. Members are events; a time-insensitive module gets their payloads.

    Attributes:
        module: The module.
        window: The window, which a time-insensitive module does not get.
    """

    module: Any
    window: Window

    def inputs(self, members: Sequence[Event[object]]) -> list[Any]:
        """Return members as the module gets them, events or payloads, in a new list."""
        return list(members) if self.module.is_time_sensitive else [event.payload for event in members]

    def result(self, members: Sequence[Event[object]]) -> Any:
        """Return the result of a window, computed from all its members at once; rows as a list."""
        if self.module.is_incremental:
            return self.result_of(self.state_of(members))
        return self.compute(self.inputs(members))

    def compute(self, inputs: list[object]) -> Any:
        """Call `compute_result` with payloads or events."""
        return self._rows(self._call("compute_result", inputs))

    def create(self) -> Any:
        """Return a new state."""
        return self._call("create_state")

    def state_of(self, *groups: Sequence[Event[object]]) -> object:
        """Return the state of members, added group by group."""
        state = self.create()
        for members in groups:
            state = self.add(state, members)
        return state

    def add(self, state: Any, members: Sequence[Event[Any]]) -> Any:
        """Return the state with more members."""
        return self._call("add_events", state, self.inputs(members)) if members else state

    def remove(self, state: object, members: Sequence[Event[object]]) -> Any:
        """Return the state with fewer members."""
        return self._call("remove_events", state, self.inputs(members)) if members else state

    def combine(self, state: object, second: object) -> Any:
        """Return the state of the members of both states."""
        return self._call("combine", state, second)

    def deduct(self, state: object, second: object) -> Any:
        """Return the state without the members of the second state."""
        return self._call("deduct", state, second)

    def upgrade(self, state: object, version: str) -> Any:
        """Upgrade the state of an older version."""
        return self._call("upgrade_state", state, version)

    def old_state_restored(self, state: object) -> Any:
        """Return a state of an older version as it comes from a checkpoint.

        Raises:
            CallError: The state is not plain data: the classes of its records are no longer known.
        """
        try:
            return restored(state)
        except TypeError as error:
            facts = f"no checkpoint holds such a state of an older version: {error}"
            raise CallError(facts, "give it in old_states as plain data, with dicts for records") from None

    def result_of(self, state: object) -> object:
        """Return the result of a state; rows as a list."""
        return self._rows(self._call("compute_result", state))

    def copy(self, value: object) -> Any:
        """Return a copy of a state or a result that shares nothing with it."""
        try:
            return deepcopy(value)
        except Exception as error:
            raise CallError(f"{value!r} cannot be copied: {type(error).__name__}: {error}") from error

    def stored(self, state: object) -> Any:
        """Return a state as it comes back from a checkpoint.

        Raises:
            CallError: No checkpoint can hold the state.
        """
        # A state may hold results, such as the last one: so the records of results are known, too.
        records = records_in(self.module.state_type()) | records_in(self.module._types()["result"])
        try:
            return restored(state, records)
        except TypeError as error:
            raise CallError(f"the state cannot be stored: {error}") from None

    def stored_if_it_can_be(self, state: object) -> object:
        """Return a state as it comes back from a checkpoint, or unchanged if no checkpoint can hold it.

        The law that states survive being stored reports such a state.
        """
        try:
            return self.stored(state)
        except CallError:
            return state

    def call_all_methods(self, inputs: list[object]) -> None:
        """Call each method that gets payloads or events."""
        if not self.module.is_incremental:
            self.compute(inputs)
            return
        state = self._call("add_events", self.create(), inputs)
        self.result_of(state)  # the state may hold the inputs themselves, which this method could change
        if hasattr(self.module, "remove_events"):
            self._call("remove_events", state, inputs)

    def _call(self, method: str, *arguments: object) -> Any:
        """Call a method of the module as the engine calls it, and return its value.

        Raises:
            CallError: The method raises, or returns None in the place of a state.
        """
        gets_window = self.module.is_time_sensitive and method not in ("combine", "deduct")
        window_argument = (self.window,) if gets_window else ()
        with calling(method, remedy=ANY_PAYLOAD, method=method):
            # Arguments go by position, as the engine gives them: the names of parameters are the writer's choice.
            returned = getattr(self.module, method)(*arguments, *window_argument)
        if returned is not None or method == "compute_result":
            return returned
        state_type = self.module.state_type()
        if not _may_be_none(state_type):
            facts = f"{method} returned None, expected a state: {formatannotation(state_type)}"
            state = "the new state" if method == "create_state" else "the state"
            raise CallError(facts, remedy=f"end {method} with: return ..., {state}", method=method)
        return returned

    def _rows(self, result: Any) -> object:
        """Return the result of an aggregate as it is, or the rows of an operator as a list.

        Raises:
            CallError: The rows come from a generator, whose code runs only here, and raises.
        """
        if not self.module.is_operator:
            return result
        __tracebackhide__ = True
        try:
            return rows_of(result)
        except Exception as error:
            facts = f"the rows of compute_result cannot be read: {type(error).__name__}: {error}"
            raise CallError(facts, ANY_PAYLOAD) from error


def _may_be_none(state: object) -> bool:
    """Return True if the module's types allow None as a state."""
    return state in (None, NoneType, Any, object) or isinstance(state, TypeVar) or NoneType in get_args(state)


_MOST_MEMBERS: Final = 5
_ABOUT_OPEN_EVENTS: Final = (
    "\n  an event without an end has no useful duration; to get none:\n"
    "    accepted_clips = frozenset({ClipPolicy.RIGHT, ClipPolicy.FULL})"
)
_WINDOWS: Final = st.sampled_from([Window(0, 10), Window(-7, -2), Window(3, 4), Window(-4, 16), Window(1000, 1060)])


class ModuleTrial(Trial):
    """One attempt to break a law of a module, in one window under one clipping policy.

    Attributes:
        subject: The module in its window.
        clip: The part of lifetimes that the module sees.
    """

    def __init__(self, law: Law, laws: Any, data: Any) -> None:
        """Draw the window and the clip, if the module is time-sensitive; the arguments are those of `Trial`."""
        super().__init__(law, laws, data)
        self._payloads: SearchStrategy[Any] = laws._payload_strategy()
        self._many: Sequence[Any] = laws._many_payloads() if law.crowd else ()
        self.clip = ClipPolicy.NONE
        self._newest = EARLIEST
        # A window for modules that see no times: the few members that are drawn are the points in it.
        self.subject = Subject(self.tested, Window(0, _MOST_MEMBERS))
        if self.tested.is_time_sensitive and law.is_random:
            self.move_to(self.draw(_WINDOWS), self.draw(_clips(self.tested.accepted_clips)))

    def move_to(self, window: Window, policy: ClipPolicy) -> None:
        """Continue in another window and under another clip; the stream of the report begins anew."""
        self.clip = policy
        self.subject = Subject(self.tested, window)
        self._newest = EARLIEST
        self.stream = [Bar("window", window.start, window.end, f"clip {policy}")]

    def members(self, label: str = "member", at_least: int = 1) -> list[Event[Any]]:
        """Draw members of the window, with lifetimes as the module sees them.

        For a module that reads the order, the members of each call come after those of all earlier calls.

        Args:
            label: The name of the members in the report.
            at_least: The least number of members.
        """
        if self.tested.is_time_sensitive:
            window = self.subject.window
            # Where ends are clipped at the window, the module sees no event without an end.
            events = self.draw(_events(self._payloads, window, at_least, open_ends=not self.clip.clips_right))
            members = self._in_order([clip(event, window, self.clip) for event in events])
        else:
            payloads = self.draw(_few(self._payloads, at_least))
            members = [Event.point(place, payload) for place, payload in enumerate(payloads)]
        self.stream += [Bar(label, event.start, event.end, repr(event.payload)) for event in members]
        return [*members, *self._crowd()] if self.law.crowd else members

    def order(self, count: int) -> list[int]:
        """Draw an order of a number of members: return a permutation of their places."""
        if count <= _MOST_MEMBERS:
            return self.draw(_orders(count))
        # A permutation of hundreds of places is slow to draw and to shrink: draw a seed instead. Seed 0, to which a
        # failure shrinks, only reverses the members.
        order = list(reversed(range(count)))
        seed = self.draw(st.integers(0, 999))
        if seed:
            Random(seed).shuffle(order)
        return order

    def same(self, left: Any, right: Any, tolerance: float | None = None) -> bool:
        """Return True if two results are equal within the tolerance; rows in any order."""
        if self.tested.is_operator:
            return same_bag(left, right, self.tolerance if tolerance is None else tolerance)
        return super().same(left, right, tolerance)

    def broken(self, facts: str, remedy: str | None = None) -> LawError:
        """Return the report of a broken law, with advice on events without an end if the stream has one."""
        advice = remedy or self.law.remedy
        if any(isinstance(bar, Bar) and bar.end == INFINITY for bar in self.stream):
            advice += _ABOUT_OPEN_EVENTS
        return super().broken(facts, advice)

    def _in_order(self, members: list[Event[Any]]) -> list[Event[Any]]:
        """Sort members if the module reads the order, and let none start before a member that was drawn earlier."""
        if not self.tested.reads_order:
            return members
        ordered: list[Event[Any]] = []
        for event in members:
            start = max(event.start, self._newest)
            end = max(event.end, self._newest + 1)
            ordered.append(Event(start, end, event.payload))
        ordered.sort(key=lambda event: event.start)
        if ordered:
            self._newest = ordered[-1].start
        return ordered

    def _crowd(self) -> list[Event[object]]:
        """Draw a large number of members, or none, and note them in the report in one line.

        Only four numbers are drawn, which is fast and shrinks fast: the count, the number of different payloads, the
        first of these payloads, and the seed of random lifetimes. The payloads come in turn.
        """
        count, variety, first, seed = self.draw(_crowds(self.law.crowd, len(self._many)))
        if not count:
            return []
        payloads: list[Any] = []
        for place in range(count):
            payload = self._many[(first + place % variety) % len(self._many)]
            payloads.append(deepcopy(payload))  # a module may change the payload that it gets
        if not self.tested.is_time_sensitive:
            members = [Event.point(0, payload) for payload in payloads]
        else:
            random = Random(seed)
            window = self.subject.window
            open_ends = not self.clip.clips_right
            events = [_event(random, payload, window, open_ends=open_ends) for payload in payloads]
            members = self._in_order([clip(event, window, self.clip) for event in events])
        self.stream.append(spell_crowd(members, with_times=self.tested.is_time_sensitive))
        return members


# Strategies are expensive to make, so each is made once.


@cache
def _clips(accepted: frozenset[ClipPolicy]) -> SearchStrategy[ClipPolicy]:
    """Return a strategy for one of the accepted policies."""
    return st.sampled_from([policy for policy in ClipPolicy if policy in accepted])


@cache
def _few(values: SearchStrategy[object], at_least: int) -> SearchStrategy[list[Any]]:
    """Return a strategy for lists of a few values."""
    return st.lists(values, min_size=at_least, max_size=_MOST_MEMBERS)


@cache
def _orders(count: int) -> SearchStrategy[list[int]]:
    """Return a strategy for permutations of the numbers below a count."""
    return st.permutations(range(count))


@cache
def _events(
    payloads: SearchStrategy[object], window: Window, at_least: int, *, open_ends: bool
) -> SearchStrategy[list[Event[Any]]]:
    """Return a strategy for lists of a few events that share a tick with a window."""
    return _few(strategies.events(payloads, window, open_ends=open_ends), at_least)


@cache
def _crowds(most_members: int, payload_count: int) -> SearchStrategy[tuple[int, int, int, int]]:
    """Return a strategy for the four numbers of a crowd.

    Args:
        most_members: The greatest number of members of a crowd.
        payload_count: The number of payloads to choose from.

    Returns:
        A strategy for tuples of the number of members, the number of different payloads, the place of the first of
        these payloads, and a seed.
    """
    count = st.integers(0, most_members)
    variety = st.integers(1, payload_count)
    first = st.integers(0, payload_count - 1)
    seed = st.integers(0, 999)
    return st.tuples(count, variety, first, seed)


def _event(random: Random, payload: object, window: Window, *, open_ends: bool) -> Event[object]:
    """Return an event of a crowd, with a random lifetime that shares a tick with the window."""
    start = random.randint(window.start - 5, window.end - 1)
    if open_ends and random.random() < 0.1:
        return Event(start, INFINITY, payload)
    longest = random.choice((5, window.duration + 10))
    end = start + random.randint(1, longest)
    return Event(start, max(end, window.start + 1), payload)


def _spell(lifetime: Lifetime) -> str:
    """Spell a lifetime as an interval."""
    return f"[{lifetime.start}, {'∞' if lifetime.is_open else lifetime.end})"


def spell_crowd(events: Sequence[Event[object]], *, with_times: bool) -> str:
    """Describe a crowd of members for a report.

    Example:
        >>> spell_crowd([Event.point(0, "a"), Event.point(0, "a")], with_times=False)
        "and 2 more, each 'a'"
        >>> spell_crowd([Event(-3, 4, 1), Event(2, INFINITY, 0)], with_times=True)
        'and 2 more, from [-3, 4) to [2, ∞): 1, 0'
    """
    payloads = [repr(event.payload) for event in events]
    times = ""
    if with_times:
        lifetimes = sorted(event.lifetime for event in events)
        times = f", from {_spell(lifetimes[0])} to {_spell(lifetimes[-1])}"
    values = f", each {payloads[0]}" if len(set(payloads)) == 1 else f": {', '.join(payloads)}"
    return f"and {len(events)} more{times}{values}"
