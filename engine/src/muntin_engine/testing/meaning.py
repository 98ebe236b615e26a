"""The output of the reference evaluator for a stream that is under way."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import EARLIEST, INFINITY, EmitPolicy, Event
from muntin.changes import Insertion
from muntin.testing import Batch, KeyedChange, OutputEvent, WindowedQuery, reference
from muntin.windows import WindowSpecification
from muntin_engine.time.changes import Progress


def progress_of(window: WindowSpecification, batch: Batch) -> Progress:
    """Return the progress of the whole input that a batch implies."""
    starts = [step.change.event.start for step in batch.changes]
    ends = [end + window.reach for step in batch.changes for end in _ends_of(step) if end != INFINITY]
    watermark = EARLIEST if batch.punctuation is None else batch.punctuation
    finite = [watermark] if watermark != INFINITY else []
    horizon = max([*(start + 1 for start in starts), *ends, *finite], default=EARLIEST)
    return Progress(watermark, horizon, max(starts, default=EARLIEST))


def live_output(
    query: WindowedQuery, emit: EmitPolicy, events: Sequence[Event[object]], now: Progress
) -> list[OutputEvent]:
    """Return the output of one key that must stand when the input has come so far.

    Final: that of the closed windows. Speculative: that of the windows which the max event time has passed. Eager:
    that of all windows the reference knows.

    Args:
        query: The query.
        emit: The emission of results.
        events: The events of the key, as they stand.
        now: How far the whole input is.
    """
    if emit is EmitPolicy.FINAL:
        return reference.evaluate(query, events, now.watermark, now.horizon)
    visible = INFINITY if emit is EmitPolicy.EAGER else now.max_event_time
    output: list[OutputEvent] = []
    for _, window, members in reference.windows_with_members(query, events, now.horizon):
        if window.end <= visible:
            output += reference.evaluate_window(query, window, members)
    return output


def _ends_of(step: KeyedChange) -> list[int]:
    change = step.change
    return [change.event.end] if isinstance(change, Insertion) else [change.event.end, change.new_end]
