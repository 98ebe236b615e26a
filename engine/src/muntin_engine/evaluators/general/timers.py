"""When a key must be looked at again, and the tick below which the output does not change any more."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, EmitPolicy, OutputContract, TimestampPolicy, Window
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment import Assigner
from muntin_engine.evaluators.general.closing import boundary_limit, closes_out_of_order, movable
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.state.bucket_metadata import KeyTimer


def output_watermark(query: EvaluatorQuery, assigner: Assigner, progress: Progress, bound: int) -> int:
    """Return a tick below which the output does not change any more (the paper, section V.F).

    Args:
        query: The query.
        assigner: Any of the query's.
        progress: How far the input is.
        bound: The smallest `Timer.bound` of any key.
    """
    watermark = progress.watermark
    if watermark in (EARLIEST, INFINITY) or query.is_time_bound:
        return watermark
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return min(assigner.end_after(watermark), bound)
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    return min(assigner.start_after(watermark), bound)


def output_bound(query: EvaluatorQuery, state: KeyState, first: Window | None, earliest: int) -> int:
    """Return the least time of an output that a key may still make or change.

    Args:
        query: The query.
        state: The key's state.
        first: Its first open window with a member.
        earliest: The least start of a membership that ends after the frontier.
    """
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return INFINITY if first is None else first.end
    return state.assigner.first_start(earliest)


def timer(query: EvaluatorQuery, state: KeyState, now: Progress) -> KeyTimer:
    """Return when a key must be looked at again, and how far its output is settled.

    A trigger that waits for no more than its key has reached is timer in any batch: the key may be ahead of the input.

    Cost: linear in the key's events, by a small constant.
    """
    earliest = state.events.earliest(state.assigner.frontier)
    first = state.assigner.first_open(earliest)
    clock, max_event_time = state.windows.wake_ups()
    return KeyTimer(
        min([INFINITY, _closing(query, state, first, now.watermark), *_forgetting(state, now.watermark)]),
        _visibility(query, state, now),
        output_bound(query, state, first, earliest),
        clock,
        max_event_time if max_event_time > now.max_event_time else EARLIEST,
    )


def sight(query: EvaluatorQuery, progress: Progress) -> int:
    """Return how far the input must be for a window to be emitted before it closes, as `KeyTimer.sight` has it."""
    return progress.max_event_time if query.emit is EmitPolicy.SPECULATIVE else progress.horizon


def _closing(query: EvaluatorQuery, state: KeyState, first: Window | None, watermark: int) -> int:
    """Return the smallest watermark that closes a window."""
    if first is None:
        return INFINITY
    more = int(query.window.ends_move)
    at = first.end + more
    if at > watermark or not query.waits_for_ends:
        return at
    waiting = movable(state, watermark)
    if closes_out_of_order(query, state.assigner):
        next_end = state.assigner.next_end(state.events, boundary_limit(query, watermark))
        return min([min(next_end, INFINITY - more) + more, *(event.end + 1 for event in waiting)])
    return max((event.end + 1 for event in waiting if event.since < first.end), default=at)


def _forgetting(state: KeyState, watermark: int) -> list[int]:
    """Return punctuations at which something can be forgotten."""
    times = [event.end + 1 for event in state.events.until_at_most(state.assigner.frontier)]
    for (_, start), life in state.pending.items():
        nodes = {start, *(end for row in life.rows for end in (row.end, row.new_end) if end is not None)}
        times += [node + 1 for node in nodes if watermark <= node < INFINITY]
    times += [state.key_watermark] if state.key_watermark > EARLIEST else []
    return times + list(state.windows.unsettled())


def _visibility(query: EvaluatorQuery, state: KeyState, now: Progress) -> int:
    if query.emit is EmitPolicy.SPECULATIVE:
        return state.assigner.next_end(state.events, now.max_event_time)
    has_open_event = query.follows_open_windows and bool(state.events.until_after(INFINITY - 1))
    return state.assigner.next_horizon(now.horizon) if has_open_event else INFINITY
