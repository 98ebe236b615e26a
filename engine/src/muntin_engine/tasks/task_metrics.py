"""The metrics of a task in one micro-batch: of the evaluator, progress, sources, and rows that were not accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from muntin import EARLIEST
from muntin_engine.evaluators.batch import Evaluated
from muntin_engine.plan import Input
from muntin_engine.plan.metrics import overflow_metric, skipped_metric, watermark_metric
from muntin_engine.tasks.output_blobs import WATERMARK
from muntin_engine.time.changes import Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.time.window_grid import open_windows
from muntin_engine.wire.shuffle import RowCounts
from muntin_engine.wire.task_payload import TaskPayload


def bucket_metrics(task: TaskPayload, evaluated: Evaluated, row_counts: RowCounts) -> dict[str, int]:
    """Return the metrics of a bucket by name: the evaluator's own, those of progress, and those of skipped rows.

    Args:
        task: The query.
        evaluated: The output of the evaluator.
        row_counts: The counts of rows that no bucket counts. One bucket reports them for all; others get empty counts.
    """
    metrics: dict[str, int] = {}
    for name, value in evaluated.metrics.items():
        if name not in task.plan.choice.unreported:  # such as the number of windows, where none are counted
            metrics[name] = value
    metrics |= _progress_metrics(task, evaluated)
    metrics |= skipped_metrics(task, row_counts)
    return metrics


def _progress_metrics(task: TaskPayload, evaluated: Evaluated) -> dict[str, int]:
    """Return the metrics of progress, of lateness and of open windows."""
    progress = evaluated.progress
    metrics = {WATERMARK: progress.watermark, "newest": progress.newest}
    if progress.clock != EARLIEST:
        metrics["clock"] = progress.clock

    # The evaluator counts some late rows without rejecting them one by one: `evaluated.late_by` is theirs.
    late_by = evaluated.late_by
    for _, rejection in evaluated.rejections:
        if rejection.is_late and rejection.late_by is not None:
            late_by = max(late_by, rejection.late_by)
    if late_by:
        metrics["late_by"] = late_by

    if evaluated.inputs is not None:
        metrics |= watermarks_of(task, evaluated.inputs)
    open_count = open_windows(task.window_grids, progress.watermark, progress.horizon)
    if open_count is not None:
        metrics["windows_open"] = open_count
    return metrics


def skipped_metrics(task: TaskPayload, row_counts: RowCounts) -> dict[str, int]:
    """Return the metrics of rows that modules did not accept or the query's filter left out."""
    metrics: dict[str, int] = {}
    for label, count in row_counts.unaccepted_by(task.labels_of_skipping_modules).items():
        metrics[skipped_metric(label)] = count
    metrics["filtered"] = row_counts.filtered
    return metrics


def overflow_metrics(task: TaskPayload) -> dict[str, int]:
    """Return the number of results that each column could not hold, by its metric, and set the counts to zero."""
    metrics: dict[str, int] = {}
    for column, count in task.overflows.report().items():
        metrics[overflow_metric(column)] = count
    return metrics


def names_of_counts(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the counts by source: `rows_<source>` and `late_<source>`.

    With several inputs the name of a source is `<input>.<source>`. An evaluator that merges rows into partial states
    no longer knows their sources: then late rows are counted by source only if the query keeps late rows.
    """
    sources: list[str] = []
    for plan_input in task.plan.inputs:
        sources += [_qualified(plan_input, source) for source in plan_input.sources]
    names = [f"rows_{source}" for source in sources]
    if task.plan.choice.names_late_rows or task.plan.keeps_late_rows:
        names += [f"late_{source}" for source in sources]
    return tuple(names)


def names_of_watermarks(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the metrics that `watermarks_of` returns, before there is any progress."""
    return tuple(watermarks_of(task, InputsProgress.start(len(task.plan.inputs))))


def watermarks_of(task: TaskPayload, progress: InputsProgress) -> dict[str, int]:
    """Return the watermark of each source by the name of its metric.

    If the query has several inputs, the watermark of each input without sources is among them.

    Args:
        task: The query.
        progress: The progress of its inputs.
    """
    metrics: dict[str, int] = {}
    for input_task, input_progress, tracker_state in zip(
        task.inputs, progress.inputs, progress.tracker_states, strict=True
    ):
        plan_input = input_task.plan_input
        if plan_input.sources:
            watermarks = input_task.tracker.watermarks(tracker_state)
            for source in plan_input.sources:
                # Punctuation of the whole input counts for each source, and may be ahead of the source's own watermark.
                watermark = max(watermarks.get(source, EARLIEST), input_progress.watermark)
                metrics[watermark_metric(_qualified(plan_input, source))] = watermark
        elif plan_input.name:  # only the inputs of a query that has several have names
            metrics[watermark_metric(plan_input.name)] = input_progress.watermark
    return metrics


def source_counts(
    task: TaskPayload,
    bucket: int,
    observations: Sequence[Sequence[Observation]],
    rejections: Iterable[Rejection] = (),
) -> dict[str, int]:
    """Return the counts of rows and of late rows by source, by the names that `names_of_counts` returns.

    Args:
        task: The query.
        bucket: The id of the bucket that counts.
        observations: For each input, the observations of sources by all tasks. They count insertions without a problem.
            Every bucket gets them, so only the first bucket adds them up.
        rejections: The rows that the bucket rejected, of which late ones are counted.
    """
    counts = Counter[str]()
    for rejection in rejections:
        plan_input = task.plan.inputs[rejection.change.side]
        if rejection.is_late and plan_input.sources:
            counts[f"late_{_qualified(plan_input, rejection.change.source)}"] += 1
    if bucket == task.buckets[0]:
        for plan_input, input_observations in zip(task.plan.inputs, observations, strict=True):
            if not plan_input.sources:
                continue
            for observation in input_observations:
                counts[f"rows_{_qualified(plan_input, observation.source)}"] += observation.rows
    return {name: count for name, count in counts.items() if count}


def _qualified(plan_input: Input, source: str | None) -> str:
    """Return the name of a source, after that of its input if there are several inputs."""
    return f"{plan_input.name}.{source}" if plan_input.name else str(source)
