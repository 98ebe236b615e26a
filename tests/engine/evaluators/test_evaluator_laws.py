"""Laws of all evaluators that keep a state: how rows are admitted, and how what is held is written and read back.

Admission: each row takes effect or is refused, once; neither the order of a batch nor where batches end matters.
State: a process that reads its state back from cells goes on as one that cached it, and so does one whose log entries
are merged all the time; keys that come and go get other numbers and keep their values.
Memory: objects that a batch made and that nobody needs are freed at once, without the cyclic garbage collector.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from types import FunctionType
from typing import Any, Final

import pytest

from muntin import INFINITY, EmitPolicy, calendar, count_by_start, hopping, session, snapshot, tumbling
from muntin.rows import last
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from tests.modules.merged_states import ANY, COLUMNAR, MERGED, OF_ROWS
from tests.scenarios.feed import Feed, Result, Row, row
from tests.scenarios.query import Query
from tests.scenarios.running import comparable
from tests.scenarios.small import with_small_limits

SUMS = COLUMNAR["sums"]
LISTS = MERGED["deducted"]
MEMBERS = ANY["aggregate"]
QUERIES: Final[Mapping[str, Query]] = {
    "sums of grids": Query(hopping(9, 6), SUMS, lifetimes="points"),
    "sums of shared grids": Query({"a": tumbling(4), "b": hopping(9, 6)}, SUMS, lifetimes="points"),
    "sums of lifetimes": Query(hopping(9, 6), SUMS, lifetimes="intervals"),
    "sums of sessions": Query(session(4), SUMS, lifetimes="intervals"),
    "sums of snapshots": Query(snapshot(), SUMS, lifetimes="intervals"),
    "sums that change": Query(hopping(9, 6), SUMS, emit=EmitPolicy.EAGER),
    "sums of days": Query(calendar("day", zone="UTC"), SUMS, lifetimes="points"),
    "states of grids": Query(hopping(30, 5), LISTS, lifetimes="points"),
    "states of sessions": Query(session(4), LISTS, lifetimes="points"),
    "members": Query(tumbling(7), MEMBERS, lifetimes="intervals"),
    "members of counts": Query(count_by_start(2), MEMBERS, emit=EmitPolicy.SPECULATIVE, lifetimes="intervals"),
    "last rows": Query(last(2), OF_ROWS["aggregate"], lifetimes="points", has_order=True),
    "sums of last rows": Query(last(3).trigger(2), SUMS, lifetimes="points", has_order=True),
    "last rows that slide": Query(last(3), OF_ROWS["sliding"], lifetimes="points", has_order=True),
}
QUERIES_AND_EVALUATORS: list[Any] = []
for query_name, law_query in QUERIES.items():
    for evaluator_name in law_query.evaluators:
        QUERIES_AND_EVALUATORS.append(pytest.param(query_name, evaluator_name, id=f"{query_name}, {evaluator_name}"))
WITH_EVERY_EVALUATOR = pytest.mark.parametrize(("name", "evaluator"), QUERIES_AND_EVALUATORS)

Batches = Sequence[tuple[Sequence[Row], int | None]]
"""Micro-batches: the rows of each, and its watermark, if it has one."""


def random_batches(name: str, seed: int, batches: int = 10, keys: int = 4) -> Batches:
    """Draw the micro-batches of a stream for a query: some rows are late, and keys come and go.

    At the end come a row that is late in any case, and a batch that closes the stream.
    """
    random = Random(f"{name} {seed}")
    query = QUERIES[name]
    id = 0
    watermark = -20
    drawn_batches: list[tuple[list[Row], int | None]] = []
    for _ in range(batches):
        rows: list[Row] = []
        for _ in range(random.choice((0, 1, 3, 6))):
            id += 1
            start = watermark + random.randint(-12, 20)
            length = 1 if query.lifetimes == "points" else random.choice((1, 3, 14))
            key = f"k{watermark // 20}{random.randrange(keys)}"  # after 20 ticks there are other keys
            rows.append(row(id, start, start + length, value=id * 7 % 101, key=key))
        if random.random() < 0.5:
            watermark += random.randint(1, 9)
            drawn_batches.append((rows, watermark))
        else:
            drawn_batches.append((rows, None))
    late_row = row(0, start=-500, end=-499, value=1, key="late")
    return [*drawn_batches, ([], watermark), ([late_row], None), ([], INFINITY)]


def run_batches(feed: Feed, batches: Batches, order: Random | None = None) -> list[Result]:
    """Feed batches, whose rows two map tasks share, and return what each puts out.

    Args:
        feed: The query.
        batches: The batches.
        order: Draws another order of the rows of each batch; None for their own order.
    """
    results: list[Result] = []
    for rows, watermark in batches:
        ordered_rows = order.sample(rows, len(rows)) if order else rows
        results.append(feed.batch(*ordered_rows, watermark=watermark, tasks=2))
    return results


COLUMNS_OF_CHANGES: Final = ("change", "event_id", "new_end")


def live_output(results: Sequence[Result]) -> Counter[Any]:
    """Return the results that were emitted and not retracted, as their columns and values."""
    output = Counter[Any]()
    for result in results:
        for change in result.rows:
            columns: list[tuple[str, Any]] = []
            for name, value in change.items():
                if name not in COLUMNS_OF_CHANGES:
                    columns.append((name, comparable(value)))
            count = -1 if change.get("change") == "retract" else 1
            output[tuple(sorted(columns, key=str))] += count
    return +output


def metrics_of(results: Sequence[Result]) -> Counter[str]:
    """Return the sums of the metrics."""
    return sum((result.counts for result in results), Counter[str]())


def joined_up_to_watermarks(batches: Batches) -> Batches:
    """Return the rows of batches in fewer batches, each of which has a watermark."""
    joined: list[tuple[list[Row], int | None]] = []
    waiting_rows: list[Row] = []
    for rows, watermark in batches:
        waiting_rows += rows
        if watermark is not None:
            joined.append((waiting_rows, watermark))
            waiting_rows = []
    return joined


def check_admission(name: str, evaluator: str) -> None:
    """Assert that each row is accepted or late, whatever the order of rows in batches, and wherever batches end."""
    batches = random_batches(name, seed=1)
    results = run_batches(Feed(QUERIES[name], evaluator), batches)
    metrics = metrics_of(results)
    assert metrics["accepted"] + metrics["late"] == sum(len(rows) for rows, _ in batches)
    has_short_windows = QUERIES[name].longest < 10**9
    if has_short_windows:  # a window of a day, of 86 * 10**9 ticks, is never complete in the streams of these tests
        assert metrics["late"] >= 1

    in_another_order = run_batches(Feed(QUERIES[name], evaluator), batches, order=Random(2))
    assert metrics_of(in_another_order)["late"] == metrics["late"]
    assert metrics_of(in_another_order)["accepted"] == metrics["accepted"]
    assert live_output(in_another_order) == live_output(results)

    in_fewer_batches = run_batches(Feed(QUERIES[name], evaluator), joined_up_to_watermarks(batches))
    assert live_output(in_fewer_batches) == live_output(results)


def check_state(name: str, evaluator: str) -> None:
    """Assert that a state that is read back, or merged often, gives the output of a cached one, and none is left."""
    batches = random_batches(name, seed=4)
    cached = Feed(QUERIES[name], evaluator)
    results = run_batches(cached, batches)
    assert cached.is_empty, "the stream is closed"

    read_back = Feed(QUERIES[name], evaluator)
    read_back.restart()  # before each batch, from now on
    for result, expected in zip(run_batches(read_back, batches), results, strict=True):
        assert sorted(result.changes) == sorted(expected.changes)

    merged = Feed(QUERIES[name], evaluator)
    with with_small_limits(1):
        assert live_output(run_batches(merged, batches)) == live_output(results)
    assert merged.is_empty, "the stream is closed"


@pytest.mark.cases(16)
@WITH_EVERY_EVALUATOR
def test_rows_are_admitted_once_in_any_order(name: str, evaluator: str) -> None:
    check_admission(name, evaluator)


@pytest.mark.cases(16)
@WITH_EVERY_EVALUATOR
def test_a_state_is_the_same_whether_it_is_cached_or_read_back_or_merged(name: str, evaluator: str) -> None:
    check_state(name, evaluator)


@pytest.mark.cases(16)
@WITH_EVERY_EVALUATOR
def test_a_batch_leaves_no_reference_cycles_behind(name: str, evaluator: str) -> None:
    """The collector is off during a batch: a cycle would hold the rows and results of the whole batch after it."""
    feed = Feed(QUERIES[name], evaluator)
    run_batches(feed, random_batches(name, seed=3, batches=2))  # imports, and objects that are made once for a query
    gc.collect()
    gc.disable()
    try:
        run_batches(feed, random_batches(name, seed=3))
        gc.set_debug(gc.DEBUG_SAVEALL)  # the collector puts the objects of cycles into `gc.garbage`
        gc.collect()
        # A function is named by its own home, since one that calls itself is a cycle of builtin types alone.
        homes = [garbage if isinstance(garbage, FunctionType) else type(garbage) for garbage in gc.garbage]
        names = [f"{home.__module__}.{home.__qualname__}" for home in homes]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert [name for name in names if name.startswith("muntin")] == []


def test_every_evaluator_of_windows_over_one_stream_is_tried() -> None:
    tried = set[str]()
    for query in QUERIES.values():
        tried.update(query.evaluators)

    expected = set[str]()
    for declaration in DECLARATIONS:
        if 1 in declaration.takes_inputs and declaration.takes_windows and declaration.keeps_state:
            expected.add(declaration.name)
    assert tried == expected


# Evaluators that break a law, each by another `process`: the checks have to fail for them.

PROCESS: Final[Any] = type(KEEPS_STATE["columnar"]).process


def adds_rows_twice(evaluator: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    blobs_twice = [*batch.evaluator_blobs] * 2
    return PROCESS(evaluator, task, bucket, cells, replace(batch, evaluator_blobs=blobs_twice))


def loses_the_first_of_several_blobs(evaluator: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    """Lose the rows of the first task, so that the output depends on the order of rows."""
    if len(batch.evaluator_blobs) > 1:
        batch = replace(batch, evaluator_blobs=batch.evaluator_blobs[1:])
    return PROCESS(evaluator, task, bucket, cells, batch)


def loses_rows_without_a_cache(evaluator: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    if not task.worker.cache_bytes:
        batch = replace(batch, evaluator_blobs=())
    return PROCESS(evaluator, task, bucket, cells, batch)


@pytest.mark.parametrize(
    ("faulty_process", "check"),
    [
        (adds_rows_twice, check_admission),
        (loses_the_first_of_several_blobs, check_admission),
        (loses_rows_without_a_cache, check_state),
    ],
)
def test_the_check_of_a_law_fails_for_an_evaluator_that_breaks_it(
    faulty_process: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(KEEPS_STATE["columnar"]), "process", faulty_process)
    with pytest.raises(AssertionError):
        check("sums of grids", "columnar")
