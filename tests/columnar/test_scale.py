"""Much of everything, in one bucket and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import hopping, tumbling
from muntin.schemas import describe
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import Progress
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket, BatchOutcome
from muntin_engine.evaluators.arrays.entries import ENTRY_BYTES, FormEntries
from muntin_engine.evaluators.arrays.grid_store import grid_query
from muntin_engine.evaluators.arrays.lifting import Rows, lift_rows
from muntin_engine.evaluators.arrays.results import form_results
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from muntin_stats import Average, Sum

FORMS = tuple(
    BoundForm(form, "stats", (0,), (reads,))
    for reads in [describe(float, "x")]
    for form in (Sum[float]().columnar_form(reads), Average[float]().columnar_form(reads))
    if form is not None
)


class OneBucket:
    """A bucket that is read back before each batch, and the bytes that it writes."""

    def __init__(self, window: HoppingWindows) -> None:
        self.cells = MemoryCells()
        self.grids = (SliceGrid.of(window),)

    def take(self, keys: Any, at: Any, values: Any, upto: int) -> tuple[BatchOutcome, int]:
        """Return what a batch gives, and how many bytes it writes."""
        rows = Rows(1, at.astype(np.int64), None, [pa.array(keys)], [pa.array(values.astype(float))])
        blobs = [blob.blob for blob in lift_rows(self.grids[0], FORMS, rows)]
        before = dict(self.cells.cells)
        bucket = ArrayBucket(
            grid_query(self.grids, lambda: FormEntries(FORMS), at_end=False),
            [ProgressTracker()],
            self.cells,
            Codec(),
            Compatibility({}),
            KeptStores(),
            0,
        )
        progress = Progress(upto, int(at.max()) + 1, int(at.max()))
        result = bucket.process(blobs, [InputReport(progress)]).outcome
        written = {name: data for name, data in self.cells.cells.items() if before.get(name) is not data}
        return result, sum(map(len, written.values()))


def sums(result: BatchOutcome) -> Iterator[float]:
    for closed in result.output:
        yield from form_results(FORMS[0], 0, closed.windows).tolist()


def test_a_million_keys_in_one_slice_are_written_in_pieces_and_forgotten() -> None:
    bucket, keys = OneBucket(tumbling(100)), np.arange(1_000_000)
    bucket.take(keys, np.zeros(len(keys)), keys % 7, upto=50)
    assert max(map(len, bucket.cells.cells.values())) < 2 * ENTRY_BYTES
    assert len(bucket.cells.cells) > 10
    again, _ = bucket.take(keys[:1000], np.full(1000, 99), keys[:1000] % 7, upto=100)
    found = np.fromiter(sums(again), float)
    assert len(found) == len(keys)
    assert found.sum() == (keys % 7).sum() + (keys[:1000] % 7).sum()
    assert list(bucket.cells.cells) == ["metadata"]


def test_a_hot_key_costs_its_slices_and_not_its_rows() -> None:
    bucket, rows = OneBucket(hopping(600, 10)), 1_000_000
    at = np.random.default_rng(5).integers(0, 1000, rows)
    result, written = bucket.take(np.zeros(rows, np.int64), at, np.ones(rows), upto=1000)
    assert written < 20_000
    assert max(sums(result)) > 500_000


def test_what_a_batch_writes_does_not_grow_with_the_window() -> None:
    bytes_written = []
    for size in (10, 100, 1000, 6000):
        bucket, keys = OneBucket(hopping(size, 10)), np.arange(500)
        for second in range(0, 500, 50):
            at = second + np.arange(500) % 50
            _, written = bucket.take(keys, at, keys, upto=second)
        bytes_written.append(written)
    assert max(bytes_written) < 2 * min(bytes_written)


def test_a_row_far_behind_counts_as_long_as_its_windows_are_open() -> None:
    bucket, one = OneBucket(hopping(1_000_000, 500_000)), np.zeros(1, np.int64)
    bucket.take(one, np.array([999_999]), np.ones(1), upto=999_999)
    late, _ = bucket.take(one, np.array([499_999]), np.ones(1), upto=999_999)
    assert (late.accepted, late.late) == (0, 1)
    result, _ = bucket.take(one, np.array([500_000]), np.ones(1), upto=1_000_000)
    assert (result.accepted, result.late) == (1, 0)
    assert list(sums(result)) == [2.0]
