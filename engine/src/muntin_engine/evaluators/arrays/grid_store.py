"""The partial states of a bucket whose windows lie on a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin_engine.core.slice_grid import Grid
from muntin_engine.evaluators.arrays.entries import Entries
from muntin_engine.evaluators.arrays.held_partials import HeldPartials
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.slice_store import Taken
from muntin_engine.evaluators.arrays.stretch_table import StretchTable, concat, merge_alike
from muntin_engine.state.log import Entry, StoredEntry


class GridStore:
    """A `SliceStore` of arrays.

    Cost: taking and writing a batch costs what the batch brings; closing windows, what they hold.
    """

    def __init__(self, grids: Sequence[Grid], entries: Entries) -> None:
        """Make an empty store for the slices, or ranges, of a query."""
        self._entries = entries
        self._held = HeldPartials(grids)

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[StretchTable]:
        """Merge the partial states of a batch."""
        self._entries.keys.forget_others(self._held)
        arrived = [self._entries.arrived(blob) for blob in blobs]
        keys, some = self._entries.keys.count([decoded.codes for decoded in arrived]), [part.batch for part in arrived]
        legal = [batch.where(batch.low >= first_legal) for batch in some]
        rows, accepted = (sum(int(batch.weight.sum()) for batch in batches) for batches in (some, legal))
        present = [batch for batch in legal if len(batch)]
        if not present:
            return Taken(None, accepted, rows - accepted, keys)
        delta = present[0] if len(present) == 1 else merge_alike(concat(present))
        self._held.add(delta)
        return Taken(delta, accepted, rows - accepted, keys)

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        self._held.add(self._entries.read(entry))

    def close(self, place: int, first: int, last: int) -> list[Closed]:
        """Return the windows from `first` up to but not including `last` that have members."""
        found = (windows for windows in self._held.close(place, first, last) if len(windows))
        return [Closed(place, windows, self._entries.keys.take(windows.keys)) for windows in found]

    def forget(self, first_live: int) -> None:
        """Drop all that lies before a first slice; keys that are in no other go when next a batch comes."""
        self._held.forget(first_live)

    def write(self, delta: StretchTable, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without slices below a first one."""
        return self._entries.write(delta.alive(first_live))

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first one."""
        return self.write(merge_alike(concat([self._entries.read(entry) for entry in entries])), first_live)
