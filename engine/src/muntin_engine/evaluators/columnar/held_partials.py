"""The partial states of a bucket, in the pieces in which batches brought them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.slice_grid import Grid, SliceGrid
from muntin_engine.evaluators.columnar.coding import number, stable_order
from muntin_engine.evaluators.columnar.partials import Partials, concat, merge_alike
from muntin_engine.evaluators.columnar.ranges import close_ranges
from muntin_engine.evaluators.columnar.window_closing import Windows, close_windows

_MOST_PIECES: Final = 8
"""In how many pieces partial states may lie before some are merged."""


class HeldPartials:
    """The partial states of a bucket, each piece in the order of its slices, or of the first windows of its ranges.

    Cost: adding a piece costs, amortised, a few times its length and the logarithm of the number of batches; there is
    no cost per slice.
    """

    def __init__(self, grids: Sequence[Grid]) -> None:
        self._grids = grids
        self._pieces: list[Partials] = []

    def add(self, piece: Partials) -> None:
        """Add what a batch brought."""
        self._pieces.append(piece)
        while len(self._pieces) > _MOST_PIECES and 2 * len(self._pieces[-1]) >= len(self._pieces[-2]):
            latest = self._pieces.pop()
            self._pieces[-1] = merge_alike(concat([self._pieces[-1], latest]))

    def close(
        self, place: int, first: int, last: int, more: Sequence[Partials] = (), of_keys: BoolArray | None = None
    ) -> Iterator[Windows]:
        """Yield the windows from `first` up to but not including `last` that have rows.

        Args:
            place: Which of the grids they are of.
            first: A window, or `-NEVER`.
            last: A window, or `NEVER`.
            more: Ranges that overlap these windows and that are not held, in any order.
            of_keys: For each code of a key whether its windows are wanted; None if all are. Not for slices.
        """
        grid = self._grids[place]
        if isinstance(grid, SliceGrid):
            start, stop = grid.start_of(first), grid.first_legal(last)
            some = [piece.before(stop).since(start) for piece in self._pieces]
        else:
            some = [*(piece.before(last).alive(first) for piece in self._pieces), *more]
            if of_keys is not None:
                some = [piece.take(np.flatnonzero(of_keys[piece.keys])) for piece in some]
        present = [piece for piece in some if len(piece)]
        if not present:
            return
        whole = concat(present)
        if not isinstance(grid, SliceGrid):
            yield from close_ranges(whole, first, last)
        elif (np.diff(whole.slices) >= 0).all():
            yield from close_windows(grid, whole, first, last)
        else:  # the slices of several pieces
            yield from close_windows(grid, whole.take(stable_order(*number(whole.slices))), first, last)

    def forget(self, first_live: int) -> None:
        """Drop what lies before a first slice, and ranges that end before a window."""
        alive = [_trimmed(piece, first_live) for piece in self._pieces]
        self._pieces = [piece for piece in alive if len(piece)]

    @property
    def rows(self) -> int:
        """The number of rows that they are made of."""
        return sum(int(piece.rows.sum()) for piece in self._pieces)

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


def _trimmed(piece: Partials, first_live: int) -> Partials:
    """Return the live part of a piece; if it is small, as a copy, so that the rest can be freed."""
    alive = piece.alive(first_live)
    is_view = alive.lasts is None and 0 < 2 * len(alive) < len(piece)
    return alive.take(np.arange(len(alive))) if is_view else alive
