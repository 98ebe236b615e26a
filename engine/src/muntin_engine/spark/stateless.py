"""The tasks of a query without state in Spark's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import pyarrow as pa
from pyspark import TaskContext

from muntin_engine.exchange.bucket_task import RESULTS, OutputBlob, with_totals
from muntin_engine.exchange.stateless_task import run_task
from muntin_engine.metrics import skipped_metric
from muntin_engine.spark.rejections import Teller
from muntin_engine.spark.settling import settle
from muntin_engine.spark.shipping.packed_task import open_task
from muntin_engine.spark.stateful import OUTPUT
from muntin_engine.spark.types import arrow_schema_of
from muntin_engine.workers.watchdog import overseen


class StatelessTask:
    """Turns the rows of a task into blobs, as `BucketProcessor` does behind a shuffle; for `mapInArrow`."""

    def __init__(self, task: bytes, teller: Teller | None = None) -> None:
        self._task = task
        self._teller = teller

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs of results and of rejected rows, then one row with all metrics."""
        task, schema, told = open_task(self._task), arrow_schema_of(OUTPUT), list[OutputBlob]()
        settle()

        def noted() -> Iterator[OutputBlob]:
            for blob in run_task(task, batches):
                told.extend([] if blob.stream == RESULTS else [blob])
                yield blob

        with overseen(task.worker, task.plan.axis):
            for blob in with_totals(noted()):
                row = {"bucket": task.buckets[0], "place": task.place, **asdict(blob)}
                yield pa.RecordBatch.from_pylist([row], schema)
        context = TaskContext.get()
        if self._teller is not None and context is not None:
            skipped = {
                label: blob.rows
                for label in task.choosy_labels
                for blob in told
                if blob.stream == skipped_metric(label)
            }
            self._teller.tell(context.partitionId(), told, skipped)
