"""Close windows: find those that no legal change can alter, emit their final results, and drop their state.

What is left of a key then sets its timer: the progress at which the next window closes, although no row comes.

A change is legal if it is not late: its sync time, the earliest tick that it changes, is at the watermark or after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from muntin import EARLIEST, INFINITY, EmitPolicy, TimestampPolicy, Window
from muntin_engine.core.changes import OutputChange, OutputKind, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.emission import Emission
from muntin_engine.evaluators.general.key_state import KeyState
from muntin_engine.evaluators.keyed.computation import SweptWindow, WindowResults, sweep
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_since
from muntin_engine.state.bucket_state import KeyTimer


def boundary_limit(query: EvaluatorQuery, watermark: int) -> int:
    """Return the tick up to which no legal change can move a window's boundary.

    That is the watermark; one tick less for windows whose boundary at the watermark can still move.
    """
    is_movable = query.window.ends_move and watermark not in (EARLIEST, INFINITY)
    return watermark - 1 if is_movable else watermark


def closing_limit(query: EvaluatorQuery, state: KeyState, watermark: int) -> int:
    """Return the closing limit: no legal change can alter a window that ends at it or before.

    A module that sees ends outside its window holds the limit back: to the start of the earliest membership of an event
    that can still be extended. The StreamInsight paper closes a window when "every member has RE <= c"
    (section V.F), but the watermark is strict, so an event that ends at c can still be extended. Here every member has
    to end before c.
    """
    limit = boundary_limit(query, watermark)
    if not query.waits_for_ends or watermark in (EARLIEST, INFINITY):
        return limit
    waiting = movable(state, watermark)
    if not state.closes_out_of_order:
        return min([limit, *(event.since for event in waiting)])
    # an event between two windows is waited for by none of them
    waiting.sort(key=by_since)
    return next((e.since for e in waiting if state.assigner.overlapping(e.since, e.until, limit)), limit)


def movable(state: KeyState, watermark: int) -> list[StoredEvent]:
    """Return the members of windows whose end a legal change can still move."""
    return [event for event in state.events.ordered if event.end >= watermark and event.since < event.until]


def due_limit(query: EvaluatorQuery, state: KeyState, watermark: int) -> int | None:
    """Return the limit at which, or before which, the windows that close now end; None if none closes.

    Cost: constant for a key without such a window, unless windows wait for the ends of events.
    """
    is_in_order = not state.closes_out_of_order
    limit = closing_limit(query, state, watermark) if is_in_order else boundary_limit(query, watermark)
    first = state.assigner.first_open(state.events.earliest(state.assigner.frontier))
    return limit if first is not None and first.end <= limit else None


def closing_steps(
    query: EvaluatorQuery, state: KeyState, limit: int, before: int, now: Progress
) -> Iterable[SweptWindow]:
    """Sweep over the windows that close now.

    Where windows close out of order, every other window on the way comes without members. A state that slides then
    starts anew after it, because it has not seen which events entered and left there.

    Cost: one sweep over the key's open events.

    Args:
        query: The query.
        state: The key's state, with the batch applied.
        limit: The `due_limit`.
        before: The watermark before the batch.
        now: The progress after the batch.
    """
    events = state.events.overlapping(state.assigner.frontier, limit)
    steps = sweep(state.assigner.ending(events, EARLIEST, limit, now.horizon), events)
    if not state.closes_out_of_order:
        return steps
    return (
        step if has_closed(query, step, now.watermark) > has_closed(query, step, before) else step._replace(members={})
        for step in steps
    )


def has_closed(query: EvaluatorQuery, step: SweptWindow, watermark: int) -> bool:
    """True if a window was closed at a watermark, where windows close out of order.

    Its present members decide this for an earlier watermark too, because a closed window does not change.
    """
    if watermark == INFINITY:
        return True
    is_over = step.window.end <= boundary_limit(query, watermark)
    return is_over and all(event.end < watermark for event in step.members.values())


class FinalEmission(Emission):
    """Emits windows when they close, computed in one sweep. Between batches it keeps events alone.

    Cost: a change is inserted into the index. A batch that closes windows goes through the key's open events once, and
    calls the modules for each window: with all members for the first one and, of modules that do not slide, for the
    others; modules that slide get each row that comes or goes after that once. So a row that is in many windows is
    added once in each batch that closes some of them.
    """

    follows_windows = False

    def __init__(self, query: EvaluatorQuery, results: WindowResults) -> None:
        self._query = query
        self._results = results

    def emit(
        self, key: object, state: KeyState, affected: dict[Window, Affected], before: Progress, now: Progress
    ) -> list[OutputChange]:
        """Return the rows of the windows that close."""
        del affected  # nothing was emitted that could change
        limit = due_limit(self._query, state, now.watermark)
        if limit is None:
            return []
        steps = closing_steps(self._query, state, limit, before.watermark, now)
        output = self.rows_of(key, steps, state.serial)
        state.serial += len(output)
        return output

    def rows_of(self, key: object, steps: Iterable[SweptWindow], serial: int) -> list[OutputChange]:
        """Return the rows of the windows of a sweep, numbered after a serial number."""
        output: list[OutputChange] = []
        for step, rows in self._results.rows(key, steps):
            self.windows_closed += 1
            for row in rows:
                serial += 1
                output.append(OutputChange(OutputKind.INSERT, serial, step.window, row.start, row.end, row.value))
        return output


def leave_out_closed(query: EvaluatorQuery, state: KeyState, affected: dict[Window, Affected], watermark: int) -> None:
    """Leave out affected windows that had closed at a watermark before an earlier one, and so have no entry any more.

    No legal change alters them; but where the rank of a time says whether it opens a window, each change affects all
    windows after it.
    """
    limit = boundary_limit(query, watermark)
    ended = [window for window in affected if window.end <= limit and not state.windows.get(window).size]
    waiting = movable(state, watermark) if ended else []
    for window in ended:
        if _is_closed(waiting, limit, window):
            del affected[window]


def close_windows(query: EvaluatorQuery, state: KeyState, watermark: int) -> int:
    """Close windows, and drop the events that only closed windows need.

    Returns:
        The number of emitted windows that are closed now.
    """
    assigner = state.assigner
    forgotten: list[StoredEvent] = []
    is_closed = None
    if state.closes_out_of_order and EARLIEST < watermark < INFINITY:
        waiting = movable(state, watermark)
        forgotten += assigner.release(state.events, waiting, watermark)
        state.replace(forgotten, ())
        is_closed = partial(_is_closed, waiting, boundary_limit(query, watermark))
    assigner.close(closing_limit(query, state, watermark))
    closed = state.windows.close(assigner.frontier, watermark, is_closed) if state.windows else 0
    may_move = query.event_ends_move and watermark != INFINITY
    past = state.events.forget(assigner.frontier, (lambda event: event.end >= watermark) if may_move else None)
    if past:
        assigner.remove(past)
        forgotten += past
    if forgotten:
        state.forgot(forgotten)
    return closed


def _is_closed(waiting: Sequence[StoredEvent], limit: int, window: Window) -> bool:
    """True if a window has ended and waits for the end of no member."""
    return window.end <= limit and not any(e.since < window.end and e.until > window.start for e in waiting)


def timer(query: EvaluatorQuery, state: KeyState, now: Progress) -> KeyTimer:
    """Return the timer of a key, with its output watermark.

    The key's own watermark may be ahead of the input: a trigger that is due by it is due in any batch.

    Cost: linear in the key's events, by a small constant.
    """
    assigner, events, watermark = state.assigner, state.events, now.watermark
    times = state.waiting_times(watermark)
    earliest, past = events.earliest(assigner.frontier), events.until_at_most(assigner.frontier)
    first = assigner.first_open(earliest)
    output_watermark = assigner.first_start(earliest)  # no window that starts before it is emitted or changes
    times += [event.end + 1 for event in past]  # these are kept only because their ends may be revised
    if first is not None:
        at = first.end + query.window.ends_move
        is_awaited = at <= watermark and query.waits_for_ends
        times.append(_end_of_waiting(query, state, first, watermark) if is_awaited else at)
    visibility = INFINITY
    if query.emit is EmitPolicy.SPECULATIVE:
        visibility = assigner.next_end(events, now.max_event_time)
    elif query.follows_open_windows and events.until_after(INFINITY - 1):
        visibility = assigner.next_horizon(now.horizon)
    if query.timestamps is TimestampPolicy.POINT_AT_END:
        output_watermark = INFINITY if first is None else first.end
    clock = max_event_time = INFINITY
    if state.windows:
        times += state.windows.unsettled()
        clock, max_event_time = state.windows.wake_ups()
        if max_event_time <= now.max_event_time:
            max_event_time = EARLIEST
    return KeyTimer(min(times, default=INFINITY), visibility, output_watermark, clock, max_event_time)


def _end_of_waiting(query: EvaluatorQuery, state: KeyState, first: Window, watermark: int) -> int:
    """Return the least watermark that closes a window, where the first open one has ended and waits for its members."""
    past_end, waiting = int(query.window.ends_move), movable(state, watermark)
    if state.closes_out_of_order:
        next_end = state.assigner.next_end(state.events, boundary_limit(query, watermark))
        return min([min(next_end, INFINITY - past_end) + past_end, *(event.end + 1 for event in waiting)])
    return max((event.end + 1 for event in waiting if event.since < first.end), default=first.end + past_end)
