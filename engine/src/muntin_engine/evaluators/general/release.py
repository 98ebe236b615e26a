"""Rows that waited, in the order in which windows follow them."""

from __future__ import annotations

from collections.abc import Iterable

from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.sequence import in_sequence
from muntin_engine.evaluators.general.event_index import StoredEvent, by_payload
from muntin_engine.evaluators.general.key_state import KeyState


class Release:
    """Releases the rows of a key that the watermark has passed, by time and by their order."""

    def __init__(self, query: EvaluatorQuery) -> None:
        self._place = query.place

    def take_out(self, state: KeyState, watermark: int) -> list[StoredEvent]:
        """Take out the rows that the watermark has passed, and return them in order."""
        gone = [event for event in state.events if event.start < watermark]
        if not gone:
            return []
        state.replace(gone, ())
        return self.in_order(gone)

    def in_order(self, events: Iterable[StoredEvent]) -> list[StoredEvent]:
        """Return events in order, without those that a filter left out."""
        return in_sequence([event for event in events if event.is_member], self._place, by_payload)
