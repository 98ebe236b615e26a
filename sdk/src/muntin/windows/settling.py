"""Up to where the windows of a kind are settled."""

from __future__ import annotations

from muntin.axis import EARLIEST, INFINITY
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.stretches import Stretches


def first_open_window(kind: WindowKind, known: Stretches, limit: int) -> Window | None:
    """Return the first window that ends after a tick; it is the one that has the tick, or the next."""
    return next(kind.cut(known, limit, INFINITY), None)


def next_frontier(kind: WindowKind, known: Stretches, limit: int) -> int:
    """Return the frontier once all windows that end at a limit or before are closed.

    It is the start of the first window that is still open, or that known or later events may still open; the limit
    where no window comes any more.
    """
    if limit == INFINITY:
        return INFINITY
    if limit == EARLIEST:
        return known.frontier
    first = first_open_window(kind, known, limit)
    starts = [first.start] if first is not None else []
    if kind.waits_for_events:
        starts += [limit, kind.unborn(known)]
    return max(known.frontier, min(starts, default=limit))
