"""The steps of a key's windows over its slices: those that enter and those that leave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from muntin_engine.core.slice_grid import SliceGrid


class SlideStep(NamedTuple):
    """Neighbouring windows of a key that have the same slices.

    Attributes:
        first: The first of these windows.
        last: The one after the last; `first` if slices leave and no window is made any more.
        leaving: How many slices, the oldest, are not in them that were in those before.
        coming: How many more slices are in them.
        members: How many slices are in them.
    """

    first: int
    last: int
    leaving: int
    coming: int
    members: int

    @property
    def makes_windows(self) -> bool:
        """True if there is a window, and it has members."""
        return self.members > 0 and self.last > self.first


def steps_of(grid: SliceGrid, slices: Sequence[int], present: int, first: int, last: int) -> Iterator[SlideStep]:
    """Yield the steps of a key through some windows; afterwards only slices of windows from `last` on are in.

    Windows without members are skipped, however many there are.

    Args:
        grid: The slices.
        slices: Those of the key, in order. None lies in a gap, and none from `present` on is in no window from `first`
            on.
        present: How many of them, the first, are in already.
        first: The first window to make.
        last: The one after the last.

    Example:
        >>> from muntin.windows import HoppingWindows
        >>> grid = SliceGrid.of(HoppingWindows(size=2, hop=1))
        >>> [tuple(step) for step in steps_of(grid, [0, 1, 9], 0, -5, 20)]
        [(-1, 0, 0, 1, 1), (0, 1, 0, 1, 2), (1, 2, 1, 0, 1), (2, 8, 1, 0, 0), (8, 10, 0, 1, 1), (10, 20, 1, 0, 0)]
    """
    comes, leaves = grid.runs.firsts_ending_after(slices), grid.runs.firsts_starting_after(slices)
    low, high, total = 0, present, len(slices)
    window = first
    while True:
        start, stop = low, high
        while low < stop and leaves[low] <= window:
            low += 1
        while window < last and high < total and comes[high] <= window:
            high += 1
        until = last
        if high < total and comes[high] < until:
            until = comes[high]
        if low < high and leaves[low] < until:
            until = leaves[low]
        if low != start or high != stop or (low < high and until > window):
            yield SlideStep(window, until, low - start, high - stop, high - low)
        if window == last:
            return
        window = until
