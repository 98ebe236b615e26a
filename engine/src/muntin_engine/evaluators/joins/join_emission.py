"""Emit the rows of one key of a join that a micro-batch changes or makes final, and drop the events they needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from muntin import INFINITY, JoinKind, Window
from muntin_engine.evaluators.joins.finality import Finality
from muntin_engine.evaluators.joins.join_state import EmittedRows, JoinState, RowName
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT, JoinQuery, Match, matches, neighbours
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.live_output import netted
from muntin_engine.evaluators.keyed.net_changes import NetChanges, Versions
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import OutputChange, OutputKind


class JoinEmission:
    """Emits the rows of one key that a micro-batch changes, or that are final after it.

    Where rows wait for a watermark, each batch that touches a key looks at all its left events; otherwise at those that
    changed and at those that overlap a right event which did.
    """

    def __init__(self, query: JoinQuery, state: JoinState, finality: Finality) -> None:
        """Prepare for a key.

        Args:
            query: The join.
            state: The state of the key, without the changes of the batch.
            finality: Tells which rows are final after the batch.
        """
        self._query = query
        self._state = state
        self._finality = finality
        self._watermarks = finality.watermarks
        self._looks_at_all = query.waits
        # Of the rows that wait: the least watermark of each side, and the least start.
        self._soonest = [INFINITY, INFINITY]
        self._held_from = INFINITY
        self._changed: dict[Hashable, EmittedRows] = {}
        self._touched: list[dict[Hashable, Versions]] = []

    def emit(self, nets: Sequence[NetChanges]) -> list[OutputChange]:
        """Apply the net changes of both sides, and return the changes of the output."""
        for net in nets:
            touched = dict(net.touched)
            for event in net.inserted:
                touched[event.id] = (None, event)
            self._touched.append(touched)
        if self._query.emits_at_once:
            return list(self._emit_at_once(nets))

        for net in nets:
            net.apply()
        output: list[OutputChange] = []
        for before, after in self._touched[LEFT].values():
            is_gone = after is None or not after.is_member
            if before is not None and is_gone:
                output += self._replace(before, ())
        rights = self._state.sides[RIGHT].events
        for left, nearby in neighbours(self._lefts_to_look_at(), rights):
            met = self._query.met(left, nearby)
            rows = self._rows_of(left, met)
            if self._query.waits:
                rows = [row for row in rows if not self._waits(left, row, met)]
            output += self._replace(left, rows)

        net_output, stays = netted(output, revises=True)
        for left_id, emitted in self._changed.items():
            staying = {name: (stays.get(id, id), end) for name, (id, end) in emitted.items()}
            self._state.put_emitted(left_id, staying)
        return net_output

    def _new_versions(self, side: int) -> list[StoredEvent]:
        """Return the touched events of a side as they are after the batch."""
        return [after for _, after in self._touched[side].values() if after is not None]

    def _lefts_to_look_at(self) -> Iterable[StoredEvent]:
        """Return the left events whose rows the batch may change."""
        lefts = self._state.sides[LEFT].events
        if self._looks_at_all:
            return lefts
        by_id = {event.id: event for event in self._new_versions(LEFT)}
        changed_rights: list[StoredEvent] = []
        for before, after in self._touched[RIGHT].values():
            changed_rights += [event for event in (before, after) if event is not None]
        for _, nearby in neighbours(changed_rights, lefts):
            for left in nearby:
                by_id[left.id] = left
        return by_id.values()

    def _emit_at_once(self, nets: Sequence[NetChanges]) -> Iterator[OutputChange]:
        """Yield the pairs that have a new event: no pair is emitted twice, and none changes."""
        lefts = self._state.sides[LEFT].events
        rights = self._state.sides[RIGHT].events
        # New right events with the left ones from before the batch, then new left events with all right ones.
        pairs: list[tuple[StoredEvent, StoredEvent]] = []
        for right, nearby in neighbours(self._new_versions(RIGHT), lefts):
            pairs += [(left, right) for left in nearby]
        for net in nets:
            net.apply()
        for left, nearby in neighbours(self._new_versions(LEFT), rights):
            pairs += [(left, right) for right in nearby]

        for left, right in pairs:
            start = max(left.start, right.start)
            end = min(left.end, right.end)
            if start < end and self._query.met(left, [right]):
                id = self._state.next_serial()
                value = self._query.value(left, right)
                yield OutputChange(OutputKind.INSERT, id, Window(start, end), start, end, value)

    def _rows_of(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        """Return the rows of a left event, by those of its `neighbours` that it meets."""
        return matches(self._query.kind, left, rights)

    def _waits(self, left: StoredEvent, row: Match, rights: Sequence[StoredEvent]) -> bool:
        """Return True if a row is not final, and record the watermarks that it waits for, and its start."""
        awaited = self._finality.awaits(left, row, rights)
        for side, watermark in awaited:
            self._soonest[side] = min(self._soonest[side], watermark)
            self._held_from = min(self._held_from, row.start)
        return bool(awaited)

    def _replace(self, left: StoredEvent, rows: Iterable[Match]) -> Iterator[OutputChange]:
        """Yield the changes from the emitted rows of a left event to others."""
        previous_left = self._previous_version(LEFT, left.id, left)
        emitted = self._state.emitted.get(left.id, {})
        missing: dict[RowName, Match] = {}
        for match in rows:
            missing[None if match.right is None else match.right.id, match.start] = match

        remaining: EmittedRows = {}
        for name, (id, end) in emitted.items():
            right_id, start = name
            previous_right = None if right_id is None else self._previous_version(RIGHT, right_id)
            row = missing.get(name)
            if row is not None and row.end == end and _has_same_payloads(row, left, previous_left, previous_right):
                remaining[name] = (id, end)
                del missing[name]
                continue
            value = self._query.value(previous_left, previous_right)
            yield OutputChange(OutputKind.RETRACT, id, Window(start, end), start, end, value)

        for name, (right, start, end) in missing.items():
            id = self._state.next_serial()
            remaining[name] = (id, end)
            value = self._query.value(left, right)
            yield OutputChange(OutputKind.INSERT, id, Window(start, end), start, end, value)
        if remaining != emitted:
            self._changed[left.id] = remaining

    def _previous_version(self, side: int, id: Hashable, default: StoredEvent | None = None) -> StoredEvent:
        """Return an event as it was before the batch; as it is now if the batch did not change or bring it."""
        before, _ = self._touched[side].get(id, (None, None))
        event = before or default or self._state.sides[side].event(id)
        assert event is not None, "a row that was emitted has its events"
        return event

    def forget(self) -> None:
        """Drop the events that no later row of the output needs.

        A left event is needed until the watermark of the right input has passed its end, and while its own end may
        move; so is a right one, and, where parts of left events are emitted, as long as a left event may overlap it.
        """
        for event in self._forget_lefts():
            if event.id in self._state.emitted:
                self._state.put_emitted(event.id, {})
        self._forget_rights()

    def _forget_lefts(self) -> list[StoredEvent]:
        """Drop the left events that no later row needs, and return them."""
        return self._forget(LEFT, self._watermarks[RIGHT])

    def _forget_rights(self) -> None:
        """Drop the right events that no later row needs."""
        if self._query.kind is JoinKind.INNER:
            forgotten = self._forget(RIGHT, self._watermarks[LEFT])
            self._drop_emitted_rows({event.id for event in forgotten})
            return

        # Parts of left events are emitted: they are cut anew as long as the left event is kept.
        until = self._watermarks[LEFT]
        for left in self._state.sides[LEFT].events:
            if left.is_member:
                until = min(until, left.start)
        self._forget(RIGHT, until)

    def _drop_emitted_rows(self, right_ids: AbstractSet[Hashable]) -> None:
        """Drop the emitted rows of right events, which nothing can change any more."""
        if not right_ids:
            return
        for left_id, emitted in list(self._state.emitted.items()):
            remaining: EmittedRows = {}
            for (right_id, start), row in emitted.items():
                if right_id not in right_ids:
                    remaining[right_id, start] = row
            if len(remaining) < len(emitted):
                self._state.put_emitted(left_id, remaining)

    def _forget(
        self, side: int, until: int, is_needed: Callable[[StoredEvent], bool] = lambda event: False
    ) -> list[StoredEvent]:
        """Drop the events of a side that end at a tick or before it, unless they may change or are needed."""
        finality = self._finality
        state = self._state.sides[side]
        forgotten = state.events.forget(until, lambda event: not finality.is_past(side, event) or is_needed(event))
        if forgotten:
            state.record_forgotten(forgotten)
        return forgotten

    def timer(self) -> KeyTimer:
        """Return the timer of the key, by the watermark of each input."""
        soonest = list(self._soonest)
        for side, state in enumerate(self._state.sides):
            other_side = 1 - side
            times = state.waiting_times(self._watermarks[side])
            other_times: list[int] = []
            for event in state.events:
                if not self._finality.is_past(side, event):
                    times.append(min(event.end + 1, INFINITY))
                    continue
                needed_until = self._needed_until(side, event)
                if needed_until > self._watermarks[other_side]:
                    other_times.append(needed_until)
            soonest[side] = min([soonest[side], *times])
            soonest[other_side] = min([soonest[other_side], *other_times])
        return KeyTimer(soonest[LEFT], INFINITY, self._held_from, right_closing=soonest[RIGHT])

    def _needed_until(self, side: int, event: StoredEvent) -> int:
        """Return the watermark of the other input at which an event is no longer needed for rows of that input."""
        del side
        return event.end


class ClipEmission(JoinEmission):
    """Emits left events, each until the first right event that starts after it.

    A left event is over once it is clipped for good, and a right one is needed while a kept event ends at its start:
    the next one could take its place only while both may still be retracted. So each batch that touches a key looks at
    all its left events.
    """

    def __init__(self, query: JoinQuery, state: JoinState, finality: Finality) -> None:
        super().__init__(query, state, finality)
        self._looks_at_all = True
        self._clipped_at: dict[Hashable, int] = {}

    def _rows_of(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        clipped_at = min((right.start for right in rights if right.start > left.start), default=INFINITY)
        self._clipped_at[left.id] = clipped_at
        return [Match(None, left.start, min(left.end, clipped_at))]

    def _forget_lefts(self) -> list[StoredEvent]:
        forgotten = super()._forget_lefts()
        lefts = self._state.sides[LEFT]
        clipped_for_good: list[StoredEvent] = []
        for event in lefts.events:
            clipped_at = self._clipped_at.get(event.id, INFINITY)
            if clipped_at < self._watermarks[RIGHT] and self._finality.is_past(LEFT, event):
                clipped_for_good.append(event)
        lefts.replace(clipped_for_good, ())
        lefts.record_forgotten(clipped_for_good)
        return forgotten + clipped_for_good

    def _forget_rights(self) -> None:
        clip_ticks = {self._clipped_at.get(event.id) for event in self._state.sides[LEFT].events}
        self._forget(RIGHT, self._watermarks[LEFT], lambda event: event.start in clip_ticks)

    def _needed_until(self, side: int, event: StoredEvent) -> int:
        clipped_at = self._clipped_at.get(event.id, INFINITY) if side == LEFT else INFINITY
        return event.end if clipped_at == INFINITY else min(event.end, clipped_at + 1)


def _has_same_payloads(
    row: Match, left: StoredEvent, previous_left: StoredEvent, previous_right: StoredEvent | None
) -> bool:
    """Return True if the events of a row have the payloads that they had before the batch."""
    if left.payload is not previous_left.payload:
        return False
    if row.right is None or previous_right is None:
        return row.right is previous_right
    return row.right.payload is previous_right.payload
