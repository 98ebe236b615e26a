"""Streams through the general evaluator, micro-batch by micro-batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from muntin import INFINITY, Lifetime
from muntin.changes import Insertion
from muntin.drawings import Bar, Look
from muntin.testing import Batch, Boundary, KeyedChange, Script
from muntin_engine.core.changes import InputChange, OutputChange, OutputKind, Timing
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.general_run import GeneralRun
from muntin_engine.evaluators.keyed.bucket import BatchResult, KeyedBucket
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from muntin_engine.testing.meaning import progress_of


def play(query: EvaluatorQuery, script: Script) -> list[BatchResult]:
    """Run a stream of one key and return what each micro-batch gave."""
    bucket = KeyedBucket(GeneralRun, query, MemoryCells(), Codec(), {})
    return [
        bucket.process([((None,), _rows(query, batch))], progress_of(query.window, batch)) for batch in script.batches()
    ]


def inputs(script: Script) -> Iterator[Bar]:
    """Yield what each micro-batch brings, in a lane of its own."""
    number = 1
    for step in script.steps:
        if isinstance(step, Boundary):
            number += 1
        elif isinstance(step, KeyedChange):
            event = step.change.event
            note = "" if event.payload is None else str(event.payload)
            yield Bar(batch(number), event.start, event.end, note)
        elif step.time != INFINITY:
            yield Bar("punctuation", step.time, step.time, str(step.time))


def outputs(results: Iterable[BatchResult]) -> Iterator[Bar]:
    """Yield the output of each micro-batch, retractions first."""
    for number, given in enumerate(results, 1):
        for change in sorted(chain.from_iterable(changes for _, changes in given.output), key=by_kind):
            yield output_bar(batch(number), change)


def by_kind(change: OutputChange) -> bool:
    """Return a sort key that puts retractions before insertions."""
    return change.kind is OutputKind.INSERT


def output_bar(label: str, change: OutputChange) -> Bar:
    """Return a change of the output: a retraction is struck through, and the part that a revision cuts off is pale."""
    note = str(change.value[0]) if isinstance(change.value, tuple) else str(change.value)
    if change.timing is Timing.EARLY:
        note = f"early: {note}"
    if change.kind is OutputKind.REVISE and change.new_end is not None:
        whole = Lifetime(change.start, change.end)
        return Bar(label, change.start, change.new_end, note, Look.RESULT, whole)
    is_struck = change.kind is OutputKind.RETRACT
    return Bar(label, change.start, change.end, note, Look.RESULT, is_struck=is_struck)


def first_column(payload: tuple[Any, ...]) -> Any:
    """Return what a module with one column reads of an event's payload."""
    return payload[0]


def batch(number: int) -> str:
    """Return what a micro-batch is called."""
    return f"batch {number}"


def _rows(query: EvaluatorQuery, given: Batch) -> Sequence[InputChange]:
    return [_row(query, step) for step in given.changes]


def _row(query: EvaluatorQuery, step: KeyedChange) -> InputChange:
    change = step.change
    new_end = None if isinstance(change, Insertion) else change.new_end
    id = change.id if query.has_ids else None
    return InputChange(id, change.event.start, change.event.end, (change.event.payload,), new_end)
