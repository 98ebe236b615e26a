"""Hundreds of members at once: what shows only where a window has many."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.axis import INFINITY
from muntin.events import Event
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Crowd:
    """Members that are told of together, since hundreds of them would fill a report.

    They are drawn as four numbers and not one by one: that is fast, and gets small fast.

    Attributes:
        count: The number of members.
        variety: The most different payloads that they have; these come in turn.
        first: Which payload is the first.
        seed: Where the randomness of their times starts.
    """

    count: int
    variety: int
    first: int
    seed: int

    def payloads(self, among: Sequence[object]) -> list[Any]:
        """Return their payloads, each an object of its own, since a module may change what it gets."""
        return [deepcopy(among[(self.first + place % self.variety) % len(among)]) for place in range(self.count)]

    def events(self, among: Sequence[object], window: Window, *, open_ends: bool) -> list[Event[Any]]:
        """Return events of a window; some reach beyond it on either side."""
        random = Random(self.seed)
        return [_event(random, payload, window, open_ends) for payload in self.payloads(among)]


def crowds(most: int, among: int) -> SearchStrategy[Crowd]:
    """Return crowds of up to so many members, with payloads from a list of this length."""
    places = st.integers(0, among - 1)
    return st.builds(Crowd, st.integers(0, most), st.integers(1, among), places, st.integers(0, 999))


def told(events: Sequence[Event[object]], *, with_times: bool) -> str:
    """Describe a crowd of members for a report.

    Example:
        >>> told([Event.point(0, "a"), Event.point(0, "a")], with_times=False)
        "and 2 more, each 'a'"
        >>> told([Event(-3, 4, 1), Event(2, INFINITY, 0)], with_times=True)
        'and 2 more, from [-3, 4) to [2, ∞): 1, 0'
    """
    payloads = [repr(event.payload) for event in events]
    first, last = min(event.lifetime for event in events), max(event.lifetime for event in events)
    times = f", from {_spell(first.start, first.end)} to {_spell(last.start, last.end)}" if with_times else ""
    values = f", each {payloads[0]}" if len(set(payloads)) == 1 else f": {', '.join(payloads)}"
    return f"and {len(events)} more{times}{values}"


def _event(random: Random, payload: object, window: Window, open_ends: bool) -> Event[object]:
    start = random.randint(window.start - 5, window.end - 1)
    if open_ends and random.random() < 0.1:
        return Event(start, INFINITY, payload)
    longest = random.choice((5, window.duration + 10))
    return Event(start, max(start + random.randint(1, longest), window.start + 1), payload)


def _spell(start: int, end: int) -> str:
    return f"[{start}, {'∞' if end == INFINITY else end})"
