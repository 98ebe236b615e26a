"""The sessions of a bucket, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.columnar.entries import PartialEntries
from muntin_engine.evaluators.columnar.partials import Collected, Partials, concat
from muntin_engine.evaluators.columnar.window_closing import Windows, sorted_groups
from muntin_engine.evaluators.fused.fusing import fuse
from muntin_engine.evaluators.fused.held_sessions import ends_of
from muntin_engine.evaluators.fused.session_store import Opened, SessionStore
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.log import Entry, StoredEntry


class ClosedSessions(NamedTuple):
    """Complete sessions with their keys.

    Attributes:
        windows: Their merged states; the number of a window is its start.
        ends: Where they end.
        keys: A row of keys for each.
    """

    windows: Windows
    ends: IntArray
    keys: pa.Table

    def window_count(self) -> int:
        """Return the number of sessions."""
        return len(self.ends)


class FusedStore(SessionStore[Partials, Partials, ClosedSessions]):
    """A store of sessions whose partial states are components; each row comes as one."""

    def __init__(self, forms: Sequence[BoundForm], *, at_end: bool) -> None:
        """Make an empty store for the forms of a query.

        Args:
            forms: The forms.
            at_end: True if results are points at the ends of sessions, so that one without an end has none.
        """
        super().__init__(at_end=at_end)
        self._entries = PartialEntries(self._keys, forms)

    @property
    def nbytes(self) -> int:
        """About how many bytes the sessions take with their keys."""
        keys = self._keys.table().nbytes // len(self._keys) if len(self._keys) else 0
        return sum(piece.nbytes for piece in self._held.pieces) + keys * len(self._held)

    def _open(self, blob: bytes) -> Opened[Partials]:
        return Opened(*self._entries.decode(blob))

    def _lift(self, rows: Sequence[Partials]) -> Partials:
        return self._fuse(rows)

    def _fuse(self, pieces: Sequence[Partials]) -> Partials:
        return fuse(concat(pieces))

    def _results(self, ended: Partials) -> ClosedSessions:
        parts = {part: sorted_groups(v) if isinstance(v, Collected) else v for part, v in ended.parts.items()}
        windows = Windows(ended.slices, ended.keys, ended.rows, parts)
        return ClosedSessions(windows, ends_of(ended), self._keys.take(ended.keys))

    def _entries_of(self, live: Partials) -> list[Entry]:
        return self._entries.write(live)

    def _read(self, entry: StoredEntry) -> Partials:
        return self._entries.read(entry).partials
