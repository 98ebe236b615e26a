"""The laws of the values of a batch, by one kit of tests that every kind of values passes.

The reference for each kind is a list of plain values: values are taken, joined and merged as the elements of a list.
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


class CountOfList(IncrementalAggregate[int, list[int], int]):
    """A module whose states are sorted lists of payloads."""

    name, version = "laws.count_of_list", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return sorted([*state, *payloads])

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        state += other  # a module may change the first state, but not the other one
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
        merge: Function that merges a list of plain values into one; None if values of this kind are not merged.
        has_identity: True if a merge of no values has a result, such as the sum 0.
    """

    element: st.SearchStrategy[Any]
    make: Callable[[list[Any]], Any]
    plain: Callable[[Any], list[Any]]
    merge: Callable[[list[Any]], Any] | None
    has_identity: bool = True


NUMBERS = st.integers(-9, 9)
FLOATS = st.sampled_from([0.1, -0.1, 1e16, -1e16, 1.0, 2.0**-60, 1e300, -1e300, 3.5])
STATE_MODULE = StateModule(Binding(CountOfList()))


def kind_of(component: Component, element: st.SearchStrategy[Any], merge: Callable[[list[Any]], Any]) -> Kind:
    """Return the kind of the values of a component."""
    return Kind(
        element,
        make=lambda elements: from_plain(component, elements),
        plain=lambda values: list(values.plain()),
        merge=merge,
    )


def states(elements: list[list[int]]) -> States:
    return States.of(STATE_MODULE, map(list, elements), len(elements))


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
        make=states,
        plain=lambda values: values.objects.tolist(),
        merge=lambda lists: sorted(concatenated(lists)),
        has_identity=False,
    ),
    "rows": Kind(
        NUMBERS,
        make=lambda elements: RowValues.of(pa.table({"x": pa.array(elements, pa.int64())})),
        plain=lambda values: values.table["x"].to_pylist(),
        merge=None,
    ),
}
MERGED = {name: kind for name, kind in KINDS.items() if kind.merge is not None}


def draw_codes(data: st.DataObject, kind: Kind, count: int) -> tuple[list[int], int]:
    """Draw the code of each of n values, and return the codes with their number; codes may repeat.

    There are codes without values only if the merge of no values has a result.
    """
    codes = data.draw(st.lists(st.integers(0, 4), min_size=count, max_size=count), "codes")
    if kind.has_identity:
        return codes, 5
    return without_gaps(codes)


def without_gaps(codes: list[int]) -> tuple[list[int], int]:
    """Renumber codes from 0 without gaps, in their order, and return them with their number."""
    distinct_codes = sorted(set(codes))
    return [distinct_codes.index(code) for code in codes], len(distinct_codes)


def merged_lists(kind: Kind, elements: list[Any], codes: list[int], size: int) -> list[Any]:
    """Return the reference of a merge: for each code, its elements merged."""
    assert kind.merge is not None
    elements_by_code: list[list[Any]] = [[] for _ in range(size)]
    for element, code in zip(elements, codes, strict=True):
        elements_by_code[code].append(element)
    return list(map(kind.merge, elements_by_code))


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_values_are_taken_and_joined_as_elements_of_a_list(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    first = data.draw(st.lists(kind.element, min_size=1, max_size=6), "first list")
    second = data.draw(st.lists(kind.element, min_size=1, max_size=6), "second list")
    values = kind.make(first)

    places = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=8), "places")
    selected = values.take(np.array(places, np.int64))
    assert len(selected) == len(places)
    assert kind.plain(selected) == [first[place] for place in places]

    start, stop = sorted(data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)), "slice"))
    assert kind.plain(values.take(slice(start, stop))) == first[start:stop]

    joined = values.followed_by([kind.make(second), selected])
    assert kind.plain(joined) == [*first, *second, *kind.plain(selected)]
    assert joined.nbytes >= values.nbytes >= 0
    assert kind.plain(values) == first, "the values themselves are as they were"


