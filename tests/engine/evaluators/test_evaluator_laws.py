"""Laws of all evaluators that keep a state: how rows are admitted, and how what is held is written and read back.

Admission: each row takes effect or is refused, once; neither the order of a batch nor where batches end matters.
Trace: a process that reads the state back goes on as one that kept it; merged entries say the same; keys that come and
go get other numbers and keep their values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final

import pytest

from muntin import INFINITY, EmitPolicy, calendar, count_by_start, hopping, session, snapshot, tumbling
from muntin.rows import last
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from tests.modules.merged_states import ANY, COLUMNAR, MERGED, OF_ROWS
from tests.scenarios.feed import Feed, Result, Row, row
from tests.scenarios.query import Query
from tests.scenarios.running import plain
from tests.scenarios.small import treated

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
}
RUNS = [pytest.param(name, one, id=f"{name}, {one}") for name, query in QUERIES.items() for one in query.evaluators]
EVERY_RUN = pytest.mark.parametrize(("name", "evaluator"), RUNS)

Batches = Sequence[tuple[Sequence[Row], int | None]]


def drawn(name: str, seed: int, batches: int = 10, keys: int = 4) -> Batches:
    """Draw rows, of which some are late, and watermarks; keys come and go, and the stream is closed."""
    random = Random(f"{name} {seed}")
    query = QUERIES[name]
    number = 0
    watermark = -20
    found: list[tuple[list[Row], int | None]] = []
    for _ in range(batches):
        rows = []
        for _ in range(random.choice((0, 1, 3, 6))):
            number = number + 1
            start = watermark + random.randint(-12, 20)
            end = start + 1 if query.lifetimes == "points" else start + random.choice((1, 3, 14))
            key = f"k{watermark // 20}{random.randrange(keys)}"
            rows.append(row(number, start, end, number * 7 % 101, key))
        told = random.random() < 0.5
        watermark += random.randint(1, 9) if told else 0
        found.append((rows, watermark if told else None))
    late = row(0, -500, -499, 1, "late")
    return [*found, ([], watermark), ([late], None), ([], INFINITY)]


def play(feed: Feed, batches: Batches, order: Random | None = None) -> list[Result]:
    """Feed batches, each in some order, by two tasks."""
    ordered = [(order.sample(rows, len(rows)) if order else rows, mark) for rows, mark in batches]
    return [feed.batch(*rows, watermark=mark, tasks=2) for rows, mark in ordered]


def live(results: Sequence[Result]) -> Counter[Any]:
    """Return the output that is live in the end."""
    found: Counter[Any] = Counter()
    for given in (one for result in results for one in result.rows):
        more = {name: plain(value) for name, value in given.items() if name not in ("change", "event_id", "new_end")}
        found[tuple(sorted(more.items(), key=str))] += -1 if given.get("change") == "retract" else 1
    return +found


def check_admission(name: str, evaluator: str) -> None:
    """Each row is accepted or refused; the order of batches, and where they end, change neither that nor the output."""
    batches = drawn(name, 1)
    results = [play(Feed(QUERIES[name], evaluator), batches, order) for order in (None, Random(2))]
    counts = [sum((one.counts for one in some), Counter[str]()) for some in results]
    sent = sum(len(rows) for rows, _ in batches)
    for some, counted in zip(results, counts, strict=True):
        assert counted["accepted"] + counted["late"] == sent
        assert counted["late"] == counts[0]["late"] >= (QUERIES[name].longest < 10**9)
        assert live(some) == live(results[0])
    whole: list[tuple[list[Row], int | None]] = []
    for rows, watermark in batches:  # a batch and those before it which bring no watermark are one
        before = whole.pop()[0] if whole and whole[-1][1] is None else []
        whole.append(([*before, *rows], watermark))
    assert live(play(Feed(QUERIES[name], evaluator), whole)) == live(results[0])


def check_trace(name: str, evaluator: str) -> None:
    """What is kept, read back, merged and renumbered gives the same output, and nothing is left of a closed stream."""
    batches = drawn(name, 4)
    kept, read, small = (Feed(QUERIES[name], evaluator) for _ in range(3))
    read.restart()
    results = play(kept, batches)
    assert [sorted(one.changes) for one in play(read, batches)] == [sorted(one.changes) for one in results]
    with treated(1):
        assert live(play(small, batches)) == live(results)
    assert kept.is_empty
    assert small.is_empty


@pytest.mark.cases(16)
@EVERY_RUN
def test_rows_are_admitted_once_in_any_order(name: str, evaluator: str) -> None:
    check_admission(name, evaluator)


@pytest.mark.cases(16)
@EVERY_RUN
def test_a_state_is_the_same_kept_read_back_or_merged(name: str, evaluator: str) -> None:
    check_trace(name, evaluator)


def test_every_evaluator_of_windows_over_one_stream_is_tried() -> None:
    tried = {one for query in QUERIES.values() for one in query.evaluators}
    assert tried == {
        one.name for one in DECLARATIONS if one.takes_windows and one.keeps_state and 1 in one.takes_inputs
    }


PROCESS: Final[Any] = type(KEEPS_STATE["columnar"]).process


def takes_twice(own: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    return PROCESS(own, task, bucket, cells, replace(batch, evaluator_blobs=[*batch.evaluator_blobs] * 2))


def depends_on_order(own: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    at_once = len(batch.evaluator_blobs) > 1
    return PROCESS(own, task, bucket, cells, replace(batch, evaluator_blobs=batch.evaluator_blobs[at_once:]))


def reads_back_less(own: Any, task: Any, bucket: int, cells: Any, batch: Any) -> Any:
    return PROCESS(own, task, bucket, cells, batch if task.worker.kept_bytes else replace(batch, evaluator_blobs=()))


@pytest.mark.parametrize(
    ("breaks", "check"),
    [(takes_twice, check_admission), (depends_on_order, check_admission), (reads_back_less, check_trace)],
)
def test_an_evaluator_that_breaks_a_law_is_found(breaks: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(KEEPS_STATE["columnar"]), "process", breaks)
    with pytest.raises(AssertionError):
        check("sums of grids", "columnar")
