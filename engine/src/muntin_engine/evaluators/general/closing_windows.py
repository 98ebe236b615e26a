"""The windows that close in a micro-batch, with their members."""

from __future__ import annotations

from collections.abc import Iterator

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.closing_limits import boundary_limit, closes_out_of_order, closing_limit
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.general.sweep import SweptWindow, sweep


class ClosingWindows:
    """Finds the windows that no legal change can alter any more.

    Cost: a key without one costs constant time, unless windows wait for the ends of events; the others one sweep over
    the key's open events.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        self._query = query

    def limit(self, state: KeyState, watermark: int) -> int | None:
        """Return a tick at which, or before, windows that close now end; None if none closes."""
        limit = boundary_limit(self._query, watermark)
        if not closes_out_of_order(self._query, state.assigner):
            limit = closing_limit(self._query, state, watermark)
        first = state.assigner.first_open(state.events.earliest(state.assigner.frontier))
        return limit if first is not None and first.end <= limit else None

    def steps(self, state: KeyState, limit: int, before: int, now: Progress) -> Iterator[SweptWindow]:
        """Yield the windows that close now, and those that are empty after one that is not.

        Windows close out of order where a module waits for the ends of members. One that is passed over then comes as
        empty: a state that slides must not slide across it, as it never sees who enters and leaves there.

        Args:
            state: The key's state, which has taken the batch in.
            limit: From `limit`.
            before: The watermark before the batch.
            now: The progress after it.
        """
        events = [event for event in state.events.until_after(state.assigner.frontier) if event.since < limit]
        in_order = not closes_out_of_order(self._query, state.assigner)
        for step in sweep(state.assigner.ending(events, EARLIEST, limit, now.horizon), events):
            if in_order or self.has_closed(step, now.watermark) > self.has_closed(step, before):
                yield step
            else:
                yield step._replace(members={})

    def has_closed(self, step: SweptWindow, watermark: int) -> bool:
        """True if a window closed at a watermark, where they close out of order.

        What closed then has not changed since.
        """
        if watermark == INFINITY:
            return True
        limit = boundary_limit(self._query, watermark)
        return step.window.end <= limit and all(event.end < watermark for event in step.members.values())
