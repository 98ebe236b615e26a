"""The open sessions of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.fused.fusing import sessions_of


class HasStretches(Protocol):
    """n stretches of the axis, with the rows on them or the partial states of sessions."""

    @property
    def keys(self) -> IntArray:
        """The codes of their keys."""
        ...

    @property
    def slices(self) -> IntArray:
        """The start of each."""
        ...

    @property
    def lasts(self) -> IntArray | None:
        """The end of each; never None here, where `Partials` of slices have no ends."""
        ...

    def __len__(self) -> int: ...

    def take(self, places: IntArray) -> Self:
        """Return some of them, by ascending places."""
        ...

    def with_keys(self, keys: IntArray) -> Self:
        """Return them under other codes."""
        ...


Piece = TypeVar("Piece", bound=HasStretches)


class HeldSessions(Generic[Piece]):
    """The partial states of a bucket, fused into one per session when they are next looked at.

    Cost: a sort of all sessions for each batch that brings any.
    """

    def __init__(self, fuse: Callable[[Sequence[Piece]], Piece]) -> None:
        """Hold nothing.

        Args:
            fuse: Returns one partial state per session; those of the first pieces may be changed.
        """
        self._fuse = fuse
        self._pieces: list[Piece] = []

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    @property
    def pieces(self) -> Sequence[Piece]:
        """The partial states, as they are."""
        return self._pieces

    @property
    def first_start(self) -> int:
        """The least start of a session; `INFINITY` if there is none."""
        return min((int(piece.slices.min()) for piece in self._pieces), default=INFINITY)

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        codes = [piece.keys for piece in self._pieces]
        return np.unique(np.concatenate(codes)) if codes else np.empty(0, np.int64)

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._pieces = [piece.with_keys(places[piece.keys]) for piece in self._pieces]

    def add(self, piece: Piece) -> None:
        """Add what a batch brought."""
        self._pieces.append(piece)

    def ended(self, first: int, last: int) -> Piece | None:
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

    def hold(self, piece: Piece) -> BoolArray:
        """Return for each partial state whether it is part of a session that is held."""
        whole = self.whole()
        if whole is None:
            return np.zeros(len(piece), np.bool_)
        both = (whole, piece)
        codes = sessions_of(
            np.concatenate([some.keys for some in both]),
            np.concatenate([some.slices for some in both]),
            np.concatenate([ends_of(some) for some in both]),
        ).codes
        is_held = np.zeros(len(codes), np.bool_)
        is_held[codes[: len(whole)]] = True
        return is_held[codes[len(whole) :]]

    def whole(self) -> Piece | None:
        """Return all sessions; None if there is none."""
        if len(self._pieces) > 1:
            self._pieces = [self._fuse(self._pieces)]
        return self._pieces[0] if self._pieces else None


def ends_of(stretches: HasStretches) -> IntArray:
    """Return the ends of stretches."""
    assert stretches.lasts is not None
    return stretches.lasts


def _ends_before(sessions: HasStretches, watermark: int) -> BoolArray:
    """Return for each session whether it ends before a watermark; once the stream is closed, all do."""
    if watermark == INFINITY:
        return np.ones(len(sessions), np.bool_)
    is_before: BoolArray = ends_of(sessions) < watermark
    return is_before
