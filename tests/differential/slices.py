"""Runs a stream through a bucket over slices, batch by batch, with what may go wrong around it."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import INFINITY, ColumnarAggregate, EmitPolicy, Window
from muntin.changes import Insertion
from muntin.schemas import describe
from muntin.testing import reference
from muntin.testing.batches import Batch, KeyedChange
from muntin.testing.scripts import Script
from muntin.testing.stream_history import StreamHistory
from muntin.testing.streams import random_stream, shuffle, split
from muntin.windows import WindowKind
from muntin.windows.regular import RegularWindows
from muntin_engine.core.changes import Progress
from muntin_engine.core.slice_grid import Grid, RangeGrid, SliceGrid, output_watermark
from muntin_engine.core.window_grid import grid_of, settled
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.grid_store import GridStore
from muntin_engine.evaluators.arrays.lifting import Rows, lift_rows
from muntin_engine.evaluators.arrays.results import Closed, form_results
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket, SliceResult
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from muntin_engine.testing.meaning import progress_of
from tests.differential.calendars import spread
from tests.differential.cases import until_closed
from tests.differential.drive import difference
from tests.differential.forms import FORMS, ORACLES
from tests.differential.meaning import Table, expected_table
from tests.differential.remembered import remembered

BUCKETS = 2
READS = describe(int | None, "payload")


@dataclass(frozen=True)
class SliceCase:
    """Columnar aggregates over windows of slices, or of ranges of windows where events have lifetimes."""

    windows: tuple[WindowKind, ...]
    forms: str
    is_point: bool = True
    number: int = 0
    emit: EmitPolicy = EmitPolicy.FINAL
    spread: tuple[str, int] | None = None

    @cached_property
    def seed(self) -> int:
        """A number that stays the same from run to run."""
        return zlib.crc32(repr(self).encode())

    @property
    def window(self) -> WindowKind:
        """The first specification."""
        return self.windows[0]

    @property
    def query(self) -> SliceCase:
        """Itself, as far as progress goes."""
        return self

    @property
    def modules(self) -> tuple[ColumnarAggregate[Any, Any], ...]:
        """The aggregates."""
        return FORMS[self.forms]

    @cached_property
    def reference(self) -> reference.WindowedQuery:
        """The query as the oracle reads it."""
        oracles = ORACLES.get(self.forms, self.modules)
        computations = [reference.Computation(remembered(module)) for module in oracles]
        return reference.WindowedQuery(self.window, computations, event_ends_move=False)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The slices, or ranges of windows."""
        return SliceGrid.shared(self.steps) if self.is_point else tuple(map(RangeGrid.of, self.steps))

    @property
    def steps(self) -> tuple[RegularWindows, ...]:
        """The windows as grids."""
        return tuple(grid for window in self.windows if (grid := window.grid()) is not None)

    @cached_property
    def bound(self) -> tuple[BoundForm, ...]:
        return tuple(BoundForm(form, f"{form.name} {form.version}", (0,), (READS,)) for form in self.modules)

    @property
    def stream(self) -> Script:
        """A random legal stream without revisions, some of whose payloads are null."""
        random = Random(self.seed)
        stream = random_stream(
            self.seed,
            keys=("a", "b", None, "c"),
            events=5 + self.seed % 40,
            starts=range(-30, 10 + self.seed % 90),
            payload=lambda random: None if random.random() < 0.2 else random.randint(-9, 9),
            disorder=self.seed % 24,
        )
        if self.spread is not None:
            stream = spread(stream, *self.spread)
        kept = [
            step for step in stream.steps if not isinstance(step, KeyedChange) or isinstance(step.change, Insertion)
        ]
        if self.is_point:
            kept = [as_point(step) if isinstance(step, KeyedChange) else step for step in kept]
        shuffled = shuffle(until_closed(Script(tuple(kept))), self.seed)
        return split(until_closed(shuffled), random.randrange(1000), cuts=0.2)


def as_point(step: KeyedChange) -> KeyedChange:
    event = step.change.event
    return replace(step, change=Insertion(step.change.id, replace(event, end=event.start + 1)))


