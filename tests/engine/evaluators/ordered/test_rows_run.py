"""Windows of rows on the engine: partitions and marks of results, costs and errors, which no reference knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any

import pytest

from muntin import INFINITY, Event, IncrementalAggregate, Module, RowOperator, TimestampPolicy, Window
from muntin.catalog.named_windows import from_dict
from muntin.changes import Insertion
from muntin.errors import ModuleFailedError, PolicyError
from muntin.rows import MemberRow, RowsInWindow, RowWindows, batch, elapsed, last, marker
from muntin.testing import KeyedChange, Script
from muntin.windows import WindowSpecification
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.evaluators.ordered.row_aggregates import AggregatesRun
from muntin_engine.modules.binding import Binding
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.plan.explanation import topics_of
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange, Progress
from muntin_engine.wire.shuffle import InputReport
from tests.modules.row_operators import HandlerCalls, Numbers
from tests.modules.rows import Changes, Kept, Listed, Sliding
from tests.scenarios.inputs import BY_KEY
from tests.scenarios.query import Query
from tests.scenarios.running import Run
from tests.scenarios.stepping import NO_MISHAPS, final, steps


def over(windows: WindowSpecification, module: Module, **query_parts: Any) -> Query:
    return replace(Query(windows, (module,), lifetimes="points", has_order=True), **query_parts)


def points(*times: int, key: str = "a", first_id: int = 0, **columns: Sequence[Any]) -> Script:
    """Return a script with a point of a key at each time.

    Args:
        times: The times, which are the column `x` of the payload, too.
        key: The key.
        first_id: The id of the first point; those of the others follow.
        columns: Further columns that windows read, by name: a value for each point.
    """
    changes: list[KeyedChange] = []
    for place, time in enumerate(times):
        payload: dict[str, Any] = {"x": time}
        for name, values in columns.items():
            payload[name] = values[place]
        changes.append(KeyedChange(key, Insertion(first_id + place, Event.point(time, payload))))
    return Script(tuple(changes), allow_illegal=True)


def joined(*scripts: Script) -> Script:
    """Return scripts one after the other, each a micro-batch."""
    all_steps = chain.from_iterable(script.batch().steps for script in scripts)
    return Script(tuple(all_steps), allow_illegal=True)


def output_columns(run: Run, *names: str) -> list[tuple[Any, ...]]:
    """Return columns of the changes that the last micro-batch of a run emitted."""
    return [tuple(row[name] for name in names) for row in run.output_changes]


def test_results_say_of_which_partition_they_are_and_none_for_a_marker_without_rows() -> None:
    """Rows of the partitions a, b, a; the first and the last are markers, which flush all partitions."""
    script = points(1, 2, 3, p="aba", m=(True, False, True)).close()
    run = final(over(batch(marker("m")).partition("p"), HandlerCalls()), script)
    assert output_columns(run, "partition", "text") == [
        (None, "empty -"),
        ("a", "pass 1 of - in a"),
        ("b", "insert 2 of 2 in b"),
        ("b", "flush 2 [2, 3) in b"),
        ("a", "pass 3 of - in a"),
    ]
    assert [(row.window, row.values[1]) for row in run.evicted] == [((3, 4), "evict 2 of - in b")]


def test_results_of_an_aggregate_say_of_which_partition_they_are() -> None:
    run = final(over(batch(2).partition("p"), Listed()), points(1, 2, 3, 4, p="yxyx").close())
    assert output_columns(run, "partition", "result") == [("y", [1, 3]), ("x", [2, 4])]


class EveryCall(RowOperator[int, dict[str, int], int, int]):
    """Each row when it comes; when the window is computed, all of them; and each that leaves."""

    name, version = "rows.every_call", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def on_insert(self, state: Any, row: MemberRow[int], window: RowsInWindow[int]) -> Iterable[int]:
        return [row.payload]

    def on_trigger(self, state: Any, window: RowsInWindow[int]) -> Iterable[int]:
        return [row.payload for row in window.rows]

    def on_evict(self, state: Any, rows: Any, window: RowsInWindow[int]) -> Iterable[int]:
        return [row.payload for row in rows]


@pytest.mark.parametrize(
    ("windows", "module", "times", "expected"),
    [
        (last(2).trigger(2), EveryCall(), (1, 2, 3, 4), [1, 2, 1, (2,), 3, 4, 3, (4,)]),
        (batch(marker("m")), Changes(), (1, 4, 6, 9, 12), [3, (2,)]),
        (batch(2), Listed(), (1, 2, 3), [([1, 2],), ([3],)]),
    ],
    ids=["operator of rows", "operator of windows", "aggregate"],
)
@pytest.mark.parametrize("timestamps", [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END])
def test_the_last_row_of_each_window_is_marked(
    windows: Any, module: Any, times: tuple[int, ...], expected: list[Any], timestamps: TimestampPolicy
) -> None:
    """IBM Streams' window punctuation as a column: marked rows are tuples in the table. An empty window has no mark."""
    if isinstance(module, RowOperator):  # the only timestamps that it may have
        timestamps = TimestampPolicy.ALIGN
    query = over(windows.with_marks(), module, timestamps=timestamps)
    run = final(query, points(*times, m=[time == 9 for time in times]).close())
    value_column = "value" if module.is_operator else "result"
    values: list[Any] = []
    for value, ends_window in output_columns(run, value_column, "ends_window"):
        values.append((value,) if ends_window else value)
    assert values == expected


