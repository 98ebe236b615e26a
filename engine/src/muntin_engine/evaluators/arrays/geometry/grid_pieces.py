"""The stretches of a grid in pieces, each in the order of its slices: windows are made of all pieces at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.geometry.grid_windows import close_windows
from muntin_engine.evaluators.arrays.store.stretch_pieces import StretchPieces
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.slices import in_ticks
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable, concat
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.time.window_grid import NEVER

MOST_PIECES: Final = 8
"""In how many pieces partial states may lie before some are merged."""


def windows_of_pieces(
    grid: SliceGrid, pieces: Sequence[StretchTable], first: int, last: int, of_keys: BoolArray | None = None
) -> Iterator[StretchTable]:
    """Yield the windows from `first` up to but not including `last` that have rows, from start to end in ticks.

    Args:
        grid: The slices.
        pieces: Runs of slices, each in the order of its first slices.
        first: A window, or `-NEVER`.
        last: A window, or `NEVER`.
        of_keys: For each code of a key whether its windows are wanted; None if all are.
    """
    present: list[StretchTable] = []
    for piece in pieces:
        overlapping = between(piece, grid.start_of(first), grid.first_legal(last))
        if of_keys is not None:
            overlapping = overlapping.where(of_keys[overlapping.keys])
        if len(overlapping):
            present.append(overlapping)
    if not present:
        return
    for windows in close_windows(grid, concat(present), first, last):
        in_time = windows.moved(*in_ticks(grid.windows, windows.low))
        if grid.periods is not None:  # some periods are empty
            in_time = in_time.where(in_time.low < in_time.high)
        if len(in_time):
            yield in_time


def add_piece(pieces: StretchPieces, piece: StretchTable, values: StretchValues, keys: KeyTable) -> None:
    """Add what a batch brought, and merge pieces where there are many of a like size.

    Cost: amortised, a few times the length of the piece and the logarithm of the number of batches; none per slice.
    """
    tables = pieces.tables
    tables.append(piece)
    while len(tables) > MOST_PIECES and 2 * len(tables[-1]) >= len(tables[-2]):
        latest = tables.pop()
        tables[-1] = values.merge_alike([tables[-1], latest], keys)


def settle(pieces: StretchPieces, start: int, stop: int, values: StretchValues, keys: KeyTable) -> StretchTable | None:
    """Return the slices from one up to another, one partial state per key and slice; None if there are no slices.

    No batch adds to them any more. Where they lie in several pieces, these are merged for good.
    """
    if not pieces.tables:
        return None
    parts = [part for part in _parts(pieces, start, stop) if len(part)]
    if not parts:
        return pieces.tables[0].take(slice(0, 0))
    if len(parts) == 1:
        return parts[0]
    settled = values.merge_alike(parts, keys)
    pieces.replace(*_parts(pieces, -NEVER, start), settled, *_parts(pieces, stop, NEVER))
    return settled


def forget_slices(pieces: StretchPieces, first_live: int) -> None:
    """Drop what lies before a first slice."""
    pieces.replace(*(_alive(piece, first_live) for piece in pieces.tables))


def carry_slices(pieces: StretchPieces, first_open: int, values: StretchValues, keys: KeyTable) -> None:
    """Merge what lies before the first open window, where windows grow: see `GrowingSlices`."""
    past = [carried(part, first_open) for part in _parts(pieces, -NEVER, first_open) if len(part)]
    if past:
        open_slices = _parts(pieces, first_open, NEVER)
        pieces.replace(values.merge_alike(past, keys), *open_slices)


def carried(slices: StretchTable, first_open: int) -> StretchTable:
    """Move slices of closed growing windows to the slice with the number of the first open window."""
    low: IntArray = np.maximum(slices.low, first_open)
    return slices.moved(low, low)


def between(piece: StretchTable, start: int, stop: int) -> StretchTable:
    """Select the stretches of a piece that reach to a place or beyond it, and begin before another one."""
    if not piece.are_points:
        return piece.where((piece.high >= start) & (piece.low < stop))
    if len(piece) and start <= piece.low[0] and piece.low[-1] < stop:
        return piece
    return piece.take(slice(*np.searchsorted(piece.low, [start, stop]).tolist()))


def _parts(pieces: StretchPieces, start: int, stop: int) -> list[StretchTable]:
    return [between(piece, start, stop) for piece in pieces.tables]


def _alive(piece: StretchTable, first_live: int) -> StretchTable:
    """Return the live part of a piece; if it is small, as a copy, so that the rest can be freed."""
    if not piece.are_points:
        return piece.alive(first_live)
    alive = between(piece, first_live, NEVER + 1)
    return alive.take(np.arange(len(alive))) if 2 * len(alive) < len(piece) else alive
