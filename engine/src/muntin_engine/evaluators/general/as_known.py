"""The results of a window at each of its ticks, from what the input says up to that tick.

Then no result starts before the event that it comes from, and a later change alters nothing before itself. An end that
lies after a tick may still move, so it is not shown there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from itertools import count, pairwise
from typing import Any

from muntin import INFINITY, Window
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.frozen_values import freeze
from muntin_engine.evaluators.general.computation import ModuleComputation, OutputRow, Stamper
from muntin_engine.evaluators.general.event_index import StoredEvent, by_start
from muntin_engine.evaluators.general.row_replacement import replace_rows_from
from muntin_engine.evaluators.general.window_index import LiveRow


class ResultsAsKnown:
    """Computes a window piece by piece, between the ticks at which more becomes known.

    Cost: an incremental module takes each member in once and gives a result for each piece. Any other, and one that
    reads ends which may move, is computed from the members known so far, for each piece.
    """

    def __init__(self, query: EvaluatorQuery, computations: Sequence[ModuleComputation], stamper: Stamper) -> None:
        self._query = query
        self._computations = computations
        self._stamper = stamper

    def ticks(self, window: Window, members: Iterable[StoredEvent], since: int) -> list[int]:
        """Return the ticks at which more becomes known of a window, from one on; none if that is past its end."""
        at_once = self._query.window.known_at(window)
        if at_once is not None:
            return [at_once]
        first = max(window.start, since)
        changes = {event.start for event in members}
        if self._query.hides_later_ends:
            changes.update(event.end for event in members)
        return [tick for tick in sorted({first, *changes}) if first <= tick < window.end]

    def rows(
        self, key: object, window: Window, members: Iterable[StoredEvent], ticks: Sequence[int]
    ) -> list[OutputRow]:
        """Return the rows of a window from the first of the ticks on; a value that stays is one row."""
        ordered = sorted(members, key=by_start)
        states: list[Any] = [None] * len(self._computations)
        rows: list[OutputRow] = []
        reaching: dict[Hashable, list[int]] = {}
        came = 0
        for start, end in pairwise([*ticks, window.end]):
            place = bisect_right(ordered, start, key=by_start)
            results = self._results(key, window, ordered[:place], ordered[came:place], states, start)
            came = place
            before, reaching = reaching, {}
            for row in self._stamper.rows(key, window, results) if place else ():
                name = freeze(row.value)
                if before.get(name):
                    number = before[name].pop()
                    rows[number] = rows[number]._replace(end=end)
                else:
                    number = len(rows)
                    rows.append(OutputRow(start, end, row.value))
                reaching.setdefault(name, []).append(number)
        return rows

    def rows_around(self, key: object, window: Window, members: Iterable[StoredEvent], since: int) -> list[OutputRow]:
        """Return the rows of a window that was never out and that a batch changes from a tick inside it on.

        Before the tick stand those of the members that it begins with. A row that both times have is one row.
        """
        all_members = list(members)
        first = [as_of(event, window.start) for event in all_members if event.start <= window.start]
        before, after = (
            self._stamper.rows(key, window, [one.result_of_members(some, key, window) for one in self._computations])
            if some
            else []
            for some in (first, all_members)
        )
        live = [LiveRow(number, row) for number, row in enumerate(before)]
        left, _ = replace_rows_from(since, window, live, after, count(len(before)).__next__)
        return [out.row for out in left]

    def _results(
        self,
        key: object,
        window: Window,
        known: Sequence[StoredEvent],
        new: Sequence[StoredEvent],
        states: list[object],
        tick: int,
    ) -> list[object]:
        """Return the results from the members that are known at a tick; states move on from one tick to the next."""
        if not known:
            return []
        if self._query.hides_later_ends:
            seen = [as_of(event, tick) for event in known]
            return [computation.result_of_members(seen, key, window) for computation in self._computations]
        results: list[Any] = []
        for place, computation in enumerate(self._computations):
            if not computation.is_incremental:
                results.append(computation.result_of_members(known, key, window))
                continue
            is_first = len(known) == len(new)
            states[place] = (
                computation.build(new, key, window) if is_first else computation.add(states[place], new, key, window)
            )
            results.append(computation.result_of_state(states[place], key, window))
        return results


def as_of(event: StoredEvent, tick: int) -> StoredEvent:
    """Return an event as it is known at a tick: without an end, if that lies later."""
    return event._replace(end=INFINITY) if event.end > tick else event
