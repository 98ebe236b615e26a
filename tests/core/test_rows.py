"""Comparing what stands with what should stand: no change for what is the same."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from typing import Any

import numpy as np
import pytest

from muntin import Window
from muntin_engine.core.changes import OutputChange
from muntin_engine.core.frozen_values import freeze
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow, replace_rows, replace_rows_from
from muntin_engine.state.codec import Codec

W = Window(0, 10)


def live(*rows: tuple[int, int, Any]) -> list[LiveRow]:
    return [LiveRow(id, OutputRow(*row)) for id, row in enumerate(rows)]


def said(changes: list[OutputChange]) -> list[tuple[Any, ...]]:
    return [(str(c.kind), c.id, c.start, c.end, c.value, *([c.new_end] if c.new_end else [])) for c in changes]


def next_ids() -> Any:
    numbers = count(100)
    return lambda: next(numbers)


def test_a_row_that_stands_already_causes_no_change_and_keeps_its_id() -> None:
    left, changes = replace_rows(W, live((0, 10, "a"), (0, 10, "b")), [OutputRow(0, 10, "b")], next_ids())
    assert said(changes) == [("retract", 0, 0, 10, "a")]
    assert left == [LiveRow(1, OutputRow(0, 10, "b"))]


def test_equal_rows_are_counted() -> None:
    twice = live((0, 10, "a"), (0, 10, "a"))
    assert replace_rows(W, twice, [OutputRow(0, 10, "a")] * 2, next_ids())[1] == []
    assert said(replace_rows(W, twice, [OutputRow(0, 10, "a")] * 3, next_ids())[1]) == [("insert", 100, 0, 10, "a")]
    assert len(replace_rows(W, twice, [OutputRow(0, 10, "a")], next_ids())[1]) == 1


def test_a_row_with_another_lifetime_is_another_row() -> None:
    _, changes = replace_rows(W, live((0, 10, "a")), [OutputRow(0, 9, "a")], next_ids())
    assert said(changes) == [("retract", 0, 0, 10, "a"), ("insert", 100, 0, 9, "a")]


def test_from_a_tick_on_a_row_is_shortened_and_its_successor_starts_there() -> None:
    """
              0    5    10
    stood     [---------)   a
    since          !        5
    stands    [----)        a
                   [----)   b
    """
    left, changes = replace_rows_from(5, W, live((0, 10, "a")), [OutputRow(0, 10, "b")], next_ids())
    assert said(changes) == [("revise", 0, 0, 10, "a", 5), ("insert", 100, 5, 10, "b")]
    assert left == [LiveRow(0, OutputRow(0, 5, "a")), LiveRow(100, OutputRow(5, 10, "b"))]


def test_what_ended_before_the_tick_stays_and_what_starts_there_is_retracted() -> None:
    """
              0  3    7  10
    stood     [--)          a
                 [---)      b
                     [--)   c
    since        !          3, and the window is empty
    """
    left, changes = replace_rows_from(3, W, live((0, 3, "a"), (3, 7, "b"), (7, 10, "c")), [], next_ids())
    assert said(changes) == [("retract", 1, 3, 7, "b"), ("retract", 2, 7, 10, "c")]
    assert left == live((0, 3, "a"))


def test_a_row_that_goes_on_from_the_tick_as_before_causes_no_change() -> None:
    left, changes = replace_rows_from(5, W, live((0, 10, "a")), [OutputRow(2, 10, "a")], next_ids())
    assert changes == []
    assert left == live((0, 10, "a"))


def test_a_row_that_would_end_before_the_tick_comes_too_late() -> None:
    assert replace_rows_from(5, W, [], [OutputRow(0, 5, "a")], next_ids()) == ([], [])


@dataclass(frozen=True)
class Mean:
    total: float
    parts: list[int]


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (float("nan"), float("nan")),
        ([float("nan"), {1}], [float("nan"), {1}]),
        (Decimal("NaN"), Decimal("NaN")),
        (Mean(float("nan"), [1]), Mean(float("nan"), [1])),
        (np.float64(2.5), 2.5),
        (np.int32(3), 3),
        (OrderedDict(a=[1], b=2), {"b": 2, "a": [1]}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (deque([1, [2]]), deque([1, [2]])),
        ({"k": ({"x"}, None)}, {"k": ({"x"}, None)}),
    ],
)
def test_values_that_mean_the_same_are_the_same(value: Any, same: Any) -> None:
    assert freeze(value) == freeze(same)
    assert hash(freeze(value)) == hash(freeze(same))


@pytest.mark.parametrize(("value", "other"), [(1, 1.0), (1, True), ([1], (1,)), ("1", 1), ([1, 2], [2, 1]), (None, 0)])
def test_values_that_look_alike_differ(value: Any, other: Any) -> None:
    assert freeze(value) != freeze(other)


@pytest.mark.parametrize("value", [1, 2.5, float("nan"), (1, [2], {3}), np.float32(1.5), Counter("ab"), Mean(1.0, [2])])
def test_a_value_is_the_same_after_a_checkpoint(value: Any) -> None:
    codec = Codec([Mean])
    assert freeze(codec.unpack(codec.pack(value))) == freeze(value)
