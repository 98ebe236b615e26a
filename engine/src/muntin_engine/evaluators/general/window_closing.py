"""Close windows: find those that no legal change can alter, and drop the state of the closed ones.

What is left of a key then sets its timer: the progress at which it has work again, although no row comes. A window
closes or becomes visible then, say, or a trigger is due.

A change is legal if it is not late: its sync time, the earliest tick that it changes, is at the watermark or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from muntin import EARLIEST, INFINITY, EmitPolicy, TimestampPolicy, Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_since
from muntin_engine.evaluators.keyed.sweep import SweptWindow, sweep
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import Progress


class Closing:
    """Closes the windows of a query's keys."""

    def __init__(self, query: EvaluatorQuery) -> None:
        """Prepare to close the windows of a query."""
        self._query = query
        self._boundaries_move = query.window.ends_move
        self._waits_for_ends = query.waits_for_ends
        self._event_ends_move = query.event_ends_move
        self._is_speculative = query.emit is EmitPolicy.SPECULATIVE
        self._is_at_end = query.timestamps is TimestampPolicy.POINT_AT_END

    def steps(self, state: KeyState, previous: Progress, progress: Progress) -> Iterable[SweptWindow]:
        """Sweep over the windows that close in a batch; the state has the changes of the batch already.

        Where windows close out of order, a window that stays open may lie between windows that close. It comes too,
        without members. Module states are built anew after it: they missed the events that entered and left there.

        Returns:
            The steps of the sweep; an empty tuple if no window closes.

        Cost: constant for a key of which no window closes, unless windows wait for the ends of events; else one sweep
        over the key's open events.
        """
        assigner = state.assigner
        # Up to `_boundary`, no window's boundary moves any more; up to `_limit`, nor do the ends of members for which
        # windows wait. Where windows close out of order, `_closing_now` looks at the members of each window instead.
        if state.closes_out_of_order:
            limit = self._boundary(progress.watermark)
        else:
            limit = self._limit(state, progress.watermark)
        frontier = assigner.frontier
        first_open = assigner.first_open(state.events.earliest(frontier))
        if first_open.end > limit:
            return ()  # no window with a member ends at the limit or before: the common case
        members = state.events.overlapping(frontier, limit)
        windows = assigner.ending(members, ends_after=EARLIEST, limit=limit, horizon=progress.horizon)
        steps = sweep(windows, members)
        if not state.closes_out_of_order:
            return steps
        return self._closing_now(steps, previous.watermark, progress.watermark)

    def _closing_now(self, steps: Iterable[SweptWindow], previous: int, watermark: int) -> Iterable[SweptWindow]:
        """Yield the steps of a sweep, without members unless their windows close between two watermarks."""
        for step in steps:
            closes = self._has_closed(step, watermark) and not self._has_closed(step, previous)
            yield step if closes else step._replace(members={})

    def _has_closed(self, step: SweptWindow, watermark: int) -> bool:
        """Return True if a window is closed at the present watermark, or was closed at an earlier one.

        This is asked only where windows close out of order; elsewhere the frontier says which windows are closed. The
        present members of the window decide for an earlier watermark too: a closed window does not change.
        """
        if watermark == INFINITY:
            return True
        if step.window.end > self._boundary(watermark):
            return False
        return all(event.end < watermark for event in step.members.values())

    def remove_closed(self, state: KeyState, affected: dict[Window, Affected], watermark: int) -> None:
        """Remove the windows from `affected` that were closed before the batch, where windows close out of order.

        No legal change alters a closed window. But where windows count the times of events, one counted time more or
        less may move the starts of all later windows. So all later windows count as affected, closed ones too.

        Args:
            state: The state of the key, with the batch applied.
            affected: The windows that the batch affects, which this method changes.
            watermark: The watermark before the batch.
        """
        limit = self._boundary(watermark)
        # A window with an entry is open: its entry goes when it closes. So only the others are asked about.
        ended = [window for window in affected if window.end <= limit and not state.windows.get(window).size]
        if not ended:
            return
        movable = _movable_members(state, watermark)
        for window in ended:
            if _is_closed(movable, limit, window):
                del affected[window]

    def close(self, state: KeyState, watermark: int) -> int:
        """Close windows, and drop the events that only closed windows need.

        Returns:
            The number of emitted windows that are closed now.
        """
        assigner = state.assigner

        # A window may close before an earlier one: the events that it alone needs are dropped here. At the end of the
        # input all windows close, in order.
        is_closed: Callable[[Window], bool] | None = None
        if state.closes_out_of_order and EARLIEST < watermark < INFINITY:
            movable = _movable_members(state, watermark)
            needless_events = assigner.release(state.events, movable, watermark)
            state.replace(needless_events, ())
            state.record_forgotten(needless_events)
            is_closed = partial(_is_closed, movable, self._boundary(watermark))
        assigner.close(self._limit(state, watermark))

        closed_count = 0
        if state.windows:
            closed_count = state.windows.close(assigner.frontier, watermark, is_closed)

        # An event whose end may still move is kept, so that its revision finds it.
        is_needed: Callable[[StoredEvent], bool] | None = None
        if self._event_ends_move and watermark != INFINITY:
            is_needed = partial(_ends_from, watermark)
        forgotten_events = state.events.forget(assigner.frontier, is_needed)
        if forgotten_events:
            assigner.remove(forgotten_events)
            state.record_forgotten(forgotten_events)
        return closed_count

    def timer(self, state: KeyState, progress: Progress) -> KeyTimer:
        """Return the timer of a key, with its output watermark.

        Args:
            state: The state of the key after the batch.
            progress: The progress as it counts for the key: its own watermark may be ahead of the input.

        Cost: linear in the key's events, by a small constant.
        """
        assigner = state.assigner
        events = state.events
        watermark = progress.watermark
        first_open = assigner.first_open(events.earliest(assigner.frontier))

        # A boundary that may still move is settled one tick after the end of its window.
        closes_at = first_open.end + int(self._boundaries_move)
        if self._waits_for_ends and closes_at <= watermark:
            closes_at = self._end_of_waiting(state, first_open.end, watermark)
        # The key has to be evaluated at the first of these watermarks, to close windows or to forget rows.
        closing_times = [closes_at, *state.waiting_times(watermark)]
        if self._event_ends_move:  # events that no window needs are kept because their ends may be revised
            closing_times += [event.end + 1 for event in events.until_at_most(assigner.frontier)]

        # Windows become visible before they close: at their ends or, if open windows are followed, when they start. A
        # window starts without a new event only where there is an event without an end.
        visibility = INFINITY
        if self._is_speculative:
            visibility = assigner.next_end(events, progress.max_event_time)
        elif self._query.follows_open_windows and events.endless():
            visibility = assigner.next_horizon(progress.horizon)

        clock = INFINITY
        max_event_time = INFINITY
        if state.windows:
            closing_times += state.windows.unsettled()  # the entries of replaced windows, whose output becomes final
            clock, max_event_time = state.windows.wake_ups()
            # A trigger that is due already by the key's own progress is due in the next batch, whatever progress comes.
            if max_event_time <= progress.max_event_time:
                max_event_time = EARLIEST

        # No window that starts before the first open one is emitted or changes.
        output_watermark = first_open.end if self._is_at_end else first_open.start
        return KeyTimer(
            closing=min(*closing_times, INFINITY),  # an end without a tick after it settles when the stream ends
            visibility=visibility,
            output_watermark=output_watermark,
            clock=clock,
            max_event_time=max_event_time,
        )

    def _boundary(self, watermark: int) -> int:
        """Return the tick up to which no legal change can move a window's boundary.

        That is the watermark; one tick less for windows whose boundary at the watermark can still move.
        """
        if self._boundaries_move and watermark not in (EARLIEST, INFINITY):
            return watermark - 1
        return watermark

    def _limit(self, state: KeyState, watermark: int) -> int:
        """Return the closing limit: no legal change can alter a window that ends at this tick or before.

        If a module sees ends outside its window, a window stays open while the end of a member may still move. The
        limit is then the start of the earliest membership of such an event. The StreamInsight paper closes a window
        when "every member has RE <= c" (section V.F), but the watermark is strict, so an event that ends at c can still
        be extended. Here every member has to end before c.
        """
        limit = self._boundary(watermark)
        if not self._waits_for_ends or watermark in (EARLIEST, INFINITY):
            return limit
        movable = _movable_members(state, watermark)
        # Where windows close in order, all from the earliest membership of such an event on stay open. Elsewhere a
        # window may close before an earlier one: only an event that is in a window up to the limit holds it back.
        if not state.closes_out_of_order:
            return min([limit, *[event.since for event in movable]])
        for event in sorted(movable, key=by_since):
            if state.assigner.overlapping(event.since, event.until, limit=limit):
                return event.since
        return limit

    def _end_of_waiting(self, state: KeyState, end: int, watermark: int) -> int:
        """Return the least watermark at which some window of the key closes.

        The first open window has ended, but waits for the ends of its members.

        Args:
            state: The state of the key.
            end: The end of the first open window, which the watermark has reached.
            watermark: The watermark.
        """
        # The watermark is strict, so whatever lies at the watermark may still move. The end of an event is settled when
        # the watermark is one tick after it, and so is the boundary of a window, where boundaries move.
        movable = _movable_members(state, watermark)
        settling_ticks = int(self._boundaries_move)
        if state.closes_out_of_order:
            # A later window may close first: the next one that ends, or one that waits for the end of an event.
            settled_until = self._boundary(watermark)  # no boundary at this tick or before moves any more
            next_end = state.assigner.next_end(state.events, settled_until)
            next_close = min(next_end + settling_ticks, INFINITY)
            return min([next_close, *[event.end + 1 for event in movable]])
        # The window closes once the watermark has passed the ends of all its members.
        member_ends = [event.end + 1 for event in movable if event.since < end]
        return max(member_ends, default=end + settling_ticks)


def _movable_members(state: KeyState, watermark: int) -> list[StoredEvent]:
    """Return the members of windows whose end a legal change can still move."""
    return [event for event in state.events.ordered if event.end >= watermark and event.is_member]


def _ends_from(watermark: int, event: StoredEvent) -> bool:
    """Return True if an event ends at a watermark or after it."""
    return event.end >= watermark


def _is_closed(movable: Sequence[StoredEvent], limit: int, window: Window) -> bool:
    """Return True if a window is closed: it has ended, and none of its members has an end that may still move.

    Args:
        movable: The members of windows whose end a legal change can still move.
        limit: The tick up to which no legal change can move a window's boundary.
        window: The window.
    """
    if window.end > limit:
        return False
    return not any(event.since < window.end and event.until > window.start for event in movable)
