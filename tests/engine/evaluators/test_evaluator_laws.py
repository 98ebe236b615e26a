"""Laws of all evaluators that keep a state: how rows are admitted, and how what is held is written and read back.

Admission: each row takes effect or is refused, once; neither the order of a batch nor where batches end matters.
Trace: a process that reads the state back goes on as one that kept it; merged entries say the same; keys that come and
go get other numbers and keep their values.
Memory: what a batch made and nobody needs is freed at once, without the cyclic garbage collector.
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
RUNS: list[Any] = []
for query_name, law_query in QUERIES.items():
    for evaluator_name in law_query.evaluators:
        RUNS.append(pytest.param(query_name, evaluator_name, id=f"{query_name}, {evaluator_name}"))
EVERY_RUN = pytest.mark.parametrize(("name", "evaluator"), RUNS)

Batches = Sequence[tuple[Sequence[Row], int | None]]


def drawn(name: str, seed: int, batches: int = 10, keys: int = 4) -> Batches:
    """Draw rows, of which some are late, and watermarks; keys come and go, and the stream is closed."""
    random = Random(f"{name} {seed}")
    query = QUERIES[name]
    number = 0
    watermark = -20
    drawn_batches: list[tuple[list[Row], int | None]] = []
    for _ in range(batches):
        rows: list[Row] = []
        for _ in range(random.choice((0, 1, 3, 6))):
            number += 1
            start = watermark + random.randint(-12, 20)
            end = start + 1 if query.lifetimes == "points" else start + random.choice((1, 3, 14))
            key = f"k{watermark // 20}{random.randrange(keys)}"
            rows.append(row(number, start, end, number * 7 % 101, key))
        if random.random() < 0.5:
            watermark += random.randint(1, 9)
            drawn_batches.append((rows, watermark))
        else:
            drawn_batches.append((rows, None))
    late = row(0, -500, -499, 1, "late")
    return [*drawn_batches, ([], watermark), ([late], None), ([], INFINITY)]


def play(feed: Feed, batches: Batches, order: Random | None = None) -> list[Result]:
    """Feed batches, each in its own or in a random order, by two tasks."""
    results: list[Result] = []
    for rows, watermark in batches:
        ordered_rows = order.sample(rows, len(rows)) if order else rows
        results.append(feed.batch(*ordered_rows, watermark=watermark, tasks=2))
    return results


OF_CHANGES: Final = ("change", "event_id", "new_end")


def live(results: Sequence[Result]) -> Counter[Any]:
    """Return the output that is live in the end."""
    output = Counter[Any]()
    for result in results:
        for change in result.rows:
            columns = [(name, comparable(value)) for name, value in change.items() if name not in OF_CHANGES]
            output[tuple(sorted(columns, key=str))] += -1 if change.get("change") == "retract" else 1
    return +output


def check_admission(name: str, evaluator: str) -> None:
    """Each row is accepted or refused; the order of batches, and where they end, change neither that nor the output."""
    batches = drawn(name, 1)
    in_order = play(Feed(QUERIES[name], evaluator), batches)
    in_disorder = play(Feed(QUERIES[name], evaluator), batches, Random(2))
    counts = total(in_order)
    assert counts["accepted"] + counts["late"] == sum(len(rows) for rows, _ in batches)
    assert counts["late"] >= (QUERIES[name].longest < 10**9)
    assert total(in_disorder)["late"] == counts["late"]
    assert total(in_disorder)["accepted"] == counts["accepted"]
    assert live(in_disorder) == live(in_order)

    joined: list[tuple[list[Row], int | None]] = []
    waiting: list[Row] = []
    for rows, watermark in batches:
        waiting += rows
        if watermark is not None:
            joined.append((waiting, watermark))
            waiting = []
    assert live(play(Feed(QUERIES[name], evaluator), joined)) == live(in_order)


def total(results: Sequence[Result]) -> Counter[str]:
    """Return the sums of the metrics."""
    return sum((result.counts for result in results), Counter[str]())


def check_trace(name: str, evaluator: str) -> None:
    """A state that is cached, read back, or merged and renumbered gives one output; a closed stream leaves none."""
    batches = drawn(name, 4)
    cached = Feed(QUERIES[name], evaluator)
    results = play(cached, batches)
    assert cached.is_empty

    read_back = Feed(QUERIES[name], evaluator)
    read_back.restart()
    for result, expected in zip(play(read_back, batches), results, strict=True):
        assert sorted(result.changes) == sorted(expected.changes)

    merged = Feed(QUERIES[name], evaluator)
    with with_small_limits(1):
        assert live(play(merged, batches)) == live(results)
    assert merged.is_empty


@pytest.mark.cases(16)
@EVERY_RUN
def test_rows_are_admitted_once_in_any_order(name: str, evaluator: str) -> None:
    check_admission(name, evaluator)


@pytest.mark.cases(16)
@EVERY_RUN
def test_a_state_is_the_same_kept_read_back_or_merged(name: str, evaluator: str) -> None:
    check_trace(name, evaluator)


@pytest.mark.cases(16)
@EVERY_RUN
def test_a_batch_leaves_no_cycles_behind(name: str, evaluator: str) -> None:
    """The collector rests during a batch, and a cycle would hold the rows and results of the whole batch after it."""
    feed = Feed(QUERIES[name], evaluator)
    play(feed, drawn(name, 3, batches=2))  # imports, and what is made once for a query
    gc.collect()
    gc.disable()
    try:
        play(feed, drawn(name, 3))
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        # A function is named by its home: one that calls itself is a cycle of builtin types alone.
        homes = [thing if isinstance(thing, FunctionType) else type(thing) for thing in gc.garbage]
        left_behind = Counter(f"{home.__module__}.{home.__qualname__}" for home in homes)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert {kind: count for kind, count in left_behind.items() if kind.startswith("muntin")} == {}


def test_every_evaluator_of_windows_over_one_stream_is_tried() -> None:
    tried = set[str]()
    for query in QUERIES.values():
        tried.update(query.evaluators)
    of_one_stream = [declaration for declaration in DECLARATIONS if 1 in declaration.takes_inputs]
    with_windows = {evaluator.name for evaluator in of_one_stream if evaluator.takes_windows and evaluator.keeps_state}
    assert tried == with_windows


PROCESS: Final[Any] = type(KEEPS_STATE["columnar"]).process


def takes_twice(evaluator: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    return PROCESS(evaluator, task, bucket, cells, replace(batch, evaluator_blobs=[*batch.evaluator_blobs] * 2))


def depends_on_order(evaluator: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    at_once = len(batch.evaluator_blobs) > 1
    return PROCESS(evaluator, task, bucket, cells, replace(batch, evaluator_blobs=batch.evaluator_blobs[at_once:]))


def reads_back_less(evaluator: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    return PROCESS(
        evaluator, task, bucket, cells, batch if task.worker.cache_bytes else replace(batch, evaluator_blobs=())
    )


@pytest.mark.parametrize(
    ("breaks", "check"),
    [(takes_twice, check_admission), (depends_on_order, check_admission), (reads_back_less, check_trace)],
)
def test_an_evaluator_that_breaks_a_law_is_found(breaks: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(KEEPS_STATE["columnar"]), "process", breaks)
    with pytest.raises(AssertionError):
        check("sums of grids", "columnar")
