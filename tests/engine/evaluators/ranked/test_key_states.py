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


class Recording(IncrementalAggregate[int, list[int], list[int]]):
    """The payloads in the window; records those that enter states and leave them. It fails for a payload of -1."""

    name, version = "test.recording", "1"
    reads_order = True
    entered: ClassVar[list[int]] = []
    left: ClassVar[list[int]] = []

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        Recording.entered += payloads
        if -1 in payloads:
            raise ValueError("minus one")
        return [*state, *payloads]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        Recording.left += payloads
        assert state[: len(payloads)] == list(payloads), "the oldest leave"
        return state[len(payloads) :]

    def compute_result(self, state: list[int]) -> list[int]:
        return list(state)


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    Recording.entered = []
    Recording.left = []


def feed_of(windows: LastRows, evaluator: str = "sliding") -> Feed:
    return Feed(Query(windows, (Recording(),), lifetimes="points", has_order=True), evaluator)


def feed_rows(feed: Feed, rows: int, by_batch: int) -> list[Any]:
    """Feed rows 0, 1 and so on of one key, whose times and payloads are their numbers; return the results.

    Args:
        feed: The query.
        rows: The number of rows.
        by_batch: The number of rows of a micro-batch, after which the watermark passes them.
    """
    results: list[Any] = []
    for first in range(0, rows, by_batch):
        batch = [at(number, value=number) for number in range(first, first + by_batch)]
        results += [row["result"] for row in feed.batch(*batch, watermark=first + by_batch).rows]
    return results


@pytest.mark.parametrize(
    "windows", [last(3), last(3).trigger(2), last(2).trigger(5), last(4).when_full(), last(1)], ids=str
)
@pytest.mark.parametrize("by_batch", [1, 4, 40])
def test_results_are_those_of_the_keyed_evaluator(windows: LastRows, by_batch: int) -> None:
    expected = feed_rows(feed_of(windows, "in_order"), 40, by_batch)
    assert feed_rows(feed_of(windows, "sliding"), 40, by_batch) == expected


def test_a_row_of_a_batch_enters_the_state_once_and_leaves_it_once() -> None:
    feed_rows(feed_of(last(3)), rows=40, by_batch=40)
    assert Recording.entered == [*range(40)]
    assert Recording.left == [*range(37)]  # the last three are still in the window


def test_a_state_goes_on_in_the_next_batch_and_is_built_anew_when_more_rows_have_left_than_a_window_has() -> None:
    feed_rows(feed_of(last(3)), rows=12, by_batch=1)
    entered_anew_before_7 = [4, 5, 6]
    entered_anew_before_11 = [8, 9, 10]
    assert Recording.entered == [*range(7), *entered_anew_before_7, *range(7, 11), *entered_anew_before_11, 11]
    assert Recording.left == [*range(9)]


@pytest.mark.parametrize("windows", [last(2), last(2).trigger(3)], ids=str)
def test_a_failure_names_the_key_and_the_window_of_the_row(windows: LastRows) -> None:
    feed = feed_of(windows)
    rows_of_b = [at(2, value=2, key="b"), at(4, value=3, key="b"), at(7, value=-1, key="b"), at(9, value=5, key="b")]
    with pytest.raises(ModuleFailedError, match="minus one") as caught:
        feed.batch(at(1, value=1, key="a"), *rows_of_b, watermark=20)
    assert caught.value.key == ("b",)
    assert caught.value.window == Window(4, 8)


def test_a_failure_while_a_window_fills_names_the_window_of_the_row() -> None:
    """The results of rows before it say nothing of the row: while rows only enter, each is noted as it comes."""
    feed = feed_of(last(5))
    rows = [at(2, value=2), at(4, value=3), at(7, value=-1), at(9, value=5)]
    with pytest.raises(ModuleFailedError, match="minus one") as caught:
        feed.batch(*rows, watermark=20)
    assert caught.value.window == Window(2, 8)
