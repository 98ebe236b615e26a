"""Take the rows of one input in: those that their key has room for, that are legal, and that the filter lets in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any, Final, TypeAlias

from muntin import EARLIEST, INFINITY, LatePolicy
from muntin.errors.safe_text import safe_repr
from muntin.schemas.value_order import sorted_by_value
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.admission import Admission, NetChanges
from muntin_engine.evaluators.keyed.allowed_lateness import effective
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Key, Progress, Reason, Rejection
from muntin_engine.time.progress_tracker import for_key

_Event: TypeAlias = tuple[int, list[int]]
"""The start of a new event, and the places of its insertions: several only if it is duplicated."""

_by_start = itemgetter(0)

NOT_TOLD: Final = (EARLIEST, EARLIEST)
"""The watermarks that patterns give a key that is under none."""


class KeyIntake:
    """Takes the rows of one input in during a micro-batch, key by key.

    Attributes:
        before: The progress of the input before the batch, with the watermark after allowed lateness.
        now: The same after the batch.
        accepted: The number of accepted rows so far; one that waits for others of its event counts when they came.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        before: Progress,
        now: Progress,
        rejections: list[tuple[Key, Rejection]],
        watermark: int,
    ) -> None:
        """Begin a batch.

        Args:
            query: The query.
            before: The progress of the input before the batch.
            now: Its progress after it.
            rejections: Gets the late and rejected rows.
            watermark: The watermark before the batch to the tick, of which a late row says how far it is behind.
        """
        self.before, self.now = effective(query, before), effective(query, now)
        self._watermark = watermark
        self.accepted = 0
        self._query, self._reported, self._rejections = query, (before, now), rejections
        self._adjusts = query.late.policy is LatePolicy.ADJUST
        self._filter = Filter(query.keeps)
        self._shedding = None if query.most_held is None else Shedding(query)

    def take(
        self,
        key: Key,
        state: KeyEvents,
        rows: Sequence[InputChange],
        told: tuple[int, int],
        watermarks: Sequence[int],
    ) -> tuple[NetChanges, Progress, Progress]:
        """Admit the rows of a key; return its net changes, and the progress as it counts for it, before and after.

        Args:
            key: The key.
            state: Its state, which keeps its own watermark.
            rows: The rows.
            told: The watermark that patterns gave the key before the batch, and the one that they give it after it.
            watermarks: The watermarks that the batch brings of the key alone.
        """
        before, now = self.before, self.now
        watermark_to_the_tick = self._watermark
        own = max([state.key_watermark, *watermarks])
        if own > EARLIEST or told is not NOT_TOLD:
            known = max(state.key_watermark, told[0])
            if known > EARLIEST:
                before = effective(self._query, for_key(self._reported[0], known))
                watermark_to_the_tick = max(watermark_to_the_tick, known)
            if (furthest := max(known, own, told[1])) > EARLIEST:
                now = effective(self._query, for_key(self._reported[1], furthest))
            state.key_watermark = own if own > self.now.watermark else EARLIEST
        if not rows and not state.pending:
            return NetChanges(state), before, now
        filter, shed = self._filter, list[Rejection]()
        self.accepted += filter.count(rows) + filter.count(state.waiting)
        if self._shedding is not None:
            rows, shed = self._shedding.take(key, state, rows, before.watermark)
        admission = Admission(
            state, before.watermark, watermark_to_the_tick, axis=self._query.axis, adjusts=self._adjusts
        )
        admission.admit(rows, now.watermark)
        filter.leave_out(state, admission)
        if rejections := filter.visible(admission.rejections + shed):
            self._rejections += [(key, rejection) for rejection in rejections]
        self.accepted -= len(rejections) + filter.count(state.waiting)
        return admission, before, now


class Filter:
    """The filter of a query, which may let in everything.

    Cost: one test for each event that a batch touches, if there is a predicate.
    """

    def __init__(self, keeps: Callable[[object], bool] | None) -> None:
        """Make a filter from a predicate of payloads; None lets in everything."""
        self._keeps = keeps

    def leave_out(self, state: KeyEvents, admission: Admission) -> None:
        """Move the events that the filter leaves out from an admission to the state, marked as filtered."""
        keeps = self._keeps
        if keeps is None:
            return
        gone: list[StoredEvent] = []
        new = [event.filtered() for event in admission.inserted if not keeps(event.payload)]
        admission.inserted = [event for event in admission.inserted if keeps(event.payload)]
        for name, (before, after) in list(admission.touched.items()):
            left = after if after is None or keeps(after.payload) else after.filtered()
            if (before is None or before.is_filtered) and (left is None or left.is_filtered):
                gone += [] if before is None else [before]
                new += [] if left is None else [left]
                del admission.touched[name]
            elif left is not None:
                admission.touched[name] = (before, left)
        if gone or new:
            state.replace(gone, new)

    def count(self, changes: Sequence[InputChange]) -> int:
        """Return the number of rows that metrics count: all but the insertions that the filter leaves out."""
        return len(changes) if self._keeps is None else sum(map(self.counts, changes))

    def visible(self, rejections: list[Rejection]) -> list[Rejection]:
        """Return rejections without those of insertions that are left out anyway."""
        if self._keeps is None:
            return rejections
        return [rejection for rejection in rejections if self.counts(rejection.change)]

    def counts(self, change: InputChange) -> bool:
        """True if metrics count a row: it is not an insertion that the filter leaves out."""
        return self._keeps is None or change.new_end is not None or bool(self._keeps(change.payload))


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
        self._most_held, self._fails = query.most_held or 0, query.fails_when_full
        self._adjusts = query.late.policy is LatePolicy.ADJUST

    def take(
        self, key: Key, state: KeyEvents, rows: Sequence[InputChange], watermark: int
    ) -> tuple[Sequence[InputChange], list[Rejection]]:
        """Return the rows that are taken, and the insertions that are shed, by the watermark that makes rows late.

        Raises:
            StateError: The key has no room for all, and that is an error.
        """
        held = state.held_count
        room = max(self._most_held - held, 0)
        if len(rows) <= room:
            return rows, []
        new: dict[Hashable, _Event] = {}
        for place, change in enumerate(rows):
            end = INFINITY if change.end is None else change.end
            is_late = change.start < watermark and not (self._adjusts and watermark < end)
            if change.new_end is None and change.start < end and not is_late:
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
        events[first:last] = sorted_by_value(
            events[first:last], lambda event: _rank_of([rows[place] for place in event[1]])
        )
        message = f"its key has no room: {full}; those that start earliest are taken"
        gone = dict.fromkeys(place for _, same in events[room:] for place in same)
        taken = [change for place, change in enumerate(rows) if place not in gone]
        return taken, [Rejection(Reason.SHED, message, rows[place]) for place in gone]


def _rank_of(insertions: Sequence[InputChange]) -> Sequence[tuple[int, tuple[Any, ...], InputChange]]:
    """Return what ranks an event among those with its start, as a value: its end, its payload, and then all else.

    Args:
        insertions: The insertions of the event; several if it is duplicated.
    """
    ranks = [(INFINITY if row.end is None else row.end, row.payload, row) for row in insertions]
    return sorted_by_value(ranks, lambda rank: rank)
