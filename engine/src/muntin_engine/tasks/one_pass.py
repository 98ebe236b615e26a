"""The map side of one pass: several queries share rows, and each takes the part that it reads.

A row has the columns of all queries; a column that several of them name is there once. Buckets are numbered apart, so
blobs need no mark of their query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from muntin_engine.tasks.map_task import MapTask
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.workers.oversight import overseen

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows


@dataclass(frozen=True)
class QueryColumns:
    """The part of shared rows that a query takes.

    Attributes:
        names: The names of the query's projected columns.
        shared_names: The names of the same columns in the shared rows.
        condition: The column that flags the rows of the query; None if it takes all rows.
    """

    names: tuple[str, ...]
    shared_names: tuple[str, ...]
    condition: str | None = None

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the query's part of a batch, under the names of the query's own columns.

        Cost: nothing if all rows belong to the query; otherwise a copy of those that do.
        """
        columns = [batch.column(name) for name in self.shared_names]
        rows = pa.RecordBatch.from_arrays(columns, names=list(self.names))
        if self.condition is None:
            return rows
        is_of_query = batch.column(self.condition)
        if pc.all(is_of_query, min_count=0).as_py():  # min_count=0: also if the batch is empty
            return rows
        return rows.filter(is_of_query)


def distribute_to_all(
    tasks: Sequence[TaskPayload],
    columns_by_query: Sequence[QueryColumns],
    batches: Iterable[pa.RecordBatch],
    row_files: Sequence[RecordedRows | None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read shared rows once, and yield the blobs of each query in turn, as `distribute` does for one.

    Args:
        tasks: The queries.
        columns_by_query: The part that each query takes.
        batches: The shared rows.
        row_files: For each query the file to which its rows are recorded, or None; None if none are recorded.

    Cost: that of the queries one after the other; each may hold `MOST_WAITING_BYTES` of rows until they make a blob.
    """
    row_files = row_files or [None] * len(tasks)
    map_tasks = [MapTask(task, row_file) for task, row_file in zip(tasks, row_files, strict=True)]
    for batch in batches:
        for task, columns, map_task in zip(tasks, columns_by_query, map_tasks, strict=True):
            rows = columns.of(batch)
            if not rows.num_rows:
                continue
            with overseen(task.worker, task.plan.axis):
                # Nothing is yielded in this block, in which all errors and traces count as those of this query.
                blobs = list(map_task.process(rows))
            yield from blobs
    for task, map_task in zip(tasks, map_tasks, strict=True):
        with overseen(task.worker, task.plan.axis):
            blobs = list(map_task.finish())
        yield from blobs
