"""A recorded query, run again in this process with the progress that was recorded, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from muntin_engine.backends.local.frames.micro_batch import BucketOutput
from muntin_engine.backends.local.runs.batch_output import BatchOutput
from muntin_engine.backends.local.runs.exchange import is_report
from muntin_engine.backends.local.runs.local_query import LocalQuery
from muntin_engine.recording.live_table import Row
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.recording_folder import CellsOfBuckets
from muntin_engine.recording.replayed import ReplayedBatch
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, REJECTED_ROWS, RESULTS
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.wire.shuffle import SIDE, exchange_batch
from muntin_engine.wire.task_payload import TaskPayload


class Replay:
    """A query that runs in this process, micro-batch by micro-batch."""

    def __init__(self, task: TaskPayload, cells: CellsOfBuckets | None = None) -> None:
        """Open a query.

        Args:
            task: The query, as its workers get it.
            cells: The state that it begins with; None for no state.
        """
        self._query = LocalQuery(task, cells)

    @property
    def task(self) -> TaskPayload:
        """The query, as its workers get it."""
        return self._query.task

    def load_state(self, cells_of_buckets: CellsOfBuckets) -> None:
        """Replace the state by the cells of each bucket."""
        self._query = LocalQuery(self.task, cells_of_buckets)

    def restart(self, task: TaskPayload) -> None:
        """Continue as a new process would, which has only the cells and the query.

        Args:
            task: The query, with modules that have not been called yet.
        """
        self._query.restart(task)

    def process(self, number: int, parts: Sequence[RecordedPart], run: int = 0) -> ReplayedBatch:
        """Evaluate a micro-batch.

        Args:
            number: The number of the micro-batch.
            parts: The rows of each map task, or a selection of them: the progress is the recorded one in any case.
            run: The number of the start of the query in which the micro-batch was evaluated.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        return _replayed(number, run, BatchOutput.of_blobs(self.task, self._blobs(parts)))

    def close(self, number: int, run: int = 0) -> ReplayedBatch:
        """Close the stream, as `on_end="close"` does: windows that are open are emitted.

        Args:
            number: The number of the micro-batch that stands for the end of the stream.
            run: The number of the start of the query in which the stream ended.
        """
        return _replayed(number, run, BatchOutput.of_blobs(self.task, self._query.close()))

    def changes(self, batch: RecordedBatch) -> list[pa.Table]:
        """Evaluate a micro-batch, or the end of the stream, and return only the changes of results, as tables.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        blobs = self._query.close() if batch.is_end else self._blobs(batch.parts)
        return BatchOutput.of_blobs(self.task, blobs, [RESULTS]).tables[RESULTS]

    @property
    def state_bytes(self) -> int:
        """The size of the state of all buckets."""
        size = 0
        for bucket_cells in self._query.cells.values():
            size += sum(map(len, bucket_cells.cells.values()))
        return size

    def _blobs(self, parts: Sequence[RecordedPart]) -> Iterator[BucketOutput]:
        """Evaluate a micro-batch under the progress that was recorded."""
        if self.task.plan.choice.keeps_state:
            return self._query.process_exchanged(recorded_exchange(self.task, part) for part in parts)
        return self._query.process(part.batches() for part in parts)


def recorded_exchange(task: TaskPayload, part: RecordedPart) -> Iterator[pa.RecordBatch]:
    """Run a map task: yield the batches that it sends to the buckets, but with the progress that was recorded.

    The task itself would report the progress of the rows that it gets here, which may be fewer than all.

    Args:
        task: The query.
        part: The recorded rows of the map task, or a selection of them, with its recorded report.
    """
    for batch in distribute(task, part.batches()):
        # Where no report was recorded, `part.report` has no inputs. Then the report of this run stands.
        if part.report.inputs and is_report(batch):
            yield _with_recorded_report(task, part, batch)
        else:
            yield batch


def _with_recorded_report(task: TaskPayload, part: RecordedPart, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the report of a map task with the progress and the signals that were recorded.

    Args:
        task: The query.
        part: The recorded rows of the task, with its recorded report.
        batch: The report on one input for all buckets, as the map task has sent it here.
    """
    side = batch.column(SIDE)[0].as_py() if len(task.inputs) > 1 else 0
    columns: dict[str, list[Any]] = {"signals": [list(part.report.signals)] * len(batch)}
    for name, value in part.report.inputs[side].columns().items():
        columns[name] = [value] * len(batch)
    # The counts are not replaced: they count the rows that the task got here, which may be fewer than were recorded.
    for name in ("durations", "row_counts"):
        columns[name] = batch.column(name).to_pylist()
    return exchange_batch(task, batch.column("bucket").to_pylist(), columns, side)


def _replayed(number: int, run: int, output: BatchOutput) -> ReplayedBatch:
    """Return the output of a micro-batch as rows."""
    rows: dict[str, list[Row]] = {}
    for name, tables in output.tables.items():
        rows[name] = [row for table in tables for row in table.to_pylist()]
    return ReplayedBatch(
        number=number,
        run=run,
        changes=rows[RESULTS],
        late_rows=rows[LATE_ROWS],
        rejected_rows=rows[REJECTED_ROWS],
        evicted_rows=rows[EVICTED_ROWS],
        metrics=output.metrics,
    )
