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
        """Take a query and the state from which it continues.

        Args:
            task: The query as it travels.
            cells: The state, as the bytes of each cell of a bucket; None to begin without one.
        """
        self._task = task
        self.cells = {bucket: MemoryCells() for bucket in task.buckets}
        if cells is not None:
            for bucket, data_by_name in cells.items():
                for name, data in data_by_name.items():
                    self.cells[bucket].put(name, data)

    @property
    def task(self) -> TaskPayload:
        """The query, as it travels."""
        return self._task

    def restart(self, task: TaskPayload) -> None:
        """Continue as after a restart: with the same cells, and a query that holds nothing of the process before.

        Args:
            task: The query, unpacked anew.
        """
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
            # A query without state has no buckets: its output counts as that of the first one.
            for blob in run_task(self._task, batches):
                # Output may share memory with the table that was read, such as a pandas frame, which may change.
                yield BucketOutput(self._task.buckets[0], blob.copied())

    def process_exchanged(self, map_tasks: Iterable[Iterable[pa.RecordBatch]]) -> Iterator[BucketOutput]:
        """Evaluate the buckets of a micro-batch that get rows or a report; the state of the others stays as it is.

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
                yield from self._run_bucket(self._task, bucket, exchange.pop_input(bucket))

    def close(self) -> Iterator[BucketOutput]:
        """Close the stream, as `on_end="close"` does: windows that are open are emitted."""
        closing_task = replace(self._task, is_static=True)  # the input of a static task ends with this micro-batch
        for bucket in closing_task.buckets:
            yield from self._run_bucket(closing_task, bucket, BucketInput([], []))

    def _run_bucket(self, task: TaskPayload, bucket: int, bucket_input: BucketInput) -> Iterator[BucketOutput]:
        """Evaluate a bucket with its state, and yield its output under its id."""
        for blob in run_bucket(task, bucket, self.cells[bucket], bucket_input.arrivals(len(task.inputs))):
            yield BucketOutput(bucket, blob)
