"""What a bucket holds of partial states, in the pieces in which batches brought them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from muntin_engine.columnar.closing import Windows, close_windows
from muntin_engine.columnar.partials import Partials, concat, merge_alike
from muntin_engine.columnar.ranges import close_ranges
from muntin_engine.core.sliced.grid import SliceGrid

_MOST_PIECES: Final = 8
"""In how many pieces something may lie before they are merged."""


@dataclass(slots=True)
class Pieces:
    """Partial states in pieces, about as many as there are powers of eight in the number of batches."""

    pieces: list[Partials]

    def add(self, piece: Partials) -> None:
        """Add a piece. Cost: amortised, a few times its length."""
        self.pieces.append(piece)
        while len(self.pieces) > 1 and self._is_crowded():
            latest = self.pieces.pop()
            self.pieces[-1] = merge_alike(concat([self.pieces[-1], latest]))

    def _is_crowded(self) -> bool:
        """True if the last piece is not much smaller than the one before it, and there are many."""
        return len(self.pieces) > _MOST_PIECES and 2 * len(self.pieces[-1]) >= len(self.pieces[-2])

    def codes(self) -> list[Any]:
        """Return the codes of all keys, piece by piece."""
        return [piece.keys for piece in self.pieces]

    def renumber(self, places: Any) -> None:
        """Give each key its new code."""
        self.pieces = [piece.with_keys(places[piece.keys]) for piece in self.pieces]


class HeldSlices:
    """Partial states of slices, slice by slice."""

    def __init__(self, grids: Sequence[SliceGrid]) -> None:
        self._grids = grids
        self._slices: dict[int, Pieces] = {}

    def add(self, delta: Partials) -> None:
        """Add what a batch brought. Cost: a few calls per slice of it."""
        numbers, starts = np.unique(delta.slices, return_index=True)
        for number, start, stop in zip(numbers.tolist(), starts, [*starts[1:], len(delta)], strict=True):
            piece = delta.slice(int(start), int(stop))
            if number in self._slices:
                self._slices[number].add(piece)
            else:
                self._slices[number] = Pieces([piece])

    def close(self, place: int, first: int, last: int) -> Iterator[Windows]:
        """Yield the windows from `first` up to but not including `last` that have rows."""
        grid = self._grids[place]
        numbers = sorted(number for number in self._slices if grid.start_of(first) <= number < grid.first_legal(last))
        pieces = [piece for number in numbers for piece in self._slices[number].pieces]
        if pieces:
            yield from close_windows(grid, concat(pieces), first, last)

    def forget(self, first_live: int) -> None:
        """Drop all slices below a first one."""
        for number in [number for number in self._slices if number < first_live]:
            del self._slices[number]

    def keys(self) -> Any:
        """Return the codes of all keys, ascending."""
        return _distinct([codes for pieces in self._slices.values() for codes in pieces.codes()])

    def renumber(self, places: Any) -> None:
        """Give each key its new code."""
        for pieces in self._slices.values():
            pieces.renumber(places)


class HeldRanges:
    """Partial states of ranges of windows."""

    def __init__(self) -> None:
        self._pieces = Pieces([])

    def add(self, delta: Partials) -> None:
        """Add what a batch brought."""
        self._pieces.add(delta)

    def close(self, place: int, first: int, last: int) -> Iterator[Windows]:
        """Yield the windows from `first` up to but not including `last` that have rows."""
        assert place == 0, "events with lifetimes have ranges of windows of one specification"
        begun = [piece.slice(0, int(np.searchsorted(piece.slices, last))) for piece in self._pieces.pieces]
        present = [piece for piece in (piece.alive(first) for piece in begun) if len(piece)]
        if present:
            yield from close_ranges(concat(present), first, last)

    def forget(self, first_live: int) -> None:
        """Drop the ranges that end before a window."""
        alive = [piece.alive(first_live) for piece in self._pieces.pieces]
        self._pieces.pieces = [piece for piece in alive if len(piece)]

    def keys(self) -> Any:
        """Return the codes of all keys, ascending."""
        return _distinct(self._pieces.codes())

    def renumber(self, places: Any) -> None:
        """Give each key its new code."""
        self._pieces.renumber(places)


def _distinct(codes: list[Any]) -> Any:
    return np.unique(np.concatenate(codes)) if codes else np.empty(0, np.int64)
