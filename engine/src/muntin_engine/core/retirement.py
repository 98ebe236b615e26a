"""Closing windows and forgetting what nothing needs any more (SI-65, SI-81 to SI-84), and when to do it next."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial

from muntin import EARLIEST, INFINITY, EmitPolicy, OutputContract, TimestampPolicy, Window
from muntin_engine.core.assignment import Assigner, CountAssigner
from muntin_engine.core.changes import Progress
from muntin_engine.core.event_index import StoredEvent
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.ledger import Due
from muntin_engine.core.query import WindowedQuery


def boundary_limit(query: WindowedQuery, punctuation: int) -> int:
    """Return the largest end of a window whose extent no legal change can alter.

    That is the punctuation; one tick less where a boundary at the punctuation can still move.
    """
    is_movable = query.boundary_moves and punctuation not in (EARLIEST, INFINITY)
    return punctuation - 1 if is_movable else punctuation


def closing_limit(query: WindowedQuery, state: KeyState, punctuation: int) -> int:
    """Return a tick such that no legal change can alter a window that ends there or before.

    Where results depend on ends outside the window, it is no later than the earliest membership of an event that can
    still be prolonged. The paper's "every member has RE <= c" (section V.F) lets an event that ends at c be prolonged
    after its window was dropped; punctuation is strict (B6 item 10), so its end must lie below.
    """
    limit = boundary_limit(query, punctuation)
    if not query.waits_for_ends or punctuation in (EARLIEST, INFINITY):
        return limit
    return min([limit, *(event.since for event in _movable(state, punctuation))])


def retire(query: WindowedQuery, state: KeyState, punctuation: int) -> int:
    """Close windows and drop the events that belong to closed windows alone.

    Returns:
        How many windows that were out are closed now.
    """
    assigner = state.assigner
    forgotten: list[StoredEvent] = []
    is_closed = None
    if query.closes_out_of_order and isinstance(assigner, CountAssigner) and EARLIEST < punctuation < INFINITY:
        waiting = sorted({event.since for event in _movable(state, punctuation)})
        needed = assigner.release(waiting, punctuation)
        forgotten += [event for event in state.events if event.is_member and event.since not in needed]
        state.replace(forgotten, ())
        is_closed = partial(_is_closed, waiting, punctuation)
    assigner.frontier = assigner.frontier_at(closing_limit(query, state, punctuation))
    closed = state.windows.close(assigner.frontier, punctuation, is_closed)
    past = state.events.forget(assigner.frontier, lambda event: may_be_revised(query, event, punctuation))
    assigner.remove(past)
    forgotten += past
    if state.samples is not None:
        for event in forgotten:
            state.samples.discard(event.start)
    return closed


def may_be_revised(query: WindowedQuery, event: StoredEvent, punctuation: int) -> bool:
    """True if a legal revision, or an edge stream's next sample, may still move the event's end."""
    return query.ends_move and event.end >= punctuation and punctuation != INFINITY


def due(query: WindowedQuery, state: KeyState, now: Progress) -> Due:
    """Return when a key must be looked at again, and how far its output is settled.

    A trigger that waits for no more than its key has reached is due in any batch: the key may be ahead of the input.

    Cost: linear in the key's events, by a small constant.
    """
    earliest = state.events.earliest(state.assigner.frontier)
    first = state.assigner.first_open(earliest)
    clock, watermark = state.windows.wake_ups()
    return Due(
        min([INFINITY, _closing(query, state, first, now.punctuation), *_forgetting(state, now.punctuation)]),
        _sight(query, state, now),
        _bound(query, state, first, earliest),
        clock,
        watermark if watermark > now.watermark else EARLIEST,
    )


def sight(query: WindowedQuery, progress: Progress) -> int:
    """Return how far the input must be for a window to be put out before it closes, in the terms of `Due.sight`."""
    return progress.watermark if query.emit is EmitPolicy.SPECULATIVE else progress.horizon


def output_punctuation(query: WindowedQuery, assigner: Assigner, progress: Progress, bound: int) -> int:
    """Return a tick below which the output does not change any more (SI-76 to SI-80, B6 items 2 and 5).

    Args:
        query: The query.
        assigner: Any of the query's.
        progress: How far the input is.
        bound: The smallest `Due.bound` of any key.
    """
    punctuation = progress.punctuation
    if punctuation in (EARLIEST, INFINITY) or query.is_time_bound:
        return punctuation
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return min(assigner.end_after(punctuation), bound)
    if query.contract is OutputContract.UNRESTRICTED and query.timestamps is TimestampPolicy.UNCHANGED:
        return EARLIEST
    return min(assigner.start_after(punctuation), bound)


def _closing(query: WindowedQuery, state: KeyState, first: Window | None, punctuation: int) -> int:
    """Return the smallest punctuation that closes a window."""
    if first is None:
        return INFINITY
    at = first.end + 1 if query.boundary_moves else first.end
    if at > punctuation or not query.waits_for_ends:
        return at
    movable = _movable(state, punctuation)
    if query.counts:
        return min([state.assigner.next_end(state.events, punctuation), *(event.end + 1 for event in movable)])
    return max((event.end + 1 for event in movable if event.since < first.end), default=at)


def _is_closed(waiting: Sequence[int], punctuation: int, window: Window) -> bool:
    """True if a window that counts times has ended, and has no member for whose end it waits."""
    return window.end <= punctuation and bisect_left(waiting, window.start) == bisect_left(waiting, window.end)


def _movable(state: KeyState, punctuation: int) -> list[StoredEvent]:
    """Return the members of windows whose end a legal change can still move."""
    return [event for event in state.events if event.end >= punctuation and event.since < event.until]


def _forgetting(state: KeyState, punctuation: int) -> list[int]:
    """Return punctuations at which something can be forgotten."""
    times = [event.end + 1 for event in state.events.until_at_most(state.assigner.frontier)]
    for (_, start), life in state.lives.items():
        nodes = {start, *(end for row in life.rows for end in (row.end, row.new_end) if end is not None)}
        times += [node + 1 for node in nodes if punctuation <= node < INFINITY]
    times += [state.promise] if state.promise > EARLIEST else []
    return times + list(state.windows.unsettled())


def _sight(query: WindowedQuery, state: KeyState, now: Progress) -> int:
    if query.emit is EmitPolicy.SPECULATIVE:
        return state.assigner.next_end(state.events, now.watermark)
    has_open_event = query.follows_open_windows and bool(state.events.until_after(INFINITY - 1))
    return state.assigner.next_horizon(now.horizon) if has_open_event else INFINITY


def _bound(query: WindowedQuery, state: KeyState, first: Window | None, earliest: int) -> int:
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return INFINITY if first is None else first.end
    return state.assigner.first_start(earliest)
