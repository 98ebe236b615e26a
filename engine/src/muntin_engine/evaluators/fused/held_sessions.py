"""The open sessions of a bucket."""

from __future__ import annotations

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray
from muntin_engine.evaluators.columnar.held_partials import HeldPartials
from muntin_engine.evaluators.columnar.partials import Partials, concat
from muntin_engine.evaluators.fused.fusing import fuse, sessions_of


class HeldSessions(HeldPartials):
    """The partial states of a bucket, fused into one per session when they are next looked at.

    Cost: a sort of all sessions for each batch that brings any.
    """

    def __init__(self) -> None:
        super().__init__(())

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return sum(piece.nbytes for piece in self._pieces)

    @property
    def first_start(self) -> int:
        """The least start of a session; `INFINITY` if there is none."""
        return min((int(piece.slices.min()) for piece in self._pieces), default=INFINITY)

    def add(self, piece: Partials) -> None:
        """Add what a batch brought."""
        self._pieces.append(piece)

    def ended(self, first: int, last: int) -> Partials | None:
        """Return the sessions that end at the watermark `first` or later, and before the watermark `last`."""
        whole = self.whole()
        if whole is None:
            return None
        return whole.take(np.flatnonzero(_ends_before(whole, last) & ~_ends_before(whole, first)))

    def forget(self, first_live: int) -> None:
        """Drop the sessions that end before a watermark."""
        whole = self.whole()
        if whole is not None:
            alive = whole.take(np.flatnonzero(~_ends_before(whole, first_live)))
            self._pieces = [alive] if len(alive) else []

    def hold(self, piece: Partials) -> BoolArray:
        """Return for each partial state whether it is part of a session that is held."""
        table = concat([*(() if (whole := self.whole()) is None else (whole,)), piece])
        assert table.lasts is not None
        codes = sessions_of(table.keys, table.slices, table.lasts).codes
        old = len(table) - len(piece)
        is_held = np.zeros(len(table), np.bool_)
        is_held[codes[:old]] = True
        return is_held[codes[old:]]

    def whole(self) -> Partials | None:
        """Return all sessions; None if there is none."""
        if len(self._pieces) > 1:
            self._pieces = [fuse(concat(self._pieces))]
        return self._pieces[0] if self._pieces else None


def _ends_before(sessions: Partials, watermark: int) -> BoolArray:
    """Return for each session whether it ends before a watermark; once the stream is closed, all do."""
    assert sessions.lasts is not None
    if watermark == INFINITY:
        return np.ones(len(sessions), np.bool_)
    is_before: BoolArray = sessions.lasts < watermark
    return is_before
