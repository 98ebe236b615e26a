"""A store of sessions, or of events that are cut at the edges of others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import INFINITY
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.fusing import sessions_of
from muntin_engine.evaluators.arrays.held_events import HeldEvents
from muntin_engine.evaluators.arrays.held_sessions import HeldSessions
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.slice_store import Taken
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat
from muntin_engine.state.log import Entry, StoredEntry


class SessionStore:
    """A `SliceStore` of stretches between ticks. Where a store of slices counts slices and windows, it has ticks.

    What is late is decided row by row, before anything is fused.
    """

    def __init__(self, entries: Entries, *, at_end: bool, is_cut: bool = False) -> None:
        """Make an empty store.

        Args:
            entries: Reads and writes what it holds.
            at_end: True if results are points at the ends of windows, so that one without an end has none.
            is_cut: True of snapshots: each event stays a stretch of its own. Otherwise those that touch are fused.
        """
        self._entries, self._at_end, self._is_cut = entries, at_end, is_cut
        self._held = HeldEvents() if is_cut else HeldSessions(self._fuse)

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[StretchTable]:
        """Take in the rows of a batch; leave out those before a watermark."""
        self._entries.keys.forget_others(self._held)
        arrived = [self._entries.arrived(blob) for blob in blobs]
        legal = [_since(some.batch, first_legal) for some in arrived]
        accepted = sum(map(len, legal))
        late = sum(len(some.batch) for some in arrived) - accepted
        present = [rows for rows in legal if len(rows)]
        delta = self._lifted(concat(present)) if present else None
        if delta is not None:
            self._held.add(delta)
        return Taken(delta, accepted, late, self._entries.keys.count([some.codes for some in arrived]))

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        self._held.add(self._entries.read(entry))

    def close(self, place: int, first: int, last: int) -> list[Closed]:
        """Return the windows that end at the watermark `first` or later, and before the watermark `last`."""
        ended = self._held.ended(first, last)
        if ended is not None and self._at_end:
            ended = ended.where(ended.high < INFINITY)
        if ended is None or not len(ended):
            return []
        return [Closed(place, ended, self._entries.keys.take(ended.keys), self._entries.results(ended))]

    def forget(self, first_live: int) -> None:
        """Drop the stretches that end before a watermark."""
        self._held.forget(first_live)

    @property
    def first_start(self) -> int:
        """The least start of an open window; `INFINITY` if there is none."""
        return self._held.first_start

    @property
    def nbytes(self) -> int:
        """About how many bytes the stretches take with their keys."""
        return self._entries.size_of(len(self._held))

    def write(self, delta: StretchTable, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without those of windows that are not held any more."""
        del first_live
        return self._entries.write(delta.where(self._held.hold(delta)))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible."""
        read = [self._entries.read(entry) for entry in entries]
        return self.write(concat(read) if self._is_cut else self._fuse(read), first_live)

    def write_whole(self) -> list[Entry]:
        """Encode all stretches."""
        whole = self._held.whole()
        return [] if whole is None else self._entries.write(whole)

    def _lifted(self, rows: StretchTable) -> StretchTable:
        """Return what becomes of rows: one partial state for each session, or for each event that is cut."""
        if self._is_cut:
            return rows
        return self._entries.lift(rows, sessions_of(rows))

    def _fuse(self, pieces: Sequence[StretchTable]) -> StretchTable:
        """Return one partial state for each session; those of the first piece may be changed."""
        if len(pieces) == 1:
            return pieces[0]
        joined = concat(pieces)
        return self._entries.merge(joined, sessions_of(joined))


def _since(rows: StretchTable, watermark: int) -> StretchTable:
    """Return the rows at a watermark or later."""
    return rows.where(rows.low >= watermark)