@pytest.mark.parametrize("windows", [last(10).trigger(2), batch(2), last("5 minutes").partition("p")], ids=str)
def test_windows_with_marks_have_one_more_column_of_results(windows: Any) -> None:
    plan = over(windows, Listed()).plan()
    plan_with_marks = over(windows.with_marks(), Listed()).plan()
    assert plan_with_marks.engine_columns == (*plan.engine_columns, "ends_window")


@pytest.mark.parametrize("windows", [last(10).trigger(2), batch(2), last("5 minutes").partition("p")], ids=str)
def test_marks_are_written_with_windows_as_data_and_as_text(windows: Any) -> None:
    with_marks = windows.with_marks()
    assert from_dict(with_marks.to_dict()) == with_marks
    assert str(with_marks).replace(".with_marks()", "") == str(windows)


@pytest.mark.parametrize("windows", [last(elapsed(2)), last(elapsed(2)).when_full()], ids=str)
@pytest.mark.parametrize("module", [HandlerCalls(), Listed()], ids=lambda module: module.name)
def test_an_empty_window_does_not_hold_the_output_watermark_back(windows: RowWindows, module: Module) -> None:
    """The rows at 1 and 3 have left at 6; a record that the window was full stays, and so does the module's state."""
    script = points(1, 3).punctuate(5).batch().punctuate(6).batch().punctuate(50)
    output_watermarks: list[int] = []
    for run in steps(over(windows, module), script):
        output_watermarks.append(min(run.output_watermarks.values()))
    assert output_watermarks == [3, 4, 48]


@pytest.mark.parametrize("of_all", [False, True], ids=["of the key", "of all keys"])
@pytest.mark.parametrize(("key", "pattern"), [("a", "a"), (("eu", 7), ("eu", 7)), (("eu", 7), ("eu", ...))], ids=str)
def test_a_key_that_is_closed_in_the_batch_of_its_rows_has_the_results_of_one_closed_in_a_later_batch(
    key: Any, pattern: Any, *, of_all: bool
) -> None:
    """The row at 2 leaves its window at 8, before the watermark of 20, also if the key is closed in the same batch."""
    windows = last(elapsed(5)).partition("p", age=30)
    query = replace(over(windows, HandlerCalls()), progress=BY_KEY, keys=2 if isinstance(key, tuple) else 1)
    row = points(2, key=key, p="a")
    watermark = Script().punctuate(20) if of_all else Script().punctuate(20, key=pattern)
    close = Script().punctuate(INFINITY, key=pattern)

    def results(script: Script) -> list[tuple[int, str]]:
        """Return the start of the window, and the text, of each result of all micro-batches."""
        changes = chain.from_iterable(run.output_changes for run in steps(query, script))
        return [(change["window"]["start"], change["text"]) for change in changes]

    in_three_batches = results(joined(row, watermark, close))
    in_one_batch = Script((*row.steps, *watermark.steps, *close.steps), allow_illegal=True)
    in_one_batch_in_another_order = Script((*row.steps, *close.steps, *watermark.steps), allow_illegal=True)
    assert results(joined(in_one_batch)) == in_three_batches
    assert results(joined(in_one_batch_in_another_order)) == in_three_batches


class Failing(Numbers):
    """An operator that fails when a row leaves its window."""

    name = "rows.failing"

    def on_evict(self, state: Any, rows: Any, window: Any) -> Any:
        yield 1 // 0


def test_a_handler_that_fails_is_named_with_the_tick_of_the_row_that_caused_its_call() -> None:
    with pytest.raises(ModuleFailedError, match=r"(?s)rows\.failing.*on_evict.*ZeroDivisionError") as failed:
        final(over(last(1), Failing()), points(4, 7).close())
    assert failed.value.window == Window(7, 8)


def test_a_state_of_the_last_rows_has_each_row_added_once_and_the_oldest_removed() -> None:
    Kept.added[:] = []
    run = final(over(last(3), Kept()), points(*range(100)).close())
    assert output_columns(run, "result")[-1] == ([97, 98, 99],)
    assert Kept.added == [*range(100)]


