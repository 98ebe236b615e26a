"""The partial states of a bucket, in the pieces in which batches brought them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.slice_grid import Grid, SliceGrid
from muntin_engine.core.window_grid import NEVER, TickGrid
from muntin_engine.evaluators.arrays.closing import close_windows
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat, merge_alike
from muntin_engine.exchange.counting import ticks_of

_MOST_PIECES: Final = 8
"""In how many pieces partial states may lie before some are merged."""


class HeldPartials:
    """The partial states of a bucket, each piece in the order of its slices, or of the first windows of its ranges.

    Cost: adding a piece costs, amortised, a few times its length and the logarithm of the number of batches; there is
    no cost per slice.
    """

    def __init__(
        self,
        grids: Sequence[Grid],
        merge: Callable[[Sequence[StretchTable]], StretchTable] = lambda some: merge_alike(concat(some)),
    ) -> None:
        """Hold nothing.

        Args:
            grids: The slices, or ranges, of the specifications of a query.
            merge: Returns one partial state per stretch and key; those of the first pieces may be changed.
        """
        self._grids, self._merge = grids, merge
        self._pieces: list[StretchTable] = []

    def add(self, piece: StretchTable) -> None:
        """Add what a batch brought."""
        self._pieces.append(piece)
        while len(self._pieces) > _MOST_PIECES and 2 * len(self._pieces[-1]) >= len(self._pieces[-2]):
            latest = self._pieces.pop()
            self._pieces[-1] = self._merge([self._pieces[-1], latest])

    def close(
        self, place: int, first: int, last: int, more: Sequence[StretchTable] = (), of_keys: BoolArray | None = None
    ) -> Iterator[StretchTable]:
        """Yield the windows from `first` up to but not including `last` that have rows, from start to end in ticks.

        Args:
            place: Which of the grids they are of.
            first: A window, or `-NEVER`.
            last: A window, or `NEVER`.
            more: Ranges that overlap these windows and that are not held, in any order.
            of_keys: For each code of a key whether its windows are wanted; None if all are. Not for slices.
        """
        grid = self._grids[place]
        start, stop = (grid.start_of(first), grid.first_legal(last)) if isinstance(grid, SliceGrid) else (first, last)
        some = [*(_between(piece, start, stop) for piece in self._pieces), *more]
        if of_keys is not None:
            some = [piece.where(of_keys[piece.keys]) for piece in some]
        if not (present := [piece for piece in some if len(piece)]):
            return
        for found in close_windows(grid, concat(present), first, last):
            yield found.moved(*in_ticks(grid.windows, found.low))

    def settle(self, start: int, stop: int) -> StretchTable | None:
        """Return the slices from one up to another, one partial state per key and slice; None if nothing is held.

        No batch adds to them any more. Where they lie in several pieces, these are merged for good.
        """
        if not self._pieces:
            return None
        parts = [part for piece in self._pieces if len(part := _between(piece, start, stop))]
        if len(parts) > 1:
            whole = self._merge(parts)
            before, after = (
                [_between(piece, *ends) for piece in self._pieces] for ends in ((-NEVER, start), (stop, NEVER))
            )
            self._pieces = [piece for piece in (*before, whole, *after) if len(piece)]
            return whole
        return parts[0] if parts else self._pieces[0].take(slice(0, 0))

    def forget(self, first_live: int) -> None:
        """Drop what lies before a first slice, and ranges that end before a window."""
        alive = [_alive(piece, first_live) for piece in self._pieces]
        self._pieces = [piece for piece in alive if len(piece)]

    def carry(self, first_open: int) -> None:
        """Merge what lies before the first open window, where windows grow: see `GrowingSlices`."""
        past, rest = (
            [part for piece in self._pieces if len(part := _between(piece, *ends))]
            for ends in ((-NEVER, first_open), (first_open, NEVER))
        )
        if past:
            self._pieces = [self._merge([carried(piece, first_open) for piece in past]), *rest]

    @property
    def rows(self) -> int:
        """The number of rows that they are made of."""
        return sum(int(piece.weight.sum()) for piece in self._pieces)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(piece.nbytes for piece in self._pieces)

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        codes = [piece.keys for piece in self._pieces]
        return np.unique(np.concatenate(codes)) if codes else np.empty(0, np.int64)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._pieces = [piece.with_keys(places[piece.keys]) for piece in self._pieces]


def carried(slices: StretchTable, first_open: int) -> StretchTable:
    """Return slices of windows that grow, those before the first open window in the place of the first it lacks."""
    low: IntArray = np.maximum(slices.low, first_open)
    return slices.moved(low, low)


def in_ticks(windows: TickGrid, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of windows by their numbers."""
    starts = windows.counted.start(numbers)
    ends = starts + windows.counted.size
    return ticks_of(windows.periods, windows.counted.extent_start(starts)), ticks_of(windows.periods, ends)


def in_windows(grids: Sequence[Grid], slices: IntArray) -> BoolArray:
    """Return for each slice whether it is in a window; where stretches are no slices, that is known before."""
    is_in: BoolArray = np.full(len(slices), not all(isinstance(grid, SliceGrid) for grid in grids))
    for grid in grids:
        if isinstance(grid, SliceGrid):
            is_in |= ((slices - grid.shift) % grid.stride < grid.slices) & (slices >= grid.first)
    return is_in


def _between(piece: StretchTable, start: int, stop: int) -> StretchTable:
    """Return the stretches of a piece that reach to a place or beyond it, and begin before another one."""
    if not piece.are_points:
        return piece.where((piece.high >= start) & (piece.low < stop))
    low, high = np.searchsorted(piece.low, [start, stop]).tolist()
    return piece if high - low == len(piece) else piece.take(slice(low, high))


def _alive(piece: StretchTable, first_live: int) -> StretchTable:
    """Return the live part of a piece; if it is small, as a copy, so that the rest can be freed."""
    if not piece.are_points:
        return piece.alive(first_live)
    alive = _between(piece, first_live, NEVER + 1)
    return alive.take(np.arange(len(alive))) if 2 * len(alive) < len(piece) else alive
