"""The methods of the thesis *Window Queries over Data Streams*: what they touch, how wrong they are, and how late."""

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


def test_the_page_has_what_the_methods_of_the_thesis_touch_for_each_row() -> None:
    page = (DOCS / "contributing/slices-and-state.md").read_text(encoding="utf-8")
    shown_by_slide = {row[0]: row[1:] for row in publish.rows_of(page, "slide, rows")}
    touched = work_per_row(3 * RANGE, RANGE, 400)
    assert list(touched) == ["buffering", "negative tuples", "paired windows", "base intervals", "slices"]
    assert [f"{count:.2f}" for count in touched.values()] == shown_by_slide["400"]


@pytest.mark.parametrize("query", DISORDERED, ids=lambda query: query.title)
def test_slack_is_wrong_until_it_is_as_long_as_the_disorder_and_punctuation_never_is(query: Disordered) -> None:
    script = query.disorder(stream_in_order(query.windows, 500))
    truth = true_results(query, script)

    punctuated = by_punctuation(query, script)
    assert query.error(punctuated.results, truth) < 1e-9
    assert set(punctuated.latencies) == {0}

    without_slack = by_slack(query, script, 0, is_generous=False)
    generous = by_slack(query, script, 0, is_generous=True)
    assert query.error(without_slack.results, truth) > query.error(generous.results, truth) > 0.05
    assert min(without_slack.latencies) < 0, "a result comes before its rows have"

    with_longest_slack = by_slack(query, script, query.slacks[-1], is_generous=False)
    assert query.error(with_longest_slack.results, truth) == 0
    assert max(with_longest_slack.latencies) > 0
