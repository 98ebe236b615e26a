"""Forgetting: close windows, and drop what no open window and no legal revision needs (the paper, section V.F)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.closing_limits import boundary_limit, closes_out_of_order, closing_limit, movable
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState


def forget_closed(query: EvaluatorQuery, state: KeyState, watermark: int) -> int:
    """Close windows and drop the events that belong to closed windows alone.

    Returns:
        How many windows that were out are closed now.
    """
    assigner = state.assigner
    forgotten: list[StoredEvent] = []
    is_closed = None
    if closes_out_of_order(query, assigner) and EARLIEST < watermark < INFINITY:
        waiting = movable(state, watermark)
        forgotten += assigner.release(state.events, waiting, watermark)
        state.replace(forgotten, ())
        is_closed = partial(_is_closed, waiting, boundary_limit(query, watermark))
    assigner.close(closing_limit(query, state, watermark))
    closed = state.windows.close(assigner.frontier, watermark, is_closed)
    may_move = query.ends_move and watermark != INFINITY
    past = state.events.forget(assigner.frontier, (lambda event: event.end >= watermark) if may_move else None)
    assigner.remove(past)
    forgotten += past
    if state.samples is not None:
        for event in forgotten:
            state.samples.discard(event.start)
    return closed


def _is_closed(waiting: Sequence[StoredEvent], limit: int, window: Window) -> bool:
    """True if a window has ended, and has no member for whose end it waits."""
    return window.end <= limit and not any(e.since < window.end and e.until > window.start for e in waiting)
