"""The partial states of a bucket, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.core.slice_grid import Grid
from muntin_engine.evaluators.columnar.held_partials import HeldPartials
from muntin_engine.evaluators.columnar.key_table import KeyTable
from muntin_engine.evaluators.columnar.partials import Partials, concat, merge_alike, parts_of
from muntin_engine.evaluators.columnar.upgrading import from_old_blob
from muntin_engine.evaluators.columnar.window_closing import Windows
from muntin_engine.evaluators.columnar.wire import from_blob, to_blob
from muntin_engine.evaluators.over_slices.slice_store import Taken
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.log import Entry, StoredEntry

ENTRY_BYTES: Final = 2 * 2**20
"""An entry of a checkpoint is split from about this size on."""

FEW_KEYS: Final = 1024
"""With up to so many keys none is forgotten."""


class Closed(NamedTuple):
    """Complete windows with their keys.

    Attributes:
        windows: Their merged states.
        keys: A row of keys for each.
    """

    windows: Windows
    keys: pa.Table

    def window_count(self) -> int:
        """Return the number of windows of keys."""
        return len(self.windows.keys)


class _Decoded(NamedTuple):
    """A blob.

    Attributes:
        codes: The codes of its keys, which differ.
        partials: Its partial states.
    """

    codes: IntArray
    partials: Partials


class ColumnarStore:
    """A `SliceStore` of arrays.

    Cost: taking and writing a batch costs what the batch brings; closing windows, what they hold.
    """

    def __init__(self, grids: Sequence[Grid], forms: Sequence[BoundForm]) -> None:
        """Make an empty store for the slices, or ranges, and the forms of a query."""
        self._forms = forms
        self._parts = parts_of(forms)
        self._keys = KeyTable()
        self._held = HeldPartials(grids)
        self._most_keys = FEW_KEYS

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Partials]:
        """Merge the partial states of a batch."""
        self._forget_many_keys()
        opened = [self._decode(blob) for blob in blobs]
        keys, tables = self._count([decoded.codes for decoded in opened]), [decoded.partials for decoded in opened]
        legal = [table.since(first_legal) for table in tables]
        rows, accepted = (sum(int(table.rows.sum()) for table in some) for some in (tables, legal))
        present = [table for table in legal if len(table)]
        if not present:
            return Taken(None, accepted, rows - accepted, keys)
        delta = present[0] if len(present) == 1 else merge_alike(concat(present))
        self._held.add(delta)
        return Taken(delta, accepted, rows - accepted, keys)

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        self._held.add(self._read(entry).partials)

    def close(self, place: int, first: int, last: int) -> list[Closed]:
        """Return the results of the windows from `first` up to but not including `last` that have members."""
        closed = self._held.close(place, first, last)
        return [Closed(windows, self._keys.take(windows.keys)) for windows in closed if len(windows.keys)]

    def forget(self, first_live: int) -> None:
        """Drop all that lies before a first slice; keys that are in no other go when next a batch comes."""
        self._held.forget(first_live)

    def write(self, delta: Partials, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without slices below a first one."""
        return self._entries(delta.alive(first_live))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first one."""
        return self.write(merge_alike(concat([self._read(entry).partials for entry in entries])), first_live)

    def _entries(self, live: Partials) -> list[Entry]:
        rows = max(1, len(live) * ENTRY_BYTES // max(live.nbytes, 1))
        return [self._entry(live.slice(start, start + rows)) for start in range(0, len(live), rows)]

    def _read(self, entry: StoredEntry) -> _Decoded:
        if entry.schema_version is None:
            return self._decode(entry.data)
        return self._coded(*from_old_blob(entry.data, self._forms, entry.schema_version))

    def _decode(self, blob: bytes) -> _Decoded:
        return self._coded(*from_blob(blob, self._parts))

    def _coded(self, keys: pa.Table, partials: Partials) -> _Decoded:
        codes = self._keys.codes(keys)
        return _Decoded(codes, partials.with_keys(codes[partials.keys]))

    def _entry(self, partials: Partials) -> Entry:
        codes, places = np.unique(partials.keys, return_inverse=True)
        data = to_blob(self._keys.take(codes), partials.with_keys(places))
        return Entry(int(partials.slices.min()), partials.last, data)

    def _count(self, codes: Sequence[IntArray]) -> int:
        """Count the keys of some blobs. Cost: next to nothing per key, and a byte for each known one."""
        if len(codes) < 2:
            return sum(map(len, codes))
        is_there = np.zeros(len(self._keys), np.bool_)
        for some in codes:
            is_there[some] = True
        return int(np.count_nonzero(is_there))

    def _forget_many_keys(self) -> None:
        """Forget the keys that are in no slice any more, whenever there are twice as many as were left then."""
        if len(self._keys) <= self._most_keys:
            return
        live = self._held.keys()
        places = self._keys.keep(live)
        self._held.renumber(places)
        self._most_keys = max(FEW_KEYS, 2 * len(live))
