"""The task of a query without state: rows in, blobs out. It is a map task and a bucket in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.tasks.bucket_rows import split_problems
from muntin_engine.tasks.bucket_task import without_collector
from muntin_engine.tasks.durations import Durations
from muntin_engine.tasks.evaluator_registry import ANSWERS_AT_ONCE
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.output_blobs import ACCEPTED, REJECTED, RESULTS, OutputBlob
from muntin_engine.tasks.task_metrics import overflow_metrics, skipped_metrics, source_counts
from muntin_engine.time.changes import Progress
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.wire.row_counts import RowCounts
from muntin_engine.wire.shuffle import PackedReport
from muntin_engine.wire.side_output import SideOutputRow, side_output_table
from muntin_engine.wire.task_payload import TaskPayload

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows


def run_task(
    task: TaskPayload, batches: Iterable[pa.RecordBatch], recorded: RecordedRows | None = None
) -> Iterator[OutputBlob]:
    """Yield the results and the rejected rows of a task, batch by batch, and then the values of metrics.

    Args:
        task: The query.
        batches: The projected rows.
        recorded: The file to which these are recorded, if they are.

    Raises:
        ModuleFailedError: The module raised an exception.
    """
    evaluation = StatelessEvaluation(task)
    for batch in batches:
        if recorded is not None:
            recorded.write(batch)
        try:
            blobs = evaluation.process(batch)
        except ModuleFailedError:
            if recorded is not None:  # a reader of the recording looks for the rows that led to the failure
                recorded.finish([evaluation.report()], ())
            raise
        yield from blobs
    if recorded is not None:
        recorded.finish([evaluation.report()], ())
    for name, value in evaluation.metrics().items():
        yield OutputBlob(name, value)


class StatelessEvaluation:
    """A query without state in one task, which is handed batches of rows."""

    def __init__(self, task: TaskPayload) -> None:
        self._task = task
        self._evaluator = ANSWERS_AT_ONCE[task.plan.choice.evaluator]
        self._durations = Durations(task)
        self._progress = Progress()
        self._observations: list[Observation] = []
        self._accepted = 0
        self._counts = RowCounts()
        task.overflows.clear()  # those of a task that failed

    def process(self, batch: pa.RecordBatch) -> list[OutputBlob]:
        """Return the results and the rejected rows of a batch.

        Raises:
            ModuleFailedError: The module raised an exception.
        """
        stages = self._durations.stages
        with without_collector():
            with stages["distribute"]:
                read = read_rows(self._task.input, batch)
                rows, rejected = split_problems(self._task.input, read.rows)
            with stages["evaluate"]:
                results = self._results(rows)
            with stages["encode"]:
                blobs = self._blobs(results, rejected)
        self._progress = self._progress.advance(read.progress)
        self._observations += read.observations
        self._accepted += rows.num_rows + read.counts.unchanging
        self._counts += read.counts
        return blobs

    def report(self) -> PackedReport:
        """Return the progress of the rows so far."""
        return PackedReport(self._progress)

    def metrics(self) -> dict[str, int]:
        """Return the values of metrics over all rows, by name."""
        metrics = {
            **skipped_metrics(self._task, self._counts),
            ACCEPTED: self._accepted,
            "newest": self._progress.newest,
            **self._durations.metrics(()),
            **source_counts(self._task, self._task.buckets[0], [self._observations]),
        }
        if not self._task.is_static:
            metrics |= overflow_metrics(self._task)
        return metrics

    def _results(self, rows: pa.Table) -> pa.Table:
        try:
            return self._evaluator.results(self._task, rows)
        except ModuleFailedError as error:
            error.say_window(self._task.plan.words.axis.spell_interval)
            raise

    def _blobs(self, results: pa.Table, rejected: list[SideOutputRow]) -> list[OutputBlob]:
        blobs: list[OutputBlob] = []
        if results.num_rows:
            blobs.append(OutputBlob.of_table(RESULTS, results))
        if rejected:
            blobs.append(OutputBlob.of_table(REJECTED, side_output_table(self._task, rejected)))
        return blobs
