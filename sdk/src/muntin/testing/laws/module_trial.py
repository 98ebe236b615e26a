"""One attempt to break a law of a module."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.axis import EARLIEST, INFINITY
from muntin.drawings import Bar
from muntin.events import Event
from muntin.policies import ClipPolicy
from muntin.testing import strategies
from muntin.testing.equality import same_bag
from muntin.testing.laws.crowd import crowds, told
from muntin.testing.laws.error import LawError
from muntin.testing.laws.law import Law, labelled
from muntin.testing.laws.subject import Subject
from muntin.testing.laws.trial import Trial
from muntin.testing.reference import clip
from muntin.windows.extent import Window

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

    def __init__(
        self,
        law: Law,
        module: Any,
        payloads: SearchStrategy[Any],
        tolerance: float,
        data: Any,
        many: Sequence[Any] = (),
    ) -> None:
        """Draw the window and the clip, if the module is time-sensitive.

        Args:
            law: The law that is tried.
            module: The module.
            payloads: The strategy for payloads of the first few members.
            tolerance: Relative and absolute, for numbers in results.
            data: The source of Hypothesis' draws.
            many: Payloads for many members, if the law has a crowd.
        """
        super().__init__(law, labelled(module), tolerance, data)
        self._payloads = payloads
        self._many = many
        self.clip = ClipPolicy.NONE
        self._newest = EARLIEST
        self.subject = Subject(module, Window(0, _MOST_MEMBERS))
        if module.is_time_sensitive and law.is_random:
            self.place(self.draw(_WINDOWS), self.draw(_clips(module.accepted_clips)))

    def place(self, window: Window, policy: ClipPolicy) -> None:
        """Continue in another window and under another clip."""
        self.clip = policy
        self.subject, self._newest = Subject(self.subject.module, window), EARLIEST
        self.stream = [Bar("window", window.start, window.end, f"clip {policy}")]

    def members(self, label: str = "member", at_least: int = 1) -> list[Event[Any]]:
        """Return members of the window, with lifetimes as the module sees them.

        For a module that reads the order each comes after all that were returned before.
        """
        if self.subject.module.is_time_sensitive:
            drawn = self.draw(_events(self._payloads, self.subject.window, not self.clip.clips_right, at_least))
            members = self._in_order([clip(event, self.subject.window, self.clip) for event in drawn])
        else:
            payloads = self.draw(_payloads(self._payloads, at_least))
            members = [Event.point(place, payload) for place, payload in enumerate(payloads)]
        self.stream += [Bar(label, event.start, event.end, repr(event.payload)) for event in members]
        return [*members, *self._crowd()] if self.law.crowd else members

    def order(self, count: int) -> list[int]:
        """Return the places of so many members in another order."""
        if count <= _MOST_MEMBERS:
            return self.draw(_orders(count))
        order, seed = list(range(count))[::-1], self.draw(st.integers(0, 999))
        if seed:
            Random(seed).shuffle(order)
        return order

    def same(self, left: Any, right: Any, tolerance: float | None = None) -> bool:
        """Return True if two results are equal within the tolerance; rows in any order."""
        if self.subject.module.is_operator:
            return same_bag(left, right, self.tolerance if tolerance is None else tolerance)
        return super().same(left, right, tolerance)

    def broken(self, facts: str, remedy: str | None = None) -> LawError:
        """Return the report of a broken law; an event without an end explains many."""
        is_open = any(isinstance(bar, Bar) and bar.end == INFINITY for bar in self.stream)
        return super().broken(facts, f"{remedy or self.law.remedy}{_ABOUT_OPEN_EVENTS if is_open else ''}")

    def _in_order(self, members: list[Event[Any]]) -> list[Event[Any]]:
        """Let members follow one another, and all before them, if the module reads the order."""
        if not self.subject.module.reads_order:
            return members
        members = [Event(max(e.start, self._newest), max(e.end, self._newest + 1), e.payload) for e in members]
        members.sort(key=lambda event: event.start)
        self._newest = members[-1].start if members else self._newest
        return members

    def _crowd(self) -> list[Event[object]]:
        """Return more members than anyone draws one by one; often there are none."""
        crowd = self.draw(crowds(self.law.crowd, len(self._many)))
        if not crowd.count:
            return []
        window, is_timed = self.subject.window, self.subject.module.is_time_sensitive
        if is_timed:
            drawn = crowd.events(self._many, window, open_ends=not self.clip.clips_right)
            members = self._in_order([clip(event, window, self.clip) for event in drawn])
        else:
            members = [Event.point(0, payload) for payload in crowd.payloads(self._many)]
        self.stream.append(told(members, with_times=is_timed))
        return members


# Strategies are expensive to make, so each is made once.


@cache
def _clips(accepted: frozenset[ClipPolicy]) -> SearchStrategy[ClipPolicy]:
    return st.sampled_from([policy for policy in ClipPolicy if policy in accepted])


@cache
def _payloads(payloads: SearchStrategy[object], at_least: int) -> SearchStrategy[list[Any]]:
    return st.lists(payloads, min_size=at_least, max_size=_MOST_MEMBERS)


@cache
def _orders(count: int) -> SearchStrategy[list[int]]:
    return st.permutations(range(count))


@cache
def _events(
    payloads: SearchStrategy[object], window: Window, open_ends: bool, at_least: int
) -> SearchStrategy[list[Event[Any]]]:
    return _payloads(strategies.events(payloads, window, open_ends=open_ends), at_least)
