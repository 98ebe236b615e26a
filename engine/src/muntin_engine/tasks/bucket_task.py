"""The bucket task: one bucket in one micro-batch, blobs in, blobs out."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from muntin import INFINITY
from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.plan.metrics import is_level
from muntin_engine.state.cells import Cells, CheckedCells, Origin
from muntin_engine.tasks.bucket_rows import BucketRows, read_bucket_rows
from muntin_engine.tasks.durations import Durations
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
from muntin_engine.workers.oversight import overseen


def run_bucket(
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    arrivals: BucketArrivals,
    origin: Origin | None = None,
    was_idle: Callable[[int], bool] = lambda first: False,
) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket: yield the rows of its outputs, and the values of its metrics.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrivals: The batch.
        origin: The origin of what is written, see `CheckedCells`.
        was_idle: Tells whether the bucket was idle in a micro-batch and since, see `CheckedCells`.

    Raises:
        ModuleFailedError: A module raised an exception.
        StateError: The state is damaged, or of another time or place.
    """
    checked = CheckedCells(cells, f"bucket {bucket}", origin, was_idle)
    try:
        with overseen(task.worker, task.plan.axis):
            yield from _process(task, bucket, checked, arrivals)
    except ModuleFailedError as error:
        error.say_window(task.plan.words.axis.spell_interval)
        raise


def _process(task: TaskPayload, bucket: int, checked: CheckedCells, arrivals: BucketArrivals) -> Iterator[OutputBlob]:
    durations = Durations(task)
    task.overflows.clear()  # those of a batch that failed
    with without_collector():
        with durations.stages["intake"]:
            rows = read_bucket_rows(task, arrivals.rows)
        batch = _bucket_batch(task, arrivals, rows)
        with durations.stages["evaluate"]:
            evaluated = KEEPS_STATE[task.plan.choice.evaluator].process(task, bucket, checked, batch)
        with durations.stages["encode"]:  # evaluators make tables as they are asked for
            tables = [(RESULTS, table) for table in evaluated.tables]
            tables += [(EVICTED, table) for table in evaluated.evicted]

    # A revision that changes nothing is accepted, though no bucket gets it.
    yield OutputBlob(ACCEPTED, evaluated.accepted + arrivals.row_counts.unchanging)
    yield OutputBlob(OUTPUT_WATERMARK, evaluated.output_watermark)
    for stream, table in tables:
        with durations.stages["encode"]:
            blob = OutputBlob.of_table(stream, table)
        yield blob
    yield from side_output_blobs(task, rows.rejected, evaluated.rejections, evaluated.late)
    of_task = {"bytes_written": checked.written, **durations.metrics(arrivals.durations)}
    yield from _metric_blobs(task, bucket, arrivals, evaluated, of_task)


def _bucket_batch(task: TaskPayload, arrivals: BucketArrivals, rows: BucketRows) -> BucketBatch:
    """Prepare the batch for an evaluator: the reports get the watermarks of single keys, which lie among the rows."""
    for report, key_watermarks in zip(arrivals.reports, rows.key_watermarks, strict=True):
        report.key_watermarks = key_watermarks
        if task.is_static:  # a static input is complete after its rows
            report.progress = report.progress._replace(watermark=INFINITY)
    return BucketBatch(rows.changes, arrivals.evaluator_blobs, arrivals.reports, arrivals.signals)


def _metric_blobs(
    task: TaskPayload, bucket: int, arrivals: BucketArrivals, evaluated: Evaluated, of_task: Mapping[str, int]
) -> Iterator[OutputBlob]:
    """Yield the values of metrics, of counts only those that are not zero.

    Args:
        task: The query.
        bucket: The id of the bucket.
        arrivals: The batch.
        evaluated: The output of the evaluator.
        of_task: The metrics of the task itself: what it wrote, and how long it took.
    """
    observations = [report.observed for report in arrivals.reports]
    rejections = (rejection for _, rejection in evaluated.rejections)
    metrics = source_counts(task, bucket, observations, rejections)
    if not task.is_static:  # a static input reports no other metrics
        metrics |= of_task
        metrics |= bucket_metrics(task, evaluated, arrivals.row_counts)
        metrics |= overflow_metrics(task)
    for name, value in metrics.items():
        if value or is_level(name):
            yield OutputBlob(name, value)


@contextmanager
def without_collector() -> Iterator[None]:
    """Disable cyclic GC during a batch: rows hold no cycles, and collections would dominate."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
