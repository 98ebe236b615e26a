"""The open sessions of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.fusing import sessions_of
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat, ends_before


class HeldSessions:
    """The partial states of a bucket, fused into one per session when they are next looked at.

    Cost: a sort of all sessions for each batch that brings any.
    """

    def __init__(self, fuse: Callable[[Sequence[StretchTable]], StretchTable]) -> None:
        """Hold nothing.

        Args:
            fuse: Returns one partial state per session; those of the first pieces may be changed.
        """
        self._fuse = fuse
        self._pieces: list[StretchTable] = []

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def first_start(self) -> int:
        """The least start of a session; `INFINITY` if there is none."""
        return min((int(piece.low.min()) for piece in self._pieces), default=INFINITY)

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        codes = [piece.keys for piece in self._pieces]
        return np.unique(np.concatenate(codes)) if codes else np.empty(0, np.int64)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._pieces = [piece.with_keys(places[piece.keys]) for piece in self._pieces]

    def add(self, piece: StretchTable) -> None:
        """Add what a batch brought."""
        self._pieces.append(piece)

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

    def hold(self, piece: StretchTable) -> BoolArray:
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
