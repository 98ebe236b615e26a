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
def small_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split and merge entries at 8 kB, as the states of a test are small."""
    monkeypatch.setattr("muntin_engine.state.log.FULL_ENTRY", 8_000)
    for place, _ in limits_in_engine():
        if place.endswith("ENTRY_BYTES"):
            monkeypatch.setattr(place, 8_000)
        elif place.endswith("MOST_DEAD"):
            monkeypatch.setattr(place, 64)


class SpeculativeSums:
    """Sums of windows of ten ticks by key, whose results are emitted at once and retracted when they change.

    Attributes:
        cells: The state.
    """

    def __init__(self, seed: int) -> None:
        self.cells = MemoryCells()
        self._ids = count()
        self._random = Random(seed)
        script = Script().insert("E0", 1, 4, 1).revise("E0", 3)
        query = WindowedQuery(tumbling(10), [Computation(Sum[int]())])
        self._tested = QueryUnderTest(script, query, EmitPolicy.SPECULATIVE)
        self.restart()

    def restart(self) -> None:
        """Continue in another process, which reads the state from the cells."""
        self._evaluator = KEEPS_STATE["columnar"].in_memory(
            self._tested.plan("columnar"), self.cells, self._tested.codec
        )

    def add_events(self, keys: Iterable[int], below: int) -> Counter[OutputKind]:
        """Add an event of each key to its window [0, 10), and return the numbers of changes of results by kind.

        Args:
            keys: The keys.
            below: The payloads are drawn below this number.
        """
        rows = [((key,), InputChange(next(self._ids), 1, 3, (self._random.randrange(below),))) for key in keys]
        progress = Progress(watermark=0, horizon=30, newest=20)
        return Counter(change.kind for _, change in self._evaluator.process(rows, progress))


@pytest.mark.usefixtures("small_entries")
@pytest.mark.parametrize("seed", range(4))
def test_changed_results_are_retracted_after_a_restart_as_without_one_whatever_entries_hold_them(seed: int) -> None:
    random = Random(seed)
    keys = range(random.randrange(300, 900))
    other_keys = [10**6 + random.randrange(3) for _ in range(random.randrange(12))]

    changes_of_last_batch: list[Counter[OutputKind]] = []
    for restarts in (False, True):
        sums = SpeculativeSums(seed)
        # The second batch has retractions of small numbers, which fill one entry, and results that are large numbers.
        sums.add_events(keys, below=2)
        sums.add_events(keys, below=2**60)
        for key in other_keys:  # small batches, after which entries are merged
            sums.add_events([key], below=2)
        if restarts:
            sums.restart()
        changes_of_last_batch.append(sums.add_events(keys, below=2))

    in_one_process, after_a_restart = changes_of_last_batch
    assert in_one_process == after_a_restart
    assert in_one_process[OutputKind.RETRACT] > len(keys) / 3


@pytest.mark.usefixtures("small_entries")
@pytest.mark.parametrize(("evaluator", "module"), [("sliced", Deducted()), ("columnar", Sum())])
def test_the_log_of_windows_that_grow_is_as_large_as_what_they_carry(evaluator: str, module: Any) -> None:
    """Each batch closes a window of 200 keys, whose states are carried on to the next window."""
    sizes: list[int] = []
    feed = Feed(query(landmark(10), module, lifetimes="points"), evaluator)
    for number in range(60):
        points = [at(10 * number, value=1, key=f"k{key}") for key in range(200)]
        feed.batch(*points, watermark=10 * number)
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
    feed.batch(at(1, value=3, key=0.0), at(2, value=4, key=-0.0))
    feed.restart()
    results = feed.batch(watermark=INFINITY).rows
    assert [row["result"] for row in results] == [3 + 4]
