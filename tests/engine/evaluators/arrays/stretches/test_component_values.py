"""The laws of the values of a batch: one kit, which every kind of values passes.

Each kind is compared with a list of plain values, which is the definition: values are taken, joined and merged as the
elements of a list are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import Component, IncrementalAggregate
from muntin_engine.evaluators.arrays.stretches.component_values import ComponentValues, from_arrow, from_plain
from muntin_engine.evaluators.arrays.stretches.python_states import StateModule, States
from muntin_engine.evaluators.arrays.stretches.row_values import RowValues
from muntin_engine.modules.binding import Binding


class Seen(IncrementalAggregate[int, list[int], int]):
    name, version = "laws.seen", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return sorted([*state, *payloads])

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        state += other  # the first may change
        state.sort()
        return state

    def compute_result(self, state: list[int]) -> int:
        return len(state)


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Attributes:
        element: Draws one value, as plain data.
        make: Makes values of a list.
        plain: Undoes `make`.
        merge: Merges a list of them into one; None if they are not merged.
        has_identity: True if a code without values has one all the same.
    """

    element: st.SearchStrategy[Any]
    make: Callable[[list[Any]], Any]
    plain: Callable[[Any], list[Any]]
    merge: Callable[[list[Any]], Any] | None
    has_identity: bool = True


NUMBERS = st.integers(-9, 9)
FLOATS = st.sampled_from([0.1, -0.1, 1e16, -1e16, 1.0, 2.0**-60, 1e300, -1e300, 3.5])
SEEN = StateModule(Binding(Seen()))


def of(component: Component, element: st.SearchStrategy[Any], merge: Callable[[list[Any]], Any]) -> Kind:
    return Kind(element, lambda some: from_plain(component, some), lambda values: list(values.plain()), merge)


def states(some: list[list[int]]) -> States:
    return States.of(SEEN, (list(state) for state in some), len(some))


SUMMED = {
    "whole numbers": of(Component.sum("int64"), NUMBERS, sum),
    "vectors": of(
        Component.sum("int64", (2,)),
        st.tuples(NUMBERS, NUMBERS).map(list),
        lambda some: [sum(first for first, _ in some), sum(second for _, second in some)],
    ),
    "exact sums": of(Component.sum(), FLOATS.map(Fraction), lambda some: sum(some, Fraction(0))),
}
COMPONENTS = SUMMED | {
    "largest numbers": of(Component.max(), FLOATS, lambda some: max(some, default=float("-inf"))),
    "collected": of(
        Component.values("int64"), st.lists(NUMBERS, max_size=3), lambda some: [part for one in some for part in one]
    ),
}
KINDS = COMPONENTS | {
    "states": Kind(
        st.lists(NUMBERS, max_size=3).map(sorted),
        states,
        lambda values: values.objects.tolist(),
        lambda some: sorted(part for one in some for part in one),
        has_identity=False,
    ),
    "rows": Kind(
        NUMBERS,
        lambda some: RowValues.of(pa.table({"x": pa.array(some, pa.int64())})),
        lambda values: values.table["x"].to_pylist(),
        None,
    ),
}
MERGED = {name: kind for name, kind in KINDS.items() if kind.merge is not None}


def codes_for(data: st.DataObject, kind: Kind, count: int) -> tuple[list[int], int]:
    """Draw the code of each of n values, and the number of codes."""
    codes = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    if kind.has_identity:
        return codes, 5
    known = sorted(set(codes))
    return [known.index(code) for code in codes], len(known)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_values_are_taken_and_joined_as_elements_of_a_list(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    first, second = (data.draw(st.lists(kind.element, min_size=1, max_size=6)) for _ in range(2))
    values = kind.make(first)
    places = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=8))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
    taken = values.take(np.array(places, np.int64))
    assert (len(taken), kind.plain(taken)) == (len(places), [first[place] for place in places])
    assert kind.plain(values.take(slice(start, stop))) == first[start:stop]
    joined = values.concat([kind.make(second), taken])
    assert kind.plain(joined) == [*first, *second, *kind.plain(taken)]
    assert kind.plain(values) == first
    assert joined.nbytes >= values.nbytes > -1


@pytest.mark.parametrize("name", MERGED)
@given(data=st.data())
def test_values_of_one_code_are_merged_at_once_or_in_parts(name: str, data: st.DataObject) -> None:
    kind = MERGED[name]
    assert kind.merge is not None
    some = data.draw(st.lists(kind.element, min_size=1, max_size=8))
    codes, size = codes_for(data, kind, len(some))
    expected = [kind.merge([one for one, at in zip(some, codes, strict=True) if at == code]) for code in range(size)]
    assert kind.plain(kind.make(some).reduce(np.array(codes, np.int64), size)) == expected
    cut = data.draw(st.integers(0, len(some)))
    parts = [(some[:cut], codes[:cut]), (some[cut:], codes[cut:])]
    merged = [
        (sorted(set(own)), kind.make(part).reduce(np.array([sorted(set(own)).index(c) for c in own]), len(set(own))))
        for part, own in parts
        if part
    ]
    again = merged[0][1].concat([values for _, values in merged[1:]])
    of_parts = np.array([code for known, _ in merged for code in known], np.int64)
    assert kind.plain(again.reduce(of_parts, size)) == expected


def test_rows_are_not_merged() -> None:
    with pytest.raises(TypeError, match="2 rows are not merged into 1"):
        KINDS["rows"].make([1, 2]).reduce(np.array([0, 0]), 1)


@pytest.mark.parametrize("name", COMPONENTS)
@given(data=st.data())
def test_components_come_back_from_a_column(name: str, data: st.DataObject) -> None:
    kind = COMPONENTS[name]
    some = data.draw(st.lists(kind.element, min_size=1, max_size=6))
    values: ComponentValues = kind.make(some)
    read = from_arrow(values.component, pa.chunked_array([values.to_arrow()]))  # type: ignore[attr-defined]
    assert kind.plain(read) == some
    assert values.is_summed == (name in SUMMED)


@dataclass(frozen=True)
class Along:
    """Sums along an axis of eight places, of values that are added at a place and subtracted after another."""

    low: list[int]
    high: list[int]
    most: int = 16

    def sums(self, values: Any) -> Any:
        deltas = np.zeros((9, *values.shape[1:]), values.dtype)
        np.add.at(deltas, self.low, values)
        np.subtract.at(deltas, np.array(self.high) + 1, values)
        return np.cumsum(deltas, axis=0)[:8]


@pytest.mark.parametrize("name", SUMMED)
@given(data=st.data())
def test_what_is_summed_runs_along_the_axis(name: str, data: st.DataObject) -> None:
    """Each value counts from a place to another.

    place     0 1 2 3 4 5 6 7
    a [1, 3]    a a a
    b [2, 6]      b b b b b
    sums      0 a c c b b b 0    c is a merged with b
    """
    kind = SUMMED[name]
    assert kind.merge is not None
    stretch = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted)
    drawn = data.draw(st.lists(st.tuples(kind.element, stretch), min_size=1, max_size=6))
    some = [one for one, _ in drawn]
    low = [at[0] for _, at in drawn]
    high = [at[1] for _, at in drawn]
    expected = [kind.merge([one for one, (since, until) in drawn if since <= at <= until]) for at in range(8)]
    assert kind.plain(kind.make(some).running(Along(low, high))) == expected
