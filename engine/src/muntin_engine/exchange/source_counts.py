"""Count the rows of each source of an input, and the late ones among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from muntin_engine.core.changes import Rejection
from muntin_engine.evaluators.registry import evaluator_named
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.progress import Observation


def names_of_counts(task: TaskPayload) -> tuple[str, ...]:
    """Return the names of the counts by source: `rows_<source>` and `late_<source>`.

    Partial states do not say which source their rows came from, so a query over slices has the first kind alone.
    """
    sources = task.tracker.sources
    late = () if evaluator_named(task.plan.choice.evaluator).lifts_rows else sources
    return (*(f"rows_{source}" for source in sources), *(f"late_{source}" for source in late))


def count_sources(
    task: TaskPayload, bucket: int, observed: Sequence[Observation], late: Iterable[Rejection] = ()
) -> Mapping[str, int]:
    """Return the counts of a micro-batch by their names.

    Args:
        task: The query.
        bucket: Whose counts. Every bucket hears what was observed; the first one counts it.
        observed: What each task saw of each source: the insertions, without those that are bad in themselves.
        late: The bucket's late rows.
    """
    if not task.tracker.sources:
        return {}
    heard = observed if bucket == task.buckets[0] else ()
    counts = Counter(f"late_{rejection.change.source}" for rejection in late)
    for some in heard:
        counts[f"rows_{some.source}"] += some.rows
    return {name: count for name, count in counts.items() if count}
