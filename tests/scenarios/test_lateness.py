"""How late a late row is: its distance behind the watermark, whatever computes the query and whatever its windows are.

In all tests the watermark is 141, and then a row at 59 comes: 82 ticks late. Windows of 50 have closed at 100, and at
125 where they hop by 25.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, Final

import pytest

from muntin import (
    INFINITY,
    Lateness,
    LatePolicy,
    Module,
    cumulate,
    hopping,
    landmark,
    session,
    snapshot,
    tumbling,
)
from muntin.errors import QueryError
from muntin.progress import Punctuated, bounded_delay
from muntin.windows import WindowKind
from tests.modules.merged_states import COLUMNAR
from tests.scenarios.feed import Feed, Merged, Result, Total, at, query
from tests.scenarios.query import Query

GRIDS: Final = {
    "tumbling": tumbling(50),
    "hopping": hopping(50, 25),
    "cumulate": cumulate(50, 25),
    "landmark": landmark(25),
}
CUT_BY_EVENTS: Final = {"session": session(10), "snapshot": snapshot()}
WINDOWS: Final[dict[str, WindowKind]] = {**GRIDS, **CUT_BY_EVENTS}
EVALUATORS: Final[dict[str, tuple[Module, ...]]] = {
    "general": (Total(),),
    "grouped": (Total(),),
    "sliced": (Merged(),),
    "columnar": tuple(next(iter(COLUMNAR.values()))),
}
"""Modules that an evaluator runs, by its name."""


def result_of_late_row(feed: Feed) -> Result:
    """Return the result of the micro-batch with the late row."""
    feed.batch(at(5), watermark=141)
    return feed.batch(at(59))


def query_with_late_rows(window: str, evaluator: str, lifetimes: Any) -> Query:
    """Return a query that has late rows in a side output."""
    return query(WINDOWS[window], *EVALUATORS[evaluator], lifetimes=lifetimes, wants_late_rows=True)


def is_run(window: str, evaluator: str, lifetimes: str) -> bool:
    """True if an evaluator runs such a query."""
    try:
        Feed(query_with_late_rows(window, evaluator, lifetimes), evaluator)
    except QueryError:
        return False
    return True


CASES: Final = [case for case in product(WINDOWS, EVALUATORS, ["points", "named", "retracted"]) if is_run(*case)]


def test_each_window_and_each_evaluator_has_cases() -> None:
    windows, evaluators, _ = map(set, zip(*CASES, strict=True))
    assert windows == {*WINDOWS}
    assert evaluators == {*EVALUATORS}


@pytest.mark.parametrize(("window", "evaluator", "lifetimes"), CASES)
def test_a_late_row_is_late_by_its_distance_behind_the_watermark(window: str, evaluator: str, lifetimes: Any) -> None:
    result = result_of_late_row(Feed(query_with_late_rows(window, evaluator, lifetimes), evaluator))
    assert result.late_by == [141 - 59]
    assert result.messages == ["event time 59 is 82 ticks behind the watermark 141"]


@pytest.mark.parametrize(("window", "evaluator", "lifetimes"), CASES)
def test_a_late_row_that_nobody_keeps_is_counted_with_its_distance(window: str, evaluator: str, lifetimes: Any) -> None:
    without_late_rows = replace(query_with_late_rows(window, evaluator, lifetimes), wants_late_rows=False)
    assert result_of_late_row(Feed(without_late_rows, evaluator)).counts["late_by"] == 141 - 59


@pytest.mark.parametrize("window", WINDOWS)
def test_a_row_that_is_later_than_allowed_counts_from_the_watermark_too(window: str) -> None:
    """Rows may be 30 ticks behind the watermark; this one is 52 more than that, and says 82."""
    late = Lateness(LatePolicy.CORRECT, 30)
    correcting = query(WINDOWS[window], Total(), lifetimes="named", late=late, wants_late_rows=True)
    assert result_of_late_row(Feed(correcting, "general")).late_by == [141 - 59]


def test_a_late_row_of_a_key_that_is_ahead_is_behind_the_watermark_of_the_key() -> None:
    by_key = Punctuated().with_key_punctuation()
    keyed_query = query(tumbling(50), Total(), lifetimes="named", progress=by_key, wants_late_rows=True)
    feed = Feed(keyed_query, "general")
    feed.batch(at(5), watermark=60, of_keys={"k": 141})
    assert feed.batch(at(59)).late_by == [141 - 59]


@pytest.mark.parametrize("evaluator", ["general", "grouped"])
def test_a_watermark_that_a_policy_derives_counts_to_the_tick_also_after_a_restart(evaluator: str) -> None:
    delayed_query = query(tumbling(50), Total(), lifetimes="points", progress=bounded_delay(9), wants_late_rows=True)
    feed = Feed(delayed_query, evaluator)
    feed.batch(at(150))
    feed.restart()
    feed.batch(at(120))  # behind the newest row, so the watermark stays at 150 - 9
    assert feed.batch(at(59)).late_by == [141 - 59]


def test_a_watermark_that_moves_on_and_closes_no_window_counts() -> None:
    feed = Feed(query(tumbling(50), Total(), lifetimes="points", wants_late_rows=True), "grouped")
    feed.batch(at(5), watermark=101)
    feed.batch(watermark=141)
    assert feed.batch(at(59)).late_by == [141 - 59]


def test_a_row_after_the_end_of_the_stream_has_no_distance() -> None:
    feed = Feed(query(tumbling(50), Total(), lifetimes="points", wants_late_rows=True), "grouped")
    feed.batch(at(5), watermark=INFINITY)
    assert feed.batch(at(59)).late_by == [None]
