"""Operators that follow rows, on the engine: what the reference gives, whatever the micro-batches and restarts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from muntin import INFINITY, Window, tumbling
from muntin.errors import ModuleFailedError, PolicyError
from muntin.modules.module import Module
from muntin.rows import RowWindows, batch, elapsed, last, marker
from muntin.schemas import describe
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan import Plan, plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.rows.engine import Given, Step, both_outputs, plan_of_rows
from tests.rows.following import Numbers, Told
from tests.rows.modules import Listed

SETTINGS = settings(max_examples=40, derandomize=True, database=None, deadline=None)
ORDER = describe(int, "order")


def plan_of(windows: RowWindows, module: type[Module], **changed: Any) -> Plan:
    return plan_of_rows(windows, plan_module("", module, {}, [ORDER], lambda place, _: place), **changed)


def test_results_say_which_partition_they_are_of_and_a_marker_without_rows_none() -> None:
    rows = [
        Given("k", 1, 1, {"p": "a", "m": True}),
        Given("k", 2, 2, {"p": "b", "m": False}),
        Given("k", 3, 3, {"p": "a", "m": True}),
    ]
    found, left = both_outputs(plan_of(batch(marker("m")).partition("p"), Told), [Step(rows, INFINITY)])
    assert [(row.partition, row.value.text) for row in found] == [
        (None, "empty -"),
        ("a", "pass 1 of - in a"),
        ("b", "insert 2 of 2 in b"),
        ("b", "flush 2 [2, 3) in b"),
        ("a", "pass 3 of - in a"),
    ]
    assert [(row.partition, row.window) for row in left] == [("b", Window(3, 4))]


class Failing(Numbers):
    name = "rows.failing"

    def on_evict(self, state: Any, rows: Any, window: Any) -> Any:
        yield 1 // 0


def test_a_handler_that_fails_is_named_with_its_key_and_its_tick() -> None:
    rows = [Given("k", time, time) for time in (4, 7)]
    with pytest.raises(ModuleFailedError, match=r"(?s)rows\.failing.*on_evict.*ZeroDivisionError") as failed:
        both_outputs(plan_of(last(1), Failing), [Step(rows, INFINITY)])
    assert failed.value.window == Window(7, 8)


def test_a_key_is_forgotten_when_its_windows_are_empty_and_its_state_is_new() -> None:
    rows = [Given("k", time, time) for time in (1, 2, 3, 4)]
    found, _ = both_outputs(plan_of(batch(2), Numbers), [Step(rows[:2], 3), Step(rows[2:], INFINITY)])
    assert [row.value for row in found] == [1, 2, 1, 2]


def test_other_windows_are_refused() -> None:
    with pytest.raises(PolicyError, match="it needs row windows"):
        plan_of(last(2), Numbers, window=tumbling(5))


@pytest.mark.parametrize("windows", [last(elapsed(2)), last(elapsed(2)).when_full()], ids=str)
@pytest.mark.parametrize("module", [Told, Listed])
def test_windows_that_are_empty_do_not_hold_the_output_watermark(windows: RowWindows, module: type[Any]) -> None:
    """Rows at 1 and 3 have left at 6. That the windows were full stays, and so does what the module remembers."""
    plan = plan_of(windows, module)
    bucket = RowsBucket(plan.evaluator_query([Meter()]), MemoryCells(), Codec(), plan_identity(plan))
    rows = [InputChange(None, time, time + 1, (time,)) for time in (1, 3)]
    assert bucket.process([(("k",), rows)], Progress(5, 5)).watermark == 3
    assert [bucket.process([], Progress(tick, tick)).watermark for tick in (6, 50)] == [4, 48]
