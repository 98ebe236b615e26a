"""Timers: the progress at which a key has work again, and output watermarks."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, EmitPolicy, OutputContract, TimestampPolicy, Window
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment import Assigner
from muntin_engine.evaluators.general.closing import boundary_limit, closes_out_of_order, movable
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.state.bucket_metadata import KeyTimer


def output_watermark(query: EvaluatorQuery, assigner: Assigner, progress: Progress, earliest: int) -> int:
    """Return a tick below which the output does not change any more (the paper, section V.F).

    Args:
        query: The query.
        assigner: Any of the query's.
        progress: The progress of the input.
        earliest: The smallest `KeyTimer.output_watermark` of any key.
    """
    watermark = progress.watermark
    if watermark in (EARLIEST, INFINITY) or query.is_time_bound:
        return watermark
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return min(assigner.end_after(watermark), earliest)
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    return min(assigner.start_after(watermark), earliest)


def key_output_watermark(query: EvaluatorQuery, state: KeyState, first: Window | None, earliest: int) -> int:
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
    """Return the timer of a key, with its output watermark.

    A trigger whose wake-up the key has passed wakes in any batch: the key may be ahead of the input.

    Cost: linear in the key's events, by a small constant.
    """
    earliest = state.events.earliest(state.assigner.frontier)
    first = state.assigner.first_open(earliest)
    clock, max_event_time = state.windows.wake_ups()
    return KeyTimer(
        min([INFINITY, _closing(query, state, first, now.watermark), *_forgetting(state, now.watermark)]),
        _visibility(query, state, now),
        key_output_watermark(query, state, first, earliest),
        clock,
        max_event_time if max_event_time > now.max_event_time else EARLIEST,
    )


def visible_to(query: EvaluatorQuery, progress: Progress) -> int:
    """Return the progress by which windows become visible before they close; see `KeyTimer.visibility`."""
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
    """Return watermarks at which state can be forgotten."""
    times = [event.end + 1 for event in state.events.until_at_most(state.assigner.frontier)]
    for (_, start), waiting in state.pending.items():
        nodes = {start, *(end for row in waiting.rows for end in (row.end, row.new_end) if end is not None)}
        times += [node + 1 for node in nodes if watermark <= node < INFINITY]
    times += [state.key_watermark] if state.key_watermark > EARLIEST else []
    return times + list(state.windows.unsettled())


def _visibility(query: EvaluatorQuery, state: KeyState, now: Progress) -> int:
    if query.emit is EmitPolicy.SPECULATIVE:
        return state.assigner.next_end(state.events, now.max_event_time)
    has_open_event = query.follows_open_windows and bool(state.events.until_after(INFINITY - 1))
    return state.assigner.next_horizon(now.horizon) if has_open_event else INFINITY
