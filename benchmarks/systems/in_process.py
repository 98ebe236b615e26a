"""One bucket of Muntin in this process: no Spark, no Java.

Rows pass a map task as before the shuffle, cross as bytes, and are evaluated as in a worker: decoded state is kept from
one micro-batch to the next, and each writes what it changed as bytes. Reading the files is not measured, and making the
rows that the projection of a query would have is not either. Seconds are of processor time, which other work on the
machine changes less.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.bucket import Bucket, BucketQuery, answers_of, forget_decoded_state
from benchmarks.data import SECOND, Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.memory import MemoryWatch
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.hot_key import LASTS, WIDTH, HotKey
from benchmarks.questions.lasting import LastingHops, ends_of
from benchmarks.questions.question import ANSWERS, Question, ticks
from benchmarks.questions.sessions import Session
from benchmarks.questions.snapshots import Snapshot
from benchmarks.systems.plain_averages import PlainAverage, WholeAverage
from benchmarks.systems.spark import without_retracted
from benchmarks.systems.system import System
from muntin import EmitPolicy, Module, hopping, session, snapshot, tumbling
from muntin.progress import Punctuated, bounded_delay
from muntin_engine.tasks.output_blobs import RESULTS
from muntin_stats import Average


class MicroBatch(NamedTuple):
    """A micro-batch of a bucket.

    Attributes:
        rows: Its rows as a map task reads them.
        events: The number of events; one that is inserted and then revised is two rows.
    """

    rows: pa.RecordBatch
    events: int


class BucketSystem(System):
    """An average in one bucket.

    Args:
        name: The name of the system.
        module: The average.
        evaluator: The name of the evaluator; None for the one that the planner chooses.
        rows_per_batch: The rows of a micro-batch; None for a file each.
        most_rows: The most rows that are read; None for all.
        is_timed: True if it measures how long the module takes.
    """

    def __init__(
        self,
        name: str,
        module: type[Module],
        evaluator: str | None = None,
        *,
        rows_per_batch: int | None = None,
        most_rows: int | None = None,
        is_timed: bool = False,
    ) -> None:
        self.name = name
        self._module = module
        self._evaluator = evaluator
        self._rows_per_batch = rows_per_batch
        self._most_rows = most_rows
        self._is_timed = is_timed

    @property
    def note(self) -> str | None:
        """A note that the system runs without Spark."""
        most = "" if self._most_rows is None else f", {self._most_rows:,} events at most"
        size = "" if self._rows_per_batch is None else f", in micro-batches of {self._rows_per_batch:,}"
        return f"in process, without Spark, by processor time{most}{size}"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run all micro-batches through a bucket."""
        query = self._query(question, files.delay)
        waiting = list(self._micro_batches(question, files, query))
        batches: list[Batch] = []
        bucket = Bucket(query)
        forget_decoded_state()
        gc.collect()
        started = time.monotonic()
        with MemoryWatch.over(os.getpid(), with_root=True) as watch:
            for micro_batch in waiting:
                batches.append(_measured(bucket, micro_batch))
                if time.monotonic() - started > limit:
                    break
        seconds = sum(batch.seconds for batch in batches)
        is_cut = len(batches) < len(waiting)
        return Run(seconds, tuple(batches), Memory(python=watch.peak.python), is_cut, cpu_seconds=seconds)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run all micro-batches through a bucket and keep its output."""
        query = self._query(question, files.delay)
        bucket = Bucket(query)
        forget_decoded_state()
        tables = []
        for micro_batch in self._micro_batches(question, files, query):
            answers = answers_of(bucket.process(bucket.send(micro_batch.rows)))
            if len(answers):
                tables.append(answers)
        answers = pa.concat_tables(tables)
        return without_retracted(answers) if "change" in answers.column_names else answers.cast(ANSWERS)

    def _query(self, question: Question, delay: int) -> BucketQuery:
        """Return the query that answers a question over events that come up to some seconds late."""
        query = BucketQuery(
            module=self._module,
            evaluator=self._evaluator,
            lasting=1,
            progress=bounded_delay(delay * SECOND),
            is_timed=self._is_timed,
        )
        match question:
            case Hopping(size, hop):
                return replace(query, window=hopping(size * SECOND, hop * SECOND), lasting=0)
            case Session(gap):
                return replace(query, window=session(gap * SECOND), lasting=0)
            case LastingHops(size, hop):
                return replace(query, window=hopping(size * SECOND, hop * SECOND), has_ids=question.is_revised)
            case Snapshot():
                return replace(query, window=snapshot(), has_ids=question.is_revised)
            case HotKey():
                window = snapshot() if question.is_snapshot else tumbling(WIDTH * SECOND)
                return replace(query, window=window, emit=EmitPolicy.EAGER, progress=Punctuated())
        raise TypeError(f"there is no bucket for {question}")

    def _micro_batches(self, question: Question, files: Files, query: BucketQuery) -> Iterator[MicroBatch]:
        """Yield a micro-batch of one bucket per table, with the lifetimes that the question gives to events."""
        is_revised = isinstance(question, LastingHops | Snapshot) and question.is_revised
        for table in self._tables(question, files):
            key = table["key"].to_numpy()
            start = ticks(table["at"])
            if isinstance(question, LastingHops | Snapshot):
                rows = query.rows(key, start, table["value"].to_numpy(), ends_of(start, question.longest))
            elif isinstance(question, HotKey):
                rows = query.rows(np.zeros_like(key), start, table["value"].to_numpy(), start + LASTS)
            else:
                rows = query.rows(key, start, table["value"].to_numpy())
            yield MicroBatch(query.revised_rows(rows) if is_revised else rows, len(table))

    def _tables(self, question: Question, files: Files) -> Iterator[pa.Table]:
        """Yield the rows of each micro-batch."""
        if isinstance(question, HotKey):
            yield from _hot_key_tables(question, files)
            return
        rows_left = self._most_rows
        for path in files.paths:
            table = pq.read_table(path).combine_chunks()
            if rows_left is not None:
                table = table[:rows_left]
                rows_left -= len(table)
            size = self._rows_per_batch or max(1, len(table))
            for first in range(0, len(table), size):
                yield table[first : first + size]


def _hot_key_tables(question: HotKey, files: Files) -> Iterator[pa.Table]:
    """Yield most rows as one micro-batch, and then those of the middle one by one."""
    table = pa.concat_tables(pq.read_table(path) for path in files.paths)[: question.live].combine_chunks()
    first = len(table) // 2
    last = first + question.single
    yield pa.concat_tables([table[:first], table[last:]]).combine_chunks()
    for number in range(first, last):
        yield table[number : number + 1]


def _measured(bucket: Bucket, micro_batch: MicroBatch) -> Batch:
    """Run a micro-batch through a bucket, and return what it took."""
    before = time.process_time()
    blobs = bucket.process(bucket.send(micro_batch.rows))
    seconds = time.process_time() - before
    return Batch(
        rows=micro_batch.events,
        seconds=seconds,
        output_rows=sum(blob.rows for blob in blobs if blob.stream == RESULTS),
        state_bytes=bucket.state_bytes,
        written_bytes=sum(blob.rows for blob in blobs if blob.stream == "bytes_written"),
    )


IN_PROCESS: Final = BucketSystem("muntin in process", Average)
GENERAL_WHOLE: Final = BucketSystem(
    "general in process, class", WholeAverage, "general", rows_per_batch=10_000, most_rows=300_000
)
GENERAL_COMBINE: Final = BucketSystem(
    "general in process, combine", PlainAverage, "general", rows_per_batch=10_000, most_rows=300_000
)
OPEN_WINDOW: Final = BucketSystem(
    "general in process, open window", PlainAverage, "general", rows_per_batch=20_000, most_rows=60 * 20_000
)
HOT_KEY: Final = BucketSystem("general in process, hot key", PlainAverage, "general")
UNMETERED: Final = BucketSystem("general in process, unmetered", PlainAverage, "general", rows_per_batch=5_000)
METERED: Final = BucketSystem(
    "general in process, metered", PlainAverage, "general", rows_per_batch=5_000, is_timed=True
)
