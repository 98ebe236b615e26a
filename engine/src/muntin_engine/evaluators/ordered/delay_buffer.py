"""A delay buffer, where events wait until the watermark has passed them, and a micro-batch of those released."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self

from muntin import EARLIEST, INFINITY
from muntin_engine.evaluators.keyed.admission import NetChanges
from muntin_engine.evaluators.keyed.bucket import OneInputRun, Start
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_payload
from muntin_engine.evaluators.keyed.key_events import KeyEvents
from muntin_engine.evaluators.keyed.sequence import in_sequence
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import Due
from muntin_engine.time.changes import Key, OutputChange, Progress

_time_and_kind = itemgetter(0, 1)


class Edge(NamedTuple):
    """The start or the end of an event, released.

    Attributes:
        time: The time of the start, or of the end.
        is_start: True for a start.
        event: The event.
    """

    time: int
    is_start: bool
    event: StoredEvent


class DelayBuffer(KeyEvents, ABC):
    """The events of a key that the watermark has not passed, and what follows those that it has.

    An event waits at its start; where the ends of events are released too, it then waits at its end. Rows that change
    it while it waits are admitted as anywhere. The last tick of an event's membership is the one where it waits, so the
    index has events in the order in which they are due.

    Cost: a batch that adds events to the buffer and releases others costs these, by a logarithmic factor.

    Attributes:
        passed: The watermark that the starts of released events lie before.
        releases_ends: True if the ends of events are released too.
    """

    releases_ends: ClassVar[bool] = False

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key; see `KeyEvents`."""
        super().__init__(query, serial)
        self.passed = EARLIEST

    @property
    def plain_count(self) -> int:
        """0: what follows the events is kept besides them."""
        return 0

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch up to the tick at which an event waits."""
        at = min(end, INFINITY - 1) if self.releases_ends and start < self.passed else start
        return start, at + 1

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return these stretches of many events."""
        return starts, [until for _, until in map(self.membership, starts, ends)]

    def release(self, watermark: int) -> list[Edge]:
        """Release what the watermark has passed: in order of time, at one time ends first, and then as events come.

        Events that a filter left out are released to nobody.
        """
        since, self.passed = self.passed, watermark
        gone = self.events.forget(watermark, self._is_awaited if self.query.keeps is not None else None)
        if not gone:
            return []
        ordered = in_sequence([event for event in gone if event.is_member], self.query.place, by_payload)
        starts = [Edge(event.start, True, event) for event in ordered if event.start >= since]
        if not self.releases_ends:
            self.forgot(gone)
            return starts
        ends = [Edge(event.end, False, event) for event in ordered if event.end < watermark]
        lasting = [edge.event for edge in starts if watermark <= edge.event.end] if watermark < INFINITY else []
        self.events.replace((), [event._replace(until=self.membership(event.start, event.end)[1]) for event in lasting])
        kept = {event.id for event in lasting}
        self.forgot(event for event in gone if event.id not in kept)
        return sorted(starts + ends, key=_time_and_kind)

    def due(self, watermark: int) -> int:
        """Return the smallest watermark that releases something, or lets something be forgotten."""
        return min(chain(self.waiting_times(watermark), self._due_times()), default=INFINITY)

    def _due_times(self) -> Iterator[int]:
        """Yield when the first event is due, and when those that a filter left out are forgotten."""
        for event in self.events:
            if event.is_member:
                yield event.until
                return
            yield self.membership(event.start, event.end)[1]

    def _is_awaited(self, event: StoredEvent) -> bool:
        """Return True if an event that a filter left out may still be revised, so that its revision has to find it."""
        return event.is_filtered and self.membership(event.start, event.end)[1] > self.passed

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the follower of events and the buffer as plain data, or their difference to what is stored."""
        own = self.own_data(serializer, key, is_whole=is_whole)
        return [own, self.passed, super().to_data(serializer, key, is_whole=is_whole)]

    @abstractmethod
    def own_data(self, serializer: StateSerializer, key: object, *, is_whole: bool) -> list[object]:
        """Return the follower of events as plain data, or the data to restore it from, given what was stored before."""

    @abstractmethod
    def restore_own(
        self, stored: Sequence[tuple[Sequence[Any], int]], serializer: StateSerializer, key: object
    ) -> None:
        """Restore it from what `own_data` returned, the first time as a whole, each with `passed` at that time."""

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> Self:
        """Return the state that `to_data` wrote, with the differences after it."""
        state = cls(query)
        state.passed = stored[-1][1]
        state.restore([buffer for _, _, buffer in stored])
        state.restore_own([(own, passed) for own, passed, _ in stored], serializer, key)
        return state


class OrderedRun(OneInputRun):
    """A micro-batch of events that wait in the delay buffers of their keys, and of what follows those released.

    Attributes:
        key: The key that is evaluated.
        state: Its state.
        output: The changes of its output so far.
    """

    key: Key
    state: Any
    output: list[OutputChange]

    def __init__(self, query: EvaluatorQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self.due_at = Due(self.now.watermark)

    def evaluate(
        self, key: Key, state: DelayBuffer, net: NetChanges, before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Take the net changes of a key in, and follow the events that are released."""
        net.apply()
        self.key, self.state, self.output = key, state, []
        self.follow(state.release(now.watermark), before, now)
        return self.output

    @abstractmethod
    def follow(self, released: Sequence[Edge], before: Progress, now: Progress) -> None:
        """Bring the state of the key up to date, and add to its output.

        Args:
            released: What the watermark has passed, in order.
            before: The progress before the micro-batch, with the key's own watermark.
            now: The progress after the micro-batch, likewise.
        """
