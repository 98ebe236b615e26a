"""Metrics by source: rows, late rows and watermarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from muntin import EARLIEST
from muntin_engine.core.changes import Rejection
from muntin_engine.evaluators.registry import BY_NAME
from muntin_engine.metrics import watermark_metric
from muntin_engine.plan import Input
from muntin_engine.plan.choice import Arrivals
from muntin_engine.progress import InputsProgress, Observation
from muntin_engine.wire.task_payload import TaskPayload


def names_of_counts(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the counts by source: `rows_<source>` and `late_<source>`.

    Where there are several inputs, a source goes by `<input>.<source>`. Partial states do not say which source their
    rows came from: without ids, a query over slices has the second kind only where late rows are wanted.
    """
    sources = [_name(given, source) for given in task.plan.inputs for source in given.sources]
    choice = task.plan.choice
    has_ids = choice.arrays is not None and choice.arrays.arrivals is Arrivals.IDENTIFIED
    has_rows = has_ids or task.plan.keeps_late_rows or not BY_NAME[choice.evaluator].lifts
    late = sources if has_rows else ()
    return (*(f"rows_{source}" for source in sources), *(f"late_{source}" for source in late))


def names_of_watermarks(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the watermarks of what an input waits for: each source, or input where there are several."""
    return tuple(watermarks_of(task, InputsProgress.start(len(task.plan.inputs))))


def watermarks_of(task: TaskPayload, progress: InputsProgress) -> dict[str, int]:
    """Return the watermarks of sources, and of inputs without sources where there are several, by their metrics."""
    found: dict[str, int] = {}
    for given, sent, now, tracked in zip(task.plan.inputs, task.inputs, progress.inputs, progress.tracked, strict=True):
        if given.sources:
            known = sent.tracker.watermarks(tracked)
            found |= {
                watermark_metric(_name(given, one)): max(known.get(one, EARLIEST), now.watermark)
                for one in given.sources
            }
        elif given.name:
            found[watermark_metric(given.name)] = now.watermark
    return found


def count_sources(
    task: TaskPayload, bucket: int, observed: Sequence[Sequence[Observation]], late: Iterable[Rejection] = ()
) -> Mapping[str, int]:
    """Return the counts of a micro-batch by their names.

    Args:
        task: The query.
        bucket: Whose counts. Every bucket hears what was observed; the first one counts it.
        observed: For each input, what each task saw of each source: the insertions, without those that are bad in
            themselves.
        late: The bucket's late rows.
    """
    inputs = task.plan.inputs
    changes = [rejection.change for rejection in late if inputs[rejection.change.side].sources]
    counts = Counter(f"late_{_name(inputs[change.side], change.source)}" for change in changes)
    for given, heard in zip(inputs, observed, strict=True):
        if given.sources and bucket == task.buckets[0]:
            for some in heard:
                counts[f"rows_{_name(given, some.source)}"] += some.rows
    return {name: count for name, count in counts.items() if count}


def _name(given: Input, source: str | None) -> str:
    return f"{given.name}.{source}" if given.name else str(source)
