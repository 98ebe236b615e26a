"""The running queries of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from muntin import INFINITY
from muntin_engine import RunningQuery, queries
from tests.monitoring.queries import progress

MINUTE = 60_000_000
EIGHT = 1_714_550_400_000_000


def session(*batches: Sequence[Mapping[str, Any]], name: str | None = None) -> Any:
    active = [
        SimpleNamespace(id=f"id-{place}", runId=f"run-{place}", name=name, recentProgress=some)
        for place, some in enumerate(batches)
    ]
    return SimpleNamespace(streams=SimpleNamespace(active=active))


def only(*batches: Mapping[str, Any], name: str | None = None) -> RunningQuery:
    (found,) = queries(session(batches, name=name))
    return found


def test_two_unnamed_queries_of_one_session_are_told_apart() -> None:
    one, other = queries(session([progress(muntin={"accepted": 3})], [progress(muntin={"accepted": 5})]))
    assert (one.name, other.name) == ("muntin", "muntin")
    assert (one.query_id, one.run_id, other.query_id) == ("id-0", "run-0", "id-1")
    assert (one.rows_per_second, other.rows_per_second) == (6, 10)  # a batch takes half a second


def test_the_pace_is_that_of_all_kept_batches_with_the_time_between_them() -> None:
    found = only(*(progress(number, muntin={"accepted": 10}) for number in range(4)))  # one starts each second
    assert found.rows_per_second == 40 / 3.5


def test_a_query_says_what_its_results_wait_for() -> None:
    metrics = {
        "accepted": 9,
        "newest": EIGHT,
        "watermark": EIGHT - 10 * MINUTE,
        "output_watermark": EIGHT - 40 * MINUTE,
    }
    found = only(progress(4, muntin={**metrics, "state_bytes": 2_400_000, "keys_held": 1312}), name="rides")
    assert str(found).splitlines() == [
        "muntin (Spark query 'rides', id-0, run run-0)",
        "  rows       18.0 a second; micro-batch 4 took 500 ms",
        "  watermark  2024-05-01 07:50:00, 10 min behind the newest start",
        "  state      2.4 MB, 1,312 keys",
        "  held back  the watermark is 10 min behind the newest start: a delay, or a source without punctuation",
        "             the output is 30 min behind the watermark: open windows, or events whose ends may move",
    ]
    assert repr(found) == str(found)


def test_what_takes_most_of_a_batch_is_named() -> None:
    module = {"evaluate_us": 400_000, "module_us:longest": 300_000}
    assert only(progress(muntin={"newest": 1, "watermark": 1, **module})).held_back_by == (
        "module longest takes 300 ms of the 500 ms of the last micro-batch",
    )
    stage = {"evaluate_us": 400_000, "module_us:longest": 3_000}
    assert (
        "stage evaluate takes 400 ms" in only(progress(muntin={"newest": 1, "watermark": 1, **stage})).held_back_by[0]
    )
    spark = {"evaluate_us": 40_000}
    assert "Spark itself takes 460 ms" in only(progress(muntin={"newest": 1, "watermark": 1, **spark})).held_back_by[0]


def test_a_query_that_has_not_begun_or_not_heard_of_its_input_or_has_ended_says_so() -> None:
    assert only().held_back_by == ("no micro-batch has ended yet",)
    assert (only().name, only().lag) == (None, None)
    assert only(progress(muntin={"accepted": 0})).held_back_by == ("no events have come",)
    assert only(progress(muntin={"newest": 5})).held_back_by[0].startswith("nothing has said yet how complete")
    assert only(progress(muntin={"newest": 5, "watermark": INFINITY})).held_back_by == ("its input has ended",)


def test_a_query_of_others_is_left_out_and_several_in_one_have_an_entry_each() -> None:
    theirs = {"batchId": 0, "observedMetrics": {"theirs": {"rows": 1}}}
    assert queries(session([theirs])) == []
    assert [found.name for found in queries(session([progress(left={}, right={})]))] == ["left", "right"]
