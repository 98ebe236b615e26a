"""States of the last rows of a key: each row enters once and leaves once, and a failure names its key and window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from muntin import IncrementalAggregate, Window
from muntin.errors import ModuleFailedError
from muntin.rows import LastRows, last
from tests.scenarios.feed import Feed, at
from tests.scenarios.query import Query


class Noted(IncrementalAggregate[int, list[int], list[int]]):
    """The payloads in the window; notes those that enter and leave. It fails for a payload of -1."""

    name, version = "test.noted", "1"
    reads_order = True
    entered: ClassVar[list[int]] = []
    left: ClassVar[list[int]] = []

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        Noted.entered += payloads
        if -1 in payloads:
            raise ValueError("minus one")
        return [*state, *payloads]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        Noted.left += payloads
        assert state[: len(payloads)] == list(payloads), "the oldest leave"
        return state[len(payloads) :]

    def compute_result(self, state: list[int]) -> list[int]:
        return list(state)


@pytest.fixture(autouse=True)
def nothing_noted() -> None:
    Noted.entered = []
    Noted.left = []


def feed_of(windows: LastRows, evaluator: str = "sliding") -> Feed:
    return Feed(Query(windows, (Noted(),), lifetimes="points", has_order=True), evaluator)


def batches(feed: Feed, count: int, size: int) -> list[Any]:
    """Feed batches of rows, whose payloads are their times; return the results."""
    results: list[Any] = []
    for first in range(0, count * size, size):
        rows = [at(tick, tick) for tick in range(first, first + size)]
        results += [row["result"] for row in feed.batch(*rows, watermark=first + size).rows]
    return results


@pytest.mark.parametrize(
    "windows", [last(3), last(3).trigger(2), last(2).trigger(5), last(4).when_full(), last(1)], ids=str
)
@pytest.mark.parametrize("size", [1, 4, 40])
def test_results_are_those_of_the_keyed_evaluator(windows: LastRows, size: int) -> None:
    expected = batches(feed_of(windows, "in_order"), 40 // size, size)
    assert batches(feed_of(windows), 40 // size, size) == expected


def test_a_row_of_a_batch_enters_once_and_leaves_once() -> None:
    batches(feed_of(last(3)), 1, 40)
    assert Noted.entered == [*range(40)]
    assert Noted.left == [*range(37)]


def test_a_state_goes_on_in_the_next_batch_and_is_built_anew_after_a_windows_length() -> None:
    """Of the rows 0 to 11, one a batch, each enters once; before 7 and 11 four have left, and three enter again."""
    batches(feed_of(last(3)), 12, 1)
    assert Noted.entered == [*range(7), 4, 5, 6, *range(7, 11), 8, 9, 10, 11]
    assert Noted.left == [*range(11 - 2)]


@pytest.mark.parametrize("windows", [last(2), last(2).trigger(3)], ids=str)
def test_a_failure_names_the_key_and_the_window_of_the_row(windows: LastRows) -> None:
    feed = feed_of(windows)
    rows = [at(1, 1, "a"), at(2, 2, "b"), at(4, 3, "b"), at(7, -1, "b"), at(9, 5, "b")]
    with pytest.raises(ModuleFailedError, match="minus one") as caught:
        feed.batch(*rows, watermark=20)
    assert (caught.value.key, caught.value.window) == (("b",), Window(4, 8))
