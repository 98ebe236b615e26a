"""Emit the rows of one key of a join that a micro-batch changes or makes final, and drop the events they needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from muntin import INFINITY, JoinKind, Window
from muntin_engine.evaluators.joins.finality import Finality
from muntin_engine.evaluators.joins.join_state import EmittedRow, EmittedRows, JoinState, RowName
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT, JoinQuery, Match, matches, neighbours
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.live_output import netted
from muntin_engine.evaluators.keyed.net_changes import EventChange, NetChanges
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
        self._least_awaited = [INFINITY, INFINITY]
        """For each side the least of its watermarks that a row waits for."""
        self._least_waiting_start = INFINITY
        """The least start of a row that waits."""
        self._new_emitted: dict[Hashable, EmittedRows] = {}
        """The emitted rows, after the batch, of the left events whose rows change, by the ids of these events."""
        self._changes: list[dict[Hashable, EventChange]] = []
        """For each side the events that the batch changes, by id."""

    def emit(self, nets: Sequence[NetChanges]) -> list[OutputChange]:
        """Apply the changes of a batch to the state of the key, and return the changes of the output.

        Args:
            nets: For each side its net changes: of each event the one that all rows of the batch make together.
        """
        for net in nets:
            changes = dict(net.changes_by_id)
            for event in net.inserted:
                changes[event.id] = EventChange(None, event)
            self._changes.append(changes)
        if self._query.emits_at_once:
            return list(self._emit_at_once(nets))

        for net in nets:
            net.apply()

        # The rows of left events that were retracted, or are left out by a filter now, are retracted.
        output: list[OutputChange] = []
        for previous, present in self._changes[LEFT].values():
            is_gone = present is None or not present.is_member
            if previous is not None and is_gone:
                output += self._replace_rows(previous, ())

        # The rows of other left events are computed anew, and compared with those that were emitted. Rows that are not
        # final are held back.
        rights = self._state.sides[RIGHT].events
        for left, nearby_rights in neighbours(self._lefts_to_look_at(), rights):
            matching_rights = self._query.matching_rights(left, nearby_rights)
            rows = self._rows_of(left, matching_rights)
            if self._query.waits:
                rows = [row for row in rows if not self._waits(left, row, matching_rights)]
            output += self._replace_rows(left, rows)

        # A row that is retracted and inserted again stays as it is, under its old id.
        net_output, live_ids = netted(output, revises=True)
        for left_id, emitted in self._new_emitted.items():
            with_live_ids: EmittedRows = {}
            for name, row in emitted.items():
                with_live_ids[name] = row._replace(id=live_ids.get(row.id, row.id))
            self._state.put_emitted(left_id, with_live_ids)
        return net_output

    def _changed_events(self, side: int) -> list[StoredEvent]:
        """Return the events of a side that the batch brought or changed, as they are after it."""
        return [change.present for change in self._changes[side].values() if change.present is not None]

    def _lefts_to_look_at(self) -> Iterable[StoredEvent]:
        """Return the left events whose rows the batch may change."""
        lefts = self._state.sides[LEFT].events
        if self._looks_at_all:
            return lefts
        lefts_by_id = {event.id: event for event in self._changed_events(LEFT)}
        # Also those beside a changed right event, where it was before the batch and where it is after it.
        changed_rights: list[StoredEvent] = []
        for previous, present in self._changes[RIGHT].values():
            if previous is not None:
                changed_rights.append(previous)
            if present is not None:
                changed_rights.append(present)
        for _, nearby_lefts in neighbours(changed_rights, lefts):
            for left in nearby_lefts:
                lefts_by_id[left.id] = left
        return lefts_by_id.values()

    def _emit_at_once(self, nets: Sequence[NetChanges]) -> Iterator[OutputChange]:
        """Yield the pairs that have a new event: no pair is emitted twice, and none changes."""
        lefts = self._state.sides[LEFT].events
        rights = self._state.sides[RIGHT].events
        # New right events with the left ones from before the batch, then new left events with all right ones.
        pairs: list[tuple[StoredEvent, StoredEvent]] = []
        for right, nearby_lefts in neighbours(self._changed_events(RIGHT), lefts):
            pairs += [(left, right) for left in nearby_lefts]
        for net in nets:
            net.apply()
        for left, nearby_rights in neighbours(self._changed_events(LEFT), rights):
            pairs += [(left, right) for right in nearby_rights]

        for left, right in pairs:
            start = max(left.start, right.start)
            end = min(left.end, right.end)
            if start < end and self._query.matching_rights(left, [right]):
                id = self._state.next_serial()
                value = self._query.value(left, right)
                yield OutputChange(OutputKind.INSERT, id, Window(start, end), start, end, value)

    def _rows_of(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        """Return the rows of a left event, by its `neighbours` that meet the condition with it."""
        return matches(self._query.kind, left, rights)

    def _waits(self, left: StoredEvent, row: Match, rights: Sequence[StoredEvent]) -> bool:
        """Return True if a row is not final; record its start, and the watermarks that it waits for, for the timer."""
        awaited_watermarks = self._finality.awaits(left, row, rights)
        for side, watermark in awaited_watermarks:
            self._least_awaited[side] = min(self._least_awaited[side], watermark)
            self._least_waiting_start = min(self._least_waiting_start, row.start)
        return bool(awaited_watermarks)

    def _replace_rows(self, left: StoredEvent, rows: Iterable[Match]) -> Iterator[OutputChange]:
        """Yield the changes of the output that replace the emitted rows of a left event.

        Args:
            left: The left event; if it is gone, as it was before the batch.
            rows: The rows that are emitted from now on.
        """
        previous_left = self._previous_version(LEFT, left.id, left)
        emitted = self._state.emitted.get(left.id, {})
        rows_to_insert: dict[RowName, Match] = {}
        for match in rows:
            right_id = None if match.right is None else match.right.id
            rows_to_insert[RowName(right_id, match.start)] = match

        # An emitted row stays if it is among the new ones, with the same end and the same payloads. Others are
        # retracted, with the values that they were emitted with.
        new_emitted: EmittedRows = {}
        for name, emitted_row in emitted.items():
            previous_right = None
            if name.right_id is not None:
                previous_right = self._previous_version(RIGHT, name.right_id)
            row = rows_to_insert.get(name)
            has_same_end = row is not None and row.end == emitted_row.end
            if row is not None and has_same_end and _has_same_payloads(row, left, previous_left, previous_right):
                new_emitted[name] = emitted_row
                del rows_to_insert[name]
                continue
            window = Window(name.start, emitted_row.end)
            value = self._query.value(previous_left, previous_right)
            yield OutputChange(OutputKind.RETRACT, emitted_row.id, window, window.start, window.end, value)

        for name, row in rows_to_insert.items():
            id = self._state.next_serial()
            new_emitted[name] = EmittedRow(id, row.end)
            value = self._query.value(left, row.right)
            yield OutputChange(OutputKind.INSERT, id, Window(row.start, row.end), row.start, row.end, value)
        if new_emitted != emitted:
            self._new_emitted[left.id] = new_emitted

    def _previous_version(self, side: int, id: Hashable, default: StoredEvent | None = None) -> StoredEvent:
        """Return an event as it was before the batch; as it is now if the batch did not change it or brought it.

        Args:
            side: The side of the event.
            id: The id of the event.
            default: The event as it is now; None to look it up.
        """
        change = self._changes[side].get(id)
        if change is not None and change.previous is not None:
            return change.previous
        event = default or self._state.sides[side].event(id)
        assert event is not None, "a row that was emitted has its events"
        return event

    def forget(self) -> None:
        """Drop the events that no later row of the output needs.

        An event is needed while its own end may move, and until the watermark of the other input has passed its end. If
        parts of left events are emitted, a right event is also needed as long as a live left event overlaps it.
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

        # Parts of left events are emitted. They are computed anew as long as the left event is live, from all right
        # events that overlap it.
        until = self._watermarks[LEFT]
        for left in self._state.sides[LEFT].events:
            if left.is_member:
                until = min(until, left.start)
        self._forget(RIGHT, until)

    def _drop_emitted_rows(self, right_ids: AbstractSet[Hashable]) -> None:
        """Forget the emitted rows of right events that were dropped: nothing can change these rows any more.

        Args:
            right_ids: The ids of the right events.
        """
        if not right_ids:
            return
        for left_id, emitted in list(self._state.emitted.items()):
            revisable = {name: row for name, row in emitted.items() if name.right_id not in right_ids}
            if len(revisable) < len(emitted):
                self._state.put_emitted(left_id, revisable)

    def _forget(
        self, side: int, until: int, is_needed: Callable[[StoredEvent], bool] = lambda event: False
    ) -> list[StoredEvent]:
        """Drop the events of a side that end at a tick or before it, unless they may change or are still needed.

        Args:
            side: The side.
            until: The tick.
            is_needed: Says of an event whether it is needed nevertheless.

        Returns:
            The events that were dropped.
        """

        def stays(event: StoredEvent) -> bool:
            """True if an event stays although it has ended."""
            return not self._finality.is_past(side, event) or is_needed(event)

        state = self._state.sides[side]
        forgotten = state.events.forget(until, stays)
        if forgotten:
            state.record_forgotten(forgotten)
        return forgotten

    def timer(self) -> KeyTimer:
        """Return the least watermark of each input at which the key has something to do.

        Then a row becomes final, a row of the input stops waiting for others of its event, or an event can be dropped.
        """
        soonest = list(self._least_awaited)
        for side, state in enumerate(self._state.sides):
            opposite_side = 1 - side
            watermarks = state.waiting_times(self._watermarks[side])
            opposite_watermarks: list[int] = []
            for event in state.events:
                # An event that may change waits for its own input. After that the other input says when it is dropped.
                if not self._finality.is_past(side, event):
                    watermarks.append(min(event.end + 1, INFINITY))
                    continue
                needed_until = self._needed_until(side, event)
                if needed_until > self._watermarks[opposite_side]:
                    opposite_watermarks.append(needed_until)
            soonest[side] = min([soonest[side], *watermarks])
            soonest[opposite_side] = min([soonest[opposite_side], *opposite_watermarks])
        return KeyTimer(
            closing=soonest[LEFT],
            visibility=INFINITY,  # no windows become visible before they close
            output_watermark=self._least_waiting_start,
            right_closing=soonest[RIGHT],
        )

    def _needed_until(self, side: int, event: StoredEvent) -> int:
        """Return the watermark of the other input from which on none of its later rows can meet an event."""
        del side
        return event.end


