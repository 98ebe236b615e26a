"""Closing limits: the ticks up to which no legal change can alter a window."""

from __future__ import annotations

from muntin import EARLIEST, INFINITY
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.assignment import Assigner
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState


def boundary_limit(query: EvaluatorQuery, watermark: int) -> int:
    """Return the largest end of a window whose extent no legal change can alter.

    That is the watermark; one tick less where a boundary at the watermark can still move.
    """
    is_movable = query.window.ends_move and watermark not in (EARLIEST, INFINITY)
    return watermark - 1 if is_movable else watermark


def closing_limit(query: EvaluatorQuery, state: KeyState, watermark: int) -> int:
    """Return a tick such that no legal change can alter a window that ends there or before.

    Where results depend on ends outside the window, it is no later than the earliest membership of an event that can
    still be prolonged. The paper's "every member has RE <= c" (section V.F) lets an event that ends at c be prolonged
    after its window was dropped; a watermark is strict, so its end must lie below.
    """
    limit = boundary_limit(query, watermark)
    if not query.waits_for_ends or watermark in (EARLIEST, INFINITY):
        return limit
    return min([limit, *(event.since for event in movable(state, watermark))])


def closes_out_of_order(query: EvaluatorQuery, assigner: Assigner) -> bool:
    """True if a window may close before an earlier one: an event that one waits for may be no member of the next."""
    return query.waits_for_ends and not assigner.closes_in_order


def movable(state: KeyState, watermark: int) -> list[StoredEvent]:
    """Return the members of windows whose end a legal change can still move."""
    return [event for event in state.events if event.end >= watermark and event.since < event.until]
