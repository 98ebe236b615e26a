"""Modules for scenarios that are not in the rooms of their kinds: states that are merged, and rows of two columns."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from muntin import (
    INFINITY,
    Aggregate,
    ColumnarAggregate,
    Event,
    IncrementalAggregate,
    IncrementalOperator,
    Module,
    Operator,
    OutputContract,
    StreamOperator,
    Window,
)
from muntin_adapters.combinators import filtering, mapping
from muntin_stats import CollectList, First, Last
from tests.modules.columnar import FORMS, INVERTIBLE, EverythingWithoutNulls
from tests.modules.every_shape import SHAPES, Echo, GrowingEcho, SlidingEcho
from tests.modules.row_operators import Full, HandlerCalls, Longest, Numbers
from tests.modules.stream_operators import Alarms, Gaps, Level, Newest, Overdue, Reminders, Silence


class Merged(IncrementalAggregate[int, list[int], list[int]]):
    """The payloads in order. States are changed in place: if two windows share one, their results are wrong."""

    name, version = "test.merged", "1"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        for payload in payloads:
            insort(state, payload)
        return state

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        added_payloads = list(other)
        for payload in added_payloads:
            insort(state, payload)
        assert other == added_payloads, "the two states are one"
        return state

    def compute_result(self, state: list[int]) -> list[int]:
        return list(state)


class Deducted(Merged):
    """The same with `deduct`."""

    name = "test.deducted"

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        for payload in other:
            state.remove(payload)
        return state


class Spans(IncrementalAggregate[int | None, tuple[int, list[int]], list[int]]):
    """The number of payloads, nulls among them, and the least and the largest.

    A state is a tuple of the number and a list of the two, which is empty while all payloads are null.
    """

    name, version = "test.spans", "1"

    def create_state(self) -> tuple[int, list[int]]:
        return 0, []

    def add_events(self, state: tuple[int, list[int]], payloads: Sequence[int | None]) -> tuple[int, list[int]]:
        count, least_and_largest = state
        numbers = [payload for payload in payloads if payload is not None]
        return count + len(payloads), _least_and_largest([*least_and_largest, *numbers])

    def combine(self, state: tuple[int, list[int]], other: tuple[int, list[int]]) -> tuple[int, list[int]]:
        count, least_and_largest = state
        other_count, other_least_and_largest = other
        return count + other_count, _least_and_largest([*least_and_largest, *other_least_and_largest])

    def compute_result(self, state: tuple[int, list[int]]) -> list[int]:
        count, least_and_largest = state
        return [count, *least_and_largest]


def _least_and_largest(numbers: Sequence[int]) -> list[int]:
    return [min(numbers), max(numbers)] if numbers else []


class Pairs(Operator[int, tuple[int, str]]):
    """A row of two columns for each payload, and none for null."""

    name, version = "test.pairs", "1"

    def compute_result(self, payloads: Sequence[int]) -> Iterable[tuple[int, str]]:
        return ((payload, str(payload % 2)) for payload in payloads)


class Joined(Aggregate[int, str]):
    """The payloads in their order."""

    name, version = "test.joined", "1"
    reads_order = True

    def compute_result(self, payloads: Sequence[int]) -> str:
        return ",".join(map(str, payloads))


class Steps(IncrementalOperator[int, list[int], int]):
    """The payloads in their order, as rows; what is removed is the oldest."""

    name, version = "test.steps", "1"
    reads_order = True

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        assert state[: len(payloads)] == list(payloads), "what leaves is the oldest"
        return state[len(payloads) :]

    def compute_result(self, state: list[int]) -> Iterable[int]:
        return [10 * place + payload for place, payload in enumerate(state)]


class Spelled(Aggregate[int, str]):
    """The events in their order, as text."""

    name, version = "test.spelled", "1"
    is_time_sensitive = True
    reads_order = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> str:
        return ",".join(f"{event.payload}@{event.start}-{event.end}" for event in events)


class Listed(CollectList[int]):
    """The payloads in their order, as a tuple: scenarios count rows, whose values have to be hashable."""

    def compute_result(self, state: list[int]) -> Any:
        return tuple(super().compute_result(state))


class Followed(IncrementalOperator[int, list[int], int]):
    """The first payload, and the differences from each payload to the next; what is removed is the oldest."""

    name, version = "test.followed", "1"
    is_time_sensitive = True
    reads_order = True

    def create_state(self, window: Window) -> list[int]:
        return []

    def add_events(self, state: list[int], events: Sequence[Event[int]], window: Window) -> list[int]:
        return state + [event.payload for event in events]

    def remove_events(self, state: list[int], events: Sequence[Event[int]], window: Window) -> list[int]:
        assert state[: len(events)] == [event.payload for event in events]
        return state[len(events) :]

    def compute_result(self, state: list[int], window: Window) -> Iterable[int]:
        return [state[0], *(payload - previous for previous, payload in pairwise(state))]


def positive(value: int) -> bool:
    return value > 0


class Signs(StreamOperator[int, None, int]):
    """Returns a payload above 5 as an event that lasts so many ticks, and any other odd one with both signs."""

    name, version = "test.signs", "1.0.0"

    def on_event(self, state: None, payload: int, time: int) -> Iterable[Event[int] | int] | None:
        if payload > 5:
            return [Event(time, time + payload, payload)]
        return [payload, -payload] if payload % 2 else None


class Automaton(StreamOperator[int, list[int], list[int]]):
    """Goes from state to state by chance; the same seed, state and cause give the same chance.

    A state is a list: a number below 4, the time of the next wake-up or -1, and the times at which events and wake-ups
    came. A new key has the number 0, and a state with the number 0 is empty.

    With an odd seed the automaton is periodic; with an even one it asks for no wake-up once its state is long. Some of
    the times that it asks for have passed: after events and, unless it is periodic, after wake-ups.
    """

    name, version = "test.automaton", "1"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.is_periodic = seed % 2 == 1

    def create_state(self) -> list[int]:
        return [0, -1]

    def on_event(self, state: list[int], payload: int, time: int) -> Iterable[list[int] | Event[list[int]]]:
        return self._transition(state, f"event {payload}", time)

    def on_time(self, state: list[int], time: int) -> Iterable[list[int] | Event[list[int]]]:
        return self._transition(state, "wake-up", time)

    def next_time(self, state: list[int]) -> int | None:
        return None if state[1] < 0 else state[1]

    def is_empty(self, state: list[int]) -> bool:
        return state[0] == 0

    def _transition(self, state: list[int], cause: str, time: int) -> Iterable[list[int] | Event[list[int]]]:
        """Go to another state, and yield up to two results: a state at the time, or an event that lasts."""
        random = Random(f"{self.seed} {state[0]} {cause}")
        state[0] = random.randrange(4)

        # A periodic operator has to ask for a later time at each wake-up.
        waits: tuple[int, ...] = (-3, 0, 1, 2, 5, 30)
        if self.is_periodic and cause == "wake-up":
            waits = (1, 2, 5, 30)
        state[1] = -1
        if random.random() < 0.7:
            state[1] = time + random.choice(waits)
        if not self.is_periodic and len(state) > 12:
            state[1] = -1

        if state[0] == 0:
            state[1:] = [-1]
        else:
            state.append(time)
        for _ in range(random.randrange(3)):
            if random.random() < 0.5:
                yield state
            else:
                yield Event(time, random.choice((time + 1, time + 9, INFINITY)), [*state])


Modules = tuple[Module, ...]

ANY: dict[str, Modules] = SHAPES | {"operator of two columns": (Pairs(),)}
ANY |= {
    "some read nulls": (Spans(), *SHAPES["time-sensitive aggregate"], *SHAPES["incremental aggregate that removes"])
}
"""Modules of each base class, and groups of several."""


class BoundEcho(Echo):
    """An echo that promises that its results start no earlier than the events that cause them."""

    contract = OutputContract.TIME_BOUND


class BoundGrowingEcho(GrowingEcho):
    """The same, incrementally."""

    contract = OutputContract.TIME_BOUND


class BoundSlidingEcho(SlidingEcho):
    """The same, and removes."""

    contract = OutputContract.TIME_BOUND


BOUND: Sequence[Modules] = ((BoundEcho(),), (BoundGrowingEcho(),), (BoundSlidingEcho(),))
"""Operators whose rows have times of their own, and are time-bound."""

MERGED: dict[str, Modules] = {
    "merged": (Merged(),),
    "deducted": (Deducted(),),
    "several": (Merged(), Spans(), Deducted()),
    "with forms": (Spans(), *FORMS["counts"]),
}
"""Aggregates whose states are merged."""

_FORMS: dict[str, tuple[ColumnarAggregate[Any, Any], ...]] = {
    **INVERTIBLE,
    **FORMS,
    "given": (EverythingWithoutNulls(),),
}
COLUMNAR: dict[str, Modules] = {name: forms for name, forms in _FORMS.items() if name != "hostile"}
"""Aggregates on arrays."""

ORDERED: dict[str, Modules] = {
    "aggregate": (Joined(),),
    "incremental operator": (Steps(),),
    "first, last and list": (First[int](), Last[int](), Listed()),
    "combinators": (filtering(Listed, positive)(), mapping(Joined, abs, input=int)()),
    "time-sensitive aggregate": (Spelled(),),
    "time-sensitive incremental operator": (Followed(),),
}
"""Modules that read the order of events."""

FOLLOWING: dict[str, Modules] = {
    module.name: (module,) for module in (Newest(), Silence(), Gaps(), Signs(), Reminders())
}
FOLLOWING |= {f"automaton {seed}": (Automaton(seed),) for seed in range(40)}
"""Operators that follow points."""

OF_ROWS: dict[str, Modules] = {
    **ORDERED,
    "merged": (Merged(),),
    "sliding": SHAPES["incremental aggregate that removes"],
    **{module.name: (module,) for module in (HandlerCalls(), Full(), Numbers(), Longest())},
}
"""Modules over windows that follow rows, and operators that are told of all that becomes of rows."""

LASTING: dict[str, Modules] = {module.name: (module,) for module in (Level(), Overdue(4), Alarms())}
"""Operators that are told of starts and ends."""
