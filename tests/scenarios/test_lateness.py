"""How late a late row is: its distance behind the watermark, whatever computes the query and whatever its windows are.

The watermark is 141, and a row at 59 comes. Windows of 50 close at 100, and at 125 where they hop by 25.
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
from tests.modules.merged_states import COLUMNAR
from tests.scenarios.feed import Feed, Merged, Result, Total, at, query
from tests.scenarios.query import Query

GRIDS: Final = {
    "tumbling": tumbling(50),
    "hopping": hopping(50, 25),
    "cumulate": cumulate(50, 25),
    "landmark": landmark(25),
}
OTHERS: Final = {"session": session(10), "snapshot": snapshot()}
EVALUATORS: Final[dict[str, tuple[Module, ...]]] = {
    "general": (Total(),),
    "grouped": (Total(),),
    "sliced": (Merged(),),
    "columnar": tuple(next(iter(COLUMNAR.values()))),
}


def late_row(feed: Feed) -> Result:
    """Return the result of a row at 59 that comes when the watermark is 141."""
    feed.batch(at(5), watermark=141)
    return feed.batch(at(59))


def asked_for(window: str, evaluator: str, lifetimes: Any) -> Query:
    """Return a query that wants late rows."""
    return query({**GRIDS, **OTHERS}[window], *EVALUATORS[evaluator], lifetimes=lifetimes, wants_late_rows=True)


def is_run(window: str, evaluator: str, lifetimes: str) -> bool:
    """Return True if an evaluator runs such a query."""
    try:
        Feed(asked_for(window, evaluator, lifetimes), evaluator)
    except QueryError:
        return False
    return True


CASES: Final = [
    case for case in product([*GRIDS, *OTHERS], EVALUATORS, ["points", "named", "retracted"]) if is_run(*case)
]


def test_each_window_and_each_evaluator_has_cases() -> None:
    windows, evaluators, _ = map(set, zip(*CASES, strict=True))
    assert windows == {*GRIDS, *OTHERS}
    assert evaluators == {*EVALUATORS}


@pytest.mark.parametrize(("window", "evaluator", "lifetimes"), CASES)
def test_a_late_row_is_late_by_its_distance_behind_the_watermark(window: str, evaluator: str, lifetimes: Any) -> None:
    asked = asked_for(window, evaluator, lifetimes)
    result = late_row(Feed(asked, evaluator))
    assert result.late_by == [82]
    assert result.messages == ["event time 59 is 82 ticks behind the watermark 141"]
    counting = Feed(replace(asked, wants_late_rows=False), evaluator)
    assert late_row(counting).counts["late_by"] == 82


@pytest.mark.parametrize("window", [*GRIDS, *OTHERS])
def test_a_row_that_is_later_than_allowed_is_told_behind_the_watermark_too(window: str) -> None:
    late = Lateness(LatePolicy.CORRECT, 30)
    asked = query({**GRIDS, **OTHERS}[window], Total(), lifetimes="named", late=late, wants_late_rows=True)
    assert late_row(Feed(asked, "general")).late_by == [82]


def test_the_watermark_of_a_key_alone_is_the_one_that_its_late_rows_are_behind() -> None:
    by_key = Punctuated().with_key_punctuation()
    asked = query(tumbling(50), Total(), lifetimes="named", progress=by_key, wants_late_rows=True)
    feed = Feed(asked, "general")
    feed.batch(at(5), watermark=60, of_keys={"k": 141})
    assert feed.batch(at(59)).late_by == [82]


@pytest.mark.parametrize("evaluator", ["general", "grouped"])
def test_a_bound_that_a_policy_implies_counts_to_the_tick_also_after_a_restart(evaluator: str) -> None:
    asked = query(tumbling(50), Total(), lifetimes="points", progress=bounded_delay(9), wants_late_rows=True)
    feed = Feed(asked, evaluator)
    feed.batch(at(150))
    feed.restart()
    feed.batch(at(120))  # behind the newest row, so the watermark stays at 141
    assert feed.batch(at(59)).late_by == [82]


def test_a_watermark_that_moves_within_a_step_counts() -> None:
    feed = Feed(query(tumbling(50), Total(), lifetimes="points", wants_late_rows=True), "grouped")
    feed.batch(at(5), watermark=101)
    feed.batch(watermark=141)
    assert feed.batch(at(59)).late_by == [82]


def test_a_row_after_the_end_of_the_stream_has_no_distance() -> None:
    feed = Feed(query(tumbling(50), Total(), lifetimes="points", wants_late_rows=True), "grouped")
    feed.batch(at(5), watermark=INFINITY)
    assert feed.batch(at(59)).late_by == [None]
