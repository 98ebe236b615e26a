"""The laws of the values of a batch: one kit, which every kind of values passes.

Each kind is compared with a list of plain values, which is the definition: values are taken, joined and merged as the
elements of a list are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
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
        element: Strategy that draws a value, as plain data.
        make: Function from a list of plain values to values.
        plain: Inverse of `make`.
        merge: Function that merges a list of plain values into one; None if they are not merged.
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


def kind_of(component: Component, element: st.SearchStrategy[Any], merge: Callable[[list[Any]], Any]) -> Kind:
    return Kind(element, lambda elements: from_plain(component, elements), lambda values: list(values.plain()), merge)


def states(elements: list[list[int]]) -> States:
    return States.of(SEEN, map(list, elements), len(elements))


def concatenated(lists: list[list[int]]) -> list[int]:
    return list(chain.from_iterable(lists))


def sum_of_vectors(vectors: list[list[int]]) -> list[int]:
    return [sum(first for first, _ in vectors), sum(second for _, second in vectors)]


SUMMED = {
    "whole numbers": kind_of(Component.sum("int64"), NUMBERS, sum),
    "vectors": kind_of(
        Component.sum("int64", (2,)),
        st.tuples(NUMBERS, NUMBERS).map(list),
        sum_of_vectors,
    ),
    "exact sums": kind_of(Component.sum(), FLOATS.map(Fraction), lambda elements: sum(elements, Fraction(0))),
}
COMPONENTS = SUMMED | {
    "largest numbers": kind_of(Component.max(), FLOATS, lambda elements: max(elements, default=float("-inf"))),
    "collected": kind_of(Component.values("int64"), st.lists(NUMBERS, max_size=3), concatenated),
}
KINDS = COMPONENTS | {
    "states": Kind(
        st.lists(NUMBERS, max_size=3).map(sorted),
        states,
        lambda values: values.objects.tolist(),
        lambda lists: sorted(concatenated(lists)),
        has_identity=False,
    ),
    "rows": Kind(
        NUMBERS,
        lambda elements: RowValues.of(pa.table({"x": pa.array(elements, pa.int64())})),
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
    return without_gaps(codes)


def without_gaps(codes: list[int]) -> tuple[list[int], int]:
    """Renumber codes such that each has a value, and return the number of codes."""
    different = sorted(set(codes))
    return [different.index(code) for code in codes], len(different)


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_values_are_taken_and_joined_as_elements_of_a_list(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    first = data.draw(st.lists(kind.element, min_size=1, max_size=6))
    second = data.draw(st.lists(kind.element, min_size=1, max_size=6))
    values = kind.make(first)
    places = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=8))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))))
    selected = values.take(np.array(places, np.int64))
    assert len(selected) == len(places)
    assert kind.plain(selected) == [first[place] for place in places]
    assert kind.plain(values.take(slice(start, stop))) == first[start:stop]
    joined = values.followed_by([kind.make(second), selected])
    assert kind.plain(joined) == [*first, *second, *kind.plain(selected)]
    assert kind.plain(values) == first
    assert joined.nbytes >= values.nbytes > -1


@pytest.mark.parametrize("name", MERGED)
@given(data=st.data())
def test_values_of_one_code_are_merged_at_once_or_in_parts(name: str, data: st.DataObject) -> None:
    kind = MERGED[name]
    assert kind.merge is not None
    elements = data.draw(st.lists(kind.element, min_size=1, max_size=8))
    codes, size = codes_for(data, kind, len(elements))
    expected: list[Any] = []
    for code in range(size):
        expected.append(kind.merge([element for element, at in zip(elements, codes, strict=True) if at == code]))
    assert kind.plain(kind.make(elements).reduce(np.array(codes, np.int64), size)) == expected

    cut = data.draw(st.integers(0, len(elements)))
    merged_parts: list[Any] = []
    merged_codes: list[int] = []
    for part, part_codes in ((elements[:cut], codes[:cut]), (elements[cut:], codes[cut:])):
        if part:
            places, different = without_gaps(part_codes)
            merged_parts.append(kind.make(part).reduce(np.array(places), different))
            merged_codes += sorted(set(part_codes))
    joined = merged_parts[0].followed_by(merged_parts[1:])
    assert kind.plain(joined.reduce(np.array(merged_codes, np.int64), size)) == expected


def test_rows_are_not_merged() -> None:
    with pytest.raises(TypeError, match="2 rows are not merged into 1"):
        KINDS["rows"].make([1, 2]).reduce(np.array([0, 0]), 1)


@pytest.mark.parametrize("name", COMPONENTS)
@given(data=st.data())
def test_components_come_back_from_a_column(name: str, data: st.DataObject) -> None:
    kind = COMPONENTS[name]
    elements = data.draw(st.lists(kind.element, min_size=1, max_size=6))
    values: ComponentValues = kind.make(elements)
    read = from_arrow(values.component, pa.chunked_array([values.to_arrow()]))  # type: ignore[attr-defined]
    assert kind.plain(read) == elements
    assert values.is_summed == (name in SUMMED)


@dataclass(frozen=True)
class Along:
    """Sums along an axis of eight places, of values that are added at a place and subtracted after another."""

    low: list[int]
    high: list[int]
    most_values: int = 16

    def sums(self, values: Any) -> Any:
        deltas = np.zeros((9, *values.shape[1:]), values.dtype)
        np.add.at(deltas, self.low, values)
        np.subtract.at(deltas, np.array(self.high) + 1, values)
        return np.cumsum(deltas, axis=0)[:8]


@pytest.mark.parametrize("name", SUMMED)
@given(data=st.data())
def test_sums_run_along_the_axis(name: str, data: st.DataObject) -> None:
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
    low = [since for _, (since, _) in drawn]
    high = [until for _, (_, until) in drawn]
    expected: list[Any] = []
    for place in range(8):
        expected.append(kind.merge([element for element, (since, until) in drawn if since <= place <= until]))
    values = kind.make([element for element, _ in drawn])
    assert kind.plain(values.running(Along(low, high))) == expected
