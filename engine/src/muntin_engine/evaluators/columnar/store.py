"""The partial states of a bucket, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from muntin_engine.core.slice_grid import Grid
from muntin_engine.evaluators.columnar.entries import PartialEntries
from muntin_engine.evaluators.columnar.held_partials import HeldPartials
from muntin_engine.evaluators.columnar.key_table import KeyTable
from muntin_engine.evaluators.columnar.partials import Partials, concat, merge_alike
from muntin_engine.evaluators.columnar.window_closing import Windows
from muntin_engine.evaluators.over_slices.slice_store import Taken
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.log import Entry, StoredEntry


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


class ColumnarStore:
    """A `SliceStore` of arrays.

    Cost: taking and writing a batch costs what the batch brings; closing windows, what they hold.
    """

    def __init__(self, grids: Sequence[Grid], forms: Sequence[BoundForm]) -> None:
        """Make an empty store for the slices, or ranges, and the forms of a query."""
        self._keys = KeyTable()
        self._entries = PartialEntries(self._keys, forms)
        self._held = HeldPartials(grids)

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Partials]:
        """Merge the partial states of a batch."""
        self._keys.forget_others(self._held)
        opened = [self._entries.decode(blob) for blob in blobs]
        keys, tables = self._keys.count([decoded.codes for decoded in opened]), [part.partials for part in opened]
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
        self._held.add(self._entries.read(entry).partials)

    def close(self, place: int, first: int, last: int) -> list[Closed]:
        """Return the results of the windows from `first` up to but not including `last` that have members."""
        closed = self._held.close(place, first, last)
        return [Closed(windows, self._keys.take(windows.keys)) for windows in closed if len(windows.keys)]

    def forget(self, first_live: int) -> None:
        """Drop all that lies before a first slice; keys that are in no other go when next a batch comes."""
        self._held.forget(first_live)

    def write(self, delta: Partials, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without slices below a first one."""
        return self._entries.write(delta.alive(first_live))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first one."""
        read = [self._entries.read(entry).partials for entry in entries]
        return self.write(merge_alike(concat(read)), first_live)
