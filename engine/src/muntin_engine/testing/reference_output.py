"""The output of the reference evaluator for a stream that is under way."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import EARLIEST, INFINITY, EmitPolicy, Event
from muntin.changes import Insertion
from muntin.testing import Batch, KeyedChange, OutputEvent, WindowedQuery, reference
from muntin.windows import WindowSpecification
from muntin_engine.time.changes import Progress


def progress_of(window: WindowSpecification, batch: Batch) -> Progress:
    """Return the progress of the whole input that a batch implies: its watermark, its horizon and its latest start."""
    watermark = EARLIEST if batch.punctuation is None else batch.punctuation
    starts = [step.change.event.start for step in batch.changes]
    # The horizon lies past every start and, by the reach of the windows, past every end; and not before the watermark.
    least_horizons = [start + 1 for start in starts]
    for step in batch.changes:
        least_horizons += [end + window.reach for end in _ends_of(step) if end != INFINITY]
    if watermark != INFINITY:
        least_horizons.append(watermark)
    horizon = max(least_horizons, default=EARLIEST)
    return Progress(watermark, horizon, max(starts, default=EARLIEST))


def live_output(
    query: WindowedQuery, emit: EmitPolicy, events: Sequence[Event[object]], progress: Progress
) -> list[OutputEvent]:
    """Return the live output of one key at a progress of the input.

    The emission decides which windows have output: final, the closed windows; speculative, the windows whose end the
    max event time has reached; eager, all windows that the reference knows.

    Args:
        query: The query.
        emit: The emission of results.
        events: The events of the key, with their ends as last revised.
        progress: The progress of the whole input.
    """
    if emit is EmitPolicy.FINAL:
        return reference.evaluate(query, events, progress.watermark, progress.horizon)
    latest_end = INFINITY if emit is EmitPolicy.EAGER else progress.max_event_time
    output: list[OutputEvent] = []
    for _, window, members in reference.windows_with_members(query, events, progress.horizon):
        if window.end <= latest_end:
            output += reference.evaluate_window(query, window, members)
    return output


def _ends_of(step: KeyedChange) -> list[int]:
    """Return the end of an event that is inserted, or the old and the new end of one that is revised."""
    change = step.change
    return [change.event.end] if isinstance(change, Insertion) else [change.event.end, change.new_end]
