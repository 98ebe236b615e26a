"""The general evaluator by itself: one bucket in this process, no Spark, no Java.

It runs as in a worker: cyclic GC is off, decoded states are kept from batch to batch, and each batch writes what it
changed as bytes. Events have lifetimes. Making the rows from the files is not measured:
that is the work of the engine's intake.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import MICROSECONDS, Files, lifetimes_of
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch
from benchmarks.question import Question
from benchmarks.systems.plain_aggregates import PlainAverage, WholeAverage
from benchmarks.systems.system import System
from benchmarks.windows import ANSWERS, Hopping
from muntin import Aggregate, IncrementalAggregate, hopping
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import BatchResult, KeyedBucket
from muntin_engine.exchange.bucket_task import without_collector
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.state.kept_stores import KeptStores

_ROW_BYTES: Final = 4 * 8
"""Of its key, start, end and value."""


class WrittenCells(MemoryCells):
    """Cells in memory that count the bytes that were put into them."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def put(self, name: str, data: bytes) -> None:
        """Set a cell."""
        self.written += len(data)
        super().put(name, data)


@dataclass(frozen=True, slots=True)
class EventBatch:
    """A batch as a bucket takes it.

    Attributes:
        changes: Its events by key.
        progress: What it says of how far the input is.
        rows: How many events.
    """

    changes: list[tuple[tuple[int], list[InputChange]]]
    progress: Progress
    rows: int


class InProcess(System):
    """The general evaluator with one aggregate.

    Attributes:
        aggregate: It.
        batch: Events per batch.
        most_events: How many of the input's rows are taken.
    """

    members = "intervals"
    batch: ClassVar[int] = 10_000
    most_events: ClassVar[int] = 300_000
    aggregate: ClassVar[type[Aggregate[float, float] | IncrementalAggregate[float, Any, float]]]

    @property
    def note(self) -> str | None:
        """Say that there is no Spark."""
        return f"in process, without Spark: {self.most_events:,} events at most, in batches of {self.batch:,}"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run all batches through a bucket."""
        waiting = list(self._batches(question, files))
        done: list[Batch] = []
        cells = WrittenCells()
        bucket = self._bucket(question, cells)
        gc.collect()
        with MemoryWatch.over(os.getpid(), with_root=True) as watch, without_collector():
            started = time.perf_counter()
            for batch in waiting:
                before, written = time.perf_counter(), cells.written
                output = bucket.process(batch.changes, batch.progress).output
                now = time.perf_counter()
                held = sum(map(len, cells.cells.values()))
                results = sum(len(rows) for _, rows in output)
                done.append(Batch(batch.rows, now - before, results, held, cells.written - written))
                if now - started > limit:
                    break
            seconds = time.perf_counter() - started
        is_cut, memory = len(done) < len(waiting), Memory(python=watch.peak.python)
        return Run(seconds, tuple(done), memory, is_cut, row_bytes=_ROW_BYTES)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run all batches through a bucket and keep its output."""
        bucket = self._bucket(question, MemoryCells())
        results = (bucket.process(batch.changes, batch.progress) for batch in self._batches(question, files))
        rows = [row for result in results for row in _answers(result)]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), ANSWERS, strict=True)]
        return pa.table(columns, schema=ANSWERS)

    def _batches(self, question: Question, files: Files) -> Iterator[EventBatch]:
        return read_batches(question, files, self.batch, self.most_events)

    def _bucket(self, question: Question, cells: MemoryCells) -> KeyedBucket:
        assert isinstance(question.windows, Hopping)
        window = hopping(question.windows.size * MICROSECONDS, question.windows.hop * MICROSECONDS)
        query = EvaluatorQuery(window, (Binding(self.aggregate(), _first),), has_ids=False)
        return KeyedBucket(GeneralRun, query, cells, Codec(), {}, kept=KeptStores())


class GeneralWhole(InProcess):
    """An aggregate that sees all members of a window at once."""

    name = "general, non-incremental"
    aggregate = WholeAverage


class GeneralIncremental(InProcess):
    """An aggregate that keeps a state."""

    name = "general, incremental"
    aggregate = PlainAverage


class OpenWindow(GeneralIncremental):
    """The same, for as many batches as a window stays open."""

    name = "general, open window"
    batch = 20_000
    most_events = 60 * 20_000


def read_batches(question: Question, files: Files, size: int, most: int) -> Iterator[EventBatch]:
    """Yield the first rows of the files as events with lifetimes, in batches of a size."""
    rows = (row for path in files.paths for row in _events(path))
    taken = islice(rows, most)
    newest = horizon = 0
    while some := list(islice(taken, size)):
        newest = max(newest, *(event.start for _, event in some))
        horizon = max(horizon, *(event.end or 0 for _, event in some))
        yield EventBatch(_by_key(some), Progress(newest - question.delay * MICROSECONDS, horizon, newest), len(some))


def _events(path: Any) -> Iterator[tuple[int, InputChange]]:
    table = pq.read_table(path)
    at = table["at"].cast(pa.int64()).to_numpy()
    ends = (at + lifetimes_of(at)).tolist()
    columns = (table["key"].to_pylist(), at.tolist(), ends, table["value"].to_pylist())
    for key, start, end, value in zip(*columns, strict=True):
        yield key, InputChange(None, start, end, (value,))


def _by_key(events: Sequence[tuple[int, InputChange]]) -> list[tuple[tuple[int], list[InputChange]]]:
    groups: dict[int, list[InputChange]] = {}
    for key, event in events:
        groups.setdefault(key, []).append(event)
    return [((key,), some) for key, some in groups.items()]


def _answers(result: BatchResult) -> Iterator[tuple[int, int, float]]:
    for key, changes in result.output:
        for change in changes:
            yield key[0], change.window.start, change.value[0]


def _first(payload: tuple[float, ...]) -> float:
    return payload[0]
