"""A recorded query, run again in this process with the progress that was recorded, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from muntin_engine.backends.local.batch_output import BatchOutput
from muntin_engine.backends.local.local_query import LocalQuery, exchanged_rows
from muntin_engine.recording.live_table import Row
from muntin_engine.recording.recording_folder import CellsOfBuckets
from muntin_engine.recording.replayed import ReplayedBatch
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, REJECTED_ROWS, RESULTS
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.wire.shuffle import SIDE
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
        """Go on as a new process, which has the cells and the query alone."""
        self._query.restart(task)

    def process(self, number: int, parts: Sequence[RecordedPart], run: int = 0) -> ReplayedBatch:
        """Evaluate a micro-batch.

        Args:
            number: Its number.
            parts: The rows of its map tasks, or some of them; progress is as recorded, whatever rows are left.
            run: Which start of the query it is of.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        if self.task.plan.choice.keeps_state:
            blobs = self._query.process_exchanged(row for part in parts for row in recorded_exchange(self.task, part))
        else:
            blobs = self._query.process(part.batches() for part in parts)
        return _replayed(number, run, BatchOutput.of_blobs(self.task, blobs))

    def close(self, number: int, run: int = 0) -> ReplayedBatch:
        """Close the stream, as `on_end="close"` does: windows that are open are emitted."""
        return _replayed(number, run, BatchOutput.of_blobs(self.task, self._query.close()))


def recorded_exchange(task: TaskPayload, part: RecordedPart) -> Iterator[dict[str, Any]]:
    """Yield the rows that a map task sends to the buckets, with the progress that was recorded."""
    report = part.report
    for row in exchanged_rows(task, part.batches()):
        is_progress = row["rows"] is None and row["evaluator_blobs"] is None
        if is_progress and report.inputs:
            side = row[SIDE] if len(task.inputs) > 1 else 0
            row.update(report.inputs[side].columns(), signals=list(report.signals))
        yield row


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
