"""Shed the insertions of a batch for which a key has no room, so that one hot key cannot eat a worker's memory.

What is shed follows from the state before the batch and the set of its rows, never from their order. So a batch that is
repeated after a failure sheds the same rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import TypeAlias

from muntin import INFINITY, LatePolicy
from muntin.safe_text import safe_repr
from muntin_engine.core.changes import InputChange, Key, Reason, Rejection
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.key_events import KeyEvents

_Event: TypeAlias = tuple[int, list[int]]
"""The start of a new event, and the places of its insertions: several only if it is duplicated."""

_by_start = itemgetter(0)


class Shedding:
    """Takes as many new events of a batch as a key has room for, those that start earliest.

    The room is the limit less the events that the key held before the batch. Late and empty insertions, and those of an
    event that is alive, take no room: they are rejected with a reason of their own. Revisions and retractions are never
    shed; for them, an event that was shed is an event that never came.

    Cost: one comparison if all rows of the batch have room; otherwise a test of each insertion, and sorting.
    """

    def __init__(self, most_held: int, *, adjusts: bool = False, fails: bool = False) -> None:
        """Say how many events a key may hold.

        Args:
            most_held: The limit.
            adjusts: True if a late insertion that ends after the watermark starts there, and so is not late.
            fails: True if more are an error.
        """
        self._most_held = most_held
        self._adjusts = adjusts
        self._fails = fails

    @classmethod
    def of(cls, query: EvaluatorQuery) -> Shedding | None:
        """Return the limit of a query; None if it has none."""
        if query.most_held is None:
            return None
        return cls(query.most_held, adjusts=query.late.policy is LatePolicy.ADJUST, fails=query.fails_when_full)

    def take(
        self, key: Key, state: KeyEvents, rows: Sequence[InputChange], watermark: int
    ) -> tuple[Sequence[InputChange], list[Rejection]]:
        """Return the rows that are taken, and the insertions that are shed.

        Args:
            key: The key.
            state: The key's state before the batch.
            rows: The rows of the batch, in any order.
            watermark: The watermark by which its rows are late.

        Raises:
            StateError: The key has no room for all, and that is an error.
        """
        held = state.held_count
        room = max(self._most_held - held, 0)
        if len(rows) <= room:
            return rows, []
        new: dict[Hashable, _Event] = {}
        for place, change in enumerate(rows):
            if change.new_end is None and self._is_legal(change, watermark):
                name: Hashable = place if change.id is None else (change.id, change.start)
                if state.samples is not None:
                    name, is_known = change.start, state.samples.has(change.start)
                else:
                    is_known = change.id is not None and state.event(name) is not None
                if not is_known:
                    new.setdefault(name, (change.start, []))[1].append(place)
        if len(new) <= room:
            return rows, []
        full = f"{held:,} held, {len(new):,} new in the micro-batch, most_held={self._most_held:_}"
        if self._fails:
            raise StateError(
                f"the key {safe_repr(key)} has no room: {full}, when_full='fail'\n  nothing is lost: "
                "raise the limit and start the query with the same checkpoint, or filter the key"
            )
        events = sorted(new.values(), key=_by_start)
        # only those that start where the room ends need more than their start to be told apart
        edge = events[room][0]
        first, last = (find(events, edge, key=_by_start) for find in (bisect_left, bisect_right))
        events[first:last] = sorted(events[first:last], key=lambda event: _rank([rows[place] for place in event[1]]))
        message = f"its key has no room: {full}; those that start earliest are taken"
        gone = dict.fromkeys(place for _, same in events[room:] for place in same)
        taken = [change for place, change in enumerate(rows) if place not in gone]
        return taken, [Rejection(Reason.SHED, message, rows[place]) for place in gone]

    def _is_legal(self, change: InputChange, watermark: int) -> bool:
        """Return True unless an insertion is late or empty."""
        end = INFINITY if change.end is None else change.end
        is_late = change.start < watermark and not (self._adjusts and watermark < end)
        return change.start < end and not is_late


def _rank(same: Sequence[InputChange]) -> list[tuple[int, str]]:
    """Return the rank of an event among those with its start: by its end, and then by all that it holds, as text."""
    return sorted((INFINITY if change.end is None else change.end, repr(change)) for change in same)
