"""Count the rows of each source of an input, and the late ones among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from muntin_engine.core.changes import Rejection
from muntin_engine.evaluators.registry import evaluator_named
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.plan import Input
from muntin_engine.progress import Observation


def names_of_counts(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the counts by source: `rows_<source>` and `late_<source>`.

    Where there are several inputs, a source goes by `<input>.<source>`. Partial states do not say which source their
    rows came from, so a query over slices has the first kind alone.
    """
    sources = [_name(given, source) for given in task.plan.inputs for source in given.sources]
    late = () if evaluator_named(task.plan.choice.evaluator).lifts_rows else sources
    return (*(f"rows_{source}" for source in sources), *(f"late_{source}" for source in late))


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
    if not any(given.sources for given in inputs):
        return {}
    changes = [rejection.change for rejection in late if inputs[rejection.change.side].sources]
    counts = Counter(f"late_{_name(inputs[change.side], change.source)}" for change in changes)
    for given, heard in zip(inputs, observed, strict=True):
        if given.sources and bucket == task.buckets[0]:
            for some in heard:
                counts[f"rows_{_name(given, some.source)}"] += some.rows
    return {name: count for name, count in counts.items() if count}


def _name(given: Input, source: str | None) -> str:
    return f"{given.name}.{source}" if given.name else str(source)
