"""Time-bound results: the result at each tick of a window uses the input up to that tick alone.

So a window is computed in pieces. A time-bound result never changes output before its cause: see `successors` for what
becomes of the output of a window whose place another one takes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from itertools import count, pairwise
from typing import Any

from muntin import INFINITY, Window
from muntin_engine.evaluators.keyed.computation import ModuleComputation
from muntin_engine.evaluators.keyed.event_index import StoredEvent, by_start
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow, replace_rows_from
from muntin_engine.evaluators.keyed.timestamps import Timestamper
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.frozen_values import freeze


class ResultsAsKnown:
    """Computes a time-bound window in pieces: the result of each piece uses the input known at its start.

    Cost: an incremental module adds each member once, and computes a result per piece. A module that is not
    incremental, or that reads ends which may move, is computed for each piece from all members known so far.
    """

    def __init__(self, query: EvaluatorQuery, computations: Sequence[ModuleComputation], stamper: Timestamper) -> None:
        """Prepare to compute the windows of a query, by its modules and the policy for lifetimes of results."""
        self._query = query
        self._computations = computations
        self._stamper = stamper

    def ticks(self, window: Window, members: Iterable[StoredEvent], since: int) -> list[int]:
        """Return the ticks of a window at which its pieces start, from `since` on; none if it has ended by then.

        More of the window becomes known when a member starts and, if results may not show later ends, when one ends.
        A window whose members are all known at one tick has a single piece, which is returned whatever `since` is.
        """
        known_at_once = self._query.window.known_at(window)
        if known_at_once is not None:
            return [known_at_once]
        first = max(window.start, since)
        ticks = {first}
        for event in members:
            ticks.add(event.start)
            if self._query.hides_later_ends:
                ticks.add(event.end)
        return [tick for tick in sorted(ticks) if first <= tick < window.end]

    def rows(
        self, key: object, window: Window, members: Iterable[StoredEvent], ticks: Sequence[int]
    ) -> list[OutputRow]:
        """Return the rows of a window, piece by piece; equal rows of neighbouring pieces become one row.

        Args:
            key: The key of the window.
            window: The window.
            members: The members of the window.
            ticks: The start of each piece, in order; the last piece ends with the window.
        """
        ordered = sorted(members, key=by_start)
        states: list[Any] = [None] * len(self._computations)
        rows: list[OutputRow] = []
        # The places in `rows` of the rows of the last piece, by value: the next piece extends those that it repeats.
        piece_rows: dict[Hashable, list[int]] = {}
        known_count = 0
        for start, end in pairwise([*ticks, window.end]):
            previous_count = known_count
            known_count = bisect_right(ordered, start, key=by_start)
            previous_piece_rows = piece_rows
            piece_rows = {}
            if not known_count:
                continue  # a window has no result before its first member starts
            results = self._results(
                key, window, ordered, new_places=range(previous_count, known_count), states=states, tick=start
            )
            for row in self._stamper.rows(key, window, results):
                value = freeze(row.value)
                if previous_piece_rows.get(value):
                    row_place = previous_piece_rows[value].pop()
                    rows[row_place] = rows[row_place]._replace(end=end)
                else:
                    row_place = len(rows)
                    rows.append(OutputRow(start, end, row.value))
                piece_rows.setdefault(value, []).append(row_place)
        return rows

    def rows_around(self, key: object, window: Window, members: Iterable[StoredEvent], since: int) -> list[OutputRow]:
        """Return the rows of a window that is emitted for the first time, with a change at a tick inside it.

        Before the tick, rows are computed from the members that the window starts with; from the tick on, they are
        computed from all members. A row that is equal on both sides of the tick is one row.
        """
        all_members = list(members)
        first_members = [as_of(event, window.start) for event in all_members if event.start <= window.start]
        rows_before = self._rows_of_members(key, window, first_members)
        rows_after = self._rows_of_members(key, window, all_members)
        # The rows before the change are treated as live ones, which the rows after it replace from the tick on.
        live_rows = [LiveRow(number, row) for number, row in enumerate(rows_before)]
        new_number = count(len(rows_before)).__next__
        rows_on_both_sides, _ = replace_rows_from(since, window, live_rows, rows_after, next_id=new_number)
        return [live_row.row for live_row in rows_on_both_sides]

    def _rows_of_members(self, key: object, window: Window, members: Sequence[StoredEvent]) -> list[OutputRow]:
        """Return the rows of a window with its members; none without members."""
        if not members:
            return []
        results = [computation.result_of_members(members, key, window) for computation in self._computations]
        return self._stamper.rows(key, window, results)

    def _results(
        self,
        key: object,
        window: Window,
        members: Sequence[StoredEvent],
        new_places: range,
        states: list[object],
        tick: int,
    ) -> list[object]:
        """Return the results of the members that are known at a tick, and update the module states.

        Args:
            key: The key.
            window: The window.
            members: The members of the window, by their starts.
            new_places: The places of the members that have become known since the tick before. All members up to the
                last of them have started by the tick; there is at least one.
            states: The state of each module at the previous tick; this method puts the state at this tick in its place.
            tick: The tick.
        """
        if self._query.hides_later_ends:
            members_at_tick = [as_of(event, tick) for event in members[: new_places.stop]]
            return [computation.result_of_members(members_at_tick, key, window) for computation in self._computations]
        new_members = members[new_places.start : new_places.stop]
        results: list[Any] = []
        for place, computation in enumerate(self._computations):
            if not computation.is_incremental:
                results.append(computation.result_of_members(members[: new_places.stop], key, window))
                continue
            if new_places.start == 0:  # no member was known before
                states[place] = computation.build(new_members, key, window)
            else:
                states[place] = computation.add(states[place], new_members, key, window)
            results.append(computation.result_of_state(states[place], key, window))
        return results


def as_of(event: StoredEvent, tick: int) -> StoredEvent:
    """Return an event as it is known at a tick: without an end, if the end lies after the tick."""
    return event._replace(end=INFINITY) if event.end > tick else event
