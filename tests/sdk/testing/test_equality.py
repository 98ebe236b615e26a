"""When results are equal, when values fit a type and are drawn for it, and what a checkpoint gives back."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypedDict

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from typing_extensions import TypeVar

from muntin import INFINITY, Event, Instant, Window
from muntin.errors import ModuleDefinitionError
from muntin.schemas import ScalarKind, describe
from muntin.testing import equal, same_bag
from muntin.testing.fitting import misfit
from muntin.testing.laws import strategies
from muntin.testing.plain_data import records_in, restored
from tests.naming import spelled


@dataclass
class Mean:
    total: float
    count: int = 0


class Place(NamedTuple):
    row: int
    name: str


class NumberedPlace(NamedTuple):
    row: int
    name: str
    number: int


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


def test_bags_are_the_same_if_they_have_the_same_items_as_often_in_any_order() -> None:
    assert same_bag([0.1 + 0.2, math.nan, 1], [1, 0.3, math.nan], 1e-6)
    assert not same_bag([1, 1, 2], [1, 2, 2])
    assert not same_bag([1], [1, 1])
    assert not same_bag([1, 1], [1])
    assert same_bag(iter([]), [])


# a type, a value that does not fit it, and how the reason ends
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
    (
        Place,
        NumberedPlace(1, "a", 7),
        "of 3 instead of 2 values; expected struct<row: integer, name: string>",
    ),
    (NumberedPlace, Place(1, "a"), "without 'number'; expected struct<row: integer, name: string, number: integer>"),
    (Mean, Mean("1"), ".total is '1', expected float"),  # type: ignore[arg-type]  # that is the point
    (Mean, None, "it is None, expected struct<total: float, count: integer>"),
    (Options, {}, "it is {}, without 'fast'; expected struct<fast: boolean>"),
]


@pytest.mark.parametrize(("annotation", "value", "reason"), MISFITS, ids=spelled)
def test_the_misfit_of_a_value_says_where_and_why_it_does_not_fit_its_type(
    annotation: Any, value: Any, reason: str
) -> None:
    text = misfit(describe(annotation), value)
    assert text is not None
    assert text.endswith(reason)


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
    """As a checkpoint gives it back, which is what `restored` does."""
    restored_value = restored(value, {Mean, Place})
    assert restored_value == value
    assert type(restored_value) is type(value)


def test_a_restored_state_shares_nothing_with_the_one_that_was_stored() -> None:
    state = {"seen": [1, 2], "means": {"a": Mean(1.0)}}
    restored_state = restored(state, {Mean})
    restored_state["seen"].append(3)
    restored_state["means"]["a"].total = 9.0
    assert state == {"seen": [1, 2], "means": {"a": Mean(1.0)}}


def test_an_object_in_two_places_is_restored_as_two_objects() -> None:
    shared = [1]
    first, second = restored([shared, shared])
    assert first == second
    assert first is not second


def test_subclasses_of_dict_are_restored_as_dicts_and_a_deque_without_its_bound() -> None:
    assert type(restored(defaultdict(int, a=1))) is dict
    assert type(restored(OrderedDict(a=1))) is dict
    assert restored(deque([1, 2], maxlen=2)).maxlen is None


class Opaque:
    pass


@pytest.mark.parametrize(
    "value", [Opaque(), iter([]), lambda: None, [{"a": Opaque()}], type("L", (list,), {})()], ids=spelled
)
def test_a_value_that_is_not_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="is not plain data\n  expected: None, bool, int"):
        restored(value)


def test_a_record_that_is_not_declared_is_refused() -> None:
    with pytest.raises(TypeError, match="is a Mean, which the module does not declare"):
        restored([Mean(1.0)], {Place})


def test_records_are_found_at_any_depth_of_an_annotation() -> None:
    assert records_in(dict[str, list[Mean | None]]) == {Mean}
    assert records_in(tuple[Event[Place], int]) == {Event, Place}
    assert records_in(int) == frozenset()


def test_a_record_whose_annotations_cannot_be_read_has_no_records_in_it() -> None:
    @dataclass
    class Misspelt:
        place: math.Nowhere  # type: ignore[name-defined]

    assert records_in(Misspelt) == {Misspelt}


T = TypeVar("T")
QUICK = settings(max_examples=30)
WINDOW = Window(0, 10)


@dataclass(frozen=True)
class Trade:
    price: float
    size: int | None
    tags: list[str]


ANNOTATIONS: list[Any] = [
    bool,
    int,
    float,
    str,
    bytes,
    Decimal,
    date,
    datetime,
    timedelta,
    Instant,
    float | None,
    list[int],
    dict[str, list[float]],
    tuple[int, str],
    tuple[float, ...],
    Trade,
    Place,
    Options,
    Literal["up", "down"],
    dict[Literal[1, 2], Literal["up", None]],
    T,
    list[T],  # type: ignore[valid-type]  # it is data here
    Any,
]


@pytest.mark.parametrize("annotation", ANNOTATIONS, ids=str)
def test_payloads_that_are_drawn_for_a_type_fit_it(annotation: Any) -> None:
    field = describe(annotation)

    @QUICK
    @given(strategies.payloads(field))
    def assert_payload_fits(payload: Any) -> None:
        assert misfit(field, payload) is None

    assert_payload_fits()


def test_every_kind_of_scalar_has_a_strategy() -> None:
    assert set(strategies._SCALARS) == set(ScalarKind)


@pytest.mark.parametrize(
    ("annotation", "is_wanted"),
    [
        (Trade, lambda payload: isinstance(payload, Trade) and len(payload.tags) > 1),
        (Place, lambda payload: isinstance(payload, Place)),
        (Options, lambda payload: payload == {"fast": True}),
        (tuple[int, str], lambda payload: isinstance(payload, tuple) and payload[1] != ""),
        (float | None, lambda payload: payload is None),
        (float | None, lambda payload: payload is not None and payload < -1),
        (datetime, lambda payload: payload.utcoffset() == timedelta(0)),
        (T, lambda payload: isinstance(payload, int)),
    ],
)
def test_among_the_payloads_that_are_drawn_for_a_type_is_one_as_its_writer_wants(
    annotation: Any, is_wanted: Callable[[Any], bool]
) -> None:
    drawn_payloads = strategies.payloads(describe(annotation))
    assert is_wanted(find(drawn_payloads, is_wanted, settings=QUICK))


@QUICK
@given(strategies.payloads(describe(Literal["up", "down"])))
def test_payloads_of_a_literal_are_the_values_that_it_names(payload: str) -> None:
    assert payload in ("up", "down")


@QUICK
@given(st.lists(strategies.payloads(describe(float)), min_size=1))
def test_floats_are_finite_and_their_sums_exact(floats: list[float]) -> None:
    assert all(math.isfinite(number) for number in floats)
    assert sum(floats) == math.fsum(floats)


@pytest.mark.parametrize("open_ends", [False, True])
def test_events_overlap_their_window(open_ends: bool) -> None:
    @QUICK
    @given(strategies.events(st.integers(), WINDOW, open_ends=open_ends))
    def assert_event_overlaps(event: Event[int]) -> None:
        assert event.start < WINDOW.end
        assert event.end > WINDOW.start
        assert open_ends or event.end < INFINITY

    assert_event_overlaps()


@pytest.mark.parametrize(
    "is_wanted",
    [
        lambda event: event.start < WINDOW.start,
        lambda event: WINDOW.end < event.end < INFINITY,
        lambda event: event.end == INFINITY,
        lambda event: event.duration == 1,
        lambda event: event.start < WINDOW.start and event.end > WINDOW.end,
    ],
    ids=["starts before", "ends after", "has no end", "is a point", "reaches beyond both sides"],
)
def test_among_the_events_that_are_drawn_for_a_window_is_each_kind(is_wanted: Callable[[Event[int]], bool]) -> None:
    drawn_events = strategies.events(st.integers(), WINDOW, open_ends=True)
    assert is_wanted(find(drawn_events, is_wanted, settings=settings(QUICK, max_examples=500)))


@QUICK
@given(strategies.windows())
def test_windows_have_at_least_a_tick(window: Window) -> None:
    assert 1 <= window.duration <= 20


@dataclass(frozen=True)
class NeverValid:
    number: int

    def __post_init__(self) -> None:
        raise ValueError("never good enough")


def test_the_error_of_a_payload_class_that_refuses_what_is_drawn_asks_for_a_strategy() -> None:
    @QUICK
    @given(st.data())
    def assert_drawing_fails(data: DataObject) -> None:
        with pytest.raises(ModuleDefinitionError, match="never good enough\n  to do: give the laws class a strategy"):
            data.draw(strategies.payloads(describe(NeverValid)))

    assert_drawing_fails()
