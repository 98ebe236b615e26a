"""The map side of one pass: rows that several queries share, of which each takes what it reads.

A row has the columns of all queries; a column that several of them name is there once. Buckets are numbered apart, so
what is sent needs no mark of whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from muntin_engine.tasks.map_task import Distribution
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.workers.oversight import overseen

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows


@dataclass(frozen=True)
class OwnColumns:
    """The part of shared rows that a query takes.

    Attributes:
        names: The names of its projected columns.
        shared_names: The names of the same columns in the shared rows.
        condition: The column that says which rows are its own; None if all are.
    """

    names: tuple[str, ...]
    shared_names: tuple[str, ...]
    condition: str | None = None

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return its rows of a batch.

        Cost: nothing where all rows are its own; otherwise a copy of those that are.
        """
        columns = [batch.column(name) for name in self.shared_names]
        rows = pa.RecordBatch.from_arrays(columns, names=list(self.names))
        if self.condition is None:
            return rows
        is_own = batch.column(self.condition)
        return rows if pc.all(is_own, min_count=0).as_py() else rows.filter(is_own)


def distribute_to_all(
    tasks: Sequence[TaskPayload],
    owned: Sequence[OwnColumns],
    batches: Iterable[pa.RecordBatch],
    recorded: Sequence[RecordedRows | None] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Distribute shared rows, which are read once, for each query in turn.

    Args:
        tasks: The queries.
        owned: For each of them, the part that it takes.
        batches: The shared rows.
        recorded: Where the rows of each are recorded, if they are.

    Cost: that of the queries one after the other; each may hold `MOST_BYTES` of rows until they make a blob.
    """
    distributions = list(map(Distribution, tasks, recorded or [None] * len(tasks)))
    for batch in batches:
        for task, own, distribution in zip(tasks, owned, distributions, strict=True):
            rows = own.of(batch)
            if rows.num_rows:
                with overseen(task.worker, task.plan.axis):
                    sent = list(distribution.take(rows))
                yield from sent
    for task, distribution in zip(tasks, distributions, strict=True):
        with overseen(task.worker, task.plan.axis):
            sent = list(distribution.finish())
        yield from sent
