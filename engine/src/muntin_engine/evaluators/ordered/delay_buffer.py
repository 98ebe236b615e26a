"""A delay buffer, where events wait until the watermark has passed them, and a micro-batch of released events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, ClassVar, Final, NamedTuple, Self

from muntin import EARLIEST, INFINITY
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_payload
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.evaluators.keyed.keyed_run import BatchStart, KeyedRun, KeyWork
from muntin_engine.evaluators.keyed.sequence import in_sequence
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import Due
from muntin_engine.time.changes import Key, OutputChange, Progress

_by_time_and_kind: Final = itemgetter(0, 1)
"""Sort key of edges: the time, and at one time ends before starts."""


class Edge(NamedTuple):
    """The start or the end of an event, which the watermark has passed.

    Attributes:
        time: The time of the start, or of the end.
        is_start: True for a start.
        event: The event.
    """

    time: int
    is_start: bool
    event: StoredEvent


class FollowerRecord(NamedTuple):
    """The state of the follower of released events, as it was saved once.

    Attributes:
        data: The data of `DelayBuffer.follower_data`.
        released_before: The watermark before which events were released then.
    """

    data: Sequence[Any]
    released_before: int


class DelayBuffer(KeyEvents, ABC):
    """The events of a key that the watermark has not passed, and the state of the *follower* of the released ones.

    The follower is what the events are released to: the windows of rows, or an operator. A subclass keeps its state.

    An event waits at its start; where the ends of events are released too, it then waits at its end. Rows that change
    it while it waits are admitted as anywhere. The last tick of an event's membership is the one where it waits, so the
    index has events in the order in which they are due.

    Cost: a batch that adds events to the buffer and releases others costs these, by a logarithmic factor.

    Attributes:
        released_before: The watermark of the last release: events that start before it were released.
        releases_ends: True if the ends of events are released too.
    """

    releases_ends: ClassVar[bool] = False

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Begin a key, of which no event waits."""
        super().__init__(query, serial)
        self.released_before = EARLIEST

    @property
    def plain_count(self) -> int:
        """0: more is kept than the events."""
        return 0

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch from the start of an event to the tick at which it waits for the watermark."""
        waits_at = start
        # An event whose start was released waits at its end, if ends are released too.
        if self.releases_ends and start < self.released_before:
            waits_at = min(end, INFINITY - 1)  # an event without an end waits for the end of the input
        return start, waits_at + 1

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the stretches of many events."""
        return starts, [until for _, until in map(self.membership, starts, ends)]

    def release(self, watermark: int) -> list[Edge]:
        """Release the starts and ends of events that the watermark has passed, in order of time.

        At one time ends come before starts, and both are in the order of the query. Events that a filter left out are
        only forgotten.
        """
        previous_watermark = self.released_before
        self.released_before = watermark
        is_needed = self._may_be_revised if self.query.keeps is not None else None  # only a filter leaves events out
        due_events = self.events.forget(watermark, is_needed)
        if not due_events:
            return []
        visible_events = [event for event in due_events if event.is_member]
        in_order = in_sequence(visible_events, self.query.place, by_payload)
        starts: list[Edge] = []
        for event in in_order:
            if event.start >= previous_watermark:  # all others waited at their ends: their starts were released before
                starts.append(Edge(event.start, is_start=True, event=event))
        if not self.releases_ends:
            self.record_forgotten(due_events)
            return starts

        ends: list[Edge] = []
        for event in in_order:
            if event.end < watermark:
                ends.append(Edge(event.end, is_start=False, event=event))

        # An event whose start is released, and whose end is to come, goes back to the buffer and waits at its end.
        lasting_events: list[StoredEvent] = []
        if watermark < INFINITY:
            lasting_events = [edge.event for edge in starts if watermark <= edge.event.end]
        self.events.replace((), [self._waiting_at_end(event) for event in lasting_events])
        lasting_ids = {event.id for event in lasting_events}
        self.record_forgotten([event for event in due_events if event.id not in lasting_ids])
        return sorted(starts + ends, key=_by_time_and_kind)

    def _waiting_at_end(self, event: StoredEvent) -> StoredEvent:
        """Return an event whose start was released, as it waits at its end.

        The caller has moved `released_before` beyond its start, so that its membership reaches to its end.
        """
        _, until = self.membership(event.start, event.end)
        return event._replace(until=until)

    def due(self, watermark: int) -> int:
        """Return the smallest watermark at which an event is released, or one that a filter left out is forgotten.

        Args:
            watermark: The present watermark.
        """
        times = self.waiting_times(watermark)
        for event in self.events:  # in the order in which they are due, so the first member is enough
            if event.is_member:
                times.append(event.until)
                break
            # An event that a filter left out is forgotten when it can no longer be revised.
            _, until = self.membership(event.start, event.end)
            times.append(until)
        return min(times, default=INFINITY)

    def _may_be_revised(self, event: StoredEvent) -> bool:
        """Return True for an event that a filter left out if it may still be revised: the revision has to find it."""
        if not event.is_filtered:
            return False
        _, until = self.membership(event.start, event.end)
        return until > self.released_before

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state of the follower and of the buffer as plain data, or their difference to the saved state."""
        follower = self.follower_data(serializer, key, is_whole=is_whole)
        buffer = super().to_data(serializer, key, is_whole=is_whole)
        return list(_BufferRecord(follower, self.released_before, buffer))

    @abstractmethod
    def follower_data(self, serializer: StateSerializer, key: object, *, is_whole: bool) -> list[object]:
        """Return the state of the follower as plain data, or its difference to the saved state."""

    @abstractmethod
    def restore_follower(self, stored: Sequence[FollowerRecord], serializer: StateSerializer, key: object) -> None:
        """Restore the state of the follower, to which released events go.

        Args:
            stored: What `follower_data` returned: first the whole state, then the differences, in order.
            serializer: Decodes the states of modules.
            key: The key.
        """

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> Self:
        """Return the state that `to_data` wrote, with the differences that were written after it."""
        state = cls(query)
        records = [_BufferRecord(*record) for record in stored]
        # The watermark comes first: the memberships of events depend on it.
        state.released_before = records[-1].released_before
        state.restore([record.buffer for record in records])
        follower_records = [FollowerRecord(record.follower, record.released_before) for record in records]
        state.restore_follower(follower_records, serializer, key)
        return state


class _BufferRecord(NamedTuple):
    """The parts of a record that `to_data` of a delay buffer wrote.

    Attributes:
        follower: The data of the follower.
        released_before: The watermark before which events were released.
        buffer: The data of the events that wait.
    """

    follower: list[object]
    released_before: int
    buffer: list[Any]


class OrderedRun(KeyedRun):
    """A micro-batch of events that wait in the delay buffers of their keys, and are processed when they are released.

    Attributes:
        progress: The progress of the input after the batch, with the watermark after allowed lateness.
        key_progress: The progress as it counts for the key that is processed.
        work: The part of the batch for the key that is processed.
        key: The key that is processed.
        state: The state of the key.
        output: The changes of the key's output so far.
    """

    key_progress: Progress
    work: KeyWork
    key: Key
    state: Any
    output: list[OutputChange]

    def __init__(self, query: EvaluatorQuery, start: BatchStart) -> None:
        """Begin a micro-batch."""
        super().__init__(query, start)
        (self._intake,) = self.intakes
        self.progress = self._intake.progress
        self.due_at = Due(closing=self.progress.watermark)

    def process_rows(self, key: Key, state: DelayBuffer, work: KeyWork) -> list[OutputChange]:
        """Admit the rows of a key, and process the events that are released."""
        admitted = self._intake.admit(key, state, work.rows, self.pattern_watermarks(key), work.watermarks)
        admitted.net.apply()

        # The subclass reads these in `process_released`, and adds to the output.
        self.key = key
        self.state = state
        self.work = work
        self.key_progress = admitted.progress
        self.output = []
        released = state.release(admitted.progress.watermark)
        self.process_released(released, admitted.previous, admitted.progress)
        return self.output

    @abstractmethod
    def process_released(self, released: Iterable[Edge], previous: Progress, progress: Progress) -> None:
        """Bring the state of the key up to date, and add to its output.

        Args:
            released: The starts and ends that the watermark has passed, in order.
            previous: The progress before the micro-batch, with the key's own watermark.
            progress: The progress after the micro-batch, likewise.
        """
