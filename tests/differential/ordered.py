"""Modules that read the order of events, and queries of them whose timestamps tie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from random import Random
from typing import Any, Final

from muntin import Aggregate, Event, IncrementalOperator, Module, Window
from muntin.testing import reference
from muntin.testing.scripts import Script
from muntin.testing.streams import random_stream, shuffle, split
from muntin_adapters.combinators import filtering, grouping_by, mapping
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_stats import CollectList, ExponentiallyWeightedAverage, First, Last, Ranked, TopBy
from tests.differential.calendars import CALENDARS, on_the_calendar
from tests.differential.cases import Case, until_closed
from tests.differential.remembered import remembered


class Joined(Aggregate[int, str]):
    """The payloads in their order, as text."""

    name, version = "test.joined", "1"
    reads_order = True

    def compute_result(self, payloads: Sequence[int]) -> str:
        return ",".join(map(str, payloads))


class Spelled(Aggregate[int, str]):
    """The events in their order, as text."""

    name, version = "test.spelled", "1"
    is_time_sensitive = True
    reads_order = True

    def compute_result(self, events: Sequence[Event[int]], window: Window) -> str:
        return ",".join(f"{event.payload}@{event.start}-{event.end}" for event in events)


class Listed(CollectList[int]):
    """The list, as a tuple: rows of a table are counted."""

    def compute_result(self, state: list[int]) -> Any:
        return tuple(super().compute_result(state))


class Ranks(TopBy[int, int]):
    """The rows as tuples, which a state may hold."""

    def compute_result(self, state: list[Ranked[int, int]]) -> Any:
        return [(row.rank, row.value, row.by) for row in super().compute_result(state)]


class Followed(IncrementalOperator[int, list[int], int]):
    """The differences from each payload to the next; what it removes are the oldest."""

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
        return [state[0], *(after - before for before, after in pairwise(state))]


def ranked(value: int) -> Ranked[int, int]:
    return Ranked(value, value % 3)


def floating(value: int) -> float:
    return float(value)


def positive(value: int) -> bool:
    return value > 0


Way = tuple[Module, Callable[[Any], Any]]

_WEIGHTED: Final = ExponentiallyWeightedAverage(alpha=0.5)

ORDERED: Final[dict[str, tuple[Way, ...]]] = {
    "aggregate": ((Joined(), int),),
    "first, last and list": ((First(), int), (Last(), int), (Listed(), int)),
    "ranks": ((Ranks(3).with_order(), ranked),),
    "ranks from below with ties": ((Ranks(2, largest=False, ties="all").with_order(), ranked),),
    "combinators": (
        (filtering(Listed, positive)(), int),
        (mapping(Joined, abs, input=int)(), int),
    ),
    "time-sensitive aggregate": ((Spelled(), int), (_WEIGHTED, floating)),
    "time-sensitive incremental operator": ((Followed(), int),),
}
"""Modules with what they read of the value of an event."""

assert grouping_by(CollectList)().reads_order


class OrderedCase(Case):
    """A query over events whose payload is their order, which may be null, and a value."""

    @property
    def ways(self) -> tuple[Way, ...]:
        """The modules, each with what it reads."""
        return ORDERED[self.shape]

    @property
    def is_time_sensitive(self) -> bool:
        """True if a module tells events of one place by their ends too."""
        return any(module.is_time_sensitive for module, _ in self.ways)

    @cached_property
    def reference(self) -> reference.WindowedQuery:
        """The query as the oracle reads it: those alike in their order are told apart by their values."""
        computations = [reference.Computation(remembered(module), _of_value(read)) for module, read in self.ways]
        return reference.WindowedQuery(
            self.kind,
            computations,
            self.clip,
            self.timestamps,
            event_ends_move=self.has_ids or self.is_edge,
            order=lambda payload: (payload[0] is not None, payload[0] or 0, self._tie(payload[1])),
        )

    def _tie(self, value: int) -> Any:
        return self.ways[0][1](value) if len(self.ways) == 1 else value

    @cached_property
    def query(self) -> EvaluatorQuery:
        """The query as the evaluator reads it."""
        bindings = tuple(Binding(module, _of_first_column(read)) for module, read in self.ways)
        return EvaluatorQuery(
            self.kind,
            bindings,
            self.clip,
            self.timestamps,
            self.emit,
            self.contract,
            is_edge=self.is_edge,
            has_ids=self.has_ids,
            order=lambda payload: payload[0][0],
        )

    def another_stream(self, number: int, *, in_order: bool = False) -> Script:
        """Return one of the case's streams, whose events tie in their times."""
        seed = self.seed + number

        def payload(random: Random) -> tuple[int | None, int]:
            order = random.randrange(10**9) if self.is_time_sensitive else random.choice((None, 0, 1, 1, 2))
            return order, random.randint(-9, 9)

        stream = random_stream(
            seed,
            keys=("a", None),
            events=4 + seed % 16,
            starts=range(-6, 3 + seed % 13),
            payload=payload,
            disorder=seed % 24,
            again=0.3 if self.has_ids and not self.is_edge and not in_order else 0.0,
        )
        shuffled = shuffle(until_closed(stream), seed, early_revisions=bool(seed % 3) and not in_order)
        cut = split(until_closed(shuffled), seed, cuts=(0.1, 0.3, 0.9)[seed % 3])
        return on_the_calendar(self.window, cut) if self.window in CALENDARS else cut


def _of_value(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda payload: read(payload[1])


def _of_first_column(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda payload: read(payload[0][1])


def without_order(case: OrderedCase) -> EvaluatorQuery:
    """Return a query of a case that names no order."""
    return replace(case.query, order=None)
