"""Time-sensitive aggregates: time-weighted average, first, last."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, isnan, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import ClipPolicy, Event, Window, hopping, snapshot, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin_stats import First, Last, TimeWeightedAverage

WINDOW = Window(0, 10)


def result(module: Any, events: Sequence[Event[Any]], window: Window = WINDOW) -> Any:
    return module.compute_result(module.add_events(module.create_state(window), events, window), window)


def run(script: Script, window: Any, module: Any) -> list[tuple[int, int, Any]]:
    query = WindowedQuery(window, [Computation(module)], clip=ClipPolicy.FULL)
    return [(row.start, row.end, row.value[0]) for row in script.close().run(query).get(None, [])]


def test_each_payload_counts_as_long_as_it_holds() -> None:
    # 0         10        20
    # [--2--)               2.0 for 6 of the first 10 ticks
    #       [----4-----)    4.0 for the other 4, and for 7 of the next 10
    script = Script().insert("a", 0, 6, 2.0).insert("b", 6, 17, 4.0)
    assert run(script, tumbling(10), TimeWeightedAverage()) == [(0, 10, 2.8), (10, 20, 2.8)]


def test_overlapping_events_add_up() -> None:
    # 0    5    10
    # [---3-----)
    #      [--7-)
    script = Script().insert("a", 0, 10, 3.0).insert("b", 5, 10, 7.0)
    assert run(script, snapshot(), TimeWeightedAverage()) == [(0, 5, 3.0), (5, 10, 10.0)]


def test_nulls_hold_for_no_time() -> None:
    assert result(TimeWeightedAverage(), [Event(0, 5, 4.0), Event(5, 10, None)]) == 2.0
    assert result(TimeWeightedAverage(), [Event(0, 5, None)]) is None


def test_a_member_by_reach_that_lies_before_the_window_is_left_out() -> None:
    # 0         10        20        30
    # [8)               [5-)
    script = Script().insert("a", 0, 2, 8.0).insert("b", 18, 21, 5.0)
    windows = hopping(10, 10, reach=10)
    assert run(script, windows, TimeWeightedAverage())[:3] == [(0, 10, 1.6), (10, 20, 1.0), (20, 30, 0.5)]


def test_what_is_not_finite_decides_the_average() -> None:
    assert result(TimeWeightedAverage(), [Event(0, 1, inf), Event(1, 10, 1.0)]) == inf
    assert isnan(result(TimeWeightedAverage(), [Event(0, 1, inf), Event(1, 10, -inf)]))
    assert isnan(result(TimeWeightedAverage(), [Event(0, 1, nan)]))


@pytest.mark.parametrize(
    ("script", "first", "last"),
    [
        # 0    5    10
        # [-a--)
        #   [--b----)
        #     [c)
        (Script().insert(0, 0, 5, "a").insert(1, 2, 10, "b").insert(2, 4, 6, "c"), "a", "c"),
        # nulls have no value to give
        (Script().insert(0, 0, 5).insert(1, 2, 3, "b").insert(2, 4, 5), "b", "b"),
        # [b)       one start: the order decides, which is that of the steps
        # [--a-)
        (Script().insert(0, 1, 2, "b").insert(1, 1, 5, "a"), "b", "a"),
        (Script().insert(0, 3, 4), None, None),
        (Script().insert(0, -5, 40, "only"), "only", "only"),
    ],
)
def test_first_and_last_go_by_start_and_then_by_order(script: Script, first: Any, last: Any) -> None:
    query = WindowedQuery(tumbling(100, -50), [Computation(module) for module in (First[str](), Last[str]())])
    ((row,),) = script.close().run(query).values()
    assert row.value == (first, last)


@given(st.lists(st.tuples(st.floats(-1e300, 1e300), st.integers(1, 2**62)), min_size=1, max_size=4))
def test_an_average_over_time_is_the_exact_one_rounded(pairs: list[tuple[float, int]]) -> None:
    window = Window(0, 2**62)
    events = [Event(0, length, value) for value, length in pairs]
    exact = sum((Fraction(value) * length for value, length in pairs), Fraction(0)) / window.duration
    assert result(TimeWeightedAverage(), events, window) == float(exact)
