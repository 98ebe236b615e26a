"""One task of a query without state: rows in, blobs out. It is a map task and a bucket in one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import add
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.metrics import overflow_metric, skipped_metric
from muntin_engine.progress import Observation
from muntin_engine.tasks.bucket_rows import without_problems
from muntin_engine.tasks.bucket_task import skipped_rows, without_collector
from muntin_engine.tasks.durations import Durations
from muntin_engine.tasks.input_rows import read_rows
from muntin_engine.tasks.output_blobs import ACCEPTED, REJECTED, RESULTS, OutputBlob
from muntin_engine.tasks.source_metrics import count_sources
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.side_output import side_output_table
from muntin_engine.wire.task_payload import TaskPayload

if TYPE_CHECKING:
    from muntin_engine.tasks.recorded_rows import RecordedRows


def run_task(
    task: TaskPayload, batches: Iterable[pa.RecordBatch], recorded: RecordedRows | None = None
) -> Iterator[OutputBlob]:
    """Yield the results and the rejected rows of a task, each in its batches, and then the values of metrics.

    Args:
        task: The query.
        batches: Its projected rows.
        recorded: Where these are recorded, if they are.

    Raises:
        ModuleFailedError: The module raised an exception.
    """
    evaluator, given, durations = BY_NAME[task.plan.choice.evaluator], task.input, Durations(task)
    accepted, seen, observed = 0, Progress(), list[Observation]()
    skipped = [0] * (len(task.choosy_labels) + 2)
    task.overflows.clear()
    for batch in batches:
        if recorded is not None:
            recorded.take(batch)
        with without_collector():
            with durations.stages["distribute"]:
                read = read_rows(given, batch)
                rows, rejected = without_problems(given, read.rows)
            with durations.stages["evaluate"]:
                try:
                    results = evaluator.follow(task, rows)
                except ModuleFailedError as error:
                    error.say_window(task.plan.words.spell_interval)
                    if recorded is not None:
                        recorded.finish([(seen, None, None)], ())
                    raise
            with durations.stages["encode"]:
                blobs = [OutputBlob(RESULTS, results.num_rows, to_blob(results))] if results.num_rows else []
                if rejected:
                    blobs.append(OutputBlob(REJECTED, len(rejected), to_blob(side_output_table(task, rejected))))
        accepted, seen = accepted + rows.num_rows + read.unchanging, seen.advance(read.progress)
        observed += read.observed
        skipped = list(map(add, skipped, [*read.skipped, read.filtered, read.unchanging]))
        yield from blobs
    if recorded is not None:
        recorded.finish([(seen, None, None)], ())
    metrics = {skipped_metric(label): count for label, count in skipped_rows(task, [skipped]).items()}
    metrics |= {ACCEPTED: accepted, "filtered": skipped[-2], "newest": seen.newest, **durations.metrics(())}
    metrics |= count_sources(task, task.buckets[0], [observed])
    if not task.is_static:
        metrics |= {overflow_metric(column): number for column, number in task.overflows.report().items()}
    yield from (OutputBlob(name, value) for name, value in metrics.items())
