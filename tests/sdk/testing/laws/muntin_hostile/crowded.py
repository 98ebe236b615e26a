"""Modules that are right for a few members, at the first call, or most of the time; and the law that each breaks."""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

from muntin import Aggregate, Event, IncrementalAggregate, IncrementalOperator, Module, Window


class _Bounded(IncrementalAggregate[int, list[int], int]):
    """Sums as many members as `most` says, those that came first."""

    most: ClassVar[int]

    def __init_subclass__(cls) -> None:
        cls.name = f"hostile.{cls.__name__.lower()}"
        cls.version = "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads][: self.most]

    def compute_result(self, state: list[int]) -> int:
        return sum(state)


class FirstSix(_Bounded):
    most = 6


class FirstFifty(_Bounded):
    most = 50


class FirstHundred(_Bounded):
    most = 100


class TopTen(_Bounded):
    """Right: the largest ten are a function of the members."""

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return sorted([*state, *payloads])[-10:]


class LargestTenWithRemoving(TopTen):
    """A member that a larger one has pushed out does not come back when that one is removed."""

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        remaining = list(state)
        for payload in payloads:
            if payload in remaining:
                remaining.remove(payload)
        return remaining


class LastFiftyRows(IncrementalOperator[int, list[int], int]):
    name, version = "hostile.last_fifty_rows", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads][-50:]

    def compute_result(self, state: list[int]) -> list[int]:
        return state


class CombinesTwenty(_Bounded):
    """Adding keeps all members; combining keeps the first twenty of either state."""

    most = 10_000

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [*state[:20], *other[:20]]


class SamplesMany(_Bounded):
    """Sums up to twenty members, and of more a random twenty."""

    most = 10_000

    def compute_result(self, state: list[int]) -> int:
        return sum(random.sample(state, 20)) if len(state) > 20 else sum(state)


