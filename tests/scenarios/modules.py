"""Modules for scenarios that are not in the rooms of their kinds: states that are merged, and rows of two columns."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from typing import Any

from muntin import (
    Aggregate,
    ColumnarAggregate,
    IncrementalAggregate,
    IncrementalOperator,
    Module,
    Operator,
    OutputContract,
)
from tests.differential.forms import FORMS, INVERTIBLE, Given
from tests.differential.modules import SHAPES, Echo, GrowingEcho, SlidingEcho
from tests.rows.following import Full, Numbers, Told
from tests.sdk.stream_operators import Gaps, Level, Newest, Overdue, Silence


class Merged(IncrementalAggregate[int, list[int], list[int]]):
    """The members in order, whose state is changed in place, so that whatever shares one shows."""

    name, version = "test.merged", "1"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        for payload in payloads:
            insort(state, payload)
        return state

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        before = list(other)
        for payload in before:
            insort(state, payload)
        assert other == before, "the two states are one"
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


class Sized(Merged):
    """The same as `Merged`, whose state says that it takes as much as a few rows."""

    name, state_bytes = "test.sized", 20


class Spans(IncrementalAggregate[int | None, tuple[int, list[int]], list[int]]):
    """How many members there are, nulls among them, the least and the largest; a state is a tuple with a list."""

    name, version = "test.spans", "1"

    def create_state(self) -> tuple[int, list[int]]:
        return 0, []

    def add_events(self, state: tuple[int, list[int]], payloads: Sequence[int | None]) -> tuple[int, list[int]]:
        return state[0] + len(payloads), _ends([*state[1], *(each for each in payloads if each is not None)])

    def combine(self, state: tuple[int, list[int]], other: tuple[int, list[int]]) -> tuple[int, list[int]]:
        return state[0] + other[0], _ends([*state[1], *other[1]])

    def compute_result(self, state: tuple[int, list[int]]) -> list[int]:
        return [state[0], *state[1]]


def _ends(values: Sequence[int]) -> list[int]:
    return [min(values), max(values)] if values else []


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


Modules = tuple[Module, ...]

ANY: dict[str, Modules] = SHAPES | {"operator of two columns": (Pairs(),)}
"""A module of each base class."""


class BoundEcho(Echo):
    """Promises that its rows start no earlier than what they tell of."""

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
    "sized": (Sized(),),
    "several": (Merged(), Spans(), Deducted()),
    "with forms": (Spans(), *FORMS["counts"]),
}
"""Aggregates whose states are merged."""

_FORMS: dict[str, tuple[ColumnarAggregate[Any, Any], ...]] = {**INVERTIBLE, **FORMS, "given": (Given(),)}
COLUMNAR: dict[str, Modules] = {name: forms for name, forms in _FORMS.items() if name != "hostile"}
"""Aggregates on arrays."""

ORDERED: dict[str, Modules] = {"aggregate": (Joined(),), "incremental operator": (Steps(),)}
"""Modules that read the order of events."""

FOLLOWING: dict[str, Modules] = {module.name: (module,) for module in (Newest(), Silence(), Gaps())}
"""Operators that follow points."""

OF_ROWS: dict[str, Modules] = {
    **ORDERED,
    "merged": (Merged(),),
    "sliding": SHAPES["incremental aggregate that removes"],
    **{module.name: (module,) for module in (Told(), Full(), Numbers())},
}
"""Modules over windows that follow rows, and operators that are told of all that becomes of rows."""

LASTING: dict[str, Modules] = {module.name: (module,) for module in (Level(), Overdue(4))}
"""Operators that are told of starts and ends."""
