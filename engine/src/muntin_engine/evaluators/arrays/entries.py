"""Batches of a bucket as blobs and entries of its log, under the codes of its keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import INFINITY, Component
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.bound_form import BoundForm
from muntin_engine.evaluators.arrays.coding import distinct
from muntin_engine.evaluators.arrays.held import HeldPartials
from muntin_engine.evaluators.arrays.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.late_rows import LateRows, without_rows
from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.evaluators.arrays.state_windows import StateWindows
from muntin_engine.evaluators.arrays.stretch_blobs import from_blob, from_old_blob, to_blob
from muntin_engine.evaluators.arrays.stretch_table import LISTS, Groups, Part, StretchTable, alike, concat, parts_of
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.time.changes import Key, Rejection

ENTRY_BYTES: Final = 2 * 2**20
"""An entry of a checkpoint is split from about this size on."""


class Decoded(NamedTuple):
    """A blob.

    Attributes:
        codes: The codes of its keys, which differ.
        batch: Its stretches.
        packed: What lies beside them.
    """

    codes: IntArray
    batch: StretchTable
    packed: Sequence[bytes] = ()


def entry_of(some: StretchTable, data: bytes) -> Entry:
    """Return stretches as an entry, given what is written of them."""
    return Entry(int(some.low.min()), min(int(some.high.max()), INFINITY - 1), data)


class Entries(ABC):
    """The kind of values that a bucket holds: how they are read, written and merged, and what a window has of them.

    Python states and rows become results here, by calls of the modules; components become results with the table.

    Attributes:
        keys: The keys of the bucket.
    """

    def __init__(self, parts: Mapping[Part, Component | None], late: LateRows | None = None) -> None:
        """Read and write nothing yet.

        Args:
            parts: The parts of stretches that are columns or, if None, lists of rows.
            late: Makes late rows, if these are wanted: then what arrives has its rows beside it.
        """
        self.keys, self._late, self._parts = KeyTable(), late, parts
        self._parts_that_come = parts if late is None else {**parts, LISTS: None}
        self._bytes = self._stretches = 0
        self._windows: list[StateWindows] = []
        self._came: list[tuple[StretchTable, bytes]] = []

    def take_in(self, blobs: Iterable[bytes]) -> list[Decoded]:
        """Decode the blobs of a batch from the map side; new keys get codes."""
        arrived = [(self._arrived(blob), blob) for blob in blobs]
        # of keys that differ as bytes and are equal, a blob has more stretches than what was read of it
        self._came = [(some.batch, blob) for some, blob in arrived if len(distinct(some.codes)[0]) == len(some.codes)]
        return [found for found, _ in arrived]

    def _arrived(self, blob: bytes) -> Decoded:
        """Decode a blob from the map side."""
        return self._coded(*from_blob(blob, self._parts_that_come))

    def lift(self, rows: StretchTable, groups: Groups) -> StretchTable:
        """Return the partial states of groups of what arrived: of rows, or of their partial states."""
        return self.merge(rows, groups)

    def merge(self, batch: StretchTable, groups: Groups) -> StretchTable:
        """Return each group of partial states merged; the first of a group may be changed."""
        return batch.reduce(groups)

    def merge_alike(self, batches: Sequence[StretchTable]) -> StretchTable:
        """Return one partial state per stretch and key, in the order of stretches; the first ones may be changed."""
        batch = concat(batches)
        return self.merge(batch, alike(batch))

    def results(self, ended: StretchTable) -> list[list[Any]] | None:
        """Return the results of windows, module by module; None if they are computed as columns when these are made."""
        del ended
        return None

    def close(self, held: HeldPartials, place: int, first: int, last: int) -> Iterator[Closed]:
        """Yield the windows of a grid from `first` up to but not including `last` that have members.

        Args:
            held: The partial states of the bucket.
            place: Which of the grids they are of.
            first: A window, or `-NEVER`.
            last: A window, or `NEVER`.
        """
        if self._windows:
            yield from self._windows[place].close(held, self._seen, first, last)
            return
        for windows in held.close(place, first, last):
            if len(windows):
                yield Closed(place, windows, self.keys.take(windows.keys), self.results(windows))

    def _seen(self, slices: StretchTable) -> StretchTable:
        """Return slices with what modules have of each."""
        return slices

    def late(self, batch: StretchTable, watermark: int, side: int = 0) -> Sequence[tuple[Key, Rejection]]:
        """Return the late rows of a batch one by one, if they are wanted; otherwise they are only counted."""
        if self._late is None or not len(batch):
            return ()
        return self._late.of(batch, keys_in(self.keys.take(batch.keys)), watermark, side)

    def in_time(self, batch: StretchTable) -> StretchTable:
        """Return what is held of what came in time: without the rows that lay beside it in case they were late."""
        return batch if self._late is None else without_rows(batch)

    def carry(self, held: HeldPartials, first_open: int) -> None:
        """Drop what lies before the first open window if the queues of windows have it; otherwise merge it."""
        if self._windows:
            held.forget(first_open)
        else:
            held.carry(first_open)

    def queued(self) -> Sequence[IntArray]:
        """Return the codes of keys that queues have something of."""
        return [windows.keys for windows in self._windows]

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code in what windows have in common, if that is kept."""
        for windows in self._windows:
            windows.renumber(places)

    @abstractmethod
    def read(self, entry: StoredEntry) -> StretchTable:
        """Return an entry, upgraded if an older schema version wrote it."""

    def write(self, live: StretchTable, packed: Sequence[bytes] = ()) -> list[Entry]:
        """Return partial states as entries, with something beside them in each; a blob that came is one as it is."""
        same = [blob for batch, blob in self._came if batch is live and len(live) and len(blob) <= ENTRY_BYTES]
        self._came = [some for some in self._came if some[0] is not live] if same else []
        found = [entry_of(live, same[0])] if same else list(self._written(live, packed))
        self._saw(sum(len(entry.data) for entry in found), len(live))
        return found

    def size_of(self, stretches: int) -> int:
        """Return about how many bytes so many stretches take: as many as those that were written or read."""
        return stretches * self._bytes // max(1, self._stretches)

    def memory_of(self, stretches: int) -> int:
        """Return about how many bytes keys take in memory, and what stretches have there beyond their arrays."""
        del stretches
        return self.keys.nbytes

    @abstractmethod
    def _written(self, live: StretchTable, packed: Sequence[bytes]) -> Iterator[Entry]:
        """Yield partial states as entries."""

    def _saw(self, size: int, stretches: int) -> None:
        """Take note of what stretches take."""
        self._bytes += size
        self._stretches += stretches

    def _coded(self, keys: pa.Table, batch: StretchTable, packed: Sequence[bytes] = ()) -> Decoded:
        codes = self.keys.codes(keys)
        return Decoded(codes, batch.with_keys(codes[batch.keys]), packed)


