"""Row windows on the engine: a function of the rows and their order, whatever the micro-batches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from muntin import EARLIEST, INFINITY, TimestampPolicy, Window
from muntin.rows import RowWindows, batch, delta, elapsed, last, marker
from muntin.schemas import describe
from muntin_engine.core.calls import Meter
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.ordered.run import RowsBucket
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.plan import plan_module
from muntin_engine.plan.identity import plan_identity
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.rows.engine import Given, Result, Step, evaluated, plan_of_rows
from tests.rows.modules import Changes, Kept, Listed, Sliding

SETTINGS = settings(max_examples=50, derandomize=True, database=None, deadline=None)
X = describe(int, "x")


def straight(windows: RowWindows, rows: list[Given], **changed: Any) -> list[Result]:
    return evaluated(plan_of_rows(windows, **changed), [Step(rows, INFINITY)])


def listed(found: list[Result]) -> list[list[int]]:
    return [result.value[0] for result in found]


def of_times(*times: int) -> list[Given]:
    return [Given("a", time, number) for number, time in enumerate(times, 1)]


def test_rows_follow_one_another_by_time_and_then_by_their_order_column() -> None:
    rows = [Given("a", 2, 5), Given("a", 1, 9), Given("a", 2, 4), Given("a", 1, 7)]
    assert listed(straight(batch(4), rows)) == [[7, 9, 4, 5]]


def test_rows_wait_until_the_watermark_has_passed_them() -> None:
    plan = plan_of_rows(last(2))
    found = evaluated(plan, [Step(of_times(1, 5), 5), Step([], 6)])
    assert [(result.window, result.value) for result in found] == [
        (Window(1, 2), ([1],)),
        (Window(1, 6), ([1, 2],)),
    ]
    assert len(evaluated(plan, [Step(of_times(1, 5), 5)])) == 1


@pytest.mark.parametrize("windows", [last(elapsed(5)), batch(elapsed(5)), batch(2)], ids=str)
def test_rows_may_come_before_anything_is_said_of_time(windows: RowWindows) -> None:
    plan = plan_of_rows(windows)
    found = evaluated(plan, [Step(of_times(1, 2), EARLIEST), Step(of_times(3), EARLIEST), Step([], INFINITY)])
    assert found == evaluated(plan, [Step([*of_times(1, 2), *of_times(3)], INFINITY)])


def test_each_key_has_windows_of_its_own() -> None:
    rows = [Given("a", 1, 1), Given("b", 2, 2), Given("a", 3, 3), Given("b", 4, 4)]
    assert sorted(straight(batch(2), rows)) == [
        Result("a", None, Window(1, 4), 1, 4, ([1, 3],)),
        Result("b", None, Window(2, 5), 2, 5, ([2, 4],)),
    ]


def test_a_result_says_which_partition_it_is_of() -> None:
    rows = [Given("a", time, time, {"p": "xy"[time % 2]}) for time in range(1, 5)]
    assert straight(batch(2).partition("p"), rows) == [
        Result("a", "y", Window(1, 4), 1, 4, ([1, 3],)),
        Result("a", "x", Window(2, 5), 2, 5, ([2, 4],)),
    ]


def test_results_can_lie_where_their_windows_end() -> None:
    (found, *_) = straight(batch(2), of_times(1, 4), timestamps=TimestampPolicy.POINT_AT_END)
    assert (found.window, found.start, found.end) == (Window(1, 5), 5, 6)


def test_time_passes_with_the_watermark_alone() -> None:
    plan = plan_of_rows(last(elapsed(10)).trigger(elapsed(5)))
    found = evaluated(plan, [Step(of_times(3, 7), 8), Step([], 12), Step([], 30)])
    assert [(result.window, result.value[0]) for result in found] == [
        (Window(-5, 5), [1]),
        (Window(0, 10), [1, 2]),
        (Window(5, 15), [2]),
    ]


def test_a_batch_that_is_not_full_is_flushed_at_the_end_of_the_stream() -> None:
    found = straight(batch(2), of_times(1, 4, 6))
    assert [(result.window, result.value[0]) for result in found] == [(Window(1, 5), [1, 2]), (Window(6, 7), [3])]


def test_empty_windows_are_computed_if_that_is_wanted() -> None:
    rows = of_times(1, 25)
    assert listed(straight(batch(elapsed(10)), rows)) == [[1], [2]]
    assert listed(straight(batch(elapsed(10)).with_empty(), rows)) == [[1], None, [2]]
    marked = [Given("a", time, time, {"m": time in (2, 3)}) for time in range(1, 4)]
    assert listed(straight(batch(marker("m")).with_empty(), marked)) == [[1], None]


def test_a_module_that_can_remove_follows_the_rows_and_one_that_cannot_gets_them_all() -> None:
    rows = [Given("a", number, number, {"v": number % 5}) for number in range(1, 40)]
    windows = last(delta("v", 1)).trigger(3)
    slides, lists = (plan_module("m", cls, {}, [X], lambda place, _: place) for cls in (Sliding, Listed))
    sums = straight(windows, rows, modules=(slides,))
    assert [result.value[0] for result in sums] == [sum(some) for some in listed(straight(windows, rows))]
    assert lists.module.name == "rows.listed"


def test_operators_see_the_rows_with_their_times() -> None:
    changes = plan_module("", Changes, {}, [X], lambda place, _: place)
    found = straight(batch(3), [Given("a", 1, 4), Given("a", 2, 9), Given("a", 6, 7)], modules=(changes,))
    assert found == [Result("a", None, Window(1, 7), 1, 7, value) for value in (5, -2)]


def test_late_rows_are_rejected_and_change_nothing() -> None:
    plan = plan_of_rows(batch(2))
    found = evaluated(plan, [Step(of_times(1, 5), 4), Step([Given("a", 3, 9)], 4), Step([], INFINITY)])
    assert listed(found) == [[1, 2]]


def test_a_row_may_be_taken_back_while_it_waits_and_not_after_it_was_released() -> None:
    plan = plan_of_rows(last(9), has_ids=True)
    bucket = RowsBucket(plan.evaluator_query([Meter()]), MemoryCells(), Codec(), plan_identity(plan))

    def insert(id: int, time: int) -> InputChange:
        return InputChange(id, time, time + 1, (id,))

    def retract(id: int, time: int) -> InputChange:
        return InputChange(id, time, time + 1, (), time)

    key = ("a",)
    bucket.process([(key, [insert(1, 1), insert(2, 5), insert(3, 6)])], Progress(4, 7))
    result = bucket.process([(key, [retract(2, 5), retract(1, 1)])], Progress(INFINITY, 7))
    assert [change.value[0] for _, changes in result.output for change in changes] == [[1, 3]]
    assert [(rejection.reason, rejection.change.id) for _, rejection in result.rejections] == [("late", 1)]


def test_a_state_in_order_is_added_to_behind_and_removed_from_before() -> None:
    keeps, Kept.added[:] = plan_module("m", Kept, {}, [X], lambda place, _: place), []
    assert listed(straight(last(3), of_times(*range(1, 101)), modules=(keeps,)))[-1] == [98, 99, 100]
    assert Kept.added == [*range(1, 101)]


def test_rows_are_not_kept_where_states_take_their_place() -> None:
    """IB-32, with the sum of the document, and its check for an empty window."""
    sums, lists = (plan_module("m", cls, {}, [X], lambda place, _: place) for cls in (Sliding, Listed))
    rows = of_times(*range(1, 1001))
    sizes = {}
    for name, module in (("sum", sums), ("list", lists)):
        plan, cells = plan_of_rows(batch(2000), module), MemoryCells()
        evaluator = BY_NAME["in_order"].in_memory(plan, cells, Codec())
        changes = [(("a",), InputChange(None, r.time, r.time + 1, (r.order,))) for r in rows]
        assert evaluator.take(changes, Progress(2000, 2000)) == []
        sizes[name] = sum(map(len, cells.cells.values()))
        ((_, change),) = evaluator.take([], Progress(INFINITY, 2000))
        assert change.value[0] == (sum(range(1, 1001)) if name == "sum" else list(range(1, 1001)))
    assert 4 * sizes["sum"] < sizes["list"]
    empty = straight(batch(elapsed(10)).with_empty(), [Given("a", 1, 4), Given("a", 25, 5)], modules=(sums,))
    assert [result.value[0] for result in empty] == [4, None, 5]


# rows     0 .. 399, which all wait    watermark 0, 2, 4; a restart before each
def test_rows_that_were_stored_before_any_was_released_survive_a_restart_once_some_are() -> None:
    rows = [Given("a", time, time) for time in range(400)]  # so many that what changes is stored and not all of it
    steps = [Step(rows, 0), Step([], 2), Step([], 4), Step([], INFINITY)]
    plan = plan_of_rows(last(2))
    assert evaluated(plan, steps, restarts=True) == evaluated(plan, steps)
