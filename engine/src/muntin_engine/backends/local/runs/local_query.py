"""A query in this process: its map tasks, the exchange and its buckets, one after the other, with the state in memory.

    batches -> map task (rows to buckets) -> exchange -> bucket task -> blobs of its outputs

These are the tasks that Spark runs; what Spark does between them is done here by an `Exchange`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from muntin_engine.backends.local.frames.micro_batch import BucketOutput
from muntin_engine.backends.local.runs.exchange import BucketInput, Exchange
from muntin_engine.backends.local.runs.spilled_blobs import SpillFolder
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.stateless_task import run_task
from muntin_engine.wire.task_payload import TaskPayload

CellsByBucket: TypeAlias = Mapping[int, Mapping[str, bytes]]
"""The bytes of cells, by bucket and by name."""


class LocalQuery:
    """A query that runs in this process, micro-batch by micro-batch.

    Attributes:
        cells: The state of each bucket.
    """

    def __init__(self, task: TaskPayload, cells: CellsByBucket | None = None) -> None:
        """Take a query, and the state that it goes on with; None to begin without one."""
        self._task = task
        self.cells = {bucket: MemoryCells() for bucket in task.buckets}
        for bucket, data_by_name in (cells or {}).items():
            for name, data in data_by_name.items():
                self.cells[bucket].put(name, data)

    @property
    def task(self) -> TaskPayload:
        """The query, as it travels."""
        return self._task

    def restart(self, task: TaskPayload) -> None:
        """Go on as a new process would, which has the cells and a query that was unpacked anew."""
        self._task = task

    def process(self, map_tasks: Iterable[Iterable[pa.RecordBatch]]) -> Iterator[BucketOutput]:
        """Evaluate a micro-batch.

        Args:
            map_tasks: The batches of projected rows of each map task.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        if self._task.plan.choice.keeps_state:
            yield from self.process_exchanged(distribute(self._task, batches) for batches in map_tasks)
            return
        for batches in map_tasks:
            for blob in run_task(self._task, batches):
                # Rows may lie in the memory of the table that they were read of, and a pandas frame may change.
                yield BucketOutput(self._task.buckets[0], blob.copied())

    def process_exchanged(self, map_tasks: Iterable[Iterable[pa.RecordBatch]]) -> Iterator[BucketOutput]:
        """Evaluate a micro-batch of what map tasks sent; buckets that got nothing stay as they are.

        Args:
            map_tasks: The batches of `EXCHANGE` that each map task yields.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        with SpillFolder() as folder:
            exchange = Exchange(self._task, folder)
            for batches in map_tasks:
                exchange.add_batches(batches)
            for bucket in exchange.buckets():
                yield from self._run_bucket(self._task, bucket, exchange.take(bucket))

    def close(self) -> Iterator[BucketOutput]:
        """Close the stream, as `on_end="close"` does: windows that are open are emitted."""
        closing_task = replace(self._task, is_static=True)
        for bucket in closing_task.buckets:
            yield from self._run_bucket(closing_task, bucket, BucketInput([], []))

    def _run_bucket(self, task: TaskPayload, bucket: int, bucket_input: BucketInput) -> Iterator[BucketOutput]:
        for blob in run_bucket(task, bucket, self.cells[bucket], bucket_input.arrivals(len(task.inputs))):
            yield BucketOutput(bucket, blob)
