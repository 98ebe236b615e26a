"""Operators that are told of starts and ends: what the reference gives, however rows come, are revised, and are cut."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import INFINITY, IntervalOperator
from muntin.errors import ModuleFailedError
from muntin.testing import Script, WindowedQuery
from muntin.windows.specification import Unwindowed
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.testing import crash_everywhere
from tests.scenarios.known import Arrival
from tests.scenarios.query import Query
from tests.scenarios.running import Mishaps, Run
from tests.sdk.stream_operators import Level, Overdue

OPERATORS: list[IntervalOperator[Any, Any, Any]] = [Level(), Overdue(4)]


@pytest.mark.parametrize("module", OPERATORS, ids=lambda module: module.name)
def test_a_restart_or_a_crash_at_each_step_does_not_show(module: IntervalOperator[Any, Any, Any]) -> None:
    script = Script().insert("a", 1, 9, 2).insert("b", 3, INFINITY, 4).punctuate(4).revise("a", 12).punctuate(7)
    script = script.revise("b", 8).insert("c", 8, 20, 7, key="k").punctuate(13).close()
    survived = crash_everywhere(script, WindowedQuery.unwindowed(module))
    assert survived.evaluators == ("event_by_event",)


def test_an_end_is_told_when_it_is_final_and_ends_come_before_starts() -> None:
    """
       1         9   13
    a  |------...---)        the end is final when the watermark has passed it, and the start long before
    b          |---)
    """
    query = Query(Unwindowed(), (Level(),), has_order=True)
    run, seen = Run(query, query.evaluators["event_by_event"], Mishaps(crashes=0.0)), []
    script = Script().insert(1, 1, INFINITY, 10).punctuate(2).batch().revise(1, 9).insert(2, 9, 13, 20)
    for batch in script.punctuate(9).batch().punctuate(10).batch().close().batches():
        run.take(Arrival((batch,)))
        seen.append(sorted((row.lifetime[0], row.values[0]) for row in run.output))
    whole = [(1, (10,)), (9, ()), (9, (20,)), (13, ())]
    assert seen == [whole[:1], whole[:1], whole[:3], whole]


class Failing(Level):
    name = "test.failing"

    def on_end(self, state: list[int], payload: int, time: int) -> Any:
        return [1 // 0]


def test_a_call_that_fails_is_named_with_its_method_and_its_tick() -> None:
    query = Query(Unwindowed(), (Failing(),), lifetimes="intervals", has_order=True)
    run = Run(query, query.evaluators["event_by_event"], Mishaps(crashes=0.0))
    (batch,) = Script().insert(1, 1, 5, 3).close().batches()
    with pytest.raises(ModuleFailedError, match=r"(?s)test\.failing.*on_end.*ZeroDivisionError") as failed:
        run.take(Arrival((batch,)))
    assert failed.value.window is not None
    assert failed.value.window.start == 5


def test_explain_says_that_starts_and_ends_are_told() -> None:
    told = explain_plan(Query(Unwindowed(), (Level(),), lifetimes="samples", has_order=True).plan())
    assert "called with the start and the end of each event of a key, each when the watermark has passed it" in told
    assert "the events whose ends wait for the watermark" in told
