"""One bucket in one micro-batch: blobs in, blobs out."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

from muntin import EARLIEST, INFINITY, LatePolicy
from muntin.errors import ModuleFailedError
from muntin_engine.core.window_grid import open_windows
from muntin_engine.evaluators.batch import BucketBatch, Evaluated
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.metrics import is_level, overflow_metric, skipped_metric
from muntin_engine.state.cells import Cells, CheckedCells, Origin
from muntin_engine.tasks.bucket_rows import Intake, take_in
from muntin_engine.tasks.durations import Durations
from muntin_engine.tasks.output_blobs import (
    ACCEPTED,
    EVICTED,
    LATE,
    OUTPUT_WATERMARK,
    REJECTED,
    RESULTS,
    SHED,
    WATERMARK,
    OutputBlob,
)
from muntin_engine.tasks.source_metrics import count_sources, watermarks_of
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.shuffle import Arrived
from muntin_engine.wire.side_output import SideOutputRow, side_output_row, side_output_table
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.workers.oversight import overseen


def run_bucket(
    task: TaskPayload,
    bucket: int,
    cells: Cells,
    arrived: Arrived,
    origin: Origin | None = None,
    was_idle: Callable[[int], bool] = lambda first: False,
) -> Iterator[OutputBlob]:
    """Evaluate a micro-batch for one bucket.

    Args:
        task: The query.
        bucket: The id of the bucket.
        cells: The bucket's state.
        arrived: The batch.
        origin: The origin of what is written, see `CheckedCells`.
        was_idle: The same.

    Raises:
        ModuleFailedError: A module raised an exception.
        StateError: The state is damaged, or of another time or place.
    """
    try:
        with overseen(task.worker, task.plan.axis):
            yield from _evaluate(task, bucket, CheckedCells(cells, f"bucket {bucket}", origin, was_idle), arrived)
    except ModuleFailedError as error:
        error.say_window(task.plan.words.spell_interval)
        raise


def _evaluate(task: TaskPayload, bucket: int, checked: CheckedCells, arrived: Arrived) -> Iterator[OutputBlob]:
    durations = Durations(task)
    task.overflows.clear()
    with without_collector():
        with durations.stages["intake"]:
            intake = take_in(task, *arrived.rows)
        for report, key_watermarks in zip(arrived.reports, intake.key_watermarks, strict=True):
            report.key_watermarks = key_watermarks
            if task.is_static:  # it is complete after its rows
                report.progress = report.progress._replace(watermark=INFINITY)
        batch = BucketBatch(intake.changes, arrived.evaluator_blobs, arrived.reports, arrived.signals)
        with durations.stages["evaluate"]:
            found = BY_NAME[task.plan.choice.evaluator].process(task, bucket, checked, batch)
        with durations.stages["encode"]:
            tables = [*zip(repeat(RESULTS), found.tables), *zip(repeat(EVICTED), found.evicted)]
    yield OutputBlob(ACCEPTED, found.accepted + sum(counts[-1] for counts in arrived.skipped))
    yield OutputBlob(OUTPUT_WATERMARK, found.output_watermark)
    for stream, table in tables:
        with durations.stages["encode"]:
            blob = to_blob(table)
        yield OutputBlob(stream, table.num_rows, blob)
    yield from _side_outputs(task, found, intake)
    if any(given.sources for given in task.plan.inputs):
        late = (rejection for _, rejection in found.rejections if rejection.is_late)
        counts = count_sources(task, bucket, [report.observed for report in arrived.reports], late)
        yield from (OutputBlob(name, count) for name, count in counts.items())
    if not task.is_static:  # static inputs report no metrics
        metrics = {"bytes_written": checked.written, **durations.metrics(arrived.durations)}
        metrics |= _metrics(task, found, arrived)
        metrics |= {overflow_metric(column): number for column, number in task.overflows.report().items()}
        yield from (OutputBlob(name, value) for name, value in metrics.items() if value or is_level(name))


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


def _side_outputs(task: TaskPayload, found: Evaluated, intake: Intake) -> Iterator[OutputBlob]:
    """Yield the late, the shed and the rejected rows, and the numbers of late and shed ones that are dropped."""
    drops = [given.late.policy is LatePolicy.DROP for given in task.plan.inputs]
    side_outputs: dict[str, list[SideOutputRow]] = {LATE: [], SHED: [], REJECTED: [*intake.rejected]}
    dropped = Counter({LATE: found.late})
    for key, rejection in found.rejections:
        stream = LATE if rejection.is_late else SHED if rejection.is_shed else REJECTED
        if stream != REJECTED and drops[rejection.change.side]:
            dropped[stream] += 1
        else:
            side_outputs[stream].append(side_output_row(task, key, rejection))
    yield from (OutputBlob(stream, count) for stream, count in dropped.items() if count)
    for stream, rows in side_outputs.items():
        if rows:
            yield OutputBlob(stream, len(rows), to_blob(side_output_table(task, rows)))


def _metrics(task: TaskPayload, found: Evaluated, arrived: Arrived) -> dict[str, int]:
    """Return the metrics of the evaluator, of progress as far as it is known, and of rows that were not accepted."""
    now = found.progress
    open = open_windows(task.window_grids, now.watermark, now.horizon)
    of_progress = {WATERMARK: now.watermark, "newest": now.newest}
    if now.clock != EARLIEST:
        of_progress["clock"] = now.clock
    distances = [rejection.late_by or 0 for _, rejection in found.rejections if rejection.is_late]
    if late_by := max([found.late_by, *distances]):
        of_progress["late_by"] = late_by
    skipped = {skipped_metric(label): count for label, count in skipped_rows(task, arrived.skipped).items()}
    skipped["filtered"] = sum(counts[-2] for counts in arrived.skipped)
    of_progress |= watermarks_of(task, found.inputs) if found.inputs else {}
    return {**found.metrics, **of_progress, **({} if open is None else {"windows_open": open}), **skipped}


def skipped_rows(task: TaskPayload, skipped: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return the number of rows that each module did not accept, by its label; modules that accepted all are left out.

    The rows of all buckets are counted in one of them.
    """
    *unaccepted, _, _ = map(sum, zip(*skipped, strict=True)) if skipped else (0, 0)
    return {label: count for label, count in zip(task.choosy_labels, unaccepted, strict=False) if count}
