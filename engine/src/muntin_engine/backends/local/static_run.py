"""The run of a query over static input: its map tasks, the exchange and its buckets.

input -> map tasks -> Exchange -> buckets, one after the other -> output
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from muntin_engine.backends.local.exchange import Exchange
from muntin_engine.backends.local.local_rows import LocalRows
from muntin_engine.backends.local.spilled_blobs import SpillFolder
from muntin_engine.backends.local.task_runs import TaskOutput, input_batches, run_static_bucket, run_without_state
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.shuffle import RowCounts

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.wire.task_payload import TaskPayload


class StaticRun:
    """One run of a query.

    Attributes:
        row_counts: The counts of rows that no bucket gets, once the first bucket has run.
    """

    def __init__(self, query: PlannedQuery, task: TaskPayload) -> None:
        """Take a query.

        Args:
            query: The query.
            task: The query as it travels.
        """
        self.row_counts = RowCounts()
        self._query = query
        self._task = task

    def outputs(self) -> Iterator[TaskOutput]:
        """Run the query, and yield its output bucket by bucket; a bucket's rows are freed after it has run.

        Raises:
            QueryError: A row of the input cannot be read.
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        if self._task.plan.choice.keeps_state:
            with SpillFolder() as folder:
                yield from self._outputs_of_buckets(folder)
        else:
            yield from run_without_state(self._task, input_batches(self._rows(0), 0, 1))

    def _outputs_of_buckets(self, folder: SpillFolder) -> Iterator[TaskOutput]:
        exchange = Exchange(self._task, folder)
        inputs = len(self._task.inputs)
        for side in range(inputs):
            batches = input_batches(self._rows(side), side, inputs)
            exchange.add_batches(distribute(self._task, batches))
        self.row_counts = exchange.row_counts
        for bucket in exchange.buckets():
            yield run_static_bucket(self._task, bucket, exchange.take(bucket))

    def _rows(self, side: int) -> LocalRows:
        rows: Any = self._query.sources[side].df
        assert isinstance(rows, LocalRows)
        return rows
