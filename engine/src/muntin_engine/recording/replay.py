"""A recorded query, run again in this process: map tasks, the exchange and buckets, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from muntin_engine.recording.live_table import Row
from muntin_engine.recording.recording_folder import CellsOfBuckets
from muntin_engine.recording.replayed import ReplayedBatch
from muntin_engine.sinks.recordings.totals import totals_of
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, REJECTED_ROWS, RESULTS, STREAMS, OutputBlob
from muntin_engine.tasks.recorded_rows import RecordedPart
from muntin_engine.tasks.stateless_task import run_task
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.shuffle import SIDE, collect
from muntin_engine.wire.task_payload import TaskPayload

_OUTPUT_OF_STREAM: Final = {stream: output for output, streams in STREAMS.items() for stream in streams}


class Replay:
    """A query that runs in this process, micro-batch by micro-batch."""

    def __init__(self, task: TaskPayload, cells: CellsOfBuckets | None = None) -> None:
        """Open a query.

        Args:
            task: The query, as its workers get it.
            cells: The state that it begins with; None for no state.
        """
        self.task = task
        self.load_state(cells or {})

    def load_state(self, cells_of_buckets: CellsOfBuckets) -> None:
        """Replace the state by the cells of each bucket."""
        self._cells = {bucket: MemoryCells() for bucket in self.task.buckets}
        for bucket, cells in cells_of_buckets.items():
            for name, data in cells.items():
                self._cells[bucket].put(name, data)

    def restart(self, task: TaskPayload) -> None:
        """Go on as a new process, which has the cells and the query alone."""
        self.task = task

    def process(self, number: int, parts: Sequence[RecordedPart], run: int = 0) -> ReplayedBatch:
        """Evaluate a micro-batch.

        Args:
            number: The number of the micro-batch.
            parts: The rows of its map tasks, or a part of them; progress is as recorded, whatever rows are left.
            run: The number of the start of the query that it is of.

        Raises:
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        if not self.task.plan.choice.keeps_state:
            return self._replayed(number, run, self._run_stateless(parts))
        rows_by_bucket: dict[int, list[Mapping[str, Any]]] = {}
        for part in parts:
            for row in exchanged_rows(self.task, part):
                rows_by_bucket.setdefault(row["bucket"], []).append(row)
        return self._replayed(number, run, self._run_buckets(self.task, rows_by_bucket))

    def close(self, number: int, run: int = 0) -> ReplayedBatch:
        """Close the stream, as `on_end="close"` does: windows that are open are emitted."""
        task = replace(self.task, is_static=True)
        return self._replayed(number, run, self._run_buckets(task, dict.fromkeys(task.buckets, ())))

    def _run_stateless(self, parts: Sequence[RecordedPart]) -> Iterator[OutputBlob]:
        for part in parts:
            yield from run_task(self.task, part.batches())

    def _run_buckets(
        self, task: TaskPayload, rows_by_bucket: Mapping[int, Sequence[Mapping[str, Any]]]
    ) -> Iterator[OutputBlob]:
        for bucket in task.buckets:
            if bucket in rows_by_bucket:
                arrivals = collect(rows_by_bucket[bucket], len(task.inputs))
                yield from run_bucket(task, bucket, self._cells[bucket], arrivals)

    def _replayed(self, number: int, run: int, blobs: Iterable[OutputBlob]) -> ReplayedBatch:
        """Return the rows of all outputs, and the metrics, of a micro-batch."""
        rows: dict[str, list[Row]] = {RESULTS: [], LATE_ROWS: [], REJECTED_ROWS: [], EVICTED_ROWS: []}
        schemas = {RESULTS: self.task.results, EVICTED_ROWS: self.task.evicted}
        metrics: list[tuple[str, int]] = []
        for blob in blobs:
            metrics.append((blob.stream, blob.rows))
            if blob.data is None:
                continue
            output = _OUTPUT_OF_STREAM[blob.stream]
            table = from_blob(blob.data)
            schema = schemas.get(output)
            if schema is not None:
                table = table.cast(schema)
            rows[output] += table.to_pylist()
        return ReplayedBatch(
            number=number,
            run=run,
            changes=rows[RESULTS],
            late_rows=rows[LATE_ROWS],
            rejected_rows=rows[REJECTED_ROWS],
            evicted_rows=rows[EVICTED_ROWS],
            metrics=totals_of(metrics),
        )


def exchanged_rows(task: TaskPayload, part: RecordedPart) -> Iterator[dict[str, Any]]:
    """Yield the rows that a map task sends to the buckets, with the progress that was recorded."""
    report = part.report
    for batch in distribute(task, part.batches()):
        for row in batch.to_pylist():
            is_progress = row["rows"] is None and row["evaluator_blobs"] is None
            if is_progress and report.inputs:
                side = row[SIDE] if len(task.inputs) > 1 else 0
                row.update(report.inputs[side].columns(), signals=list(report.signals))
            yield row
