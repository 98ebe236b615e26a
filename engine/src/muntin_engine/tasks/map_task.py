"""The map task: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle: it reads rows, which rejects bad ones and changes lifetimes, lifts them
if the evaluator does so, counts them, and sends them to buckets. Each task reports the progress of its rows to every
bucket, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.contracts import LiftsRows
from muntin_engine.tasks.durations import Durations, stage
from muntin_engine.tasks.evaluator_registry import LIFTS_ROWS
from muntin_engine.tasks.input_rows import InputRows, read_rows
from muntin_engine.tasks.reported_progress import ReportedProgress, signals_in
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.key_buckets import by_bucket
from muntin_engine.wire.shuffle import PackedReport, RowCounts, by_side, exchange_batch
from muntin_engine.wire.task_payload import InputTask, TaskPayload
from muntin_engine.workers.garbage_collector import without_collector
from muntin_engine.workers.oversight import windows_in_words

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows

MOST_ROWS: Final = 100_000
"""The number of waiting rows at which a task sends its blobs."""

MOST_LIFTED_ROWS: Final = 2_000_000
"""The number of rows at which a task sends partial states: the more rows they are made of, the fewer there are."""

MOST_WAITING_BYTES: Final = 64 * 2**20
"""The bytes of waiting rows at which a task sends its blobs, however few they are."""


def distribute(
    task: TaskPayload, batches: Iterable[pa.RecordBatch], row_file: RecordedRows | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task as blobs for their buckets, or as partial states; then the progress of all rows.

    Args:
        task: The query.
        batches: The projected rows.
        row_file: The file to which the rows are recorded; None if they are not.

    Cost: a few vectorised passes over the rows. A blob of rows has at most `MOST_ROWS` rows and one Arrow batch more.
    Rows that are lifted become partial states up to `MOST_LIFTED_ROWS` at once.
    """
    map_task = MapTask(task, row_file)
    for batch in batches:
        yield from map_task.process(batch)
    yield from map_task.finish()


def rows_at_once(task: TaskPayload) -> int:
    """Return the number of waiting rows at which a task sends its blobs, if they are not wide."""
    return MOST_LIFTED_ROWS if task.plan.choice.evaluator in LIFTS_ROWS else MOST_ROWS


