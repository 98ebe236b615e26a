"""Batches of a bucket as blobs and entries of its log, under the codes of its keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin import INFINITY, Component
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.coding import distinct
from muntin_engine.evaluators.arrays.fusing import Sessions
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretch_table import Part, StretchTable, parts_of
from muntin_engine.evaluators.arrays.upgrading import from_old_blob
from muntin_engine.evaluators.arrays.wire import from_blob, to_blob
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.log import Entry, StoredEntry

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


class Entries(ABC):
    """Reads and writes what a bucket holds, whatever it is made of.

    Attributes:
        keys: The keys of the bucket.
    """

    def __init__(self) -> None:
        self.keys = KeyTable()
        self._bytes = self._stretches = 0

    @abstractmethod
    def arrived(self, blob: bytes) -> Decoded:
        """Return what the map side sent; new keys get codes."""

    @abstractmethod
    def lift(self, rows: StretchTable, found: Sessions) -> StretchTable:
        """Return the partial states of the sessions that rows are parts of."""

    @abstractmethod
    def results(self, ended: StretchTable) -> list[list[Any]] | None:
        """Return the results of windows, module by module; None if they are computed as columns when these are made."""

    @abstractmethod
    def located(self, keys: IntArray, low: IntArray, high: IntArray) -> AbstractContextManager[None]:
        """Return a context in which a failure tells of which stretch it is, where modules are called one by one."""

    @abstractmethod
    def read(self, entry: StoredEntry) -> StretchTable:
        """Return an entry, upgraded if an older schema version wrote it."""

    def write(self, live: StretchTable, packed: Sequence[bytes] = ()) -> list[Entry]:
        """Return partial states as entries, with something beside them in each."""
        found = list(self._written(live, packed))
        self._saw(sum(len(entry.data) for entry in found), len(live))
        return found

    def size_of(self, stretches: int) -> int:
        """Return about how many bytes so many stretches take: as many as those that were written or read."""
        return stretches * self._bytes // max(1, self._stretches)

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

    def __init__(self, forms: Sequence[BoundForm], more: Mapping[Part, Component] | None = None) -> None:
        """Read and write for the forms of a query, and more parts than those of forms."""
        super().__init__()
        self._forms = forms
        self._parts = {**parts_of(forms), **(more or {})}

    def arrived(self, blob: bytes) -> Decoded:
        """Return the partial states that the map side sent."""
        return self._coded(*from_blob(blob, self._parts))

    def lift(self, rows: StretchTable, found: Sessions) -> StretchTable:
        """Return the partial states of sessions, of which each row is a part."""
        return rows.reduce(found.codes, found.keys, found.lows, found.highs)

    def results(self, ended: StretchTable) -> None:
        """Return None."""
        del ended

    def located(self, keys: IntArray, low: IntArray, high: IntArray) -> AbstractContextManager[None]:
        """Return a context that does nothing: forms are called with arrays."""
        del keys, low, high
        return nullcontext()

    def read(self, entry: StoredEntry) -> StretchTable:
        """Return an entry, upgraded if an older schema version wrote it."""
        return self.decoded(entry).batch

    def decoded(self, entry: StoredEntry) -> Decoded:
        """Return the same with what lies beside it."""
        if entry.schema_version is None or not self._forms:
            found = self.arrived(entry.data)
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
            yield Entry(int(some.low.min()), min(int(some.high.max()), INFINITY - 1), data)
