"""Emit the rows of one key of a join that a micro-batch changes or makes final, and drop the events they needed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

from muntin import EARLIEST, INFINITY, JoinKind, Window
from muntin_engine.evaluators.joins.finality import AwaitedWatermark, Finality
from muntin_engine.evaluators.joins.join_state import EmittedRow, EmittedRows, JoinState, RowName
from muntin_engine.evaluators.joins.left_timers import NEVER, LeftTimers
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT, JoinQuery, Match, matches, neighbours
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.live_output import netted
from muntin_engine.evaluators.keyed.net_changes import EventChange, NetChanges
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import OutputChange, OutputKind


class JoinEmission:
    """Emits the rows of one key that a micro-batch changes, or that are final after it.

    Cost: a batch looks at the left events that changed, at those that overlap or touch a right event which did, and at
    those of which a row waited for a watermark that has come. When a key was decoded, all are looked at once where rows
    wait.
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
        self._looks_at_all = False
        # Timers are not stored: a key that was just decoded looks at all left events once, and so makes them anew.
        if state.left_timers is None and (query.waits or query.kind is JoinKind.CLIP):
            state.left_timers = LeftTimers()
            self._looks_at_all = True
        self._left_timers = state.left_timers
        """When left events are to be looked at again; None where no row waits, and no event is clipped."""
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
                if self._left_timers is not None:
                    self._left_timers.discard(previous.id)

        # The rows of other left events are computed anew, and compared with those that were emitted. Rows that are not
        # final are held back.
        rights = self._state.sides[RIGHT].events
        for left, nearby_rights in neighbours(self._lefts_to_look_at(), rights):
            matching_rights = self._query.matching_rights(left, nearby_rights)
            rows = self._rows_of(left, matching_rights)
            if self._left_timers is not None:
                rows = self._final_rows(left, rows, matching_rights, self._left_timers)
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

        # Also the left events beside a changed right event, where that was before the batch and where it is after it. A
        # left event that ends where the right one starts is among them: so lefts are looked up from the tick before the
        # start of the right event on.
        changed_rights: list[StoredEvent] = []
        for change in self._changes[RIGHT].values():
            for right in change:
                if right is not None:
                    changed_rights.append(right._replace(start=right.start - 1))
        for _, nearby_lefts in neighbours(changed_rights, lefts):
            for left in nearby_lefts:
                lefts_by_id[left.id] = left
        if self._left_timers is None:
            return lefts_by_id.values()

        for left_id in self._left_timers.take_due(self._watermarks):
            due_left = lefts.get(left_id)
            if due_left is not None:
                lefts_by_id[left_id] = due_left
        # In the order in which all are looked at: the ids of the output must not depend on what a worker caches.
        return lefts.put_in_order(lefts_by_id.values())

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

    def _final_rows(
        self, left: StoredEvent, rows: list[Match], rights: Sequence[StoredEvent], left_timers: LeftTimers
    ) -> list[Match]:
        """Return the rows of a left event that are emitted now, and enter the watermarks that the others wait for.

        Args:
            left: The left event.
            rows: The rows of the left event, final or not.
            rights: The `neighbours` of the left event that meet the condition with it.
            left_timers: The watermarks that left events wait for.
        """
        awaited_watermarks = self._awaited_to_drop(left)
        waiting_from = NEVER
        final_rows = rows
        if self._query.waits:
            final_rows = []
            for row in rows:
                awaited_by_row = self._finality.awaits(left, row, rights)
                if awaited_by_row:
                    awaited_watermarks += awaited_by_row
                    waiting_from = min(waiting_from, row.start)
                else:
                    final_rows.append(row)

        # When the first of these watermarks comes, the event is looked at again.
        first_awaited = [NEVER, NEVER]
        for side, watermark in awaited_watermarks:
            # The end of an input is the last watermark that comes; after it there is nothing more to wait for.
            if self._watermarks[side] < INFINITY:
                first_awaited[side] = min(first_awaited[side], watermark, INFINITY)
        left_timers.put(left.id, first_awaited, waiting_from)
        return final_rows

    def _awaited_to_drop(self, left: StoredEvent) -> list[AwaitedWatermark]:
        """Return the watermark at which a left event can be dropped before its end says so; none in most joins."""
        del left
        return []

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
        """Return an event as it was before the batch.

        An event that the batch did not change, or that came with the batch, is returned as it is now.

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
            if self._left_timers is not None:
                self._left_timers.discard(event.id)
        self._forget_rights()

    def _forget_lefts(self) -> list[StoredEvent]:
        """Drop the left events that no later row needs, and return them."""
        return self._forget(LEFT, self._watermarks[RIGHT])

    def _forget_rights(self) -> None:
        """Drop the right events that no later row needs."""
        if self._query.kind is JoinKind.INNER:
            forgotten = self._forget(RIGHT, self._watermarks[LEFT])
            self._drop_emitted_rows(forgotten)
            return

        if not self._state.sides[RIGHT].events.size:
            return
        # Parts of left events are emitted. They are computed anew as long as the left event is live, from all right
        # events that overlap it.
        first_start = self._state.sides[LEFT].events.earliest(EARLIEST)  # of those that end after `EARLIEST`: of all
        self._forget(RIGHT, min(self._watermarks[LEFT], first_start))

    def _drop_emitted_rows(self, rights: Sequence[StoredEvent]) -> None:
        """Forget the emitted rows of right events that were dropped: nothing can change these rows any more.

        Args:
            rights: The right events. Their rows are stored with the left events that overlap them.
        """
        if not rights or not self._state.emitted:
            return
        right_ids = {right.id for right in rights}
        left_ids: set[Hashable] = set()
        for _, nearby_lefts in neighbours(rights, self._state.sides[LEFT].events):
            left_ids.update(left.id for left in nearby_lefts)
        for left_id in left_ids:
            emitted = self._state.emitted.get(left_id, {})
            revisable = {name: row for name, row in emitted.items() if name.right_id not in right_ids}
            if len(revisable) < len(emitted):
                self._state.put_emitted(left_id, revisable)

    def _forget(
        self, side: int, until: int, is_needed: Callable[[StoredEvent], bool] = lambda event: False
    ) -> list[StoredEvent]:
        """Drop the events of a side that end at a tick or before it, unless they may change or are still needed.

        Events that a filter left out are never joined: they are dropped as soon as nothing can change them, also if
        they end after the tick.

        Args:
            side: The side.
            until: The tick.
            is_needed: Says of an event whether it is needed nevertheless.

        Returns:
            The events that were dropped.
        """

        def stays(event: StoredEvent) -> bool:
            """True if an event stays although it has ended."""
            # The index asks this of each event in the order in which memberships end. That of an event that a filter
            # left out is empty, and stands before all others, whatever the end of the event is.
            return not self._finality.is_past(side, event) or is_needed(event)

        # A revision may still move an event that ends after `past_until`.
        state = self._state.sides[side]
        forgotten = state.events.forget(min(until, self._finality.past_until[side]), stays)
        if forgotten:
            state.record_forgotten(forgotten)
        return forgotten

    def timer(self) -> KeyTimer:
        """Return the least watermark of each input at which the key has something to do.

        There is something to do where a row of the output becomes final, where a row of the input stops waiting for
        others of its event, and where an event can be dropped.
        """
        soonest = [INFINITY, INFINITY]
        held_from = INFINITY  # the start of the first row that is held back, which the output watermark does not pass
        if self._left_timers is not None:
            for side, awaited in enumerate(self._left_timers.awaited):
                soonest[side] = min(INFINITY, awaited.least())
            held_from = min(INFINITY, self._left_timers.waiting_from.least())

        for side, state in enumerate(self._state.sides):
            opposite_side = 1 - side
            soonest[side] = min([soonest[side], *state.waiting_times(self._watermarks[side])])
            if not state.events.size:
                continue

            # An event that may change waits for the watermark of its own input to pass its end. Of the events that a
            # filter lets pass, the first one to end tells when.
            past_until = self._finality.past_until[side]
            first_changeable = state.events.first_until_after(past_until)
            if first_changeable is not None:
                soonest[side] = min(soonest[side], first_changeable.end + 1)
            if state.query.keeps is not None:
                # The membership of an event that a filter left out ends at `EARLIEST`.
                for filtered_event in state.events.until_at_most(EARLIEST):
                    soonest[side] = min(soonest[side], filtered_event.end + 1)

            # The other input says when an event that is past can be dropped.
            first_needed = state.events.first_until_after(self._watermarks[opposite_side])
            if first_needed is not None and first_needed.end <= past_until:
                soonest[opposite_side] = min(soonest[opposite_side], first_needed.end)
        return KeyTimer(
            closing=soonest[LEFT],
            visibility=INFINITY,  # no windows become visible before they close
            output_watermark=held_from,
            right_closing=soonest[RIGHT],
        )


class ClipEmission(JoinEmission):
    """Emits left events, each until the first right event that starts after it.

    A left event is over once it is clipped for good, and a right one is needed while a kept event ends at its start:
    the next one could take its place only while both may still be retracted.

    Cost: that of `JoinEmission`; and a batch looks at the right events that have ended and still clip a left one.
    """

    def __init__(self, query: JoinQuery, state: JoinState, finality: Finality) -> None:
        """Prepare for a key; the arguments are those of `JoinEmission`."""
        super().__init__(query, state, finality)
        assert self._left_timers is not None, "left events of this kind have timers also where no row waits"
        self._clip_ticks = self._left_timers.clip_ticks
        self._clipped_at: dict[Hashable, int] = {}
        """For each left event that the batch looks at the start of the right event that clips it, or `NEVER`."""

    def _rows_of(self, left: StoredEvent, rights: Sequence[StoredEvent]) -> list[Match]:
        """Return the one row of a left event, and enter where it is clipped."""
        clipped_at = min((right.start for right in rights if right.start > left.start), default=NEVER)
        self._clipped_at[left.id] = clipped_at
        self._clip_ticks.put(left.id, clipped_at)
        return [Match(None, left.start, min(left.end, clipped_at))]

    def _awaited_to_drop(self, left: StoredEvent) -> list[AwaitedWatermark]:
        """Return the watermark at which a left event may be clipped for good; none if it never is, or is already."""
        clipped_at = self._clipped_at[left.id]  # `_rows_of` has entered it, before this is asked
        if clipped_at == NEVER:
            return []
        if not self._finality.is_past(LEFT, left):
            return [AwaitedWatermark(LEFT, self._finality.past_from(LEFT, left))]
        if clipped_at >= self._watermarks[RIGHT]:
            return [AwaitedWatermark(RIGHT, clipped_at + 1)]
        return []  # it is dropped in this batch

    def _forget_lefts(self) -> list[StoredEvent]:
        """Drop also the left events that are clipped for good, and return all that were dropped."""
        forgotten = super()._forget_lefts()
        lefts = self._state.sides[LEFT]
        clipped_for_good: list[StoredEvent] = []
        for left_id, clipped_at in self._clipped_at.items():
            event = lefts.event(left_id)  # None if it was dropped just now
            is_clipped = clipped_at < self._watermarks[RIGHT]
            if event is not None and is_clipped and self._finality.is_past(LEFT, event):
                clipped_for_good.append(event)
        lefts.replace(clipped_for_good, ())  # by no events
        lefts.record_forgotten(clipped_for_good)
        return forgotten + clipped_for_good

    def _forget_rights(self) -> None:
        """Drop the right events that no later row needs, except those that clip a left event."""

        def clips(event: StoredEvent) -> bool:
            """Return True if a right event clips a left one."""
            # An event that a filter left out clips nothing, though another event may clip at its start.
            return event.is_member and self._clip_ticks.has(event.start)

        self._forget(RIGHT, self._watermarks[LEFT], is_needed=clips)


def _has_same_payloads(
    row: Match, left: StoredEvent, previous_left: StoredEvent, previous_right: StoredEvent | None
) -> bool:
    """Return True if the events of a row have the payloads that they had before the batch.

    An event keeps its payload object unless a row brings another payload: so the objects are compared, not the values.

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
