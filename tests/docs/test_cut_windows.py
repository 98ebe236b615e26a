"""Windows that events cut are refused the refinements that never retract, as the reference says of each."""

from __future__ import annotations

import pytest

from muntin import Refinement, count_by_end, count_by_start, early, hopping, session, snapshot, trailing, tumbling
from muntin.errors import QueryError
from muntin.triggers import every_count
from muntin.windows import WindowSpecification
from tests.scenarios.feed import Feed, Total, at, query

CUT_BY_EVENTS = {
    "sessions": session(10),
    "snapshots": snapshot(),
    "trailing": trailing(10),
    "count": count_by_start(2),
    "count windows": count_by_end(2),
}


"""Windows by the names that the reference has for them."""


def feed(window: WindowSpecification, refinement: str) -> Feed:
    """Begin a query over points that emits early totals after each of them, in the evaluator for everything."""
    emit = early(every_count(1), refinement=refinement)
    return Feed(query(window, Total(), lifetimes="points", emit=emit), "general")


@pytest.mark.parametrize("refinement", ["accumulate", "discard"])
@pytest.mark.parametrize("name", CUT_BY_EVENTS)
def test_windows_that_events_cut_are_refused_unless_they_are_retracted(name: str, refinement: str) -> None:
    with pytest.raises(QueryError, match="is cut by events"):
        feed(CUT_BY_EVENTS[name], refinement)


@pytest.mark.parametrize("name", CUT_BY_EVENTS)
def test_windows_that_events_cut_have_early_results_that_are_retracted(name: str) -> None:
    assert feed(CUT_BY_EVENTS[name], "retract").batch(at(0, 1), at(5, 2)).changes


@pytest.mark.parametrize("refinement", ["accumulate", "discard", "retract"])
@pytest.mark.parametrize("window", [tumbling(10), hopping(10, 5)])
def test_other_windows_take_every_refinement(window: WindowSpecification, refinement: str) -> None:
    assert feed(window, refinement).batch(at(0, 1)).changes


def test_the_docstring_of_refinements_names_all_windows_that_events_cut() -> None:
    docstring = (Refinement.__doc__ or "").lower()
    for name in CUT_BY_EVENTS:
        assert name.split()[0] in docstring