class ClipEmission(JoinEmission):
    """Emits left events, each until the first right event that starts after it.

    A left event is over once it is clipped for good, and a right one is needed while a kept event ends at its start:
    the next one could take its place only while both may still be retracted. So each batch that touches a key looks at
    all its left events.
    """

    def __init__(self, query: JoinQuery, state: JoinState, finality: Finality) -> None:
        """Prepare for a key; the arguments are those of `JoinEmission`."""
        super().__init__(query, state, finality)
        self._looks_at_all = True
        self._clipped_at: dict[Hashable, int] = {}
        """For each left event, by its id, the start of the right event that clips it; `INFINITY` if none does."""

    def _rows_of(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        """Return the one row of a left event, and note where it is clipped."""
        clipped_at = min((right.start for right in rights if right.start > left.start), default=INFINITY)
        self._clipped_at[left.id] = clipped_at
        return [Match(None, left.start, min(left.end, clipped_at))]

    def _forget_lefts(self) -> list[StoredEvent]:
        """Drop also the left events that are clipped for good, and return all that were dropped."""
        forgotten = super()._forget_lefts()
        lefts = self._state.sides[LEFT]
        clipped_for_good: list[StoredEvent] = []
        for event in lefts.events:
            clipped_at = self._clipped_at.get(event.id, INFINITY)
            if clipped_at < self._watermarks[RIGHT] and self._finality.is_past(LEFT, event):
                clipped_for_good.append(event)
        lefts.replace(clipped_for_good, ())  # by no events
        lefts.record_forgotten(clipped_for_good)
        return forgotten + clipped_for_good

    def _forget_rights(self) -> None:
        """Drop the right events that no later row needs, except those that clip a left event."""
        clip_ticks = {self._clipped_at.get(event.id) for event in self._state.sides[LEFT].events}
        self._forget(RIGHT, self._watermarks[LEFT], lambda event: event.start in clip_ticks)

    def _needed_until(self, side: int, event: StoredEvent) -> int:
        """Return the watermark of the other input from which on none of its later rows can meet an event.

        A left event that is clipped is over once the watermark has passed the start of the right event that clips it.
        """
        if side == RIGHT:
            return event.end
        clipped_at = self._clipped_at.get(event.id, INFINITY)
        if clipped_at == INFINITY:
            return event.end
        return min(event.end, clipped_at + 1)


def _has_same_payloads(
    row: Match, left: StoredEvent, previous_left: StoredEvent, previous_right: StoredEvent | None
) -> bool:
    """Return True if the events of a row have the payloads that they had before the batch.

    Args:
        row: The row, with its right event as it is now.
        left: The left event as it is now.
        previous_left: The left event before the batch.
        previous_right: The right event before the batch; None if the row is a part of the left event alone.
    """
    if left.payload is not previous_left.payload:
        return False
    if row.right is None or previous_right is None:
        return row.right is previous_right
    return row.right.payload is previous_right.payload
