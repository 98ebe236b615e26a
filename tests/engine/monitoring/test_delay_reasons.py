"""A query that emits nothing says why, in a sentence: its rows run through buckets, and their metrics are read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from muntin import JoinKind, hopping, snapshot, tumbling
from muntin.progress import BoundedDelay
from muntin_engine.monitoring import RunningQuery, queries
from muntin_engine.plan.metrics import waits_for_open_ends
from muntin_engine.tasks.task_metrics import names_of_watermarks
from tests.engine.monitoring.queries import progress
from tests.scenarios.feed import Feed, Members, Result, at, query, row
from tests.scenarios.join import Join
from tests.scenarios.query import Query


def reported(feed: Feed, *results: Result) -> RunningQuery:
    """Return the query of a feed as it is listed in a session whose Spark has reported these micro-batches."""
    constants = {"time_axis": 0, "waits_for_ends": int(waits_for_open_ends(feed.plan))}
    return listed([progress(number, muntin={**result.counts, **constants}) for number, result in enumerate(results)])


def listed(recent_progress: list[dict[str, Any]]) -> RunningQuery:
    """Return the only query of a session, of which Spark keeps this progress."""
    running = SimpleNamespace(id="id", runId="run", name=None, recentProgress=recent_progress)
    session: Any = SimpleNamespace(streams=SimpleNamespace(active=[running]))
    (query,) = queries(session)
    return query


def emits_nothing(*results: Result) -> bool:
    """Tell whether micro-batches have no rows of output."""
    return not any(result.rows for result in results)


def test_a_silent_source_is_named_with_the_micro_batch_since_which_it_is_silent() -> None:
    feed = Feed(Query(tumbling(10), (Members(),), lifetimes="points", progress=BoundedDelay(2), sources=((), ())))
    of_both_sources = feed.batch(at(3) | {"source": "a"}, at(2) | {"source": "b"})
    of_a_alone = [feed.batch(at(start) | {"source": "a"}) for start in (20, 40)]
    results = [of_both_sources, *of_a_alone]
    assert emits_nothing(*results)
    assert reported(feed, *results).held_back_by == (
        "the watermark is 40 ticks behind the newest start: "
        "the source 'b' is at 0, and silent since micro-batch 0 at 2024-05-01 08:00:00",
    )


def test_late_rows_are_told_with_how_late_they_are() -> None:
    feed = Feed(query(tumbling(10), Members(), lifetimes="points"), "general")
    feed.batch(at(95), watermark=100)  # before anybody looks
    results = [feed.batch(at(20), at(21)), feed.batch(at(60), at(61))]
    assert emits_nothing(*results)
    assert reported(feed, *results).held_back_by == (
        "all 4 rows of the last 2 micro-batches with rows were late, by up to 80 ticks: the watermark had passed them",
    )


def test_an_open_end_is_told_with_the_start_of_the_window_that_it_holds_open() -> None:
    feed = Feed(query(snapshot(), Members()), "general")
    result = feed.batch(row(1, 5, None, 1), watermark=60)
    assert emits_nothing(result)
    assert reported(feed, result).held_back_by == (
        "the output is 55 ticks behind the watermark: a window that began at 5 is open, and an event in it has no end "
        "yet; read_state(spark, checkpoint) shows which",
    )


def test_a_filter_that_leaves_all_rows_out_is_told() -> None:
    feed = Feed(query(tumbling(10), Members(), lifetimes="points", is_filtered=True), "general")
    # the filter of a test query leaves out payloads that are divisible by 3
    results = [feed.batch(at(start, 3), at(start + 1, 6), watermark=start + 2) for start in (1, 11, 21)]
    assert emits_nothing(*results)
    assert reported(feed, *results).held_back_by[-1] == (
        "all 6 rows of the last 3 micro-batches with rows were left out by the filter of where()"
    )


def test_that_no_punctuation_has_come_is_told() -> None:
    feed = Feed(query(hopping(10, 5), Members(), lifetimes="points"), "general")
    results = [feed.batch(at(start)) for start in (1, 50)]
    assert emits_nothing(*results)
    assert reported(feed, *results).held_back_by == (
        "nothing has said yet how complete the input is: no punctuation has come, and no delay implies it",
    )


def test_windows_that_the_watermark_has_not_passed_yet_are_told_with_the_start_of_the_first() -> None:
    feed = Feed(query(hopping(100, 50), Members(), lifetimes="points"), "general")
    result = feed.batch(at(1), watermark=70)  # past the end of [-50, 50), and not of [0, 100)
    assert reported(feed, result).held_back_by[-1] == (
        "the output is 50 ticks behind the watermark: windows from 0 on are open"
    )


def test_of_a_join_the_input_that_is_behind_is_named() -> None:
    query_of_two = Join(JoinKind.INNER, ("intervals", "intervals"))
    task = query_of_two.task(query_of_two.plan(buckets=1))
    assert names_of_watermarks(task) == ("watermark_left", "watermark_right")

    metrics = {"time_axis": 0, "newest": 90, "watermark": 20, "watermark_left": 20, "watermark_right": 80}
    running = listed([progress(both=metrics)])
    assert running.held_back_by == ("the watermark is 70 ticks behind the newest start: the input 'left' is at 20",)
