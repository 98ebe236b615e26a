"""Closing windows and forgetting what nothing needs any more (SI-65, SI-81 to SI-84)."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY, EmitPolicy, OutputContract, TimestampPolicy
from muntin_engine.core.assignment import Assigner, assigner_of
from muntin_engine.core.changes import Progress
from muntin_engine.core.event_index import StoredEvent
from muntin_engine.core.key_state import KeyState
from muntin_engine.core.query import WindowedQuery


def closing_limit(query: WindowedQuery, state: KeyState, punctuation: int) -> int:
    """Return the largest end of a window that no legal change can alter.

    That is the punctuation; one tick less where a boundary at the punctuation can still move; and no later than the
    earliest membership of an event that can still be prolonged, where results depend on ends outside the window.
    The paper's "every member has RE <= c" (section V.F) lets an event that ends at c be prolonged after its window
    was dropped; punctuation is strict (B6 item 10), so its end must lie below.
    """
    if punctuation in (EARLIEST, INFINITY):
        return punctuation
    limit = punctuation - 1 if query.boundary_moves else punctuation
    if not query.waits_for_ends:
        return limit
    movable = (event.since for event in state.events if event.end >= punctuation and event.since < event.until)
    return min(limit, min(movable, default=limit))


def retire(query: WindowedQuery, state: KeyState, punctuation: int, limit: int) -> None:
    """Close the windows up to a limit and drop the events that belong to closed windows alone."""
    assigner = state.windows.assigner
    assigner.frontier = max(assigner.frontier, assigner.frontier_at(limit))
    state.windows.close()
    for event in state.events.until_at_most(assigner.frontier):
        if not may_be_revised(query, event, punctuation):
            state.forget(event)


def may_be_revised(query: WindowedQuery, event: StoredEvent, punctuation: int) -> bool:
    """True if a legal revision, or an edge stream's next sample, may still move the event's end."""
    return (query.has_ids or query.is_edge) and event.end >= punctuation and punctuation != INFINITY


def closing_due(query: WindowedQuery, state: KeyState) -> int:
    """Return the smallest punctuation that closes a window or lets the key forget something.

    It may be too early, never too late. Cost: linear in the key's events.
    """
    assigner = state.windows.assigner
    times = [chain[0].start + 1 for chain in state.parked.values()]
    times += [event.end + 1 for event in state.events.until_at_most(assigner.frontier)]
    window = assigner.first_open(state.events)
    if window is not None:
        times.append(window.end + 1 if query.boundary_moves else window.end)
    return min([*times, INFINITY])


def output_due(query: WindowedQuery, state: KeyState, progress: Progress) -> int:
    """Return the smallest watermark (horizon, for eager output) at which a window of the key comes into sight."""
    if query.emit is EmitPolicy.SPECULATIVE:
        return state.windows.assigner.next_end(state.events, progress.watermark)
    has_open_event = any(event.until == INFINITY for event in state.events)
    return progress.horizon + 1 if query.emit is EmitPolicy.EAGER and has_open_event else INFINITY


def output_bound(query: WindowedQuery, state: KeyState | None, punctuation: int) -> int:
    """Return a tick below which the output of a key does not change any more (SI-76 to SI-80, B6 items 2 and 5).

    Args:
        query: The query.
        state: The key's state after `retire`; None for a key of which nothing is stored.
        punctuation: The punctuation of the input.
    """
    if punctuation in (EARLIEST, INFINITY):
        return punctuation
    if query.contract is OutputContract.UNRESTRICTED:
        return EARLIEST
    if query.is_time_bound:
        return punctuation
    return _earliest_output(query, state, punctuation)


def _earliest_output(query: WindowedQuery, state: KeyState | None, punctuation: int) -> int:
    assigner: Assigner = assigner_of(query.window) if state is None else state.windows.assigner
    first = None if state is None else assigner.first_open(state.events)
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        return punctuation if first is None else min(punctuation, first.end)
    bound = assigner.earliest_start(punctuation)
    return bound if first is None else min(bound, first.start)