class SliceRun:
    """A stream on its way through buckets over slices; some batches fail and are run again."""

    def __init__(self, case: SliceCase) -> None:
        self.case = case
        self.progress = Progress()
        self._random = Random(case.seed)
        self._kept = KeptStores()
        self._cells = [MemoryCells() for _ in range(BUCKETS)]
        self._stream = StreamHistory()
        self._table: dict[Any, Counter[Any]] = {}

    def take(self, batch: Batch) -> None:
        """Run a batch."""
        if batch.restart_before:
            self._kept = KeptStores()
        for step in batch.changes:
            self._stream.take(step)
        arrived = self._arrived(batch)
        promised = {at_end: self._promised(at_end) for at_end in (False, True)}
        self.progress = self.progress.advance(arrived)
        assert all(self._promised(at_end) >= tick for at_end, tick in promised.items())
        blobs, counted = self._lift(batch.changes), 0
        for number in range(BUCKETS):
            if self._random.random() < 0.2:  # the batch fails after this bucket was evaluated, and is run again
                before = dict(self._cells[number].cells)
                self._process(number, blobs, arrived)
                self._cells[number].cells = before
            result = self._process(number, blobs, arrived)
            assert result.late == self._late(number)
            counted += result.accepted
            assert result.progress == self.progress
            assert result.held.bytes == sum(map(len, self._cells[number].cells.values()))
            for closed in result.output:
                for window in self._add(closed):
                    assert window.start >= promised[False], f"{window} breaks the output watermark {promised}"
                    assert window.end >= promised[True], f"{window} breaks the output watermark {promised}"
        assert counted == len(batch.changes)
        if self.progress.watermark == INFINITY:
            assert [list(cells.cells) for cells in self._cells] == [["metadata"]] * BUCKETS

    def table(self) -> Table:
        """Return the output so far."""
        return self._table

    def wanted(self) -> Table:
        """Return what the reference says."""
        histories = {key: [c.event for c in changes] for key, changes in self._stream.accepted.items()}
        wanted: Table = {}
        for place, window in enumerate(self.case.windows):
            alone = expected_table(replace(self.case, windows=(window,)), histories, self.progress)
            wanted |= {(place, key): rows for key, rows in alone.items()}
        return wanted

    @property
    def forms(self) -> tuple[BoundForm, ...]:
        """The forms as they are now."""
        return self.case.bound

    @property
    def compatibility(self) -> Compatibility:
        """What the state depends on."""
        return Compatibility({})

    def _arrived(self, batch: Batch) -> Progress:
        """Return the progress that a batch implies."""
        seen = progress_of(self.case.query.window, batch)
        return replace(seen, watermark=settled(map(grid_of, self.case.steps), seen.watermark))

    def _late(self, number: int) -> int:
        """Return how many rows of the batch are late in a bucket."""
        del number
        return 0

    def _process(self, number: int, blobs: Sequence[Any], arrived: Progress) -> SliceResult[Closed]:
        grids, forms = self.case.grids, self.forms
        bucket: SliceBucket[Closed] = SliceBucket(
            grids,
            lambda: GridStore(grids, FormEntries(forms)),
            self._cells[number],
            Codec(),
            self.compatibility,
            self._kept,
            number,
        )
        return bucket.process([blob.blob for blob in blobs if blob.bucket == number], arrived)

    def _lift(self, changes: Sequence[KeyedChange]) -> list[BucketBlob]:
        """Return what up to three tasks of the map side make of a batch."""
        tasks: list[list[KeyedChange]] = [[], [], []]
        for change in self._random.sample(changes, len(changes)):
            tasks[self._random.randrange(3)].append(change)
        return [blob for task in tasks for blob in lift_rows(self.case.grids[0], self.forms, rows_of(task))]

    def _promised(self, at_end: bool) -> int:
        return output_watermark(self.case.grids, self.progress.watermark, at_end=at_end)

    def _add(self, closed: Closed) -> Iterator[Window]:
        """Take note of results; yield the window of each."""
        keys = closed.keys.column("k0").to_pylist()
        results = [values_of(form_results(form, number, closed.windows)) for number, form in enumerate(self.forms)]
        starts, ends = closed.windows.low.tolist(), closed.windows.high.tolist()
        for key, start, end, *values in zip(keys, starts, ends, *results, strict=True):
            window = Window(start, end)
            row = (window, window.start, window.end, tuple(values))
            rows = self._table.setdefault((closed.place, key), Counter())
            assert row not in rows, f"{row} is put out twice"
            rows[row] += 1
            yield window


def run(case: SliceCase, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ.
    """
    follow(SliceRun(case), stream)


def follow(running: SliceRun, stream: Script) -> None:
    """Run a stream in some way and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ.
    """
    for batch in stream.batches():
        running.take(batch)
        got, wanted = running.table(), running.wanted()
        assert got == wanted, difference(got, wanted)


def rows_of(changes: Sequence[KeyedChange]) -> Rows:
    events = [change.change.event for change in changes]
    keys = [change.key for change in changes]
    return Rows(
        np.array([zlib.crc32(str(key).encode()) % BUCKETS for key in keys], np.int32),
        np.array([event.start for event in events], np.int64),
        np.array([event.end for event in events], np.int64),
        [pa.array(keys, pa.string())],
        [pa.array([event.payload for event in events], pa.int64())],
    )


def values_of(results: Any) -> list[Any]:
    nulls = np.ma.getmaskarray(results)
    return [None if null else value for value, null in zip(np.ma.getdata(results).tolist(), nulls, strict=True)]
