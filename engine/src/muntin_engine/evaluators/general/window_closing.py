"""Close windows: find those that no legal change can alter, emit their final results, and drop their state.

What is left of a key then sets its timer: the progress at which the next window closes, although no row comes.

A change is legal if it is not late: its sync time, the earliest tick that it changes, is at the watermark or after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from muntin import EARLIEST, INFINITY, EmitPolicy, TimestampPolicy, Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.computation import SweptWindow, WindowResults, sweep
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_since
from muntin_engine.modules.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import OutputChange, OutputKind, Progress


class Closing:
    """Closes the windows of a query's keys."""

    def __init__(self, query: EvaluatorQuery) -> None:
        self._query = query
        self._ends_move, self._waits = query.window.ends_move, query.waits_for_ends
        self._event_ends_move = query.event_ends_move
        self._is_final, self._is_speculative = query.emit is EmitPolicy.FINAL, query.emit is EmitPolicy.SPECULATIVE
        self._is_at_end = query.timestamps is TimestampPolicy.POINT_AT_END

    def steps(self, state: KeyState, before: Progress, now: Progress) -> Iterable[SweptWindow]:
        """Sweep over the windows that close now, in the state with the batch applied.

        Where windows close out of order, every other window on the way comes without members. A state that slides then
        starts anew after it, because it has not seen which events entered and left there.

        Cost: constant for a key without such a window, unless windows wait for the ends of events; else one sweep over
        the key's open events.
        """
        is_in_order, assigner = not state.closes_out_of_order, state.assigner
        limit = self._limit(state, now.watermark) if is_in_order else self._boundary(now.watermark)
        frontier, events = assigner.frontier, state.events
        _, end = assigner.first_open(events.earliest(frontier))
        if end > limit:
            return ()
        members = events.overlapping(frontier, limit)
        steps = sweep(assigner.ending(members, EARLIEST, limit, now.horizon), members)
        if is_in_order:
            return steps
        return (
            step
            if self.has_closed(step, now.watermark) > self.has_closed(step, before.watermark)
            else step._replace(members={})
            for step in steps
        )

    def has_closed(self, step: SweptWindow, watermark: int) -> bool:
        """True if a window was closed at a watermark, where windows close out of order.

        Its present members decide this for an earlier watermark too, because a closed window does not change.
        """
        if watermark == INFINITY:
            return True
        is_over = step.window.end <= self._boundary(watermark)
        return is_over and all(event.end < watermark for event in step.members.values())

    def leave_out(self, state: KeyState, affected: dict[Window, Affected], watermark: int) -> None:
        """Leave out affected windows that had closed at a watermark before an earlier one, and so have no entry.

        No legal change alters them; but where the rank of a time says whether it opens a window, each change affects
        all windows after it.
        """
        limit = self._boundary(watermark)
        ended = [window for window in affected if window.end <= limit and not state.windows.get(window).size]
        waiting = _movable(state, watermark) if ended else []
        for window in ended:
            if _is_closed(waiting, limit, window):
                del affected[window]

    def close(self, state: KeyState, watermark: int) -> int:
        """Close windows, and drop the events that only closed windows need.

        Returns:
            The number of emitted windows that are closed now.
        """
        assigner, events = state.assigner, state.events
        is_closed = None
        if state.closes_out_of_order and EARLIEST < watermark < INFINITY:
            waiting = _movable(state, watermark)
            released = assigner.release(events, waiting, watermark)
            state.replace(released, ())
            state.forgot(released)
            is_closed = partial(_is_closed, waiting, self._boundary(watermark))
        assigner.close(self._limit(state, watermark))
        closed = 0
        if not self._is_final and state.windows:
            closed = state.windows.close(assigner.frontier, watermark, is_closed)
        may_move = self._event_ends_move and watermark != INFINITY
        past = events.forget(assigner.frontier, (lambda event: event.end >= watermark) if may_move else None)
        if past:
            assigner.remove(past)
            state.forgot(past)
        return closed

    def timer(self, state: KeyState, now: Progress) -> KeyTimer:
        """Return the timer of a key, with its output watermark.

        The key's own watermark may be ahead of the input: a trigger that is due by it is due in any batch.

        Cost: linear in the key's events, by a small constant.
        """
        query, assigner, events, watermark = self._query, state.assigner, state.events, now.watermark
        times, (start, end) = state.waiting_times(watermark), assigner.first_open(events.earliest(assigner.frontier))
        if self._event_ends_move:  # events that no window needs are kept because their ends may be revised
            times += [event.end + 1 for event in events.until_at_most(assigner.frontier)]
        at = min(end + self._ends_move, INFINITY)
        times.append(self._end_of_waiting(state, end, watermark) if self._waits and at <= watermark else at)
        visibility = clock = max_event_time = INFINITY
        if self._is_speculative:
            visibility = assigner.next_end(events, now.max_event_time)
        elif query.follows_open_windows and events.until_after(INFINITY - 1):
            visibility = assigner.next_horizon(now.horizon)
        if not self._is_final and state.windows:
            times += state.windows.unsettled()
            clock, max_event_time = state.windows.wake_ups()
            if max_event_time <= now.max_event_time:
                max_event_time = EARLIEST
        # no window that starts before it is emitted or changes
        output_watermark = end if self._is_at_end else start
        return KeyTimer(min(times), visibility, output_watermark, clock, max_event_time)

    def _boundary(self, watermark: int) -> int:
        """Return the tick up to which no legal change can move a window's boundary.

        That is the watermark; one tick less for windows whose boundary at the watermark can still move.
        """
        return watermark - 1 if self._ends_move and watermark not in (EARLIEST, INFINITY) else watermark

    def _limit(self, state: KeyState, watermark: int) -> int:
        """Return the closing limit: no legal change can alter a window that ends at it or before.

        A module that sees ends outside its window holds the limit back: to the start of the earliest membership of an
        event that can still be extended. The StreamInsight paper closes a window when "every member has RE <= c"
        (section V.F), but the watermark is strict, so an event that ends at c can still be extended. Here every member
        has to end before c.
        """
        limit = self._boundary(watermark) if self._ends_move else watermark
        if not self._waits or watermark in (EARLIEST, INFINITY):
            return limit
        waiting = _movable(state, watermark)
        if not state.closes_out_of_order:
            return min([limit, *(event.since for event in waiting)])
        # an event between two windows is waited for by none of them
        waiting.sort(key=by_since)
        return next((e.since for e in waiting if state.assigner.overlapping(e.since, e.until, limit)), limit)

    def _end_of_waiting(self, state: KeyState, end: int, watermark: int) -> int:
        """Return the least watermark that closes a window, where the first open one has ended and waits for members."""
        past_end, waiting = int(self._ends_move), _movable(state, watermark)
        if state.closes_out_of_order:
            next_end = state.assigner.next_end(state.events, self._boundary(watermark))
            return min([min(next_end, INFINITY - past_end) + past_end, *(event.end + 1 for event in waiting)])
        return max((event.end + 1 for event in waiting if event.since < end), default=end + past_end)


