"""Columns: many values of one kind as bytes and back."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin_engine.errors import StateError
from muntin_engine.state.codec import Codec
from muntin_engine.state.value_columns import ValueColumn, join, split


@dataclass(slots=True)
class Total:
    count: int
    parts: list[float] = field(default_factory=list)


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Derived:
    base: int
    twice: int = field(init=False)
    note: str = field(kw_only=True, default="")

    def __post_init__(self) -> None:
        self.twice = 2 * self.base


@dataclass
class Ordered:
    """Its constructor takes the fields in another order."""

    first: int
    second: int

    def __init__(self, second: int, first: int) -> None:
        self.first, self.second = first, second


Loose = namedtuple("Loose", "a b")  # one without types
CODEC = Codec([Total, Pair, Derived, Ordered, Loose])

PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.binary(max_size=3)
)
VALUES = st.recursive(
    PLAIN | st.dates() | st.datetimes() | st.timedeltas() | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Pair, inner, inner)
        | st.builds(Total, st.integers(), st.lists(st.floats(allow_nan=False), max_size=2))
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


def there_and_back(values: list[Any]) -> Any:
    return CODEC.unpack(CODEC.pack([ValueColumn(values), "next"]))


@settings(max_examples=100)
@given(st.lists(VALUES, max_size=6) | st.lists(st.tuples(st.integers(), VALUES), max_size=6))
def test_any_values_come_back_equal_and_of_their_types(values: list[Any]) -> None:
    back, after = there_and_back(values)
    assert after == "next"
    assert back == values
    assert repr(back) == repr(CODEC.unpack(CODEC.pack(values)))  # which tells 1 from True and 0.0 from -0.0


@pytest.mark.parametrize(
    "values",
    [
        [],
        [()],
        [(), ()],
        [(1,), (2, 3)],
        [(1, (2.0, "a")), (3, (-0.0, None))],
        [None, (1,)],
        [Total(1, [2.0]), Total(3)],
        [Total(1), None],
        [Total(1), Pair(1, 2)],
        [Pair(Total(1), (2,)), Pair(Total(3), (4,))],
        [Derived(3, note="x"), Derived(4)],
        [Ordered(1, 2), Ordered(3, 4)],
        [Loose(1, 2), Loose(3, 4)],
        [2**70, 1],
        [2**70, -(2**70)],
        [date(2013, 1, 1), None, date(2014, 1, 1)],
        [datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 1)],  # noqa: DTZ001  # naive stays naive
        [timedelta(1), timedelta(microseconds=-1)],
        [Decimal("1.10"), None],
        [{1, 2}, {3}],
        [True, False],
    ],
    ids=repr,
)
def test_values_of_one_kind_and_mixed_ones_come_back(values: list[Any]) -> None:
    back, _ = there_and_back(values)
    assert repr(back) == repr(values)


def test_the_kind_is_written_once() -> None:
    values = [Pair(float(number), number) for number in range(1000)]
    assert len(CODEC.pack(ValueColumn(values))) < 13 * len(values) < len(CODEC.pack(values)) / 3


def test_a_record_that_no_module_declares_is_refused_both_ways() -> None:
    with pytest.raises(StateError, match="Total cannot be stored"):
        Codec().pack(ValueColumn([Total(1)]))
    with pytest.raises(StateError, match="that no module of the query declares any more"):
        Codec().unpack(CODEC.pack(ValueColumn([Total(1)])))


def test_columns_whose_lengths_differ_are_refused() -> None:
    for written in (split([(1, "a"), (2, "b")], CODEC._declares), split([Pair(1, "a"), Pair(2, "b")], CODEC._declares)):
        written[-1][-1].pop()
        with pytest.raises(ValueError, match="shorter"):
            join(written, CODEC._record_class)
