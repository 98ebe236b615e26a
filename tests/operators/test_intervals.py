"""Operators that are told of starts and ends: what the reference gives, however rows come, are revised, and are cut."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, Event, IntervalOperator
from muntin.changes import Insertion, Punctuation, fold
from muntin.errors import ModuleFailedError
from muntin.testing import Batch, KeyedChange, Script, WindowedQuery, evaluate, random_stream, shuffle, split
from muntin.testing.stream_history import StreamHistory
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, OutputKind, Progress
from muntin_engine.evaluators.ordered.run import StreamBucket
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing import crash_everywhere
from tests.differential.cases import until_closed
from tests.joins.drive import lasting, samples_of
from tests.operators.streams import plan_of
from tests.sdk.stream_operators import Level, Overdue

OPERATORS: list[IntervalOperator[Any, Any, Any]] = [Level(), Overdue(4)]


class Run:
    """A stream of lasting events on its way through a bucket; after each batch the reference has to agree."""

    def __init__(self, module: IntervalOperator[Any, Any, Any], *, has_ids: bool, is_edge: bool) -> None:
        plan = plan_of(module, input={"is_edge": is_edge, "order": None})
        self.module, self.is_edge = module, is_edge
        self.query = replace(plan.evaluator_query([Meter()]), has_ids=has_ids)
        self.cells, self.identity = MemoryCells(), plan_identity(plan)
        self.history, self.output, self.horizon = StreamHistory(), dict[Hashable, list[tuple[Any, ...]]](), EARLIEST
        self.watermark, self.left_to_count = EARLIEST, 0
        self.restart()

    def restart(self) -> None:
        self.bucket = StreamBucket(self.query, self.cells, Codec(), self.identity)

    def take(self, batch: Batch) -> int:
        if batch.restart_before:
            self.restart()
        rows = []
        for step in batch.changes:
            self.history.take(step)
            rows.append(((step.key,), [self.row(step)]))
        if batch.punctuation is not None:
            self.history.take(Punctuation(batch.punctuation))
            self.watermark = max(self.watermark, batch.punctuation)
        events = {key: list(fold(some).values()) for key, some in self.history.accepted.items()}
        events = {key: lasting(some) if self.is_edge else some for key, some in events.items()}
        times = [time for some in events.values() for event in some for time in (event.start + 1, event.end)]
        ends = [change.new_end for _, (change,) in rows if change.new_end is not None]
        self.horizon = max(time for time in (self.horizon, self.watermark, *times, *ends) if time < INFINITY)
        result = self.bucket.process(rows, Progress(self.watermark, self.horizon))
        assert not result.rejections
        self.left_to_count += len(rows) - result.accepted
        assert self.history.waiting or not self.left_to_count
        assert result.watermark == self.watermark
        for (key,), some in result.output:
            assert all(change.kind is OutputKind.INSERT for change in some)
            self.output.setdefault(key, []).extend((change.start, change.end, change.value) for change in some)
        if not self.history.waiting:
            assert self.output == self.meant(events), f"after {batch}"
        return result.held.keys

    def meant(self, events: Mapping[Hashable, list[Event[Any]]]) -> dict[Hashable, list[tuple[Any, ...]]]:
        found = {}
        for key, some in events.items():
            ordered = sorted(some, key=lambda event: (event.start, event.payload))
            rows = evaluate(WindowedQuery.unwindowed(self.module), ordered, self.watermark, self.horizon)
            found[key] = [(row.start, row.end, row.value) for row in rows]
        return {key: rows for key, rows in found.items() if rows}

    def row(self, step: KeyedChange) -> InputChange:
        change, event = step.change, step.change.event
        id = change.id if self.query.has_ids and not self.is_edge else None
        new_end = None if isinstance(change, Insertion) else change.new_end
        return InputChange(id, event.start, event.end, (event.payload, 0), new_end)


def run_intervals(module: IntervalOperator[Any, Any, Any], seed: int) -> int:
    """Run a random stream: of events that are revised, of those that are not, or of samples; return its results."""
    random = Random(seed)
    kind = random.choice(("revised", "plain", "samples"))
    stream = random_stream(
        seed,
        keys=random.choice((("a",), ("a", "b", None))),
        events=random.choice((4, 12, 30)),
        starts=range(-10, random.choice((10, 40))),
        payload=lambda random: random.randrange(10**6),
        disorder=random.randrange(20),
        closed=random.random() < 0.7,
    )
    if kind != "revised":
        kept = [s for s in stream.steps if not isinstance(s, KeyedChange) or isinstance(s.change, Insertion)]
        stream = Script(tuple(samples_of(kept) if kind == "samples" else kept))
    stream = until_closed(shuffle(until_closed(stream), seed, early_revisions=random.random() < 0.5))
    run = Run(module, has_ids=kind == "revised", is_edge=kind == "samples")
    for batch in split(stream, seed, cuts=random.choice((0.1, 0.4))).batches():
        held = run.take(batch)
    assert run.watermark < INFINITY or not held
    return sum(map(len, run.output.values()))


@pytest.mark.parametrize("module", OPERATORS, ids=lambda module: module.name)
def test_starts_and_ends_come_in_order_whatever_the_disorder_the_revisions_and_the_cuts(
    module: IntervalOperator[Any, Any, Any],
) -> None:
    assert sum(run_intervals(module, seed) for seed in range(40)) > 200


@pytest.mark.parametrize("module", OPERATORS, ids=lambda module: module.name)
def test_a_restart_or_a_crash_at_each_step_does_not_show(module: IntervalOperator[Any, Any, Any]) -> None:
    script = Script().insert("a", 1, 9, 2).insert("b", 3, INFINITY, 4).punctuate(4).revise("a", 12).punctuate(7)
    script = script.revise("b", 8).insert("c", 8, 20, 7, key="k").punctuate(13).close()
    survived = crash_everywhere(script, WindowedQuery.unwindowed(module))
    assert survived.evaluators == ("event_by_event",)


#    1         9   13
# a  |------...---)        the end is final when the watermark has passed it, and the start long before
# b          |---)
def test_an_end_is_told_when_it_is_final_and_ends_come_before_starts() -> None:
    run = Run(Level(), has_ids=True, is_edge=False)
    script = Script().insert("a", 1, INFINITY, 10).punctuate(2).batch().revise("a", 9).insert("b", 9, 13, 20)
    seen = []
    for batch in script.punctuate(9).batch().punctuate(10).batch().close().batches():
        run.take(batch)
        seen.append([(start, value) for start, _, value in run.output.get(None, [])])
    whole = [(1, [10]), (9, []), (9, [20]), (13, [])]
    assert seen == [whole[:1], whole[:1], whole[:3], whole]


class Failing(Level):
    name = "test.failing"

    def on_end(self, state: list[int], payload: int, time: int) -> Any:
        return [1 // 0]


def test_a_call_that_fails_is_named_with_its_method_and_its_tick() -> None:
    run = Run(Failing(), has_ids=False, is_edge=False)
    (batch,) = Script().insert("a", 1, 5, 3).close().batches()
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_end.*ZeroDivisionError") as failed:
        run.take(batch)
    assert failed.value.window is not None
    assert failed.value.window.start == 5


def test_explain_says_that_starts_and_ends_are_told() -> None:
    told = explain_plan(plan_of(Level(), input={"is_edge": True}))
    assert "called with the start and the end of each event of a key, each when the watermark has passed it" in told
    assert "the events whose ends wait for the watermark" in told
