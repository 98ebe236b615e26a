"""The sessions of a bucket, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.columnar.partials import Collected, Partials, concat
from muntin_engine.evaluators.columnar.store import ColumnarStore
from muntin_engine.evaluators.columnar.window_closing import Windows, sorted_groups
from muntin_engine.evaluators.fused.fusing import fuse
from muntin_engine.evaluators.fused.held_sessions import HeldSessions
from muntin_engine.evaluators.over_slices.slice_store import Taken
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


class FusedStore(ColumnarStore):
    """A store of sessions. Where a store of slices counts slices and windows, it has ticks of the axis.

    What is late is decided row by row, before anything is fused.
    """

    _held: HeldSessions

    def __init__(self, forms: Sequence[BoundForm], *, at_end: bool) -> None:
        """Make an empty store for the forms of a query.

        Args:
            forms: The forms.
            at_end: True if results are points at the ends of sessions, so that one without an end has none.
        """
        super().__init__((), forms)
        self._at_end = at_end
        self._held = HeldSessions()

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Partials]:
        """Fuse the partial states of a batch; leave out those of rows before a watermark."""
        self._forget_many_keys()
        opened = [self._decode(blob) for blob in blobs]
        keys, tables = self._count([decoded.codes for decoded in opened]), [decoded.partials for decoded in opened]
        legal = [_from(table, first_legal) for table in tables]
        rows, accepted = (sum(int(table.rows.sum()) for table in some) for some in (tables, legal))
        present = [table for table in legal if len(table)]
        if not present:
            return Taken(None, accepted, rows - accepted, keys)
        delta = fuse(concat(present))
        self._held.add(delta)
        return Taken(delta, accepted, rows - accepted, keys)

    def close(self, place: int, first: int, last: int) -> list[ClosedSessions]:  # type: ignore[override]
        """Return the sessions that end at the watermark `first` or later, and before the watermark `last`."""
        del place
        ended = self._held.ended(first, last)
        if ended is None or not len(ended):
            return []
        if self._at_end and ended.lasts is not None:
            ended = ended.take(np.flatnonzero(ended.lasts < INFINITY))
        assert ended.lasts is not None
        parts = {part: sorted_groups(v) if isinstance(v, Collected) else v for part, v in ended.parts.items()}
        windows = Windows(ended.slices, ended.keys, ended.rows, parts)
        return [ClosedSessions(windows, ended.lasts, self._keys.take(ended.keys))]

    @property
    def first_start(self) -> int:
        """The least start of a session; `INFINITY` if there is none."""
        return self._held.first_start

    @property
    def nbytes(self) -> int:
        """About how many bytes the sessions take with their keys."""
        keys = self._keys.table().nbytes // len(self._keys) if len(self._keys) else 0
        return self._held.nbytes + keys * len(self._held)

    def write(self, delta: Partials, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without those of sessions that are not held any more."""
        del first_live
        return self._entries(delta.take(np.flatnonzero(self._held.hold(delta))))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible."""
        return self.write(fuse(concat([self._read(entry).partials for entry in entries])), first_live)

    def write_whole(self) -> list[Entry]:
        """Encode all sessions."""
        whole = self._held.whole()
        return [] if whole is None else self._entries(whole)


def _from(table: Partials, watermark: int) -> Partials:
    """Return the rows at a watermark or later."""
    places = np.flatnonzero(table.slices >= watermark)
    return table if len(places) == len(table) else table.take(places)
