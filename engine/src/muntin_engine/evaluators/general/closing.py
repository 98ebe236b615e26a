"""Closing: up to which tick no legal change alters a window, what is emitted then for good, and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.computation import SweptWindow, WindowResults, sweep
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.indexes import StoredEvent
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


def movable(state: KeyState, watermark: int) -> list[StoredEvent]:
    """Return the members of windows whose end a legal change can still move."""
    return [event for event in state.events.ordered if event.end >= watermark and event.since < event.until]


class ClosingWindows:
    """Finds the windows that no legal change can alter any more.

    Cost: a key without one costs constant time, unless windows wait for the ends of events; the others one sweep over
    the key's open events.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        self._query = query

    def limit(self, state: KeyState, watermark: int) -> int | None:
        """Return a tick at which, or before, windows that close now end; None if none closes."""
        if state.closes_out_of_order:
            limit = boundary_limit(self._query, watermark)
        else:
            limit = closing_limit(self._query, state, watermark)
        first = state.assigner.first_open(state.events.earliest(state.assigner.frontier))
        return limit if first is not None and first.end <= limit else None

    def steps(self, state: KeyState, limit: int, before: int, now: Progress) -> Iterable[SweptWindow]:
        """Sweep the windows that close now, and those that are empty after one that is not.

        Windows close out of order where a module waits for the ends of members. One that is passed over then comes as
        empty: a state that slides must not slide across it, as it never sees who enters and leaves there.

        Args:
            state: The key's state, which has taken the batch in.
            limit: From `limit`.
            before: The watermark before the batch.
            now: The progress after it.
        """
        events = state.events.overlapping(state.assigner.frontier, limit)
        steps = sweep(state.assigner.ending(events, EARLIEST, limit, now.horizon), events)
        if not state.closes_out_of_order:
            return steps
        return (
            step if self.has_closed(step, now.watermark) > self.has_closed(step, before) else step._replace(members={})
            for step in steps
        )

    def has_closed(self, step: SweptWindow, watermark: int) -> bool:
        """True if a window closed at a watermark, where they close out of order.

        What closed then has not changed since.
        """
        if watermark == INFINITY:
            return True
        limit = boundary_limit(self._query, watermark)
        return step.window.end <= limit and all(event.end < watermark for event in step.members.values())


class FinalEmission(Emission):
    """Emits closing windows, computed in one sweep. Between batches it keeps events and nothing else.

    Cost: a change costs its place in the index. A batch that closes windows costs the key's open events, plus for
    each window what its modules cost: a constant per row for modules that slide, the members for the others.
    """

    follows_windows = False

    def __init__(self, query: EvaluatorQuery, results: WindowResults) -> None:
        self._closing = ClosingWindows(query)
        self._results = results

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close."""
        del affected  # nothing is kept that it could alter
        limit = self._closing.limit(state, now.watermark)
        if limit is None:
            return []
        output: list[OutputChange] = []
        for step, rows in self._results.rows(key, self._closing.steps(state, limit, before.watermark, now)):
            self.windows_closed += 1
            for row in rows:
                state.serial += 1
                output.append(OutputChange(OutputKind.INSERT, state.serial, step.window, row.start, row.end, row.value))
        return output


def forget_closed(query: EvaluatorQuery, state: KeyState, watermark: int) -> int:
    """Close windows and drop the events that belong to closed windows alone.

    Returns:
        How many windows that were out are closed now.
    """
    assigner = state.assigner
    forgotten: list[StoredEvent] = []
    is_closed = None
    if state.closes_out_of_order and EARLIEST < watermark < INFINITY:
        waiting = movable(state, watermark)
        forgotten += assigner.release(state.events, waiting, watermark)
        state.replace(forgotten, ())
        is_closed = partial(_is_closed, waiting, boundary_limit(query, watermark))
    assigner.close(closing_limit(query, state, watermark))
    closed = state.windows.close(assigner.frontier, watermark, is_closed) if state.windows.entries else 0
    may_move = query.ends_move and watermark != INFINITY
    past = state.events.forget(assigner.frontier, (lambda event: event.end >= watermark) if may_move else None)
    if past:
        assigner.remove(past)
        forgotten += past
    if state.samples is not None:
        for event in forgotten:
            state.samples.discard(event.start)
    return closed


def _is_closed(waiting: Sequence[StoredEvent], limit: int, window: Window) -> bool:
    """True if a window has ended, and has no member for whose end it waits."""
    return window.end <= limit and not any(e.since < window.end and e.until > window.start for e in waiting)
