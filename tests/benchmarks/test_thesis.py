"""The methods of the thesis, by what is counted."""

from __future__ import annotations

import pytest

from benchmarks import publish
from benchmarks.thesis import (
    DISORDERED,
    RANGE,
    Disordered,
    by_punctuation,
    by_slack,
    stream_in_order,
    true_results,
    work_per_row,
)
from tests.docs.pages import DOCS


def test_the_page_has_what_the_methods_of_the_thesis_touch() -> None:
    page = (DOCS / "contributing/slices-and-state.md").read_text(encoding="utf-8")
    shown = {row[0]: row[1:] for row in publish.rows_of(page, "slide, rows")}
    work = work_per_row(3 * RANGE, RANGE, 400)
    assert list(work) == ["buffering", "negative tuples", "paired windows", "base intervals", "slices"]
    assert [f"{count:.2f}" for count in work.values()] == shown["400"]


@pytest.mark.parametrize("query", DISORDERED, ids=lambda query: query.title)
def test_slack_is_wrong_until_it_is_as_long_as_the_disorder_and_punctuation_never_is(query: Disordered) -> None:
    script = query.disorder(stream_in_order(query.windows, 500))
    truth = true_results(query, script)
    punctuated = by_punctuation(query, script)
    assert query.error(punctuated.results, truth) < 1e-9
    assert set(punctuated.latencies) == {0}

    consistent = by_slack(query, script, 0, is_generous=False)
    generous = by_slack(query, script, 0, is_generous=True)
    assert query.error(consistent.results, truth) > query.error(generous.results, truth) > 0.05
    assert min(consistent.latencies) < 0
    longest = by_slack(query, script, query.slacks[-1], is_generous=False)
    assert query.error(longest.results, truth) == 0
    assert max(longest.latencies) > 0
