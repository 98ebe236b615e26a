"""Where the output of time-bound windows ends that a batch replaces, and where that of their successors begins.

A change of events may cut the axis elsewhere: a window goes, and another one takes its place, its successor. Results
that were emitted before the change stay as they are up to the tick at which the change is known, so the output of the
old window is shortened to that tick, and the output of its successor begins there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from muntin import Window
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.window_index import WindowEntry, WindowIndex
from muntin_engine.evaluators.keyed.event_index import by_start
from muntin_engine.plan.evaluator_query import EvaluatorQuery


class OutputCuts(NamedTuple):
    """The ticks at which a batch cuts the output of windows.

    Attributes:
        ends: The tick at which the live output of each replaced window has to end.
        begins: For each window that the batch changes, the tick from which on its output is replaced.
    """

    ends: Mapping[Window, int]
    begins: Mapping[Window, int]


class _ReplacedWindows(NamedTuple):
    """The windows with live output that did not exist before a batch, or do not exist after it.

    A window may be in both mappings. Each has the tick at which its live output begins.

    Attributes:
        absent_before: The windows that did not exist before the batch: earlier batches replaced them.
        absent_after: The windows that do not exist after the batch.
    """

    absent_before: Mapping[Window, int]
    absent_after: Mapping[Window, int]


def output_cuts(
    query: EvaluatorQuery,
    index: WindowIndex,
    affected: Mapping[Window, Affected],
    changed_windows: Collection[Window],
) -> OutputCuts:
    """Return where the output of replaced windows has to end, and where that of changed windows begins.

    Args:
        query: The query.
        index: The windows before the batch.
        affected: The windows that the batch affects.
        changed_windows: The affected windows whose content changes.

    Cost: linear in the entries of the index, by a logarithmic factor.
    """
    replaced = _replaced_windows(index, affected, changed_windows)
    begins = {window: affected[window].sync_time for window in changed_windows}

    # Only successors that the batch changes matter: as they were, they say where output was cut, and as they are, where
    # it is to be cut now.
    existing_before = {window for window in changed_windows if index.get(window).size}
    existing_after = [window for window in changed_windows if affected[window].exists]

    # The output of a window that an earlier batch replaced was cut where its successor began. A change of that
    # successor may move the cut.
    ends: dict[Window, int] = {}
    for window, successor in _successors(query, replaced.absent_before, existing_before):
        ends[window] = affected[successor].sync_time

    # The output of a successor begins at the first tick that a change of its own alters, or of a window in whose place
    # it is. There the output of all these windows ends. A window that an earlier batch replaced has no change of its
    # own.
    replaced_by_successor: dict[Window, list[Window]] = {}
    for window, successor in _successors(query, replaced.absent_after, existing_after):
        replaced_by_successor.setdefault(successor, []).append(window)
        if window in existing_before:
            begins[successor] = min(begins[successor], affected[window].sync_time)
        if window in ends:
            begins[successor] = min(begins[successor], ends[window])
    for successor, windows in replaced_by_successor.items():
        ends.update(dict.fromkeys(windows, begins[successor]))

    # A replaced window that exists again has output again from the tick on at which its output had ended.
    for window in list(ends):
        if window in begins and affected[window].exists:
            begins[window] = min(begins[window], ends.pop(window))
    return OutputCuts(ends, begins)


def _replaced_windows(
    index: WindowIndex, affected: Mapping[Window, Affected], changed_windows: Collection[Window]
) -> _ReplacedWindows:
    """Find the windows of a key that have live output, but did not exist before the batch or do not exist after it."""
    absent_before: dict[Window, int] = {}
    absent_after: dict[Window, int] = {}
    for window, entry in index.items():
        if not entry.live_rows:
            continue
        # An entry without members is of a window that an earlier batch replaced: its shortened output is still live.
        existed = bool(entry.size)
        exists = affected[window].exists if window in changed_windows else existed
        if not existed:
            absent_before[window] = _first_start(entry)
        if not exists:
            absent_after[window] = _first_start(entry)
    return _ReplacedWindows(absent_before, absent_after)


def _first_start(entry: WindowEntry) -> int:
    """Return the tick at which the live output of a window begins."""
    return min(live_row.row.start for live_row in entry.live_rows)


def _successors(
    query: EvaluatorQuery, replaced: Mapping[Window, int], existing: Iterable[Window]
) -> Iterator[tuple[Window, Window]]:
    """Yield the replaced windows whose successor exists, each with its successor.

    The successor of a window is the last window that starts in a range and lasts beyond it; the kind of windows says
    which range.

    Args:
        query: The query.
        replaced: The tick at which the live output of each replaced window begins.
        existing: The windows that exist.
    """
    candidates = sorted(existing, key=by_start)
    for window, first_output in replaced.items():
        possible_starts = query.window.successor(window, first_output)
        if possible_starts is None:
            continue
        least_start, greatest_start = possible_starts
        place = bisect_right(candidates, greatest_start, key=by_start) - 1
        if place < 0:
            continue
        candidate = candidates[place]
        if least_start <= candidate.start and greatest_start < candidate.end:
            yield window, candidate
