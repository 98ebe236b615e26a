"""Compute the timer of a key: the progress at which it has work although no row of it comes."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, EmitPolicy, TimestampPolicy, Window
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.closing import boundary_limit, movable
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.state.bucket_state import KeyTimer


def timer(query: EvaluatorQuery, state: KeyState, now: Progress) -> KeyTimer:
    """Return the timer of a key, with its output watermark.

    The key's own watermark may be ahead of the input: a trigger that is due by it is due in any batch.

    Cost: linear in the key's events, by a small constant.
    """
    assigner, events, watermark = state.assigner, state.events, now.watermark
    earliest, past = events.earliest(assigner.frontier), events.until_at_most(assigner.frontier)
    first = assigner.first_open(earliest)
    output_watermark = assigner.first_start(earliest)  # no window that starts before it is emitted or changes
    times = [event.end + 1 for event in past]  # these are kept only because their ends may be revised
    times += waiting_times(state, watermark)
    if first is not None:
        at = first.end + query.window.ends_move
        is_awaited = at <= watermark and query.waits_for_ends
        times.append(_end_of_waiting(query, state, first, watermark) if is_awaited else at)
    visibility = INFINITY
    if query.emit is EmitPolicy.SPECULATIVE:
        visibility = assigner.next_end(events, now.max_event_time)
    elif query.follows_open_windows and events.until_after(INFINITY - 1):
        visibility = assigner.next_horizon(now.horizon)
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        output_watermark = INFINITY if first is None else first.end
    clock = max_event_time = INFINITY
    if state.windows.entries:
        times += state.windows.unsettled()
        clock, max_event_time = state.windows.wake_ups()
        if max_event_time <= now.max_event_time:
            max_event_time = EARLIEST
    return KeyTimer(min(times, default=INFINITY), visibility, output_watermark, clock, max_event_time)


def waiting_times(state: KeyState, watermark: int) -> list[int]:
    """Return the watermarks at which rows stop waiting for others of their event, or the key's own one is reached."""
    times = [state.key_watermark] if state.key_watermark > EARLIEST else []
    for identity, waiting in state.pending.items():
        event, (_, start) = state.event(identity), identity
        nodes = {start, *(end for row in waiting.rows for end in (row.end, row.new_end) if end is not None)}
        nodes |= set() if event is None else {event.end}  # nothing can follow an event that has ended
        times += [node + 1 for node in nodes if watermark <= node < INFINITY]
    return times


def _end_of_waiting(query: EvaluatorQuery, state: KeyState, first: Window, watermark: int) -> int:
    """Return the least watermark that closes a window, where the first open one has ended and waits for its members."""
    past_end, waiting = int(query.window.ends_move), movable(state, watermark)
    if state.closes_out_of_order:
        next_end = state.assigner.next_end(state.events, boundary_limit(query, watermark))
        return min([min(next_end, INFINITY - past_end) + past_end, *(event.end + 1 for event in waiting)])
    return max((event.end + 1 for event in waiting if event.since < first.end), default=first.end + past_end)
