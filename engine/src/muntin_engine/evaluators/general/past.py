"""Live output of replaced windows, where output is shortened and not retracted.

A snapshot that is cut in two at a tick leaves its output before that tick live; so does a count window that gets
another end. That output now belongs to the window that replaced it, its *successor*: when the successor changes from a
tick on, or goes, the inherited output ends there too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator

from muntin import INFINITY, Window
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.window_index import WindowEntry, WindowIndex, by_start


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
