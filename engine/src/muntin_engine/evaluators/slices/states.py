"""The store of modules that keep Python states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.slice_store import Taken
from muntin_engine.evaluators.slices.adaptive import Monitor
from muntin_engine.evaluators.slices.entry_writer import blobs_of, entry_of
from muntin_engine.evaluators.slices.groups import Blob
from muntin_engine.evaluators.slices.one_by_one import OneByOne, WindowCloser
from muntin_engine.evaluators.slices.overlapping import Overlapping
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.evaluators.slices.slices import Slices
from muntin_engine.state.log import MOST_BYTES, Entry, StoredEntry


class Memory(NamedTuple):
    """The size of a store, in bytes as they would be written.

    Attributes:
        rows: The size of rows.
        states: The size of states, of modules that declare the size of one.
    """

    rows: int
    states: int


class Delta(NamedTuple):
    """The input of a batch.

    Attributes:
        blobs: All blobs, as they came.
        first_legal: The first slice of which rows were merged.
    """

    blobs: Sequence[Blob]
    first_legal: int


class StateStore:
    """A `SliceStore` of Python states, several modules to a slice.

    Rows may wait in a slice before they are added to a state: a few where memory does not matter, as many as take less
    than states where modules say how much those take.

    Cost: taking a batch costs about a microsecond per group and module besides the calls; closing, see `OneByOne` and
    `Overlapping`; writing costs nothing per group for blobs of which all slices live on.
    """

    def __init__(self, query: SlicedQuery) -> None:
        """Make an empty store."""
        self._query = query
        self._monitor = Monitor(query.policy)
        self._slices = Slices(query, self._monitor)
        self._closings = [self._closing(place) for place in range(len(query.grids))]

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Delta]:
        """Merge what `lift` made of a batch; leave out what it says of slices below a first."""
        opened = [Blob(blob, self._query.codec) for blob in blobs]
        counts = [self._slices.merge(blob, first_legal) for blob in opened]
        accepted, late = sum(count for count, _ in counts), sum(count for _, count in counts)
        used = [blob for blob in opened if blob.last >= first_legal]
        return Taken(Delta(used, first_legal) if used else None, accepted, late, _count_keys(opened))

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        for blob in blobs_of(entry.data, self._query.codec):
            self._slices.merge(blob, -NEVER, entry.schema_version)

    def close(self, place: int, first: int, last: int) -> list[WindowRuns]:
        """Return the results of the windows from `first` up to but not including `last` that have members.

        Args:
            place: Which of the specifications of the query they are of.
            first: A window, or `-NEVER`.
            last: A window, or `NEVER`.
        """
        runs = self._closings[place].close(first, last)
        return [runs] if runs.names else []

    def forget(self, first_live: int) -> None:
        """Drop all slices below a first one, and the keys that are in no other."""
        self._slices.forget(first_live)

    def write(self, delta: Delta, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without slices below a first.

        A blob is written as it came if all its slices are wanted and it is not huge; the rest of others is merged.
        """
        first = max(first_live, delta.first_legal)
        rest = Slices(self._query, Monitor(self._query.policy))
        entries: list[Entry] = []
        whole: list[Blob] = []
        for blob in delta.blobs:
            if first <= blob.first and len(blob.data) <= 2 * MOST_BYTES:
                whole.append(blob)
            elif first <= blob.last:
                rest.merge(blob, first)
            if sum(len(blob.data) for blob in whole) >= MOST_BYTES:
                entries.append(self._entry(whole))
                whole = []
        return [*entries, *([self._entry(whole)] if whole else []), *rest.entries(first)]

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and merged, without slices below a first."""
        merged = Slices(self._query, Monitor(self._query.policy))
        for data, schema_version in entries:
            for blob in blobs_of(data, self._query.codec):
                merged.merge(blob, first_live, schema_version)
        return merged.entries(first_live)

    def memory(self) -> Memory:
        """Return its size. Cost: a look at every key of every slice."""
        rows, states = self._slices.held()
        per_state = (self._query.policy.state_bytes or 0) / len(self._query.modules)
        states += sum(closing.held() for closing in self._closings)
        return Memory(round(rows * self._monitor.row_bytes), round(states * per_state))

    def _closing(self, place: int) -> WindowCloser:
        way = OneByOne if self._query.grids[place].slices == 1 else Overlapping
        return way(self._query, place, self._slices, self._monitor)

    def _entry(self, blobs: Sequence[Blob]) -> Entry:
        first, last = min(blob.first for blob in blobs), max(blob.last for blob in blobs)
        return entry_of([blob.data for blob in blobs], first, last, self._query.codec)


def _count_keys(blobs: Sequence[Blob]) -> int:
    """Count the distinct keys of some blobs; those of one blob differ."""
    if len(blobs) == 1:
        return len(blobs[0].names)
    return len(set[Hashable]().union(*(blob.names for blob in blobs)))
