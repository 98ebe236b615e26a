"""What evaluation over slices costs, in counted calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from muntin import INFINITY, hopping, tumbling
from muntin_engine.core.changes import Progress
from muntin_engine.state.cells import MemoryCells
from tests.core.sliced.build import Counted, CountedDeducting, Feed, Members, Row, sliced


class CountingCells(MemoryCells):
    """Counts calls, and the bytes that are written."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def get(self, name: str) -> bytes | None:
        self.calls["get"] += 1
        return super().get(name)

    def put(self, name: str, data: bytes) -> None:
        self.calls["put"] += 1
        self.calls["bytes"] += len(data)
        super().put(name, data)

    def remove(self, name: str) -> None:
        self.calls["remove"] += 1
        super().remove(name)


@pytest.mark.parametrize("closes", [True, False])
def test_a_batch_that_brings_a_bucket_nothing_costs_two_state_calls(closes: bool) -> None:
    cells = CountingCells()
    feed = Feed(sliced(hopping(20, 10), Members()), cells)
    for tick in range(5):
        feed.batch([Row(("k",), 100 * tick, tick)], 100 * tick - 50)
    cells.calls.clear()
    feed.run([], Progress(390 if closes else 380, 402, 401))
    assert cells.calls["get"] == cells.calls["put"] == 1
    assert cells.calls["remove"] == 0


def test_a_batch_that_says_nothing_new_costs_two_state_calls() -> None:
    cells = CountingCells()
    feed = Feed(sliced(tumbling(10), Members()), cells)
    feed.batch([Row(("k",), 1, 1)])
    cells.calls.clear()
    feed.run([], Progress())
    assert (cells.calls["get"], cells.calls["put"]) == (1, 1)  # the metadata, which say which batch was the last


def test_a_batch_writes_what_it_brought_and_not_the_window() -> None:
    """State written per batch is the same whatever size over hop."""
    written = {}
    for size in (10, 100, 6000):
        cells = CountingCells()
        feed = Feed(sliced(hopping(size, 10), Members()), cells)
        for batch in range(100):
            feed.batch([Row((key,), 10 * batch, key) for key in range(20)], 10 * batch - 5)
        written[size] = cells.calls["bytes"]
    assert written[6000] < 3 * written[100] < 6 * written[10]


@pytest.mark.parametrize("ratio", [1, 2, 10, 60, 600])
@pytest.mark.parametrize("module", [Counted, CountedDeducting])
@pytest.mark.parametrize("per_batch", [1, 50])
def test_calls_grow_with_slices_and_windows_and_not_with_their_ratio(ratio: int, module: Any, per_batch: int) -> None:
    """700 slices of 2 rows each, in batches of one slice or of fifty; as many windows, and those around the ends."""
    aggregate = module()
    feed = Feed(sliced(hopping(10 * ratio, 10), aggregate))
    rows = [Row(("k",), 10 * number + place, number) for number in range(700) for place in (0, 3)]
    for start in range(0, len(rows), 2 * per_batch):
        batch = rows[start : start + 2 * per_batch]
        feed.batch(batch, batch[0].tick)
    feed.batch([], INFINITY)
    assert len(feed.output) == 700 + ratio - 1
    calls = aggregate.calls
    assert calls["payloads"] == 1400
    assert calls["combine"] + calls["deduct"] + calls["create_state"] <= 10 * (700 + ratio)
    assert calls["compute_result"] == 700 + ratio - 1


def test_a_window_with_the_same_rows_as_the_one_before_costs_no_call() -> None:
    module = Members()
    feed = Feed(sliced(hopping(6000, 10), module))
    feed.batch([Row(("k",), 5, 1), Row(("k",), 3005, 2)])
    feed.batch([], INFINITY)
    assert len(feed.output) == 900
    assert sum(module.calls.values()) < 30
