"""The well-known cases of late rows in Flink and Beam, and what becomes of them here, as streams."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import EmitPolicy, Lateness, LatePolicy, correct, hopping, session, tumbling
from muntin.windows import WindowKind
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.core.build import Feed, Total, output, query, reasons, row

CORRECTING: dict[str, Any] = {
    "emit": EmitPolicy.SPECULATIVE,
    "late": correct(5),
    "waits_for_watermark": True,
    "has_ids": False,
}


def at(start: int, value: int = 1) -> Any:
    """A point event without an id."""
    return row(None, start, start + 1, value)


def changes(result: BatchResult) -> list[str]:
    """The output of a batch as text, `+[0,10) 3` or `-[0,10) 3`."""
    return [
        f"{'+' if change.kind == 'insert' else '-'}[{change.window.start},{change.window.end}) {change.value[0]}"
        for change in output(result)
    ]


# Flink


def test_a_late_element_within_the_allowed_lateness_fires_its_window_again() -> None:
    """Each late batch puts the window out once more; here the result before is taken back."""
    feed = Feed(query(tumbling(10), Total(), **CORRECTING))
    assert changes(feed.batch(at(1), at(2), watermark=10)) == ["+[0,10) 2"]
    assert changes(feed.batch(at(3))) == ["-[0,10) 2", "+[0,10) 3"]
    assert changes(feed.batch(at(4), at(5))) == ["-[0,10) 3", "+[0,10) 5"]


def test_state_is_cleaned_up_when_the_allowed_lateness_has_passed() -> None:
    feed = Feed(query(tumbling(10), Total(), **CORRECTING))
    feed.batch(at(1), watermark=14)
    assert feed.states != []
    feed.batch(watermark=15)
    assert feed.states == []


def test_an_element_beyond_the_allowed_lateness_goes_to_the_side_and_changes_nothing() -> None:
    feed = Feed(query(tumbling(10), Total(), **CORRECTING))
    feed.batch(at(1), watermark=16)
    result = feed.batch(at(2))
    assert (changes(result), reasons(result)) == ([], ["late"])
    assert result.rejections[0][1].late_by == 8  # everything before 10 is closed for good


def test_a_late_element_may_make_the_first_result_of_a_window() -> None:
    feed = Feed(query(tumbling(10), Total(), **CORRECTING))
    assert changes(feed.batch(watermark=12)) == []
    assert changes(feed.batch(at(9))) == ["+[0,10) 1"]


def test_late_for_one_of_its_windows_only() -> None:
    """A sliding window that is complete does not get the element, one that is open would.

    Flink gives it to the one that is open, and counts it as late only if it is for all of them. Here a row is in all of
    its windows or in none, unless corrections are allowed: then it corrects the complete one too.
    """
    feed = Feed(query(hopping(10, 5), Total(), has_ids=False))
    feed.batch(at(1), watermark=10)
    assert reasons(feed.batch(at(7))) == ["late"]
    corrected = Feed(query(hopping(10, 5), Total(), **CORRECTING))
    corrected.batch(at(1), watermark=10)
    assert changes(corrected.batch(at(7))) == ["-[0,10) 1", "+[0,10) 2"]


def test_allowed_lateness_counts_from_the_end_of_the_window_and_not_from_the_element() -> None:
    """Minutes of a day: 08:20 comes at 10:54, 2 h 34 min later, and 1 h 54 min after the end of its window."""
    feed = Feed(query(tumbling(60), Total(), **CORRECTING | {"late": correct(120)}))
    assert changes(feed.batch(at(485), at(555), watermark=654)) == ["+[480,540) 1", "+[540,600) 1"]
    assert changes(feed.batch(at(500))) == ["-[480,540) 1", "+[480,540) 2"]
    feed.batch(watermark=660)
    assert reasons(feed.batch(at(501))) == ["late"]


@pytest.mark.parametrize("emit", [EmitPolicy.SPECULATIVE, EmitPolicy.EAGER])
@pytest.mark.parametrize("late", [correct(5), Lateness(LatePolicy.SIDE)], ids=str)
def test_where_results_come_at_once_a_row_of_an_open_window_is_late_only_without_allowed_lateness(
    emit: EmitPolicy, late: Lateness
) -> None:
    # window     [0             10)
    # watermark          8          14   16
    # row at   1      2 is 6 behind, then 12: the window ended 4 ago; then 14: it ended 6 ago
    corrects = late.corrects
    feed = Feed(query(tumbling(10), Total(), emit=emit, late=late, has_ids=False))
    feed.batch(at(1), watermark=8)
    assert reasons(feed.batch(at(2), watermark=14)) == ([] if corrects else ["late"])
    assert reasons(feed.batch(at(2), watermark=16)) == ([] if corrects else ["late"])
    assert reasons(feed.batch(at(2))) == ["late"]


@pytest.mark.parametrize(("window", "has_ids"), [(tumbling(60), True), (session(60), False)], ids=str)
def test_with_ids_or_off_the_grid_allowed_lateness_counts_from_the_element(window: WindowKind, has_ids: bool) -> None:
    """Flink counts it from the end of any window, and merges an element into a session that is open."""
    feed = Feed(query(window, Total(), **CORRECTING | {"late": correct(120), "has_ids": has_ids}))
    feed.batch(row("a" if has_ids else None, 485, 486, 1), watermark=620)
    result = feed.batch(*(row(place if has_ids else None, place, place + 1, 1) for place in (499, 500)))
    assert (result.accepted, reasons(result)) == (1, ["late"])


# Beam


def test_the_watermark_is_exclusive() -> None:
    """An element at the watermark is on time, one before it is late."""
    feed = Feed(query(tumbling(10), Total(), has_ids=False))
    feed.batch(watermark=10)
    result = feed.batch(at(9), at(10))
    assert (result.accepted, reasons(result)) == (1, ["late"])


def test_elements_that_come_with_the_watermark_that_passes_them_are_on_time() -> None:
    """TestStream's order of elements and watermark within one bundle: the elements first."""
    feed = Feed(query(tumbling(10), Total(), has_ids=False))
    assert changes(feed.batch(at(3), at(9), watermark=20)) == ["+[0,10) 2"]


def test_late_data_is_dropped_without_a_trace_only_if_that_is_asked_for() -> None:
    """Dropping is a policy of the output: the evaluator refuses the row and counts it all the same."""
    feed = Feed(query(tumbling(10), Total(), has_ids=False, late=Lateness(LatePolicy.DROP)))
    feed.batch(watermark=10)
    assert reasons(feed.batch(at(3))) == ["late"]
