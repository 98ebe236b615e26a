"""The task of a query without state: rows in, blobs out. It is a map task and a bucket in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.tasks.bucket_rows import split_problems
from muntin_engine.tasks.durations import Durations, stage
from muntin_engine.tasks.evaluator_registry import ANSWERS_AT_ONCE
from muntin_engine.tasks.input_rows import InputRows, read_rows
from muntin_engine.tasks.output_blobs import ACCEPTED, REJECTED, RESULTS, OutputBlob
from muntin_engine.tasks.task_metrics import overflow_metrics, skipped_metrics, source_counts
from muntin_engine.time.changes import Progress
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.wire.shuffle import PackedReport, RowCounts
from muntin_engine.wire.side_output import SideOutputRow, side_output_table
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.workers.garbage_collector import without_collector
from muntin_engine.workers.oversight import windows_in_words

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows


def run_task(
    task: TaskPayload, batches: Iterable[pa.RecordBatch], row_file: RecordedRows | None = None
) -> Iterator[OutputBlob]:
    """Yield the results and the rejected rows of a task, batch by batch, and then the values of metrics.

    Args:
        task: The query.
        batches: The projected rows.
        row_file: The file to which the rows are recorded; None if they are not.

    Raises:
        ModuleFailedError: The module raised an exception.
    """
    stateless_task = StatelessEvaluation(task)
    for batch in batches:
        if row_file is not None:
            row_file.write(batch)
        try:
            blobs = stateless_task.process(batch)
        except ModuleFailedError:
            if row_file is not None:  # a reader of the recording looks for the rows that led to the failure
                row_file.finish([stateless_task.report()], signals=())
            raise
        yield from blobs
    if row_file is not None:
        row_file.finish([stateless_task.report()], signals=())  # without windows there are no triggers to signal to
    for name, value in stateless_task.metrics().items():
        yield OutputBlob(name, value)


class _ReadRows(NamedTuple):
    """The rows of a batch as they were read.

    Attributes:
        input_rows: All rows, with their progress and counts.
        good_rows: The rows without a problem.
        rejected: The rows with a problem, for the side output.
    """

    input_rows: InputRows
    good_rows: pa.Table
    rejected: list[SideOutputRow]


class StatelessEvaluation:
    """A query without state in one task, which is handed batches of rows.

    Attributes:
        durations: The durations of its stages.
    """

    def __init__(self, task: TaskPayload) -> None:
        """Begin without rows."""
        self.durations = Durations(task)
        self._task = task
        self._evaluator = ANSWERS_AT_ONCE[task.plan.choice.evaluator]
        self._progress = Progress()
        self._observations: list[Observation] = []
        self._accepted = 0
        self._counts = RowCounts()
        task.overflows.clear()  # a task that failed may have left some

    def process(self, batch: pa.RecordBatch) -> list[OutputBlob]:
        """Return the results and the rejected rows of a batch.

        Raises:
            ModuleFailedError: The module raised an exception.
        """
        with without_collector(), windows_in_words(self._task.plan.words):
            rows = self._read(batch)
            results = self._evaluate(rows.good_rows)
            blobs = self._encode(results, rows.rejected)
        self._count(rows)
        return blobs

    @stage("distribute")
    def _read(self, batch: pa.RecordBatch) -> _ReadRows:
        """Read the rows of a batch, and tell good ones from bad ones."""
        input_rows = read_rows(self._task.input, batch)
        good_rows, rejected = split_problems(self._task.input, input_rows.rows)
        return _ReadRows(input_rows, good_rows, rejected)

    @stage("evaluate")
    def _evaluate(self, rows: pa.Table) -> pa.Table:
        """Return the results that the evaluator computes from rows."""
        return self._evaluator.results(self._task, rows)

    @stage("encode")
    def _encode(self, results: pa.Table, rejected: list[SideOutputRow]) -> list[OutputBlob]:
        """Return results and rejected rows as blobs."""
        blobs: list[OutputBlob] = []
        if results.num_rows:
            blobs.append(OutputBlob.of_table(RESULTS, results))
        if rejected:
            blobs.append(OutputBlob.of_table(REJECTED, side_output_table(self._task, rejected)))
        return blobs

    def _count(self, rows: _ReadRows) -> None:
        """Add rows to the progress and the counts that the task reports."""
        input_rows = rows.input_rows
        self._progress = self._progress.advance(input_rows.progress)
        self._observations += input_rows.observations
        # A revision that changes nothing is accepted, though it has been left out.
        self._accepted += rows.good_rows.num_rows + input_rows.counts.unchanging
        self._counts += input_rows.counts

    def report(self) -> PackedReport:
        """Return the progress of the rows so far."""
        return PackedReport(self._progress)

    def metrics(self) -> dict[str, int]:
        """Return the metrics of the task by name: of all rows so far; durations and overflows since the last call."""
        # Each bucket of a query gets the observations of all sources, so only the first one counts them. This task has
        # the rows of all buckets, and reports as the first one.
        metrics = {
            **skipped_metrics(self._task, self._counts),
            ACCEPTED: self._accepted,
            "newest": self._progress.newest,
            **self.durations.metrics(()),
            **source_counts(self._task, self._task.buckets[0], [self._observations]),
        }
        if not self._task.is_static:  # of a static input, the caller of the task takes the overflows
            metrics |= overflow_metrics(self._task)
        return metrics
