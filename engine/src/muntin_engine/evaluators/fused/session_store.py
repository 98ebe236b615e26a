"""A store of sessions, whatever their partial states are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.columnar.key_table import KeyTable
from muntin_engine.evaluators.fused.held_sessions import HasStretches, HeldSessions, Piece, ends_of
from muntin_engine.evaluators.over_slices.slice_store import Taken
from muntin_engine.state.log import Entry, StoredEntry

Rows = TypeVar("Rows", bound=HasStretches)
Output = TypeVar("Output")


class Opened(NamedTuple, Generic[Rows]):
    """A blob of the map side.

    Attributes:
        codes: The codes of its keys, which differ.
        rows: Its rows, each with the stretch on which it counts.
    """

    codes: IntArray
    rows: Rows


class SessionStore(ABC, Generic[Rows, Piece, Output]):
    """A `SliceStore` of sessions. Where a store of slices counts slices and windows, it has ticks of the axis.

    What is late is decided row by row, before anything is fused.
    """

    def __init__(self, *, at_end: bool) -> None:
        """Make an empty store.

        Args:
            at_end: True if results are points at the ends of sessions, so that one without an end has none.
        """
        self._at_end = at_end
        self._keys = KeyTable()
        self._held: HeldSessions[Piece] = HeldSessions(self._fuse)

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Piece]:
        """Fuse the rows of a batch; leave out those before a watermark."""
        self._keys.forget_others(self._held)
        opened = [self._open(blob) for blob in blobs]
        legal = [_from(some.rows, first_legal) for some in opened]
        accepted = sum(map(len, legal))
        late = sum(len(some.rows) for some in opened) - accepted
        present = [rows for rows in legal if len(rows)]
        delta = self._lift(present) if present else None
        if delta is not None:
            self._held.add(delta)
        return Taken(delta, accepted, late, self._keys.count([some.codes for some in opened]))

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        self._held.add(self._read(entry))

    def close(self, place: int, first: int, last: int) -> list[Output]:
        """Return the sessions that end at the watermark `first` or later, and before the watermark `last`."""
        del place
        ended = self._held.ended(first, last)
        if ended is not None and self._at_end:
            ended = ended.take(np.flatnonzero(ends_of(ended) < INFINITY))
        return [self._results(ended)] if ended is not None and len(ended) else []

    def forget(self, first_live: int) -> None:
        """Drop the sessions that end before a watermark."""
        self._held.forget(first_live)

    @property
    def first_start(self) -> int:
        """The least start of a session; `INFINITY` if there is none."""
        return self._held.first_start

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """About how many bytes the sessions take with their keys."""

    def write(self, delta: Piece, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without those of sessions that are not held any more."""
        del first_live
        return self._entries_of(delta.take(np.flatnonzero(self._held.hold(delta))))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible."""
        return self.write(self._fuse([self._read(entry) for entry in entries]), first_live)

    def write_whole(self) -> list[Entry]:
        """Encode all sessions."""
        whole = self._held.whole()
        return [] if whole is None else self._entries_of(whole)

    @abstractmethod
    def _open(self, blob: bytes) -> Opened[Rows]:
        """Return the rows that the map side sent, under the codes of this store's keys."""

    @abstractmethod
    def _lift(self, rows: Sequence[Rows]) -> Piece:
        """Return one partial state for each session of some rows."""

    @abstractmethod
    def _fuse(self, pieces: Sequence[Piece]) -> Piece:
        """Return one partial state for each session; those of the first pieces may be changed."""

    @abstractmethod
    def _results(self, ended: Piece) -> Output:
        """Return the results of complete sessions."""

    @abstractmethod
    def _entries_of(self, live: Piece) -> list[Entry]:
        """Return partial states as entries."""

    @abstractmethod
    def _read(self, entry: StoredEntry) -> Piece:
        """Return the partial states of an entry, upgraded if an older schema version wrote it."""


def _from(rows: Rows, watermark: int) -> Rows:
    """Return the rows at a watermark or later."""
    places = np.flatnonzero(rows.slices >= watermark)
    return rows if len(places) == len(rows) else rows.take(places)
