"""Shed the events that a key has no room for, where a query limits how many events a key may hold."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from muntin import INFINITY
from muntin.errors.safe_text import safe_repr
from muntin.schemas.value_order import sorted_by_value
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.evaluators.keyed.lateness import LateRule
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Key, Reason, Rejection


class _NewEvent(NamedTuple):
    """An event that a batch inserts.

    Attributes:
        start: The start of the event.
        places: The places of its insertions among the rows: several only if the event is duplicated.
    """

    start: int
    places: list[int]


_by_start: Final = attrgetter("start")


class Shedding:
    """Takes as many new events of a batch as a key has room for, those that start earliest.

    So one hot key cannot eat a worker's memory. What is shed follows from the state before the batch and the set of its
    rows, never from their order: a batch that is repeated after a failure sheds the same rows.

    The room is the limit less the events that the key held before the batch. Late and empty insertions, and those of an
    event that is alive, take no room: they are rejected with a reason of their own. Revisions and retractions are never
    shed; for them, an event that was shed is an event that never came.

    Cost: one comparison if all rows of the batch have room; otherwise a test of each insertion, and sorting.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        """Shed by the limit of a query."""
        self._most_held = query.most_held or 0
        self._fails = query.fails_when_full

    def shed(
        self, key: Key, state: KeyEvents, rows: Sequence[InputChange], late_rule: LateRule
    ) -> tuple[Sequence[InputChange], list[Rejection]]:
        """Return the rows that the key has room for, and rejections of the other ones.

        Args:
            key: The key.
            state: The state of the key before the batch.
            rows: The rows of the batch.
            late_rule: Decides which rows are late: these take no room.

        Raises:
            StateError: The key has no room for all rows, and the query fails then.
        """
        held = state.held_count
        room = max(self._most_held - held, 0)  # a key may hold more than the limit if the limit was lowered
        if len(rows) <= room:  # there is room even if each row is a new event
            return rows, []
        new_events = self._new_events(state, rows, late_rule)
        if len(new_events) <= room:
            return rows, []
        full = f"{held:,} held, {len(new_events):,} new in the micro-batch, most_held={self._most_held:_}"
        if self._fails:
            raise StateError(
                f"the key {safe_repr(key)} has no room: {full}, when_full='fail'\n  nothing is lost: "
                "raise the limit and start the query with the same checkpoint, or filter the key"
            )

        ordered = _in_order_of_room(list(new_events.values()), rows, room)
        message = f"its key has no room: {full}; those that start earliest are taken"
        shed_places = [place for event in ordered[room:] for place in event.places]
        rejections = [Rejection(Reason.SHED, message, rows[place]) for place in shed_places]
        shed_set = set(shed_places)
        rows_with_room = [row for place, row in enumerate(rows) if place not in shed_set]
        return rows_with_room, rejections

    def _new_events(
        self, state: KeyEvents, rows: Sequence[InputChange], late_rule: LateRule
    ) -> Mapping[Hashable, _NewEvent]:
        """Return the events that legal insertions would add to a key, by what identifies them in the batch.

        That is the time of a sample, the id and the start of an event that has an id, and otherwise the place of the
        insertion among the rows.
        """
        new_events: dict[Hashable, _NewEvent] = {}
        for place, change in enumerate(rows):
            end = INFINITY if change.end is None else change.end
            if change.new_end is not None or end <= change.start:
                continue  # a revision, or an insertion that is rejected because its lifetime is empty
            if late_rule.is_late_insertion(change.start, end):
                continue  # rejected too: it takes no room
            identity: Hashable
            if state.samples is not None:
                identity = change.start
                is_known = state.samples.has(change.start)
            elif change.id is not None:
                identity = (change.id, change.start)
                is_known = state.event(identity) is not None
            else:
                identity = place
                is_known = False
            if not is_known:
                new_event = new_events.setdefault(identity, _NewEvent(change.start, []))
                new_event.places.append(place)
        return new_events


def _in_order_of_room(events: list[_NewEvent], rows: Sequence[InputChange], room: int) -> list[_NewEvent]:
    """Return events in the order in which they get room: by start, and by value where starts are equal.

    Args:
        events: The new events, more than there is room for.
        rows: The rows of the batch.
        room: The number of events that get room.
    """

    def rank_of(event: _NewEvent) -> object:
        """Return the rank of an event among those with its start."""
        return _rank_of([rows[place] for place in event.places])

    # Values are compared only for the start at which the room ends: for every other start, all events get room or none.
    ordered = sorted(events, key=_by_start)
    start_at_limit = ordered[room].start
    first = bisect_left(ordered, start_at_limit, key=_by_start)
    end = bisect_right(ordered, start_at_limit, key=_by_start)
    ordered[first:end] = sorted_by_value(ordered[first:end], rank_of)
    return ordered


def _rank_of(insertions: Sequence[InputChange]) -> Sequence[tuple[int, tuple[Any, ...], InputChange]]:
    """Return the rank of an event among those with its start, as a value: its end, its payload, and then all else.

    Args:
        insertions: The insertions of the event; several if it is duplicated.
    """
    ranks = [(INFINITY if row.end is None else row.end, row.payload, row) for row in insertions]
    return sorted_by_value(ranks, lambda rank: rank)
