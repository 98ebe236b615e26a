"""The bucket task: one bucket in one micro-batch, blobs in, blobs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from muntin import INFINITY
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.plan.metrics import is_level
from muntin_engine.state.cells import Cells, CheckedCells, Origin
from muntin_engine.tasks.bucket_rows import BucketRows, read_bucket_rows
from muntin_engine.tasks.durations import Durations, stage
from muntin_engine.tasks.evaluator_registry import KEEPS_STATE
from muntin_engine.tasks.output_blobs import (
    ACCEPTED,
    EVICTED,
    OUTPUT_WATERMARK,
    RESULTS,
    OutputBlob,
    side_output_blobs,
)
from muntin_engine.tasks.task_metrics import bucket_metrics, overflow_metrics, source_counts
from muntin_engine.wire.shuffle import BucketArrivals
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.workers.garbage_collector import without_collector
from muntin_engine.workers.oversight import overseen, windows_in_words


def run_bucket(
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    arrivals: BucketArrivals,
    origin: Origin | None = None,
    may_lack: Callable[[int], bool] = lambda first_missing: False,
) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket: yield the rows of its outputs, and the values of its metrics.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrivals: The rows, partial states and reports that arrive at the bucket in the micro-batch.
        origin: The query, bucket and micro-batch that are written with each cell; None where there are no
            micro-batches.
        may_lack: Gets the number of a micro-batch, and returns True if the state may lack that one and all later ones,
            as the bucket was evaluated in none of them. If it may not, it was restored from an old checkpoint.

    Raises:
        ModuleFailedError: A module raised an exception.
        StateError: The state is damaged, or it is not the state that the bucket had after its last micro-batch.
    """
    checked_cells = CheckedCells(cells, f"bucket {bucket}", origin, may_lack)
    with windows_in_words(task.plan.words), overseen(task.worker, task.plan.axis):
        yield from BucketTask(task, bucket, checked_cells).process(arrivals)


class BucketTask:
    """The evaluation of one micro-batch for one bucket.

    Attributes:
        durations: The durations of its stages.
    """

    def __init__(self, task: TaskPayload, bucket: int, cells: CheckedCells) -> None:
        """Take the query, the bucket, and the cells of its state."""
        self.durations = Durations(task)
        self._task = task
        self._bucket = bucket
        self._cells = cells

    def process(self, arrivals: BucketArrivals) -> Iterator[OutputBlob]:
        """Read the rows that arrive, evaluate them, and yield results, side outputs and metrics."""
        self._task.overflows.clear()  # a batch that failed may have left some
        with without_collector():
            rows = self._read(arrivals)
            evaluated = self._evaluate(self._batch(arrivals, rows))
            tables = self._tables(evaluated)

        # A revision that changes nothing is accepted, though no bucket gets it.
        yield OutputBlob(ACCEPTED, evaluated.accepted + arrivals.row_counts.unchanging)
        yield OutputBlob(OUTPUT_WATERMARK, evaluated.output_watermark)
        for stream, table in tables:
            yield OutputBlob.of_table(stream, table)
        yield from side_output_blobs(self._task, rows.rejected, evaluated.rejections, evaluated.late)
        yield from self._metric_blobs(arrivals, evaluated)

    @stage("intake")
    def _read(self, arrivals: BucketArrivals) -> BucketRows:
        """Read the rows that arrive as rows, and not as partial states."""
        return read_bucket_rows(self._task, arrivals.rows)

    def _batch(self, arrivals: BucketArrivals, rows: BucketRows) -> BucketBatch:
        """Return the batch for the evaluator, after completing the reports on the inputs.

        Each report gets the watermarks of single keys, which came among the rows.
        """
        for report, key_watermarks in zip(arrivals.reports, rows.key_watermarks, strict=True):
            report.key_watermarks = key_watermarks
            if self._task.is_static:  # a static input is complete after its rows
                report.progress = report.progress._replace(watermark=INFINITY)
        return BucketBatch(
            changes=rows.changes,
            evaluator_blobs=arrivals.evaluator_blobs,
            reports=arrivals.reports,
            signals=arrivals.signals,
        )

    @stage("evaluate")
    def _evaluate(self, batch: BucketBatch) -> Evaluated:
        """Run the evaluator."""
        evaluator = KEEPS_STATE[self._task.plan.choice.evaluator]
        return evaluator.process(self._task, self._bucket, self._cells, batch)

    @stage("encode")
    def _tables(self, evaluated: Evaluated) -> list[tuple[str, pa.Table]]:
        """Return each table of the output with the name of its stream.

        Evaluators make tables only as they are iterated, so the time for this is spent here.
        """
        tables = [(RESULTS, table) for table in evaluated.tables]
        tables += [(EVICTED, table) for table in evaluated.evicted]
        return tables

    def _metric_blobs(self, arrivals: BucketArrivals, evaluated: Evaluated) -> Iterator[OutputBlob]:
        """Yield the values of metrics; a count of zero is left out, and a level such as a watermark is not."""
        task = self._task
        observations = [report.observations for report in arrivals.reports]
        rejections = [rejection for _, rejection in evaluated.rejections]
        metrics = source_counts(task, self._bucket, observations, rejections)
        if not task.is_static:  # a static input reports no other metrics
            metrics["bytes_written"] = self._cells.written
            metrics |= self.durations.metrics(arrivals.durations)
            metrics |= bucket_metrics(task, evaluated, arrivals.row_counts)
            metrics |= overflow_metrics(task)
        for name, value in metrics.items():
            if value or is_level(name):
                yield OutputBlob(name, value)