class Emission(ABC):
    """Emits the windows of a key in a micro-batch, after its changes are applied to the indexes.

    The caller then drops the state of closed windows.

    Attributes:
        follows_windows: True if it keeps an entry for each window that was emitted or has a trigger. It then gets the
            windows that a micro-batch affects.
        is_signalled: True if every key has work, whatever its timer says, because of a signal.
        windows_closed: The number of windows with members that it emitted as final and keeps no entry of.
    """

    follows_windows: ClassVar[bool] = True
    is_signalled: bool = False
    windows_closed: int = 0

    def begin_key(self) -> None:  # noqa: B027  # most know nothing of a key between two calls
        """Begin a key, which has one call of `emit` or, where keys are forgotten, one for each of its lives."""

    @abstractmethod
    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the net change of a key's output.

        Args:
            key: The key.
            state: Its state, with the micro-batch applied.
            affected: The windows that the micro-batch affects, and those that become visible; empty unless it
                follows windows.
            before: The progress before the micro-batch, with the key's own watermark.
            now: The progress after the micro-batch, likewise.
        """


class FinalEmission(Emission):
    """Emits windows when they close, computed in one sweep. Between batches it keeps events alone.

    Cost: a change is inserted into the index. A batch that closes windows goes through the key's open events once, and
    calls the modules for each window: with all members for the first one and, of modules that do not slide, for the
    others; modules that slide get each row that comes or goes after that once. So a row that is in many windows is
    added once in each batch that closes some of them.
    """

    follows_windows = False

    def __init__(self, closing: Closing, results: WindowResults) -> None:
        self._closing, self._results = closing, results

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close; none was emitted that could change."""
        if not (steps := self._closing.steps(state, before, now)):
            return []
        output = self.rows(key, steps, state.serial)
        state.serial += len(output)
        return output

    def rows(self, key: object, steps: Iterable[SweptWindow], serial: int) -> list[OutputChange]:
        """Return the rows of the windows of a sweep, with numbers after the last serial number."""
        output, stamp = list[OutputChange](), self._results.stamper.rows
        for (window, *_), values in self._results.values(key, steps):
            self.windows_closed += 1
            for row in stamp(key, window, values):
                serial += 1
                output.append(OutputChange(OutputKind.INSERT, serial, window, *row))
        return output


def _movable(state: KeyState, watermark: int) -> list[StoredEvent]:
    """Return the members of windows whose end a legal change can still move."""
    return [event for event in state.events.ordered if event.end >= watermark and event.since < event.until]


def _is_closed(waiting: Sequence[StoredEvent], limit: int, window: Window) -> bool:
    """True if a window has ended and waits for the end of no member."""
    return window.end <= limit and not any(e.since < window.end and e.until > window.start for e in waiting)
