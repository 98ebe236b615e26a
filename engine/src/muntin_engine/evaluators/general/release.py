"""Rows that waited, in the order in which windows follow them."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.event_index import StoredEvent
from muntin_engine.evaluators.general.key_state import KeyState


class Release:
    """Releases the rows of a key that the watermark has passed, by time and by their order."""

    def __init__(self, query: EvaluatorQuery) -> None:
        self._order = query.order

    def take_out(self, state: KeyState, watermark: int) -> list[StoredEvent]:
        """Take out the rows that the watermark has passed, and return them in order."""
        gone = [event for event in state.events if event.start < watermark]
        if not gone:
            return []
        state.replace(gone, ())
        return self._sorted([event for event in gone if event.is_member])

    def _sorted(self, rows: list[StoredEvent]) -> list[StoredEvent]:
        """Return rows by time and order, null first; rows that are alike in both are told apart by what they hold."""

        def place(row: StoredEvent) -> tuple[int, bool, Any]:
            order = None if self._order is None else self._order(row.payload)
            return (row.start, order is not None, 0 if order is None else order)

        rows.sort(key=place)
        found: list[StoredEvent] = []
        for _, alike in groupby(rows, key=place):
            some = list(alike)
            found += sorted(some, key=lambda row: repr(row.payload)) if len(some) > 1 else some
        return found