def state_bytes(run: Run) -> int:
    """Return the size of the state of all buckets."""
    size = 0
    for cells in run.cells.values():
        size += sum(map(len, cells.cells.values()))
    return size


def test_a_module_that_can_add_has_a_state_in_the_place_of_rows() -> None:
    """A batch of any number of rows is one sum (as in IBM's document, its sum)."""
    script = points(*range(1000)).punctuate(2000)
    sums = final(over(batch(2000), Sliding()), script)
    lists = final(over(batch(2000), Listed()), script)
    assert 4 * state_bytes(sums) < state_bytes(lists)


class ByteCountingCells(MemoryCells):
    """Cells that count the bytes that are put into them."""

    bytes_written = 0

    def put(self, name: str, data: bytes) -> None:
        self.bytes_written += len(data)
        super().put(name, data)


def test_a_batch_of_one_row_does_not_write_the_other_rows_of_a_large_window_again() -> None:
    query = over(last(2000).trigger(500), Listed())
    run = Run(query, query.plan(buckets=1), NO_MISHAPS)
    (bucket,) = run.cells
    cells = ByteCountingCells()
    run.cells[bucket] = cells

    large_batch = points(*range(3000)).punctuate(3000)
    batches_of_a_row = [points(tick, first_id=tick).punctuate(tick + 1) for tick in range(3000, 3020)]
    bytes_written_so_far: list[int] = []
    for _ in steps(query, joined(large_batch, *batches_of_a_row), run=run):
        bytes_written_so_far.append(cells.bytes_written)
    by_large_batch = bytes_written_so_far[0]
    assert 20_000 < bytes_written_so_far[-1] < 3 * by_large_batch, "and not twenty times as much"


def test_a_hot_key_is_bounded_while_the_watermark_stands_still() -> None:
    times = [5 + number % 50 for number in range(100)]
    batches = [points(*times, first_id=100 * number) for number in range(10)]
    for run in steps(over(last(10), Listed(), most_held=50), joined(*batches)):
        assert run.last["events_held"] == 50
    unbounded = final(over(last(10), Listed()), joined(*batches))
    assert state_bytes(run) < state_bytes(unbounded) / 5


def test_rows_that_were_added_to_a_state_do_not_count_as_held() -> None:
    batches_of_five = [points(*[tick] * 5, first_id=5 * tick).punctuate(tick + 1) for tick in range(10)]
    run = final(over(batch(1000), Sliding(), most_held=5), joined(*batches_of_five))
    assert run.counts["shed"] == 0


@pytest.mark.parametrize(("windows", "least"), [(last(3), 4), (batch(3), 3)], ids=str)
def test_a_limit_of_held_events_must_have_room_for_a_window(windows: RowWindows, least: int) -> None:
    assert over(windows, Listed(), most_held=least).plan().input.most_held == least
    with pytest.raises(
        PolicyError, match=rf"needs room for {least} events of a key.*\n  give most_held={least} at least"
    ):
        over(windows, Listed(), most_held=least - 1).plan()


@pytest.mark.parametrize(
    ("windows", "may_stay_full"),
    [
        (last(3), False),
        (last(elapsed(5)), False),
        (batch(3), False),
        (last(3).partition("p"), True),
        (last(3).partition("p", age=5), False),
        (batch(marker("m")), True),
    ],
    ids=str,
)
def test_the_explanation_says_for_which_windows_a_full_key_may_stay_full(
    windows: RowWindows, may_stay_full: bool
) -> None:
    explanation = dict(topics_of(over(windows, Listed(), most_held=9_000).plan()))["shedding"]
    assert explanation.startswith("a key that holds 9,000 rows takes no new ones until some leave")
    assert explanation.endswith("; rows leave when others come: a full key may stay full") == may_stay_full


class WithoutState(IncrementalAggregate[int, None, int]):
    """An aggregate whose state is always None."""

    name, version = "rows.without_state", "1.0.0"

    def create_state(self) -> None:
        return None

    def add_events(self, state: None, payloads: Sequence[int]) -> None:
        return None

    def compute_result(self, state: None) -> int:
        return 7


def test_a_window_whose_state_is_none_is_computed_in_a_batch_without_rows_when_its_time_is_over() -> None:
    binding = Binding(WithoutState(), itemgetter(0))
    query = EvaluatorQuery(batch(elapsed(5)), (binding,), has_ids=False)  # type: ignore[arg-type]
    bucket = KeyedBucket(AggregatesRun, query, MemoryCells(), Codec(), {})
    row = InputChange(id=None, start=1, end=2, payload=(4,))
    bucket.process([(("a",), [row])], [InputReport(Progress(watermark=3, horizon=3))])
    result = bucket.process([], [InputReport(Progress(watermark=20, horizon=20))])
    assert [change.value for _, changes in result.output for change in changes] == [(7,)]
