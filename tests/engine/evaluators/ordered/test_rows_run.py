"""Row windows on the engine: partitions and marks of results, costs and errors, which no reference knows."""

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


def over(windows: WindowSpecification, module: Module, **changed: Any) -> Query:
    return replace(Query(windows, (module,), lifetimes="points", has_order=True), **changed)


def points(*times: int, key: str = "a", first: int = 0, **columns: Sequence[Any]) -> Script:
    """Return a point at each time, whose payload is its time, beside other columns that the windows read."""
    changes: list[KeyedChange] = []
    for place, time in enumerate(times):
        payload: dict[str, Any] = {"x": time}
        for name, values in columns.items():
            payload[name] = values[place]
        changes.append(KeyedChange(key, Insertion(first + place, Event.point(time, payload))))
    return Script(tuple(changes), allow_illegal=True)


def joined(*scripts: Script) -> Script:
    """Return scripts one after the other, each a micro-batch."""
    all_steps = chain.from_iterable(script.batch().steps for script in scripts)
    return Script(tuple(all_steps), allow_illegal=True)


def output_columns(run: Run, *names: str) -> list[tuple[Any, ...]]:
    """Return columns of the changes that the last micro-batch of a run emitted."""
    columns_of_row = itemgetter(*names)
    if len(names) == 1:
        return [(columns_of_row(row),) for row in run.output_changes]
    return [columns_of_row(row) for row in run.output_changes]


def test_results_say_which_partition_they_are_of_and_a_marker_without_rows_none() -> None:
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
    counted = final(over(batch(2).partition("p"), Listed()), points(1, 2, 3, 4, p="yxyx").close())
    assert output_columns(counted, "partition", "result") == [("y", [1, 3]), ("x", [2, 4])]


class Both(RowOperator[int, dict[str, int], int, int]):
    """Each row when it comes; when the window is computed, all of them; and each that leaves."""

    name, version = "rows.both", "1.0.0"

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
        (last(2).trigger(2), Both(), (1, 2, 3, 4), [1, 2, 1, (2,), 3, 4, 3, (4,)]),
        (batch(marker("m")), Changes(), (1, 4, 6, 9, 12), [3, (2,)]),
        (batch(2), Listed(), (1, 2, 3), [([1, 2],), ([3],)]),
    ],
    ids=["operator of rows", "operator of windows", "aggregate"],
)
@pytest.mark.parametrize("timestamps", [TimestampPolicy.ALIGN, TimestampPolicy.POINT_AT_END])
def test_the_last_row_of_each_window_is_marked(
    windows: Any, module: Any, times: tuple[int, ...], expected: list[Any], timestamps: TimestampPolicy
) -> None:
    """IBM Streams' window punctuation as a column: marked rows are in brackets, and a window without rows has none."""
    timestamps = TimestampPolicy.ALIGN if isinstance(module, RowOperator) else timestamps
    query = over(windows.with_marks(), module, timestamps=timestamps)
    run = final(query, points(*times, m=[time == 9 for time in times]).close())
    value = "value" if module.is_operator else "result"
    assert [(row,) if mark else row for row, mark in output_columns(run, value, "ends_window")] == expected


def test_marks_are_part_of_windows_and_a_column_of_results() -> None:
    for windows in (last(10).trigger(2), batch(2), last("5 minutes").partition("p")):
        plain, marked = (over(each, Listed()).plan() for each in (windows, windows.with_marks()))
        assert (*plain.engine_columns, "ends_window") == marked.engine_columns
        assert from_dict(windows.with_marks().to_dict()) == windows.with_marks()
        assert str(windows.with_marks()).replace(".with_marks()", "") == str(windows)


@pytest.mark.parametrize("windows", [last(elapsed(2)), last(elapsed(2)).when_full()], ids=str)
@pytest.mark.parametrize("module", [HandlerCalls(), Listed()], ids=lambda module: module.name)
def test_windows_that_are_empty_do_not_hold_the_output_watermark(windows: RowWindows, module: Module) -> None:
    """Rows at 1 and 3 have left at 6. That the windows were full stays, and so does what the module remembers."""
    script = points(1, 3).punctuate(5).batch().punctuate(6).batch().punctuate(50)
    assert [min(run.output_watermarks.values()) for run in steps(over(windows, module), script)] == [3, 4, 48]


