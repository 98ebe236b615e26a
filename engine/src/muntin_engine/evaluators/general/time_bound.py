"""Correcting live output: in full, or from a tick on where no result may start before its cause."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any

from muntin import INFINITY, Window
from muntin_engine.core.changes import OutputChange, OutputKind
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.frozen_values import freeze
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.computation import ModuleComputation, Stamper
from muntin_engine.evaluators.general.indexes import LiveRow, OutputRow, StoredEvent, WindowEntry, WindowIndex, by_start


def replace_rows(
    window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Return the live rows once a window's rows are these, and the changes that lead there.

    A row that is live already keeps its id and causes no change; the others are retracted in full.
    """
    kept, obsolete, missing = _match(live, rows)
    changes = [_retraction(window, out) for out in obsolete]
    added = [LiveRow(next_id(), row) for row in missing]
    return kept + added, changes + [_insertion(window, out) for out in added]


def replace_rows_from(
    since: int, window: Window, live: list[LiveRow], rows: Iterable[OutputRow], next_id: Callable[[], int]
) -> tuple[list[LiveRow], list[OutputChange]]:
    """Do the same from a tick on: output before it stays live, and rows are shortened instead of retracted."""
    wanted = [OutputRow(max(row.start, since), row.end, row.value) for row in rows if row.end > since]
    past = [out for out in live if out.row.end <= since]
    reaching = {out.id: out for out in live if out.row.end > since}
    rest = (LiveRow(out.id, out.row._replace(start=max(out.row.start, since))) for out in reaching.values())
    kept, obsolete, missing = _match(rest, wanted)
    ended = [reaching[out.id] for out in obsolete]
    added = [LiveRow(next_id(), row) for row in missing]
    shortened = (LiveRow(out.id, out.row._replace(end=since)) for out in ended if out.row.start < since)
    left = [*past, *(reaching[out.id] for out in kept), *shortened]
    return left + added, [_end_at(since, window, out) for out in ended] + [_insertion(window, out) for out in added]


def _match(live: Iterable[LiveRow], rows: Iterable[OutputRow]) -> tuple[list[LiveRow], list[LiveRow], list[OutputRow]]:
    """Return the live rows that are wanted, those that are not, and the wanted rows that are not live."""
    by_row: dict[Hashable, list[LiveRow]] = {}
    for out in live:
        by_row.setdefault(_identity(out.row), []).append(out)
    kept: list[LiveRow] = []
    missing: list[OutputRow] = []
    for row in rows:
        same = by_row.get(_identity(row)) if by_row else None
        if same:
            kept.append(same.pop())
        else:
            missing.append(row)
    return kept, [out for rest in by_row.values() for out in rest], missing


def _identity(row: OutputRow) -> Hashable:
    return row.start, row.end, freeze(row.value)


def _end_at(end: int, window: Window, out: LiveRow) -> OutputChange:
    if out.row.start >= end:
        return _retraction(window, out)
    return OutputChange(OutputKind.REVISE, out.id, window, out.row.start, out.row.end, out.row.value, end)


def _retraction(window: Window, out: LiveRow) -> OutputChange:
    return OutputChange(OutputKind.RETRACT, out.id, window, out.row.start, out.row.end, out.row.value)


def _insertion(window: Window, out: LiveRow) -> OutputChange:
    return OutputChange(OutputKind.INSERT, out.id, window, out.row.start, out.row.end, out.row.value)


def shortened(
    query: EvaluatorQuery, index: WindowIndex, affected: dict[Window, Affected], changed: Collection[Window]
) -> dict[Window, int]:
    """Return the new ends of the live output of replaced windows, by window.

    The successor's output begins at that end: its own sync time in `affected` is moved back to it.

    Args:
        query: The query.
        index: The emitted windows.
        affected: The windows that the batch affects.
        changed: Those among them that have changed.

    Cost: linear in the entries of the index, by a logarithmic factor.
    """
    emitted = [(window, entry) for window, entry in index.items() if entry.live]
    were_past = [(window, entry) for window, entry in emitted if not entry.size]
    are_past = [(w, e) for w, e in emitted if not (affected[w].exists if w in changed else e.size)]
    existed = {window for window in changed if index.get(window).size}
    ends: dict[Window, int] = {}
    for window, successor in _successors(query, were_past, existed):
        ends[window] = affected[successor].sync_time
    for window, successor in _successors(query, are_past, [window for window in changed if affected[window].exists]):
        own = affected[window] if window in existed else affected[successor]
        ends[window] = min(own.sync_time, affected[successor].sync_time, ends.get(window, INFINITY))
        affected[successor].sync_time = ends[window]
    for window in [window for window in ends if window in changed and affected[window].exists]:
        affected[window].sync_time = min(affected[window].sync_time, ends.pop(window))
    return ends


def _successors(
    query: EvaluatorQuery, past: Iterable[tuple[Window, WindowEntry]], existing: Iterable[Window]
) -> Iterator[tuple[Window, Window]]:
    """Yield the replaced windows with their successors, if these are among the existing ones."""
    successors = sorted(existing, key=by_start)
    for window, entry in past:
        starts = query.window.successor(window, min(out.row.start for out in entry.live))
        if starts is None:
            continue
        least, most = starts
        place = bisect_right(successors, most, key=by_start) - 1
        if place >= 0 and least <= successors[place].start and most < successors[place].end:
            yield window, successors[place]


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
