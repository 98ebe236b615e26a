"""When results are equal, when values fit a type, and what a checkpoint gives back."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypedDict

import pytest

from muntin import Event, Instant
from muntin.schemas import describe
from muntin.testing import equal, same_bag
from muntin.testing.fitting import misfit
from muntin.testing.plain_data import records_in, restored
from tests.naming import spelled


@dataclass
class Mean:
    total: float
    count: int = 0


class Place(NamedTuple):
    row: int
    name: str


class Options(TypedDict):
    fast: bool


EQUAL: list[tuple[Any, Any]] = [
    (1, 1.0),
    (0.1 + 0.2, 0.3),
    (math.nan, math.nan),
    (Decimal("1.10"), Decimal("1.1")),
    (Decimal("0.3"), 0.3),
    (math.inf, math.inf),
    (10**400, 10**400),
    ([1.0, math.nan], [1, math.nan]),
    ({"a": (0.1 + 0.2,)}, {"a": (0.3,)}),
    (Mean(0.1 + 0.2), Mean(0.3)),
    (Place(1, "a"), Place(1, "a")),
    (Event(1, 2, 0.1 + 0.2), Event(1, 2, 0.3)),
    (defaultdict(int, a=1), {"a": 1}),
    ({1, 2}, {2, 1}),
    (None, None),
    ("a", "a"),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (1, 2),
    (1, "1"),
    (0.0, 0.001),
    (math.nan, 0.0),
    (math.inf, -math.inf),
    (None, 0),
    ([1, 2], [2, 1]),
    ([1], [1, 1]),
    ([1], (1,)),
    ({"a": 1}, {"b": 1}),
    (Mean(1.0), Mean(1.0, 1)),
    (Event(1, 2, 0.5), Event(1, 3, 0.5)),
    ({1}, {2}),
    ("a", "b"),
]


@pytest.mark.parametrize(("left", "right"), EQUAL, ids=spelled)
def test_equal_results_are_equal_within_the_tolerance(left: Any, right: Any) -> None:
    assert equal(left, right, 1e-6)
    assert equal(right, left, 1e-6)


@pytest.mark.parametrize(("left", "right"), DIFFERENT, ids=spelled)
def test_different_results_are_different(left: Any, right: Any) -> None:
    assert not equal(left, right, 1e-6)
    assert not equal(right, left, 1e-6)


def test_without_a_tolerance_numbers_are_compared_exactly() -> None:
    assert not equal(0.1 + 0.2, 0.3)
    assert equal([math.nan, 0.5], [math.nan, 0.5])


def test_a_bag_has_no_order_but_counts() -> None:
    assert same_bag([0.1 + 0.2, math.nan, 1], [1, 0.3, math.nan], 1e-6)
    assert not same_bag([1, 1, 2], [1, 2, 2])
    assert not same_bag([1], [1, 1])
    assert not same_bag([1, 1], [1])
    assert same_bag(iter([]), [])


FITS: list[tuple[Any, Any]] = [
    (bool, True),
    (int, 2**63 - 1),
    (float, 1.5),
    (float, 2),
    (str, "a"),
    (bytes, b"a"),
    (Decimal, Decimal(1)),
    (date, date(2013, 1, 1)),
    (datetime, datetime(2013, 1, 1, tzinfo=UTC)),
    (timedelta, timedelta(1)),
    (Instant, -5),
    (int | None, None),
    (list[int], [1, 2]),
    (list[int], (1, 2)),
    (set[int], {1, 2}),
    (dict[str, float], {"a": 1.0}),
    (tuple[int, str], (1, "a")),
    (Mean, Mean(1.0)),
    (Place, Place(1, "a")),
    (Options, {"fast": True}),
    (Any, object()),
    (Any, None),
]
MISFITS: list[tuple[Any, Any, str]] = [
    (bool, 1, "it is 1, expected boolean"),
    (int, True, "it is True, expected integer"),
    (int, 1.0, "it is 1.0, expected integer"),
    (int, 2**63, "it is 9223372036854775808, expected integer"),
    (float, "1", "it is '1', expected float"),
    (float, None, "it is None, expected float"),
    (str, b"a", "it is b'a', expected string"),
    (date, datetime(2013, 1, 1, tzinfo=UTC), "expected date"),
    (list[int], "ab", "it is 'ab', expected list[integer]"),
    (list[int | None], [1, None, "x"], "[2] is 'x', expected integer | None"),
    (dict[str, float], [1.0], "it is [1.0], expected map[string, float]"),
    (dict[str, float], {1: 1.0}, "a key of it is 1, expected string"),
    (dict[str, list[int]], {"a": [1.5]}, "['a'][0] is 1.5, expected integer"),
    (tuple[int, str], (1, 2), "._2 is 2, expected string"),
    (tuple[int, str], (1,), "it is (1,), of 1 instead of 2 values; expected struct<_1: integer, _2: string>"),
    (Options, {"quick": True}, "without 'fast' but with 'quick'; expected struct<fast: boolean>"),
    (
        list[Place],
        [Place(1, "a"), {"name": "b"}],
        "[1] is {'name': 'b'}, without 'row'; expected struct<row: integer, name: string>",
    ),
    (Place, 3, "it is 3, expected struct<row: integer, name: string>"),
    (Mean, Mean("1"), ".total is '1', expected float"),  # type: ignore[arg-type]  # that is the point
    (Mean, None, "it is None, expected struct<total: float, count: integer>"),
    (Options, {}, "it is {}, without 'fast'; expected struct<fast: boolean>"),
]


@pytest.mark.parametrize(("annotation", "value"), FITS, ids=spelled)
def test_a_value_fits_its_type(annotation: Any, value: Any) -> None:
    assert misfit(describe(annotation), value) is None


@pytest.mark.parametrize(("annotation", "value", "reason"), MISFITS, ids=spelled)
def test_a_value_that_does_not_fit_is_told_where_and_why(annotation: Any, value: Any, reason: str) -> None:
    assert (misfit(describe(annotation), value) or "").endswith(reason)


PLAIN: list[Any] = [
    None,
    True,
    2**70,
    1.5,
    "text",
    b"bytes",
    Decimal("1.50"),
    Fraction(1, 3),
    date(2013, 1, 1),
    datetime(2013, 1, 1, tzinfo=UTC),
    timedelta(1),
    [1, (2, {3}), frozenset({4})],
    {"a": {1: [None]}, (1, 2): "b"},
    deque([1, 2]),
    Counter("aab"),
    Mean(1.5, 2),
    [Place(1, "a")],
]


@pytest.mark.parametrize("value", PLAIN, ids=spelled)
def test_plain_data_comes_back_equal_and_of_the_same_type(value: Any) -> None:
    read = restored(value, {Mean, Place})
    assert (read, type(read)) == (value, type(value))


def test_what_comes_back_shares_nothing() -> None:
    state = {"seen": [1, 2], "means": {"a": Mean(1.0)}}
    read = restored(state, {Mean})
    read["seen"].append(3)
    read["means"]["a"].total = 9.0
    assert state == {"seen": [1, 2], "means": {"a": Mean(1.0)}}


def test_one_object_in_two_places_comes_back_as_two() -> None:
    shared = [1]
    first, second = restored([shared, shared])
    assert first == second
    assert first is not second


def test_dicts_of_other_kinds_come_back_plain_and_a_deque_without_its_bound() -> None:
    assert type(restored(defaultdict(int, a=1))) is dict
    assert type(restored(OrderedDict(a=1))) is dict
    assert restored(deque([1, 2], maxlen=2)).maxlen is None


class Opaque:
    pass


@pytest.mark.parametrize(
    "value", [Opaque(), iter([]), lambda: None, [{"a": Opaque()}], type("L", (list,), {})()], ids=spelled
)
def test_what_is_not_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="is not plain data\n  expected: None, bool, int"):
        restored(value)


def test_a_record_that_is_not_declared_is_refused() -> None:
    with pytest.raises(TypeError, match="is a Mean, which the module does not declare"):
        restored([Mean(1.0)], {Place})


def test_records_are_found_at_any_depth_of_an_annotation() -> None:
    assert records_in(dict[str, list[Mean | None]]) == {Mean}
    assert records_in(tuple[Event[Place], int]) == {Event, Place}
    assert records_in(int) == frozenset()
