"""Runs a stream through buckets of sessions on arrays, with late rows among the others."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from muntin import EARLIEST, INFINITY, Event, Window
from muntin.changes import Insertion
from muntin.testing.batches import Batch, KeyedChange
from muntin.testing.scripts import Script
from muntin.windows import SessionWindows
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.arrays.bucket_blob import BucketBlob
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.fused_bucket import FusedBucket
from muntin_engine.evaluators.arrays.lifting import Rows
from muntin_engine.evaluators.arrays.results import Closed, form_results
from muntin_engine.evaluators.arrays.row_lifting import Fusing, lift_each
from muntin_engine.evaluators.arrays.session_store import SessionStore
from muntin_engine.evaluators.arrays.slice_bucket import SliceResult
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of
from tests.differential.slices import BUCKETS, SliceCase, SliceRun, follow, rows_of, values_of


@dataclass(frozen=True)
class SessionCase(SliceCase):
    """Columnar aggregates over sessions; `windows` has one specification."""

    windows: tuple[SessionWindows, ...]


class SessionRun(SliceRun):
    """A stream on its way through buckets of sessions; now and then a task has rows behind the watermark."""

    def __init__(self, case: SessionCase) -> None:
        super().__init__(case)
        self._watermark = EARLIEST
        self._late_rows: list[KeyedChange] = []
        self._since = dict.fromkeys(range(BUCKETS), EARLIEST)

    def take(self, batch: Batch) -> None:
        """Run a batch, in which some rows may be late by the watermark of those before it."""
        self._watermark = self.progress.watermark
        is_open = EARLIEST < self._watermark < INFINITY
        self._late_rows = list(self._some_late()) if is_open and self._random.random() < 0.5 else []
        super().take(batch)

    def _some_late(self) -> Iterator[KeyedChange]:
        for _ in range(self._random.randint(1, 4)):
            start = self._watermark - self._random.choice((1, 2, 5, 30))
            event = Event(start, start + (1 if self.case.is_point else self._random.choice((1, 9, 60))), 7)
            yield KeyedChange(self._random.choice(("a", "b", None)), Insertion(self._random.random(), event))

    def _arrived(self, batch: Batch) -> Progress:
        return progress_of(self.case.query.window, batch)

    def _late(self, number: int) -> int:
        return sum(_bucket(change.key) == number for change in self._late_rows)

    def _lift(self, changes: Sequence[KeyedChange]) -> list[BucketBlob]:
        tasks: list[list[KeyedChange]] = [[], [], []]
        rows = [*changes, *self._late_rows]
        for change in self._random.sample(rows, len(rows)):
            tasks[self._random.randrange(3)].append(change)
        return [blob for task in tasks if task for blob in self._blobs(self._fusing(), self._rows(task))]

    def _fusing(self) -> Fusing:
        """Return the way in which stretches of events fuse."""
        return Fusing(self.case.window.gap)  # type: ignore[attr-defined]

    def _blobs(self, fusing: Fusing, rows: Rows) -> Iterable[BucketBlob]:
        """Return what a task of the map side makes of its rows."""
        return lift_each(fusing, rows, self.forms)

    def _rows(self, task: Sequence[KeyedChange]) -> Rows:
        rows = rows_of(task)
        return replace(rows, ends=None) if self.case.is_point else rows

    def _process(self, number: int, blobs: Sequence[Any], arrived: Progress) -> SliceResult[Any]:
        bucket = FusedBucket((), self._store, self._cells[number], Codec(), self.compatibility, self._kept, number)
        result = bucket.process([blob.blob for blob in blobs if blob.bucket == number], arrived)
        self._since[number] = bucket.output_watermark(result, at_end=False)
        return result

    def _store(self) -> SessionStore:
        """Return an empty store."""
        return SessionStore(FormEntries(self.forms), at_end=False)

    def _promised(self, at_end: bool) -> int:
        return self._watermark if at_end else min(self._since.values())

    def _add(self, closed: Closed) -> Iterator[Window]:
        keys = closed.keys.column("k0").to_pylist()
        starts, ends = closed.windows.low.tolist(), closed.windows.high.tolist()
        for key, start, end, *values in zip(keys, starts, ends, *self._results(closed), strict=True):
            row = (Window(start, end), start, end, tuple(values))
            rows = self._table.setdefault((closed.place, key), Counter())
            assert row not in rows, f"{row} is put out twice"
            rows[row] += 1
            yield row[0]

    def _results(self, closed: Closed) -> Sequence[list[Any]]:
        """Return by module the results of complete sessions."""
        return [values_of(form_results(form, number, closed.windows)) for number, form in enumerate(self.forms)]


def _bucket(key: object) -> int:
    return zlib.crc32(str(key).encode()) % BUCKETS


def run(case: SessionCase, stream: Script) -> None:
    """Run a stream and compare with the reference after each batch.

    Raises:
        AssertionError: The two differ.
    """
    follow(SessionRun(case), stream)