class Streaming(_Bounded):
    """The median by P², after R. Jain and I. Chlamtac (1985): exact up to five values, then an estimate.

    The state is the list of the first values; from the fifth on, the heights of the five markers and their places.
    """

    def add_events(self, state: list[Any], payloads: Sequence[int]) -> list[Any]:
        for payload in payloads:
            state = self._add(state, payload)
        return state

    def compute_result(self, state: list[Any]) -> int:
        if self._has_markers(state):
            heights, _ = state
            median = heights[2]
        else:
            median = sorted(state)[len(state) // 2]
        return int(8 * median)  # in eighths, as the result is a whole number

    def _has_markers(self, state: list[Any]) -> bool:
        return len(state) == 2 and isinstance(state[0], list)

    def _add(self, state: list[Any], value: float) -> list[Any]:
        """Add a value: to the sorted list of the first five, or by moving the five markers of P²."""
        if not self._has_markers(state):
            values = sorted([*state, value])
            return [values, [0, 1, 2, 3, 4]] if len(values) == 5 else values

        # The outer markers are at the extremes; those above the value go up by a place.
        heights = list(state[0])
        heights[0] = min(heights[0], value)
        heights[4] = max(heights[4], value)
        cell = max(place for place in range(4) if heights[place] <= value)
        places = [place + (number > cell) for number, place in enumerate(state[1])]

        # A marker that is a place or more away from its quarter moves by one, and its height along the slope there.
        for number in (1, 2, 3):
            lag = places[4] * number / 4 - places[number]
            step = 1 if lag >= 1 else -1
            if abs(lag) >= 1 and abs(places[number + step] - places[number]) > 1:
                rise = heights[number + step] - heights[number]
                heights[number] += rise / abs(places[number + step] - places[number])
                places[number] += step
        return [heights, places]


class LongMean(Aggregate[int, int]):
    """Sums the thirty members that come first, which need not be the earliest ones."""

    name, version = "hostile.long_mean", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> int:
        return sum(event.payload for event in events[:30])


class _Plain(Aggregate[int, float]):
    def __init_subclass__(cls) -> None:
        cls.name = f"hostile.{cls.__name__.lower()}"
        cls.version = "1.0.0"


class ReadsTheClock(_Plain):
    """Two calls differ by millionths, which no tolerance of results would see."""

    def compute_result(self, payloads: Sequence[int]) -> float:
        return time.time()


class TossesACoin(_Plain):
    def compute_result(self, payloads: Sequence[int]) -> float:
        return sum(payloads) * (1 + random.random() * 1e-9)


class RemembersByLength(_Plain):
    """Has a cache on the class whose key, the number of payloads, says too little."""

    cache: ClassVar[dict[int, float]] = {}

    def compute_result(self, payloads: Sequence[int]) -> float:
        return self.cache.setdefault(len(payloads), sum(payloads))


class CountsOnItsClass(_Plain):
    largest: ClassVar[int] = 0

    def compute_result(self, payloads: Sequence[int]) -> float:
        type(self).largest = max(self.largest, *payloads, 0)
        return self.largest


class RemembersInADefault(_Plain):
    def compute_result(self, payloads: Sequence[int], seen: dict[int, float] = {}) -> float:  # noqa: B006  # the fault
        return seen.setdefault(max(payloads), sum(payloads))


_SEEN: dict[int, float] = {}


class RemembersInAGlobal(_Plain):
    def compute_result(self, payloads: Sequence[int]) -> float:
        return _SEEN.setdefault(max(payloads), sum(payloads))


class AddsToItself(_Plain):
    def __init__(self) -> None:
        self.seen: list[int] = []

    def compute_result(self, payloads: Sequence[int]) -> float:
        self.seen.extend(payloads)
        return sum(self.seen)


class JoinsASet(Aggregate[str, str]):
    """Joins payloads in the order of a set: by their hashes, and among many members by who came first too."""

    name, version = "hostile.joins_a_set", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> str:
        return ",".join(set(payloads))


class SharesOneWindow(IncrementalAggregate[int, dict[str, list[int]], int]):
    """Each window's state holds the same list."""

    name, version = "hostile.shares_one_window", "1.0.0"
    start: ClassVar[dict[str, list[int]]] = {"seen": []}

    def create_state(self) -> dict[str, list[int]]:
        return dict(self.start)

    def add_events(self, state: dict[str, list[int]], payloads: Sequence[int]) -> dict[str, list[int]]:
        state["seen"].extend(payloads)
        return state

    def compute_result(self, state: dict[str, list[int]]) -> int:
        return sum(state["seen"])


class NeedsItsOwnDict(IncrementalAggregate[int, OrderedDict[int, int], int]):
    """Can take members out of the dict that it made, and not out of one that was stored and read back."""

    name, version = "hostile.needs_its_own_dict", "1.0.0"

    def create_state(self) -> OrderedDict[int, int]:
        return OrderedDict()

    def add_events(self, state: OrderedDict[int, int], payloads: Sequence[int]) -> OrderedDict[int, int]:
        for payload in payloads:
            state[payload] = state.get(payload, 0) + 1
        return state

    def remove_events(self, state: OrderedDict[int, int], payloads: Sequence[int]) -> OrderedDict[int, int]:
        for payload in payloads:
            state[payload] -= 1
            state.move_to_end(payload)
        return state

    def compute_result(self, state: OrderedDict[int, int]) -> int:
        return sum(payload * count for payload, count in state.items())


CROWDED: dict[type[Module], str] = {
    FirstSix: "order does not matter",
    FirstFifty: "order does not matter",
    FirstHundred: "order does not matter",
    LargestTenWithRemoving: "removing undoes adding",
    LastFiftyRows: "order does not matter",
    CombinesTwenty: "combining equals adding",
    SamplesMany: "same payloads same result",
    Streaming: "order does not matter",
    LongMean: "order does not matter",
    ReadsTheClock: "same payloads same result",
    TossesACoin: "same payloads same result",
    RemembersByLength: "same payloads same result",
    CountsOnItsClass: "same payloads same result",
    RemembersInADefault: "same payloads same result",
    RemembersInAGlobal: "same payloads same result",
    AddsToItself: "same payloads same result",
    JoinsASet: "order does not matter",
    SharesOneWindow: "each state is its own",
    NeedsItsOwnDict: "incremental equals recomputed",
}
"""The law that each module breaks."""
