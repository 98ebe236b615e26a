"""The stretches of a bucket, in the pieces in which batches brought them: of a grid, of sessions, of snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.closing import close_windows
from muntin_engine.evaluators.arrays.edges import sessions_of, snapshots_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat, ends_before, merge_alike
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.time.window_grid import NEVER, TickGrid
from muntin_engine.wire.period_numbers import ticks_of

MOST_PIECES: Final = 8
"""In how many pieces partial states may lie before some are merged."""


class HeldStretches:
    """Stretches of a bucket, in the pieces in which batches brought them."""

    def __init__(self) -> None:
        self._pieces: list[StretchTable] = []

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def add(self, piece: StretchTable) -> None:
        """Add what a batch brought."""
        self._pieces.append(piece)

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


class HeldPartials(HeldStretches):
    """The partial states of a bucket, each piece in the order of its slices, or of the first slices of its runs.

    Cost: adding a piece costs, amortised, a few times its length and the logarithm of the number of batches; there is
    no cost per slice.
    """

    def __init__(
        self,
        grids: Sequence[SliceGrid],
        merge: Callable[[Sequence[StretchTable]], StretchTable] = lambda some: merge_alike(concat(some)),
    ) -> None:
        """Hold nothing.

        Args:
            grids: The slices of the specifications of a query.
            merge: Returns one partial state per stretch and key; those of the first pieces may be changed.
        """
        super().__init__()
        self._grids, self._merge = grids, merge

    def add(self, piece: StretchTable) -> None:
        """Add what a batch brought, and merge pieces where there are many of a like size."""
        super().add(piece)
        while len(self._pieces) > MOST_PIECES and 2 * len(self._pieces[-1]) >= len(self._pieces[-2]):
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
            more: Runs of slices that overlap these windows and that are not held, in any order.
            of_keys: For each code of a key whether its windows are wanted; None if all are.
        """
        grid = self._grids[place]
        some = [*(_between(piece, grid.start_of(first), grid.first_legal(last)) for piece in self._pieces), *more]
        if of_keys is not None:
            some = [piece.where(of_keys[piece.keys]) for piece in some]
        if not (present := [piece for piece in some if len(piece)]):
            return
        for found in close_windows(grid, concat(present), first, last):
            closed = found.moved(*in_ticks(grid.windows, found.low))
            yield closed if grid.periods is None else closed.where(closed.low < closed.high)  # some periods are empty

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
        """Drop what lies before a first slice."""
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


def carried(slices: StretchTable, first_open: int) -> StretchTable:
    """Return slices of windows that grow, those before the first open window in the place of the first it lacks."""
    low: IntArray = np.maximum(slices.low, first_open)
    return slices.moved(low, low)


