"""The map side of a query in Spark's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from muntin_engine.exchange.distribute import distribute
from muntin_engine.exchange.one_pass import OwnColumns, distribute_to_all
from muntin_engine.spark.settling import settle
from muntin_engine.spark.shipping.packed_task import open_task
from muntin_engine.workers.watchdog import overseen


class Distributor:
    """Sends the rows of one task to their buckets; for `mapInArrow`. It holds bytes, which are opened on the worker."""

    def __init__(self, task: bytes) -> None:
        self._task = task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs of rows, then the progress of all of them."""
        task = open_task(self._task)
        settle()
        with overseen(task.worker, task.plan.axis):
            yield from distribute(task, batches)


class SharedDistributor:
    """Sends the rows that several queries share to the buckets of each; for `mapInArrow`."""

    def __init__(self, tasks: Sequence[bytes], owned: Sequence[OwnColumns]) -> None:
        self._tasks = tuple(tasks)
        self._owned = tuple(owned)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of all queries, then the progress of each."""
        tasks = list(map(open_task, self._tasks))
        settle()
        yield from distribute_to_all(tasks, self._owned, batches)
