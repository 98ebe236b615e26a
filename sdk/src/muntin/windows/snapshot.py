"""Snapshot windows: from each endpoint of an event to the next."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import EARLIEST, INFINITY, Axis
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class SnapshotWindows(WindowKind):
    """A window between each pair of neighbouring distinct endpoints of events.

    No event of the key starts or ends inside a snapshot, so its members are the same all through it.
    """

    name: ClassVar[str] = "snapshot"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "snapshot windows"
    ends_move: ClassVar[bool] = True
    can_be_time_bound: ClassVar[bool] = True

    def cuts_at_edges(self) -> bool:
        """Return True: each start or end of an event is a cut."""
        return True

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the snapshots that share a tick with `[start, end)`."""
        edges = _edges(stretches)
        # The snapshot that holds the tick `start` begins at the last edge up to it.
        first_index = max(0, bisect_right(edges, start) - 1)
        for window in map(Window, edges[first_index:], edges[first_index + 1 :]):
            if window.start >= end:
                return
            if window.end > start:
                yield window

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch and a tick on each side: where an endpoint comes or goes, both neighbours change."""
        return start - 1, min(end + 1, INFINITY)

    def carried(self, stretches: Stretches, frontier: int) -> int | None:
        """Return the last endpoint at the frontier or before, where the first open snapshot starts."""
        edges = _edges(stretches)
        index = bisect_right(edges, frontier) - 1
        return edges[index] if index >= 0 else None

    def known_at(self, window: Window) -> int | None:
        """Return the start: members are the same all through a snapshot."""
        return window.start

    def successor(self, window: Window, since: int) -> tuple[int, int] | None:
        """Return all ticks up to `since`: snapshots do not overlap, so the one that holds `since` takes its place."""
        return EARLIEST, since

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call of `snapshot`."""
        return cls().spell(axis)


def _edges(stretches: Stretches) -> Sequence[int]:
    """Return the endpoints of the stretches in order, with the last endpoint of forgotten events if one is carried."""
    carried_edge = stretches.carried
    if carried_edge is None:
        return stretches.edges
    return sorted({*stretches.edges, carried_edge})


def snapshot() -> SnapshotWindows:
    """Return windows between neighbouring endpoints of events: their starts and ends.

    Nothing starts or ends inside a snapshot, so its members are the same all through it. Between two endpoints at which
    no event is valid there is no snapshot. An insertion may split a window, and a revision may merge two.

    Three events, and the windows that `snapshot()` makes of them, with the number of members:

    ```text
             1         11
    event a  [----)
    event b     [----)
    event c             [-)
    window   [--)             1
    window      [-)           2
    window        [--)        1
    window              [-)   1
    ```

    Example:
        >>> from muntin.windows import Stretches
        >>> [(window.start, window.end) for window in snapshot().cut(Stretches([(1, 5), (3, 9)]), 0, 10)]
        [(1, 3), (3, 5), (5, 9)]
    """
    return SnapshotWindows()
