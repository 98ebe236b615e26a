"""A union has the events of all its streams, and is as complete as the least complete one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from muntin import snapshot, tumbling
from muntin.progress import Punctuated, bounded_delay, ordered
from muntin_engine.plan.explanation import topics_of
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.differences import differences_between
from muntin_engine.time.changes import Progress
from muntin_engine.time.lifetimes import PointsAtStart, Shift
from muntin_engine.time.progress_tracker import Observation, ProgressTracker
from muntin_engine.time.source_rules import SourceRules
from tests.scenarios.lifetimes import Row
from tests.scenarios.test_lifetimes import Run, batch, task

pytestmark = pytest.mark.usefixtures("all_states_small")


def of_source(source: str, rows: Sequence[Row]) -> pa.RecordBatch:
    """Return the rows of a source of the union; no two sources have an id in common."""
    union_rows = [row if row.id is None else row._replace(id=row.id * 2 + (source == "b")) for row in rows]
    return with_source(source, union_rows)


def with_source(source: str, rows: Sequence[Row]) -> pa.RecordBatch:
    """Return rows with a column that says their source."""
    return batch(rows).append_column("source", pa.array([source] * len(rows), pa.string()))


def point(tick: int, *, id: int) -> Row:
    """Return the insertion of a point, whose id is also its payload."""
    return Row("insert", id, tick, tick + 1, payload=id)


def test_a_row_is_late_by_the_watermark_of_the_union() -> None:
    rules = (SourceRules("a", bounded_delay(0)), SourceRules("b", bounded_delay(5)))
    run = Run(task((), tumbling(10), sources=("a", "b"), rules=rules))
    run.process(of_source("a", [point(50, id=1)]))
    run.process(of_source("b", [point(25, id=2)]))  # the union is complete to 20
    run.process(of_source("a", [point(30, id=3), point(19, id=4)]))
    run.process(of_source("b", [point(45, id=5)]))  # and now to 40
    assert run.results == [(20, 30, [2]), (30, 40, [3])]
    assert run.refused == ["late: late"], "the row at 19"


def test_each_stream_has_its_own_policy_and_is_idle_by_it() -> None:
    rules = (
        SourceRules("a", bounded_delay(5), (Shift(100),)),
        SourceRules("b", ordered().with_idle(10)),
        SourceRules("c", ordered().with_idle(10, lag=20)),
    )
    tracker = ProgressTracker(Punctuated(), ("a", "b", "c"), rules=rules)
    newest_starts = [Observation("a", 50, 1), Observation("b", 7, 1), Observation("c", 3, 1)]
    progress, state = tracker.advance(Progress(), (), Progress(clock=100), newest_starts)
    assert progress.watermark == 3, "that of c, the least"
    progress, state = tracker.advance(progress, state, Progress(clock=109), ())
    assert progress.watermark == 3
    stored_state = json.loads(json.dumps(state))
    progress, state = tracker.advance(progress, stored_state, Progress(clock=110), ())
    assert progress.watermark == 90, "b is left out, c follows the clock at a distance of 20, a is at 50 - 5 + 100"
    progress, _ = tracker.advance(progress, state, Progress(clock=400), ())
    assert progress.watermark == 145, "c is further than a"


def test_the_rules_of_each_stream_are_explained_and_stored() -> None:
    rules = (SourceRules("a", bounded_delay(5), (Shift(100),)), SourceRules("b", Punctuated()))
    plan = task((), tumbling(10), sources=("a", "b"), rules=rules).plan
    topics = dict(topics_of(plan))
    assert topics["events"] == "a: shifted by 100 ticks; the watermark is shifted by 100 ticks"
    assert topics["progress"] == "the least of a (5 ticks behind the newest start, or punctuation), b (punctuation)"

    rules_without_shift = (replace(rules[0], lifetime_changes=()), rules[1])
    plan_without_shift = task((), tumbling(10), sources=("a", "b"), rules=rules_without_shift).plan
    stored_identity = json.loads(json.dumps(plan_identity(plan)))
    (difference,) = differences_between(stored_identity, plan_identity(plan_without_shift))
    assert difference.subject == "rules of united streams"


def test_an_event_that_two_links_deliver_counts_once_and_is_forgotten_on_the_watermark() -> None:
    """TH-57: a duplicate has the key, the id and the time of an event; its state goes when the watermark has passed."""
    rules = tuple(SourceRules(source, ordered()) for source in "ab")
    run = Run(task((PointsAtStart(),), tumbling(10), sources=("a", "b"), rules=rules))
    rows = [Row("insert", id=0, start=at, end=at + 1, payload=at) for at in (3, 3, 7, 12)]
    for source in "ab":
        run.process(with_source(source, rows))
    assert run.results == [(0, 10, [3, 7])]
    assert run.refused == ["rejected: duplicate id"] * 4, "of 3 three copies, of 7 one; of 12 nothing is known yet"
    for source in "ab":
        run.process(of_source(source, [Row("punctuate", start=20)]))
    assert run.results[1:] == [(10, 20, [12])]
    assert run.held == 0


def test_punctuation_finer_than_the_windows_reaches_no_evaluator() -> None:
    """TH-56: where output changes at the ends of windows alone, the watermark that buckets see moves from end to end.

    The plan of a query over tumbling windows says so, and that over snapshots does not.
    """
    stepwise = ProgressTracker(steps=(tumbling(10),))
    progress = Progress()
    watermarks = set[int]()
    for tick in range(18, 43):
        progress, _ = stepwise.advance(progress, (), Progress(tick), ())
        watermarks.add(progress.watermark)
    assert sorted(watermarks) == [10, 20, 30, 40]
    assert task((), tumbling(10), are_revised=False).input.tracker.steps == (tumbling(10),)
    assert task((), snapshot(), are_revised=False).input.tracker.steps == ()