class MapTask:
    """The map side of a query in one task. It is handed batches of rows; several queries may take turns at this.

    Attributes:
        durations: The durations of its stages.
    """

    def __init__(self, task: TaskPayload, row_file: RecordedRows | None = None) -> None:
        """Begin without rows.

        Args:
            task: The query.
            row_file: The file to which the rows are recorded; None if they are not.
        """
        self.durations = Durations(task)
        self._task = task
        self._row_file = row_file
        self._lifter = LIFTS_ROWS.get(task.plan.choice.evaluator)
        self._most_rows = rows_at_once(task)
        self._waiting_batches: list[pa.RecordBatch] = []
        # The totals of the waiting batches: each new batch asks for them, and hundreds may be waiting.
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._progress = [ReportedProgress(input_task.tracker.starts_kept) for input_task in task.inputs]
        self._signals: frozenset[str] = frozenset()
        self._counts = RowCounts()

    def process(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Add a batch to the rows that wait, and yield the blobs of all of them once they are many.

        A blob costs a few hundred calls however few its rows are.
        """
        if self._row_file is not None:
            self._row_file.write(batch)
        self._waiting_batches.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= self._most_rows or self._waiting_bytes >= MOST_WAITING_BYTES:
            yield from self._send()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of the rows that still wait, then the progress of all rows for each bucket."""
        if self._waiting_batches:
            yield from self._send()
        reports = self._reports()
        if self._row_file is not None:
            self._row_file.finish(reports, self._signals)
        yield from self._report_to_buckets(reports)

    def _send(self) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of all rows that wait."""
        batch = self._waiting_batches[0]
        if len(self._waiting_batches) > 1:
            # Rows of a table in memory come as one batch, which is spared this copy.
            batch = pa.concat_batches(self._waiting_batches)
        self._waiting_batches = []
        self._waiting_rows = 0
        self._waiting_bytes = 0
        for input_task, input_batch in by_side(self._task, batch):
            input_rows = self._read(input_task, input_batch)
            self._count(input_task, input_rows)
            if self._lifter is None:
                yield from self._row_blobs(input_rows.rows, input_task.side)
            else:
                yield from self._lifted_blobs(self._lifter, input_rows.rows, input_task.side)

    @stage("distribute")
    def _read(self, input_task: InputTask, batch: pa.RecordBatch) -> InputRows:
        """Read the rows of one input, and add the names of the signals among them to those that the task reports."""
        if "signal" in batch.schema.names:
            self._signals |= signals_in(batch)
        return read_rows(input_task, batch)

    @stage("distribute")
    def _count(self, input_task: InputTask, input_rows: InputRows) -> None:
        """Add rows to the progress and the counts that the task reports."""
        self._progress[input_task.side].add(input_rows.progress, input_rows.observations, input_rows.patterns)
        self._counts += input_rows.counts

    @stage("distribute")
    def _row_blobs(self, rows: pa.Table, side: int) -> list[pa.RecordBatch]:
        """Return the blobs of rows that are not lifted."""
        return list(row_blobs(self._task, rows, side))

    @stage("lift")
    def _lifted_blobs(self, lifter: LiftsRows, rows: pa.Table, side: int) -> list[pa.RecordBatch]:
        """Return the blobs of rows that an evaluator lifts."""
        try:
            return list(lifted_blobs(self._task, lifter, rows, side))
        except ModuleFailedError:
            if self._row_file is not None:  # a reader of the recording looks for the rows that led to the failure
                self._row_file.finish(self._reports(), self._signals)
            raise

    def _reports(self) -> list[PackedReport]:
        """Return the report on each input, over all rows of it so far."""
        return [progress.packed() for progress in self._progress]

    def _report_to_buckets(self, reports: Sequence[PackedReport]) -> Iterator[pa.RecordBatch]:
        """Yield the report on each input, for every bucket."""
        buckets = self._task.buckets
        signals = sorted(self._signals)
        for side, report in enumerate(reports):
            columns: dict[str, list[Any]] = {"signals": [signals] * len(buckets)}
            for name, value in report.columns().items():
                columns[name] = [value] * len(buckets)
            if side == 0:
                # Durations and counts are totals of the task: one bucket gets them for all.
                nulls = [None] * (len(buckets) - 1)
                columns["durations"] = [self.durations.pack(), *nulls]
                columns["row_counts"] = [self._counts.to_list(), *nulls]
            yield exchange_batch(self._task, buckets, columns, side)


def row_blobs(task: TaskPayload, rows: pa.Table, side: int) -> Iterator[pa.RecordBatch]:
    """Yield one batch with a blob for each bucket that gets rows; the rows of a bucket keep their order.

    Args:
        task: The query.
        rows: The rows of one input.
        side: The place of the input among those of the query.
    """
    bucket_ids: list[int] = []
    blobs: list[bytes] = []
    for bucket, bucket_rows in by_bucket(rows, task.key_names, task.plan.buckets):
        # `bucket` counts from 0 in each query; queries that share a pass have different ids of buckets.
        bucket_ids.append(task.buckets[bucket])
        blobs.append(to_blob(bucket_rows))
    if bucket_ids:
        yield exchange_batch(task, bucket_ids, {"rows": blobs}, side)


def lifted_blobs(task: TaskPayload, lifter: LiftsRows, rows: pa.Table, side: int) -> Iterator[pa.RecordBatch]:
    """Yield a batch with the partial states of the good rows for each bucket, after one with the bad rows, if any.

    Args:
        task: The query.
        lifter: The evaluator that merges rows into partial states.
        rows: The rows of one input.
        side: The place of the input among those of the query.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    problems = rows.column("problem")
    if problems.null_count < len(problems):  # bad rows are not lifted: they travel as rows, to the side output
        bad_rows = rows.filter(pc.is_valid(problems))
        for start in range(0, len(bad_rows), MOST_ROWS):
            yield from row_blobs(task, bad_rows.slice(start, MOST_ROWS), side)
        rows = rows.filter(pc.is_null(problems))
    if not len(rows):
        return
    with without_collector(), windows_in_words(task.plan.words):
        bucket_blobs = list(lifter.lift(task, rows, side))
    buckets = [task.buckets[bucket_blob.bucket] for bucket_blob in bucket_blobs]
    # Partial states no longer say when their events start, so the least start of all travels beside them.
    oldest = pc.min(rows.column("start")).as_py()
    columns = {
        "evaluator_blobs": [bucket_blob.blob for bucket_blob in bucket_blobs],
        "oldest": [oldest] * len(bucket_blobs),
    }
    yield exchange_batch(task, buckets, columns, side)
