"""The columnar evaluator by itself over snapshots and events with ids: one bucket in this process, no Spark, no Java.

Rows are lifted as a task of the map side lifts them, cross as bytes, and are evaluated as in a worker, with a batch per
file. Reading the files is not measured; making the results is.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch
from benchmarks.question import Question
from benchmarks.systems.system import System
from benchmarks.windows import LastingHops, Snapshot, Windows
from benchmarks.windows.lasting import ends_of
from benchmarks.windows.windows import table_of, ticks
from muntin import INFINITY, hopping, snapshot
from muntin.schemas import describe
from muntin.windows import WindowKind
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket, ArrayQuery
from muntin_engine.evaluators.arrays.entries import FormEntries
from muntin_engine.evaluators.arrays.lifting import Rows, lift_each
from muntin_engine.evaluators.arrays.results import Closed, form_results
from muntin_engine.evaluators.arrays.stores import session_query
from muntin_engine.evaluators.revised.store import revised_query
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.exchange.bucket_task import without_collector
from muntin_engine.exchange.shuffle import to_blob
from muntin_engine.progress import ProgressTracker
from muntin_engine.progress.report import InputReport
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.kept_stores import KeptStores
from muntin_stats.columns.average import ColumnarAverage


class _FileBatch(NamedTuple):
    rows: Rows
    revised: pa.Table | None
    progress: Progress


class _Bucket:
    """A bucket with an average, of events without ids, or of events that are inserted without an end and revised."""

    def __init__(self, window: WindowKind) -> None:
        self.cells = MemoryCells()
        self._window = window
        self._forms = (BoundForm(ColumnarAverage(), "stats.average 0", (0,), (describe(float, "value"),)),)
        self._kept = KeptStores()

    def take(self, batch: _FileBatch) -> Iterator[pa.Table]:
        """Yield what a batch completes."""
        for _, windows, keys, *_ in self._fixed(batch) if batch.revised is None else self._revised(batch):
            values = form_results(self._forms[0], 0, windows)
            yield table_of(keys.column("k0").to_numpy(), windows.low, np.asarray(values))

    def _fixed(self, batch: _FileBatch) -> Sequence[Closed]:
        blobs = [blob.blob for blob in lift_each(1, batch.rows, self._forms)]
        return self._run(session_query(lambda: FormEntries(self._forms), at_end=False, is_cut=True), blobs, batch)

    def _revised(self, batch: _FileBatch) -> Sequence[Closed]:
        query = EvaluatorQuery(self._window, (Binding(ColumnarAverage(), itemgetter(0)),))
        return self._run(revised_query(query, self._forms, Codec()), [to_blob(batch.revised)], batch)

    def _run(self, query: ArrayQuery, blobs: Sequence[bytes], batch: _FileBatch) -> Sequence[Closed]:
        trackers, nothing = [ProgressTracker()], Compatibility({})
        bucket = ArrayBucket(query, trackers, self.cells, Codec(), nothing, self._kept, "bucket")
        return bucket.run_batch(blobs, [InputReport(batch.progress)]).outcome.output


class SnapshotsInProcess(System):
    """The columnar evaluator with an average."""

    name = "columnar snapshots"
    has: tuple[type[Windows], ...] = (Snapshot,)

    @property
    def note(self) -> str | None:
        """Say that there is no Spark."""
        return "in process, without Spark, on one core"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run all batches through a bucket."""
        waiting, bucket, done = list(_batches(question, files)), self._bucket(question), list[Batch]()
        gc.collect()
        with MemoryWatch.over(os.getpid(), with_root=True) as watch, without_collector():
            started = time.perf_counter()
            for batch in waiting:
                before = time.perf_counter()
                results = sum(map(len, bucket.take(batch)))
                now = time.perf_counter()
                held = sum(map(len, bucket.cells.cells.values()))
                done.append(Batch(len(batch.rows), now - before, results, held))
                if now - started > limit:
                    break
            seconds = time.perf_counter() - started
        return Run(seconds, tuple(done), Memory(python=watch.peak.python), is_cut=len(done) < len(waiting))

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run all batches through a bucket and keep its output."""
        bucket = self._bucket(question)
        return pa.concat_tables(table for batch in _batches(question, files) for table in bucket.take(batch))

    def _bucket(self, question: Question) -> _Bucket:
        del question
        return _Bucket(snapshot())


class HopsInProcess(SnapshotsInProcess):
    """The columnar evaluator with an average of hopping windows over events with ids."""

    name = "columnar hops"
    has = (LastingHops,)

    def why_not(self, windows: Windows) -> str | None:
        """Return why the system cannot compute some windows; None if it can."""
        is_revised = isinstance(windows, LastingHops) and windows.is_revised and not windows.is_speculative
        return None if is_revised else f"has no {windows}"

    def _bucket(self, question: Question) -> _Bucket:
        assert isinstance(question.windows, LastingHops)
        return _Bucket(hopping(question.windows.size * MICROSECONDS, question.windows.hop * MICROSECONDS))


def _with_revisions(rows: Rows) -> pa.Table:
    """Return two rows for each: one that inserts it without an end, and one that revises it."""
    both, is_revision = np.repeat(np.arange(len(rows)), 2), np.tile([False, True], len(rows))
    starts, ends = rows.starts[both], np.asarray(rows.ends)[both]
    return pa.table(
        {
            "k0": rows.keys[0].take(pa.array(both)),
            "id": starts,
            "start": starts,
            "end": pa.array(np.full(len(both), INFINITY), mask=is_revision),
            "new_end": pa.array(ends, mask=~is_revision),
            "i0": rows.inputs[0].take(pa.array(both)),
        }
    )


def _batches(question: Question, files: Files) -> Iterator[_FileBatch]:
    """Yield a batch for each file."""
    assert isinstance(question.windows, Snapshot | LastingHops)
    newest = 0
    for path in files.paths:
        table = pq.read_table(path).combine_chunks()
        at, (key, value) = ticks(table["at"]), (table[name].chunk(0) for name in ("key", "value"))
        rows = Rows(1, at, ends_of(at, question.windows.longest), [key], [value])
        newest = max(newest, int(at.max()))
        revised = _with_revisions(rows) if question.windows.is_revised else None
        yield _FileBatch(rows, revised, Progress(newest - question.delay * MICROSECONDS, newest, newest))
