"""Evaluate a join, key by key: a micro-batch of both inputs changes the state of a key, and the output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeAlias

from muntin import EARLIEST, INFINITY, JoinKind, Window
from muntin_engine.evaluators.joins.matching import (
    LEFT,
    RIGHT,
    Finality,
    JoinQuery,
    Match,
    Watermarks,
    matches,
    neighbours,
)
from muntin_engine.evaluators.keyed.admission import NetChanges, Versions
from muntin_engine.evaluators.keyed.bucket import KeyedRun, Start, Work
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import DECODED, KeyEvents
from muntin_engine.evaluators.keyed.live_output import netted
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.state.bucket_state import Due, KeyTimer
from muntin_engine.time.changes import Key, OutputChange, OutputKind, Progress
from muntin_engine.time.inputs_progress import InputsProgress

Name: TypeAlias = tuple[Hashable, int]
"""Names a row among those of a left event: the id of the right event, None for a part, and the row's start."""

Emitted: TypeAlias = dict[Name, tuple[int, int]]
"""The rows of a left event that were emitted: the id of each in the output, and its end."""


class JoinState:
    """The state of one key.

    Attributes:
        sides: The events of each side.
        emitted: The rows that were emitted, by the id of their left event; none of events that are gone.
    """

    held_windows = 0

    def __init__(self, query: JoinQuery, serial: int = 0) -> None:
        """Start a key, with the largest serial number that may be in use already, by this key or another."""
        left, right = query.sides
        self.sides = (KeyEvents(left, serial), KeyEvents(right, serial))
        self.emitted: dict[Hashable, Emitted] = {}
        self._changed: set[Hashable] | None = None

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return all(side.is_empty for side in self.sides)

    @property
    def serial(self) -> int:
        """The largest serial number in use."""
        return max(side.serial for side in self.sides)

    @property
    def held_count(self) -> int:
        """The number of events that are kept."""
        return sum(side.held_count for side in self.sides)

    @property
    def plain_count(self) -> int:
        """The number of events, if no emitted and no waiting rows are kept; otherwise 0."""
        return 0 if self.emitted or any(side.pending for side in self.sides) else self.held_count

    def memory(self, size: int) -> int:
        """Return the memory that it takes in bytes, roughly, if its records have so many bytes."""
        return DECODED * size

    def next_serial(self) -> int:
        """Return an id that the output of this key has not used yet."""
        return self.sides[0].next_serial()

    def put(self, left: Hashable, emitted: Emitted) -> None:
        """Remember the rows of a left event; none to forget it."""
        if emitted:
            self.emitted[left] = emitted
        else:
            self.emitted.pop(left, None)
        if self._changed is not None:
            self._changed.add(left)

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        for side in self.sides:
            side.track()
        self._changed = set()

    @property
    def tracks(self) -> bool:
        """True if the changes since the state was stored are known."""
        return self._changed is not None

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data, or its difference to the stored state."""
        rows = self.emitted if is_whole else {left: self.emitted.get(left, {}) for left in self._changed or ()}
        emitted = [
            [left, [[right, start, serial, end] for (right, start), (serial, end) in emitted.items()]]
            for left, emitted in rows.items()
        ]
        return [*(side.to_data(serializer, key, is_whole=is_whole) for side in self.sides), emitted]

    @classmethod
    def from_data(
        cls, query: JoinQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> JoinState:
        """Return the state that `to_data` wrote, with the differences after it."""
        state = cls(query)
        left, right = (
            KeyEvents.from_data(side, [record[place] for record in stored], serializer, key)
            for place, side in enumerate(query.sides)
        )
        state.sides = (left, right)
        for *_, rows in stored:
            for id, emitted in rows:
                state.put(id, {(other, start): (serial, end) for other, start, serial, end in emitted})
        return state


class JoinEmission:
    """Emits the rows of one key that a micro-batch changes, or that are final after it.

    Where rows wait for a watermark, each batch that touches a key looks at all its left events; otherwise at those that
    changed and at those that overlap a right event which did.
    """

    def __init__(self, query: JoinQuery, state: JoinState, finality: Finality) -> None:
        """Take a key, without the changes of the batch, and what is final after it."""
        self._query, self._state = query, state
        self._finality, self._watermarks = finality, finality.watermarks
        self._soonest = [INFINITY, INFINITY]
        self._held_from = INFINITY
        self._looks_at_all = query.waits
        self._changed: dict[Hashable, Emitted] = {}

    def emit(self, nets: Sequence[NetChanges]) -> list[OutputChange]:
        """Take the net changes of both sides in, and return the changes of the output."""
        self._touched = [{**net.touched, **{new.id: (None, new) for new in net.inserted}} for net in nets]
        news = [[after for _, after in some.values() if after is not None] for some in self._touched]
        if self._query.emits_at_once:
            return list(self._emit_at_once(nets, news))
        for net in nets:
            net.apply()
        left, right = (side.events for side in self._state.sides)
        if self._looks_at_all:
            dirty = {event.id: event for event in left}
        else:
            dirty = {new.id: new for new in news[LEFT]}
            changed = [event for event in chain(*self._touched[RIGHT].values()) if event is not None]
            for _, others in neighbours(changed, left):
                dirty |= {other.id: other for other in others}
        output: list[OutputChange] = []
        for before, after in self._touched[LEFT].values():
            if before is not None and (after is None or not after.is_member):
                output += self._replace(before, ())
        for event, nearby in neighbours(dirty.values(), right):
            others = self._query.met(event, nearby)
            found = self._matches(event, others)
            if self._query.waits:
                found = [match for match in found if not self._waits(event, match, others)]
            output += self._replace(event, found)
        rest, stays = netted(output, revises=True)
        for id, rows in self._changed.items():
            self._state.put(id, {name: (stays.get(serial, serial), end) for name, (serial, end) in rows.items()})
        return rest

    def _emit_at_once(self, nets: Sequence[NetChanges], news: Sequence[list[StoredEvent]]) -> Iterator[OutputChange]:
        """Yield the pairs that have a new event: none is emitted twice, and none changes."""
        value = self._query.value
        lefts = self._state.sides[LEFT].events
        pairs = [(left, right) for right, others in neighbours(news[RIGHT], lefts) for left in others]
        for net in nets:
            net.apply()
        rights = self._state.sides[RIGHT].events
        pairs += [(left, right) for left, others in neighbours(news[LEFT], rights) for right in others]
        for left, right in pairs:
            start, end = max(left.start, right.start), min(left.end, right.end)
            if start < end and self._query.met(left, [right]):
                serial, row = self._state.next_serial(), value(left, right)
                yield OutputChange(OutputKind.INSERT, serial, Window(start, end), start, end, row)

    def _waits(self, left: StoredEvent, match: Match, rights: Sequence[StoredEvent]) -> bool:
        """True if a row is not final; its watermark is remembered then, and its start."""
        awaited = self._finality.awaits(left, match, rights)
        for side, tick in awaited:
            self._soonest[side] = min(self._soonest[side], tick)
            self._held_from = min(self._held_from, match.start)
        return bool(awaited)

    def _matches(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        """Return the rows of a left event, given those of its `neighbours` that it meets."""
        return matches(self._query.kind, left, rights)

    def forget(self) -> None:
        """Drop the events that no later row of the output needs.

        A left event is needed until the watermark of the right input has passed its end, and while its own end may
        move; so is a right one, and, where parts of left events are asked for, as long as a left event may overlap it.
        """
        for event in self._forget_lefts():
            if event.id in self._state.emitted:
                self._state.put(event.id, {})
        self._forget_rights()

    def _forget_lefts(self) -> list[StoredEvent]:
        return self._forget(LEFT, self._watermarks[RIGHT])

    def _forget_rights(self) -> None:
        until = self._watermarks[LEFT]
        if self._query.kind is not JoinKind.INNER:
            until = min([until, *(event.start for event in self._state.sides[LEFT].events if event.is_member)])
        ids = {event.id for event in self._forget(RIGHT, until)}
        if ids and self._query.kind is JoinKind.INNER:
            for id, emitted in list(self._state.emitted.items()):
                if any(other in ids for other, _ in emitted):
                    self._state.put(id, {name: row for name, row in emitted.items() if name[0] not in ids})

    def timer(self) -> KeyTimer:
        """Return when the key has work, by the watermark of each input."""
        soonest = list(self._soonest)
        for side, state in enumerate(self._state.sides):
            soonest[side] = min([soonest[side], *state.waiting_times(self._watermarks[side])])
            for event in state.events:
                if not self._finality.is_past(side, event):
                    soonest[side] = min(soonest[side], event.end + 1 if event.end < INFINITY else INFINITY)
                elif (end := self._ends_at(side, event)) > self._watermarks[1 - side]:
                    soonest[1 - side] = min(soonest[1 - side], end)
        return KeyTimer(soonest[LEFT], INFINITY, self._held_from, right_closing=soonest[RIGHT])

    def _ends_at(self, side: int, event: StoredEvent) -> int:
        """Return the watermark of the other input at which an event is no longer needed for rows of that input."""
        del side
        return event.end

    def _forget(
        self, side: int, until: int, is_needed: Callable[[StoredEvent], bool] = lambda event: False
    ) -> list[StoredEvent]:
        finality, state = self._finality, self._state.sides[side]
        gone = state.events.forget(until, lambda event: not finality.is_past(side, event) or is_needed(event))
        if gone:
            state.forgot(gone)
        return gone

    def _replace(self, left: StoredEvent, found: Iterable[Match]) -> Iterator[OutputChange]:
        """Yield retractions of the rows of a left event that are not found, and insertions of those that are new."""
        old, value = self._state.emitted.get(left.id, {}), self._query.value
        before = self._before(LEFT, left.id, left)
        wanted: dict[Name, Match] = {(match.right and match.right.id, match.start): match for match in found}
        rows: Emitted = {}
        for name, (serial, end) in old.items():
            (other, start), match = name, wanted.get(name)
            right = None if other is None else self._before(RIGHT, other)
            payload = match and (match.right or left).payload
            if match and match.end == end and left.payload is before.payload and payload is (right or before).payload:
                rows[name] = serial, end
                del wanted[name]
            else:
                gone = value(before, right)
                yield OutputChange(OutputKind.RETRACT, serial, Window(start, end), start, end, gone)
        for name, (right, start, end) in wanted.items():
            serial = self._state.next_serial()
            rows[name] = serial, end
            yield OutputChange(OutputKind.INSERT, serial, Window(start, end), start, end, value(left, right))
        if rows != old:
            self._changed[left.id] = rows

    def _before(self, side: int, id: Hashable, default: StoredEvent | None = None) -> StoredEvent:
        """Return an event as it was before the batch; as it is now if it was not there."""
        versions: Versions = self._touched[side].get(id, (None, None))
        found = versions[0] or default or self._state.sides[side].event(id)
        assert found is not None, "a row that was emitted has its events"
        return found


class ClipEmission(JoinEmission):
    """Emits left events, each until the first right event that starts after it.

    A left event is over once it is clipped for good, and a right one is needed while a kept event ends at its start:
    the next one could take its place only while both may still be retracted. So each batch that touches a key looks at
    all its left events.
    """

    def __init__(self, query: JoinQuery, state: JoinState, finality: Finality) -> None:
        """Take a key; see `JoinEmission`."""
        super().__init__(query, state, finality)
        self._looks_at_all = True
        self._clipped_at: dict[Hashable, int] = {}

    def _matches(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        starts = (right.start for right in rights if right.start > left.start)
        self._clipped_at[left.id] = clipped_at = min(starts, default=INFINITY)
        return [Match(None, left.start, min(left.end, clipped_at))]

    def _forget_lefts(self) -> list[StoredEvent]:
        left, gone = self._state.sides[LEFT], super()._forget_lefts()
        over = [
            event
            for event in left.events
            if self._clipped_at.get(event.id, INFINITY) < self._watermarks[RIGHT]
            and self._finality.is_past(LEFT, event)
        ]
        left.replace(over, ())
        left.forgot(over)
        return gone + over

    def _forget_rights(self) -> None:
        ends = {self._clipped_at.get(event.id) for event in self._state.sides[LEFT].events}
        self._forget(RIGHT, self._watermarks[LEFT], lambda event: event.start in ends)

    def _ends_at(self, side: int, event: StoredEvent) -> int:
        clipped_at = self._clipped_at.get(event.id, INFINITY) if side == LEFT else INFINITY
        return event.end if clipped_at == INFINITY else min(event.end, clipped_at + 1)


class JoinRun(KeyedRun):
    """A micro-batch of both inputs."""

    state_class = JoinState
    query: JoinQuery

    def __init__(self, query: JoinQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        super().__init__(query, start)
        self._emission = ClipEmission if query.kind is JoinKind.CLIP else JoinEmission
        left, right = (intake.now.watermark for intake in self.intakes)
        left_before, right_before = (intake.before.watermark for intake in self.intakes)
        self._finality = Finality(query, Watermarks(left, right))
        # a side closes once: nothing waits for it then
        left, right = left - (left == INFINITY == left_before), right - (right == INFINITY == right_before)
        self.due_at = Due(left, right_closing=right)

    def take_rows(self, key: Key, state: JoinState, work: Work) -> list[OutputChange]:
        """Take the rows of both inputs in, and return the rows that change, or are final now."""
        told, nets = self.told(key), list[NetChanges]()
        for side, (intake, of_side) in enumerate(zip(self.intakes, state.sides, strict=True)):
            rows = [row for row in work.rows if row.side == side]
            nets.append(intake.take(key, of_side, rows, told, work.watermarks)[0])
        self._of_key = self._emission(self.query, state, self._finality)
        output = self._of_key.emit(nets)
        self._of_key.forget()
        return output

    def timer_of(self, state: JoinState) -> KeyTimer:
        """Return when the key has work, by the watermark of each input."""
        return self._of_key.timer()

    def output_watermark(self, earliest: int) -> int:
        """Return the least watermark of both inputs, or the first start of a row that waits."""
        least = self.result.progress.watermark
        return least if least in (EARLIEST, INFINITY) else min(least, earliest)


class PassingRun(JoinRun):
    """A micro-batch of one input, whose events are the results.

    The other input of the join ended before anything came, so no event ever covers one of this input or waits for it.
    """

    def __init__(self, query: JoinQuery, start: Start) -> None:
        """Begin; see `KeyedRun`."""
        before, now = _with_ended_input(start.before), _with_ended_input(start.now)
        super().__init__(query, start._replace(before=before, now=now))
        self.result.inputs = start.now
        self.result.progress = start.now.least


def _with_ended_input(progress: InputsProgress) -> InputsProgress:
    """Return the progress of one input, and of a second one that has ended."""
    ended = Progress(watermark=INFINITY)
    return InputsProgress((*progress.inputs, ended), (*progress.tracked, ()), (*progress.to_the_tick, ended.watermark))
