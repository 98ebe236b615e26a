"""Operators that follow rows, on the engine: what the reference gives, whatever the micro-batches and restarts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import INFINITY, Event, RowOperator, Window, tumbling
from muntin.errors import ModuleFailedError, PolicyError
from muntin.modules.module import Module
from muntin.rows import MemberRow, PartitionedRows, RowsInWindow, RowWindows, batch, elapsed, last, marker
from muntin.schemas import describe
from muntin.testing import Computation, WindowedQuery, evaluate, evaluate_evicted
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.plan import Plan, plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.rows.engine import Given, Result, Step, both_outputs, plan_of_rows
from tests.rows.following import Full, Numbers, Told
from tests.rows.modules import Listed
from tests.rows.random_rows import BY, LIMITED, bounded_by_rows, rows_for, sliding
from tests.rows.random_rows import tumbling as batches
from tests.rows.test_evaluator import cut

SETTINGS = settings(max_examples=40, derandomize=True, database=None, deadline=None)
ORDER = describe(int, "order")


def plan_of(windows: RowWindows, module: type[Module], **changed: Any) -> Plan:
    return plan_of_rows(windows, plan_module("", module, {}, [ORDER], lambda place, _: place), **changed)


@dataclass
class Stays:
    """For how long rows stayed.

    Attributes:
        came: When each member came, by number.
        longest: The longest stay so far, by partition.
    """

    came: dict[int, int] = field(default_factory=dict)
    longest: dict[str, int] = field(default_factory=dict)


class Longest(RowOperator[int, Stays, list[int], tuple[int, int, int]]):
    """How many rows each partition has, when one comes or passes; and of each that leaves, the longest stay so far."""

    name, version = "rows.longest", "1.0.0"

    def create_state(self) -> Stays:
        return Stays()

    def on_insert(self, state: Stays, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[list[int]]:
        state.came[row.number] = row.time
        yield [len(rows) for rows in window.partitions.values()]

    def on_pass(self, state: Stays, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[list[int]]:
        yield [-len(window.rows), row.payload]

    def on_evict(
        self, state: Stays, rows: Sequence[MemberRow[int]], window: RowsInWindow[int]
    ) -> Iterable[tuple[int, int, int]]:
        name = str(window.partition)
        for row in rows:
            stay = window.time - state.came.pop(row.number)
            state.longest[name] = max(stay, state.longest.get(name, 0))
            yield row.payload, row.time, state.longest[name]


@st.composite
def histories(draw: st.DrawFn) -> tuple[PartitionedRows, list[Given]]:
    by = st.one_of(BY, LIMITED)
    windows = draw(st.one_of(sliding(by), batches(by), bounded_by_rows(by)))
    rows = [
        Given(key, row.time, row.number, dict(zip(windows.reads, row.values, strict=True)))
        for key in ("a", "b")
        for row in draw(rows_for(windows, 16))
    ]
    return windows, rows


def meant(windows: RowWindows, module: Any, steps: Sequence[Step]) -> tuple[list[tuple[Any, ...]], ...]:
    """What the reference gives of each key, in its order: the key, the lifetime and the row."""
    query = WindowedQuery(windows, [Computation(module, select=lambda payload: payload["order"])])
    rows = [row for step in steps for row in step.rows]
    said = [step.watermark for step in steps if step.watermark != INFINITY]
    horizon = max([*(row.time + 1 for row in rows), *said], default=0)
    found: tuple[list[tuple[Any, ...]], ...] = ([], [])
    for key in sorted({row.key for row in rows}):
        own = sorted((row for row in rows if row.key == key), key=lambda row: (row.time, row.order))
        events = [Event.point(row.time, {**row.values, "order": row.order}) for row in own]
        for output, evaluated in zip(found, (evaluate, evaluate_evicted), strict=True):
            output += [
                (key, row.window, row.start, row.end, row.value) for row in evaluated(query, events, INFINITY, horizon)
            ]
    return found


def shown(found: Sequence[Result]) -> list[tuple[Any, ...]]:
    """Results, key by key, in the order in which they came."""
    return sorted(((row.key, row.window, row.start, row.end, row.value) for row in found), key=lambda row: str(row[0]))


@pytest.mark.parametrize("module", [Told, Longest, Numbers, Full])
def test_the_engine_gives_what_the_reference_gives_whatever_the_batches_and_restarts(module: type[Any]) -> None:
    @SETTINGS
    @given(histories(), st.data())
    def check(history: tuple[PartitionedRows, list[Given]], data: st.DataObject) -> None:
        windows, rows = history
        plan, steps = plan_of(windows, module), cut(data, rows)
        for some, restarts in (([Step(rows, INFINITY)], False), (steps, False), (steps, True)):
            found = both_outputs(plan, some, restarts=restarts)
            assert tuple(map(shown, found)) == meant(windows, module(), some)

    check()


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
