"""The explanation of a recording, row by row and result by result: it is evaluated key by key, with causes.

Cost: what the query costs key by key in plain Python, where each result is computed from all its rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from muntin import INFINITY
from muntin_engine.plan import Plan
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.metrics import of_sources
from muntin_engine.plan.plan_words import spell_grouping
from muntin_engine.recording.explained_query import queries_of
from muntin_engine.recording.recorded_batch import RecordedBatch
from muntin_engine.recording.story import Story, StoryBatch, StoryChange
from muntin_engine.recording.story_rows import StoryRows
from muntin_engine.tasks.task_metrics import watermarks_of
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.task_payload import TaskPayload


def explain_batches(plan: Plan, task: TaskPayload, batches: Sequence[RecordedBatch]) -> Story:
    """Evaluate the micro-batches of a query, from the first one on, and return their story.

    Args:
        plan: The plan, as the driver has it. The plan of a task lacks the words in which it is explained.
        task: The query as its workers get it.
        batches: The micro-batches.

    Raises:
        ModuleFailedError: A module raised an exception.
    """
    queries = queries_of(task)
    rows = StoryRows(queries[0].task)
    story_batches: list[StoryBatch] = []
    changes: list[StoryChange] = []
    for batch in batches:
        # Results can be explained only when the fates of all rows are known, and with these the events that counted.
        first_row = len(rows.all)
        parts = rows.add_batch(batch)
        results = [query.process(parts, first_row, rows, is_end=batch.is_end) for query in queries]
        # All queries read the same rows, and differ only in their windows: the rows of any of them will do.
        rows.count_events(first_row, queries[0].changes_by_number)
        for query, result in zip(queries, results, strict=True):
            changes += query.explain(result, batch.number, first_row, first_change=len(changes), rows=rows)
        progress = results[0].progress
        story_batches.append(
            StoryBatch(
                number=batch.number,
                run=batch.run,
                rows=len(rows.all) - first_row,
                watermark=progress.watermark,
                newest=progress.newest,
                held_by=_held_by(queries[0].task, results[0].inputs),
            )
        )
    if story_batches:
        rows.set_awaited_watermarks(plan, _numbers_in(changes), story_batches[-1].watermark)
    return Story(
        title=spell_grouping(plan),
        plan=explain_plan(plan),
        key_names=[key.name for key in plan.keys],
        axis=plan.words.axis,
        batches=story_batches,
        rows=rows.all,
        changes=changes,
    )


def _numbers_in(changes: Sequence[StoryChange]) -> set[int]:
    """Return the numbers of the rows that are in a result."""
    numbers: set[int] = set()
    for change in changes:
        numbers.update(change.members)
    return numbers


def _held_by(task: TaskPayload, progress: InputsProgress | None) -> str | None:
    """Return the names of the sources, or inputs, whose watermark is behind that of others; None if none is.

    It is also None if the sources are buckets of another query, whose names mean nothing to a reader.
    """
    if progress is None or task.plan.inputs[0].is_chained:
        return None
    watermarks = of_sources(watermarks_of(task, progress), "watermark")
    least = min(watermarks.values(), default=INFINITY)
    names_behind = [name for name, watermark in watermarks.items() if watermark == least]
    return ", ".join(names_behind) if len(names_behind) < len(watermarks) else None