def in_ticks(windows: TickGrid, numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return the starts and the ends of windows by their numbers."""
    starts = windows.counted.start(numbers)
    ends = starts + windows.counted.size
    return ticks_of(windows.periods, windows.counted.extent_start(starts)), ticks_of(windows.periods, ends)


def in_windows(grids: Sequence[SliceGrid], firsts: IntArray, lasts: IntArray) -> BoolArray:
    """Return for each run of slices whether it is in a window."""
    is_in: BoolArray = np.full(len(firsts), not all(grid.has_gaps for grid in grids))
    for grid in () if is_in.all() else grids:
        is_in |= (grid.first_window(firsts) <= grid.last_window(lasts)) & (lasts >= grid.first)
    return is_in


def _between(piece: StretchTable, start: int, stop: int) -> StretchTable:
    """Return the stretches of a piece that reach to a place or beyond it, and begin before another one."""
    if not piece.are_points:
        return piece.where((piece.high >= start) & (piece.low < stop))
    if len(piece) and start <= piece.low[0] and piece.low[-1] < stop:
        return piece
    return piece.take(slice(*np.searchsorted(piece.low, [start, stop]).tolist()))


def _alive(piece: StretchTable, first_live: int) -> StretchTable:
    """Return the live part of a piece; if it is small, as a copy, so that the rest can be freed."""
    if not piece.are_points:
        return piece.alive(first_live)
    alive = _between(piece, first_live, NEVER + 1)
    return alive.take(np.arange(len(alive))) if 2 * len(alive) < len(piece) else alive


class HeldSessions(HeldStretches):
    """The partial states of a bucket, fused into one per session when they are next looked at.

    Cost: a sort of all sessions for each batch that brings any.
    """

    def __init__(self, fuse: Callable[[Sequence[StretchTable]], StretchTable]) -> None:
        """Hold nothing.

        Args:
            fuse: Returns one partial state per session; those of the first pieces may be changed.
        """
        super().__init__()
        self._fuse = fuse

    @property
    def first_start(self) -> int:
        """The least start of a session; `INFINITY` if there is none."""
        return min((int(piece.low.min()) for piece in self._pieces), default=INFINITY)

    def ended(self, first: int, last: int) -> StretchTable | None:
        """Return the sessions that end at the watermark `first` or later, and before the watermark `last`."""
        whole = self.whole()
        if whole is None:
            return None
        return whole.where(ends_before(whole.high, last) & ~ends_before(whole.high, first))

    def forget(self, first_live: int) -> None:
        """Drop the sessions that end before a watermark."""
        whole = self.whole()
        if whole is not None:
            alive = whole.alive(first_live)
            self._pieces = [alive] if len(alive) else []

    def is_held(self, piece: StretchTable) -> BoolArray:
        """Return for each partial state whether it is part of a session that is held."""
        whole = self.whole()
        if whole is None:
            return np.zeros(len(piece), np.bool_)
        bare = [replace(some, weight=some.low, parts={}) for some in (whole, piece)]
        codes = sessions_of(concat(bare)).codes
        is_held = np.zeros(len(codes), np.bool_)
        is_held[codes[: len(whole)]] = True
        return is_held[codes[len(whole) :]]

    def whole(self) -> StretchTable | None:
        """Return all sessions; None if there is none."""
        if len(self._pieces) > 1:
            self._pieces = [self._fuse(self._pieces)]
        return self._pieces[0] if self._pieces else None


class HeldEvents(HeldSessions):
    """The events that do not end before the watermark; each is a partial state.

    Those that began before it are cut: they begin at the last edge of their key before the watermark, where its first
    open snapshot starts. So an event that ended there need not be held.

    Cost: a few passes over the live events for each batch, and a sort of the edges that the watermark passes.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        super().__init__(concat)
        self._cut_at: int | None = None

    def ended(self, first: int, last: int) -> StretchTable | None:
        """Return the snapshots that end at the watermark `first` or later, and before the watermark `last`."""
        whole = self.whole()
        return None if whole is None or first == last else snapshots_of(whole, first, last)

    def forget(self, first_live: int) -> None:
        """Drop the events that end before a watermark, and cut those that begin before it."""
        whole = self.whole()
        if whole is not None:
            alive = _cut(whole, first_live)
            self._pieces = [alive] if len(alive) else []
        self._cut_at = first_live

    def is_held(self, piece: StretchTable) -> BoolArray:
        """Return for each event, as it came, whether it is held, or ended where an open snapshot starts."""
        whole, cut_at = self.whole(), self._cut_at
        assert cut_at is not None, "a store that is read forgets what has ended"
        return np.zeros(len(piece), np.bool_) if whole is None else ~are_past(piece, whole, cut_at)


def _cut(events: StretchTable, watermark: int) -> StretchTable:
    """Return the events that do not end before a watermark; those that begin before it do so at their key's last edge.

    It makes no difference whether they were cut before, at an earlier watermark or at the same one.
    """
    is_over = ends_before(events.high, watermark)
    cut = replace(events, low=opened_since(events, watermark))
    return cut.take(np.flatnonzero(~is_over)) if is_over.any() else cut


def are_past(events: StretchTable, held: StretchTable, watermark: int) -> BoolArray:
    """Return for each event whether it has ended, unless an open snapshot starts where it ended.

    Args:
        events: The events.
        held: Those that are held, cut at the watermark.
        watermark: The watermark.
    """
    opened = np.full(1 + int(max(events.keys.max(initial=-1), held.keys.max(initial=-1))), EARLIEST)
    is_begun = ends_before(held.low, watermark)
    opened[held.keys[is_begun]] = held.low[is_begun]
    found: BoolArray = ends_before(events.high, watermark) & (events.high != opened[events.keys])
    return found


def opened_since(events: StretchTable, watermark: int) -> IntArray:
    """Return the starts of events; of those that begin before a watermark, the last edge of their key before it.

    Args:
        events: All events that begin or end at such an edge.
        watermark: The watermark.
    """
    starts, ends = events.low, events.high
    is_begun, is_over = ends_before(starts, watermark), ends_before(ends, watermark)
    if not is_begun.any():
        return starts
    last_edges = np.full(int(events.keys.max()) + 1, EARLIEST)
    np.maximum.at(last_edges, events.keys[is_begun], starts[is_begun])
    np.maximum.at(last_edges, events.keys[is_over], ends[is_over])
    since: IntArray = np.where(is_begun, last_edges[events.keys], starts)
    return since