@pytest.mark.parametrize("name", MERGED)
@given(data=st.data())
def test_values_of_one_code_are_merged(name: str, data: st.DataObject) -> None:
    kind = MERGED[name]
    elements = data.draw(st.lists(kind.element, min_size=1, max_size=8), "elements")
    codes, size = draw_codes(data, kind, len(elements))

    merged = kind.make(elements).reduce(np.array(codes, np.int64), size)
    assert kind.plain(merged) == merged_lists(kind, elements, codes, size)


@pytest.mark.parametrize("name", MERGED)
@given(data=st.data())
def test_values_that_are_merged_in_two_parts_and_then_together_are_those_that_are_merged_at_once(
    name: str, data: st.DataObject
) -> None:
    kind = MERGED[name]
    elements = data.draw(st.lists(kind.element, min_size=1, max_size=8), "elements")
    codes, size = draw_codes(data, kind, len(elements))
    cut = data.draw(st.integers(0, len(elements)), "cut")

    # Each part is merged by codes of its own; the values of both have the codes of the whole again.
    merged_parts: list[Any] = []
    merged_codes: list[int] = []
    for part, part_codes in ((elements[:cut], codes[:cut]), (elements[cut:], codes[cut:])):
        if part:
            dense_codes, dense_size = without_gaps(part_codes)
            merged_parts.append(kind.make(part).reduce(np.array(dense_codes), dense_size))
            merged_codes += sorted(set(part_codes))
    joined = merged_parts[0].followed_by(merged_parts[1:])
    merged = joined.reduce(np.array(merged_codes, np.int64), size)
    assert kind.plain(merged) == merged_lists(kind, elements, codes, size)


def test_a_merge_of_rows_raises() -> None:
    rows = KINDS["rows"].make([1, 2])
    with pytest.raises(TypeError, match="2 rows are not merged into 1"):
        rows.reduce(np.array([0, 0]), 1)


@pytest.mark.parametrize("name", COMPONENTS)
@given(data=st.data())
def test_components_come_back_from_an_arrow_column(name: str, data: st.DataObject) -> None:
    kind = COMPONENTS[name]
    elements = data.draw(st.lists(kind.element, min_size=1, max_size=6))
    values: ComponentValues = kind.make(elements)
    column = pa.chunked_array([values.to_arrow()])
    read_values = from_arrow(values.component, column)  # type: ignore[attr-defined]
    assert kind.plain(read_values) == elements


@pytest.mark.parametrize("name", COMPONENTS)
def test_only_sums_say_that_they_are_summed(name: str) -> None:
    kind = COMPONENTS[name]
    values: ComponentValues = kind.make([])
    assert values.is_summed == (name in SUMMED)


@dataclass(frozen=True)
class RunningSums:
    """Sums along an axis of eight places: each value is added at its low place, and subtracted after its high one."""

    low: list[int]
    high: list[int]
    most_values: int = 16

    def sums(self, values: Any) -> Any:
        """Return for each of the eight places the sum of the values that count there."""
        deltas = np.zeros((9, *values.shape[1:]), values.dtype)
        np.add.at(deltas, self.low, values)
        np.subtract.at(deltas, np.array(self.high) + 1, values)
        return np.cumsum(deltas, axis=0)[:8]


@pytest.mark.parametrize("name", SUMMED)
@given(data=st.data())
def test_running_sums_have_at_each_place_the_values_that_count_there(name: str, data: st.DataObject) -> None:
    """Each value counts from a place to another.

    place     0 1 2 3 4 5 6 7
    a [1, 3]    a a a
    b [2, 6]      b b b b b
    sums      0 a c c b b b 0    c is a merged with b
    """
    kind = SUMMED[name]
    assert kind.merge is not None
    count = data.draw(st.integers(1, 6), "count")
    elements = data.draw(st.lists(kind.element, min_size=count, max_size=count), "elements")
    low_and_high = st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted)
    stretches = data.draw(st.lists(low_and_high, min_size=count, max_size=count), "stretches")

    expected: list[Any] = []
    for place in range(8):
        counting: list[Any] = []
        for element, (low, high) in zip(elements, stretches, strict=True):
            if low <= place <= high:
                counting.append(element)
        expected.append(kind.merge(counting))

    running_sums = RunningSums(low=[low for low, _ in stretches], high=[high for _, high in stretches])
    assert kind.plain(kind.make(elements).running(running_sums)) == expected