class FormEntries(Entries):
    """Reads and writes the components of columnar forms, and rows as they came."""

    def __init__(
        self,
        forms: Sequence[BoundForm],
        more: Mapping[Part, Component | None] | None = None,
        late: LateRows | None = None,
    ) -> None:
        """Read and write for the forms of a query.

        Args:
            forms: The forms.
            more: Parts that are not those of forms; None for lists of rows.
            late: Makes late rows, if these are wanted.
        """
        super().__init__({**parts_of(forms), **(more or {})}, late)
        self._forms = forms

    def read(self, entry: StoredEntry) -> StretchTable:
        """Return an entry, upgraded if an older schema version wrote it."""
        return self.decoded(entry).batch

    def decoded(self, entry: StoredEntry) -> Decoded:
        """Return the same with what lies beside it."""
        if entry.schema_version is None or not self._forms:
            found = self._coded(*from_blob(entry.data, self._parts))
        else:
            found = self._coded(*from_old_blob(entry.data, self._forms, entry.schema_version))
        self._saw(len(entry.data), len(found.batch))
        return found

    def _written(self, live: StretchTable, packed: Sequence[bytes]) -> Iterator[Entry]:
        rows = max(1, len(live) * ENTRY_BYTES // max(self.size_of(len(live)) or live.nbytes, 1))
        for start in range(0, len(live), rows):
            some = live.take(slice(start, start + rows))
            codes, places = distinct(some.keys)
            data = to_blob(self.keys.take(codes), some.with_keys(places), packed)
            yield entry_of(some, data)
