"""Strategies make what a module's types promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypedDict

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from typing_extensions import TypeVar

from muntin import INFINITY, Event, Instant, Window
from muntin.errors import ModuleDefinitionError
from muntin.schemas import ScalarKind, describe
from muntin.testing import strategies
from muntin.testing.fitting import misfit

T = TypeVar("T")
QUICK = settings(max_examples=30)
WINDOW = Window(0, 10)


@dataclass(frozen=True)
class Trade:
    price: float
    size: int | None
    tags: list[str]


class Place(NamedTuple):
    row: int
    name: str


class Options(TypedDict):
    fast: bool


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
def test_payloads_fit_the_type_they_are_made_for(annotation: Any) -> None:
    field = describe(annotation)

    @QUICK
    @given(strategies.payloads(field))
    def check(payload: Any) -> None:
        assert misfit(field, payload) is None

    check()


def test_every_kind_of_scalar_has_a_strategy() -> None:
    assert set(strategies._SCALARS) == set(ScalarKind)


@pytest.mark.parametrize(
    ("annotation", "is_wanted"),
    [
        (Trade, lambda made: isinstance(made, Trade) and len(made.tags) > 1),
        (Place, lambda made: isinstance(made, Place)),
        (Options, lambda made: made == {"fast": True}),
        (tuple[int, str], lambda made: isinstance(made, tuple) and made[1] != ""),
        (float | None, lambda made: made is None),
        (float | None, lambda made: made is not None and made < -1),
        (datetime, lambda made: made.utcoffset() == timedelta(0)),
        (T, lambda made: isinstance(made, int)),
    ],
)
def test_payloads_are_made_as_the_writer_declared_them(annotation: Any, is_wanted: Callable[[Any], bool]) -> None:
    assert is_wanted(find(strategies.payloads(describe(annotation)), is_wanted, settings=QUICK))


@QUICK
@given(strategies.payloads(describe(Literal["up", "down"])))
def test_of_a_literal_come_the_values_that_it_names(payload: str) -> None:
    assert payload in ("up", "down")


@QUICK
@given(strategies.payloads(describe(int)))
def test_integers_fit_a_column(payload: int) -> None:
    assert -(2**63) <= payload < 2**63


@QUICK
@given(st.lists(strategies.payloads(describe(float)), min_size=1))
def test_floats_are_finite_and_their_sums_exact(floats: list[float]) -> None:
    assert all(math.isfinite(number) for number in floats)
    assert sum(floats) == math.fsum(floats)


@pytest.mark.parametrize("open_ends", [False, True])
def test_events_overlap_their_window(open_ends: bool) -> None:
    @QUICK
    @given(strategies.events(st.integers(), WINDOW, open_ends=open_ends))
    def check(event: Event[int]) -> None:
        assert event.start < WINDOW.end
        assert event.end > WINDOW.start
        assert open_ends or event.end < INFINITY

    check()


@pytest.mark.parametrize(
    "is_wanted",
    [
        lambda event: event.start < WINDOW.start,
        lambda event: WINDOW.end < event.end < INFINITY,
        lambda event: event.end == INFINITY,
        lambda event: event.duration == 1,
        lambda event: event.start < WINDOW.start and event.end > WINDOW.end,
    ],
)
def test_events_reach_beyond_their_window_on_either_side(is_wanted: Callable[[Event[int]], bool]) -> None:
    found = strategies.events(st.integers(), WINDOW, open_ends=True)

    assert is_wanted(find(found, is_wanted, settings=settings(QUICK, max_examples=500)))


@QUICK
@given(strategies.windows())
def test_windows_have_at_least_a_tick(window: Window) -> None:
    assert 1 <= window.duration <= 20


@dataclass(frozen=True)
class Positive:
    number: int

    def __post_init__(self) -> None:
        raise ValueError("never good enough")


def test_a_payload_that_refuses_its_values_asks_for_a_strategy() -> None:
    @QUICK
    @given(st.data())
    def check(data: DataObject) -> None:
        with pytest.raises(ModuleDefinitionError, match="never good enough\n  to do: give the laws class a strategy"):
            data.draw(strategies.payloads(describe(Positive)))

    check()