@pytest.mark.parametrize("of_all", [False, True], ids=["of the key", "of all keys"])
@pytest.mark.parametrize(("key", "keys"), [("a", "a"), (("eu", 7), ("eu", 7)), (("eu", 7), ("eu", ...))], ids=str)
def test_time_passes_for_a_key_up_to_its_punctuation_also_in_the_batch_that_closes_it(
    key: Any, keys: Any, *, of_all: bool
) -> None:
    """
    2     8            20
    !     leaves       !      closed in a batch of its own, or in the only one, in which rows have no order
    """
    windows = last(elapsed(5)).partition("p", age=30)
    query = replace(over(windows, HandlerCalls()), progress=BY_KEY, keys=2 if isinstance(key, tuple) else 1)
    rows = points(2, key=key, p="a")
    at = Script().punctuate(20) if of_all else Script().punctuate(20, key=keys)
    closed = Script().punctuate(INFINITY, key=keys)
    at_once = Script((*rows.steps, *at.steps, *closed.steps), allow_illegal=True)
    turned = Script((*rows.steps, *closed.steps, *at.steps), allow_illegal=True)

    def texts(script: Script) -> list[tuple[int, str]]:
        changes = chain.from_iterable(run.output_changes for run in steps(query, script))
        return [(row["window"]["start"], row["text"]) for row in changes]

    in_batches = texts(joined(rows, at, closed))
    assert texts(joined(at_once)) == in_batches
    assert texts(joined(turned)) == in_batches


class Failing(Numbers):
    name = "rows.failing"

    def on_evict(self, state: Any, rows: Any, window: Any) -> Any:
        yield 1 // 0


def test_a_handler_that_fails_is_named_with_its_key_and_its_tick() -> None:
    with pytest.raises(ModuleFailedError, match=r"(?s)rows\.failing.*on_evict.*ZeroDivisionError") as failed:
        final(over(last(1), Failing()), points(4, 7).close())
    assert failed.value.window == Window(7, 8)


def test_a_state_in_order_is_added_to_behind_and_removed_from_before() -> None:
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


def test_rows_are_not_kept_where_states_take_their_place() -> None:
    """A batch of so many rows is a sum, where the module can add (IBM's document, its sum)."""
    script = points(*range(1000)).punctuate(2000)
    sums = final(over(batch(2000), Sliding()), script)
    lists = final(over(batch(2000), Listed()), script)
    assert 4 * state_bytes(sums) < state_bytes(lists)


class Counting(MemoryCells):
    """Cells that count the bytes that are put into them."""

    bytes_written = 0

    def put(self, name: str, data: bytes) -> None:
        self.bytes_written += len(data)
        super().put(name, data)


def test_a_row_of_a_large_window_writes_what_it_brings() -> None:
    rows = [points(at, first=at).punctuate(at + 1) for at in range(3000, 3020)]
    query = over(last(2000).trigger(500), Listed())
    run = Run(query, query.plan(buckets=1), NO_MISHAPS)
    (bucket,) = run.cells
    cells = run.cells[bucket] = Counting()
    script = joined(points(*range(3000)).punctuate(3000), *rows)
    bytes_written = [cells.bytes_written for _ in steps(query, script, run=run)]
    assert 20_000 < bytes_written[-1] < 3 * bytes_written[0], "and not twenty times as much"


def test_a_hot_key_is_bounded_while_the_watermark_stands_still() -> None:
    times = [5 + place % 50 for place in range(100)]
    batches = [points(*times, first=100 * number) for number in range(10)]
    for run in steps(over(last(10), Listed(), most_held=50), joined(*batches)):
        assert run.last["events_held"] == 50
    unbounded = final(over(last(10), Listed()), joined(*batches))
    assert state_bytes(run) < state_bytes(unbounded) / 5


def test_rows_that_states_have_taken_in_are_not_held() -> None:
    batches = [points(*[at] * 5, first=5 * at).punctuate(at + 1) for at in range(10)]
    assert final(over(batch(1000), Sliding(), most_held=5), joined(*batches)).counts["shed"] == 0


@pytest.mark.parametrize(("windows", "least"), [(last(3), 4), (batch(3), 3)], ids=str)
def test_a_limit_that_no_row_could_ever_pass_is_refused(windows: RowWindows, least: int) -> None:
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
def test_it_is_explained_where_a_full_key_may_stay_full(windows: RowWindows, may_stay_full: bool) -> None:
    explanation = dict(topics_of(over(windows, Listed(), most_held=9_000).plan()))["shedding"]
    assert explanation.startswith("a key that holds 9,000 rows takes no new ones until some leave")
    assert explanation.endswith("; rows leave when others come: a full key may stay full") == may_stay_full


class Blank(IncrementalAggregate[int, None, int]):
    """Keeps nothing: its state is None from the first row on."""

    name, version = "rows.blank", "1.0.0"

    def create_state(self) -> None:
        return None

    def add_events(self, state: None, payloads: Sequence[int]) -> None:
        return None

    def compute_result(self, state: None) -> int:
        return 7


def test_time_computes_a_window_whose_states_are_none_in_a_batch_without_rows() -> None:
    query = EvaluatorQuery(batch(elapsed(5)), (Binding(Blank(), itemgetter(0)),), has_ids=False)  # type: ignore[arg-type]
    bucket = KeyedBucket(AggregatesRun, query, MemoryCells(), Codec(), {})
    row = InputChange(None, 1, 2, (4,))
    bucket.process([(("a",), [row])], [InputReport(Progress(watermark=3, horizon=3))])
    result = bucket.process([], [InputReport(Progress(watermark=20, horizon=20))])
    assert [change.value for _, changes in result.output for change in changes] == [(7,)]
