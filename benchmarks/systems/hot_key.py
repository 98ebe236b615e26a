"""The general evaluator with one key that has all events: one bucket in this process, no Spark, no Java.

All events but a few come in one batch. The others, from the middle of them, come in batches of one; results are emitted
at once. As in a worker cyclic GC is off, and decoded states are kept from batch to batch.
"""

from __future__ import annotations

import gc
import os
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch
from benchmarks.question import Question
from benchmarks.systems.plain_aggregates import PlainAverage
from benchmarks.systems.system import System
from benchmarks.windows import HotKey
from benchmarks.windows.hot_key import LASTS, WIDTH
from benchmarks.windows.windows import table_of, ticks
from muntin import EmitPolicy, snapshot, tumbling
from muntin_engine.core.changes import InputChange, OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.exchange.bucket_task import without_collector
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores

_KEY = (0,)


class HotKeyInProcess(System):
    """The general evaluator with one key."""

    name = "one hot key"
    has = (HotKey,)

    @property
    def note(self) -> str | None:
        """Say what a batch is."""
        return "in process, without Spark; one key, emitted at once; a warm batch has one row"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run all batches through a bucket."""
        waiting, done = _batches(question, files), list[Batch]()
        bucket = _bucket(question)
        gc.collect()
        with MemoryWatch.over(os.getpid(), with_root=True) as watch, without_collector():
            started = time.perf_counter()
            for rows in waiting:
                before = time.perf_counter()
                output = bucket.process([(_KEY, rows)], Progress(0)).output
                now = time.perf_counter()
                done.append(Batch(len(rows), now - before, sum(len(changes) for _, changes in output)))
                if now - started > limit:
                    break
            seconds = time.perf_counter() - started
        return Run(seconds, tuple(done), Memory(python=watch.peak.python), is_cut=len(done) < len(waiting))

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run all batches through a bucket, and return what is left of its output."""
        bucket, left = _bucket(question), Counter[tuple[int, float]]()
        for rows in _batches(question, files):
            for _, changes in bucket.process([(_KEY, rows)], Progress(0)).output:
                _follow(left, changes)
        starts, values = zip(*(+left).elements(), strict=True)
        return table_of(np.zeros(len(starts), np.int64), np.array(starts), np.array(values))


def _bucket(question: Question) -> KeyedBucket:
    assert isinstance(question.windows, HotKey)
    window = snapshot() if question.windows.is_snapshot else tumbling(WIDTH * MICROSECONDS)
    bindings = (Binding(PlainAverage(), lambda payload: payload[0]),)
    query = EvaluatorQuery(window, bindings, emit=EmitPolicy.EAGER, has_ids=False)
    return KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {}, kept=KeptStores())


def _batches(question: Question, files: Files) -> list[Sequence[InputChange]]:
    """Return most rows as one batch, and then those of the middle one by one."""
    assert isinstance(question.windows, HotKey)
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)[: question.windows.live]
    at, values = ticks(table["at"]).tolist(), table["value"].to_pylist()
    rows = [InputChange(None, start, start + LASTS, (value,)) for start, value in zip(at, values, strict=True)]
    first = len(rows) // 2
    last = first + question.windows.single
    return [rows[:first] + rows[last:], *([row] for row in rows[first:last])]


def _follow(left: Counter[tuple[int, float]], changes: Sequence[OutputChange]) -> None:
    for change in changes:
        left[change.window.start, change.value[0]] += 1 if change.kind is OutputKind.INSERT else -1
