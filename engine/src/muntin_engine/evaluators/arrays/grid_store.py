"""The partial states of a bucket whose windows lie on a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin.columnar.arrays import IntArray
from muntin_engine.core.slice_grid import Grid
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.held_partials import HeldPartials, in_windows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.slice_store import Taken
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.state.log import Entry, StoredEntry


class GridStore:
    """A `SliceStore` of arrays.

    Cost: taking and writing a batch costs what the batch brings; closing windows, what they hold.
    """

    def __init__(self, grids: Sequence[Grid], entries: Entries) -> None:
        """Make an empty store for the slices, or ranges, of a query."""
        self._grids, self._entries = grids, entries
        self._held = HeldPartials(grids, entries.merge_alike)

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[StretchTable]:
        """Merge the partial states of a batch; what lies in gaps between windows is accepted, and not held."""
        self._entries.keys.forget_others(self)
        arrived = [self._entries.arrived(blob) for blob in blobs]
        keys, some = self._entries.keys.count([decoded.codes for decoded in arrived]), [part.batch for part in arrived]
        legal = [batch.where(batch.low >= first_legal) for batch in some]
        rows, accepted = (sum(int(batch.weight.sum()) for batch in batches) for batches in (some, legal))
        present = [batch for part in legal if len(batch := part.where(in_windows(self._grids, part.low)))]
        if not present:
            return Taken(None, accepted, rows - accepted, keys)
        delta = present[0] if len(present) == 1 else self._entries.merge_alike(present)
        self._held.add(delta)
        return Taken(delta, accepted, rows - accepted, keys)

    def keys(self) -> IntArray:
        """Return the codes of all keys, ascending."""
        return self._held.keys()

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self._held.renumber(places)
        self._entries.renumber(places)

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        self._held.add(self._entries.read(entry))

    def close(self, place: int, first: int, last: int) -> list[Closed]:
        """Return the windows from `first` up to but not including `last` that have members."""
        return list(self._entries.close(self._held, place, first, last))

    def forget(self, first_live: int) -> None:
        """Drop all that lies before a first slice; keys that are in no other go when next a batch comes."""
        self._held.forget(first_live)

    def write(self, delta: StretchTable, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without slices below a first one."""
        return self._entries.write(delta.alive(first_live))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first one."""
        return self.write(self._entries.merge_alike([self._entries.read(entry) for entry in entries]), first_live)
