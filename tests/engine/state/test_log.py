"""Logs of entries that were split, merged and written anew are read back as what was kept in the process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from muntin import INFINITY, EmitPolicy, landmark, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin.windows import WindowSpecification
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.testing.query_under_test import QueryUnderTest
from muntin_engine.time.changes import InputChange, OutputKind, Progress
from muntin_stats import Sum
from tests.scenarios.feed import Deducted, Feed, RunningTotal, at, query
from tests.scenarios.query import Query
from tests.scenarios.small import limits_in_engine


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let entries be as small as those of a test."""
    monkeypatch.setattr("muntin_engine.state.log.FULL_ENTRY", 8_000)
    for place, _ in limits_in_engine():
        if place.endswith(("ENTRY_BYTES", "MOST_DEAD")):
            monkeypatch.setattr(place, 64 if place.endswith("MOST_DEAD") else 8_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(4))
def test_a_result_and_the_one_before_it_are_told_apart_whatever_entries_they_are_in(seed: int) -> None:
    """A batch that changes many results has retractions of small numbers in one entry, and large ones in the next."""
    script = Script().insert("E0", 1, 4, 1).revise("E0", 3)
    tested = QueryUnderTest(script, WindowedQuery(tumbling(10), [Computation(Sum[int]())]), EmitPolicy.SPECULATIVE)
    outcomes = []
    for restarts in (False, True):
        ids = count()
        random = Random(seed)
        cells = MemoryCells()
        process = KEEPS_STATE["columnar"].in_memory(tested.plan("columnar"), cells, tested.codec)

        def take(keys: Iterable[int], most: int, process: Any = process, ids: Any = ids, random: Any = random) -> Any:
            rows = [((key,), InputChange(next(ids), 1, 3, (random.randrange(most),))) for key in keys]
            return Counter(change.kind for _, change in process.process(rows, Progress(0, 30, 20)))

        keys = range(random.randrange(300, 900))
        take(keys, 2)
        take(keys, 2**60)
        for _ in range(random.randrange(12)):
            take([10**6 + random.randrange(3)], 2)
        if restarts:
            process = KEEPS_STATE["columnar"].in_memory(tested.plan("columnar"), cells, tested.codec)
        outcomes.append(take(keys, 2, process))
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][OutputKind.RETRACT] > len(keys) / 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("evaluator", "module"), [("sliced", Deducted()), ("columnar", Sum())])
def test_the_log_of_windows_that_grow_is_as_large_as_what_they_carry(evaluator: str, module: Any) -> None:
    sizes = []
    feed = Feed(query(landmark(10), module, lifetimes="points"), evaluator)
    for number in range(60):
        feed.batch(*(at(10 * number, 1, f"k{key}") for key in range(200)), watermark=10 * number)
        sizes.append(feed.bytes)
    assert max(sizes[30:]) <= 1.2 * max(sizes[:30])


@pytest.mark.parametrize(
    ("evaluator", "window"),
    [("general", tumbling(10)), ("sliced", tumbling(10)), ("sliced", landmark(10)), ("grouped", tumbling(10))],
)
def test_keys_that_differ_as_bytes_alone_are_one_also_after_a_restart(
    evaluator: str, window: WindowSpecification, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Query, "_keys", (pa.float64(),))
    module = Deducted() if evaluator == "sliced" else RunningTotal()
    feed = Feed(query(window, module, lifetimes="points"), evaluator)
    feed.batch(at(1, 3, 0.0), at(2, 4, -0.0))
    feed.restart()
    assert [row["result"] for row in feed.batch(watermark=INFINITY).rows] == [7]
