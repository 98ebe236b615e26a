"""Partial states of a bucket as blobs and entries of its log, under the codes of its keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.columnar.key_table import KeyTable
from muntin_engine.evaluators.columnar.partials import Partials, parts_of
from muntin_engine.evaluators.columnar.upgrading import from_old_blob
from muntin_engine.evaluators.columnar.wire import from_blob, to_blob
from muntin_engine.exchange.bound_form import BoundForm
from muntin_engine.state.log import Entry, StoredEntry

ENTRY_BYTES: Final = 2 * 2**20
"""An entry of a checkpoint is split from about this size on."""


class Decoded(NamedTuple):
    """A blob.

    Attributes:
        codes: The codes of its keys, which differ.
        partials: Its partial states.
    """

    codes: IntArray
    partials: Partials


class PartialEntries:
    """Reads and writes the partial states of a bucket."""

    def __init__(self, keys: KeyTable, forms: Sequence[BoundForm]) -> None:
        """Read and write for the forms of a query, under the codes of a table of keys."""
        self._keys = keys
        self._forms = forms
        self._parts = parts_of(forms)

    def decode(self, blob: bytes) -> Decoded:
        """Return the partial states that the map side sent; new keys get codes."""
        return self._coded(*from_blob(blob, self._parts))

    def read(self, entry: StoredEntry) -> Decoded:
        """Return an entry, upgraded if an older schema version wrote it."""
        if entry.schema_version is None:
            return self.decode(entry.data)
        return self._coded(*from_old_blob(entry.data, self._forms, entry.schema_version))

    def write(self, live: Partials) -> list[Entry]:
        """Return partial states as entries."""
        rows = max(1, len(live) * ENTRY_BYTES // max(live.nbytes, 1))
        return [self._entry(live.slice(start, start + rows)) for start in range(0, len(live), rows)]

    def _coded(self, keys: pa.Table, partials: Partials) -> Decoded:
        codes = self._keys.codes(keys)
        return Decoded(codes, partials.with_keys(codes[partials.keys]))

    def _entry(self, partials: Partials) -> Entry:
        codes, places = np.unique(partials.keys, return_inverse=True)
        data = to_blob(self._keys.take(codes), partials.with_keys(places))
        return Entry(int(partials.slices.min()), partials.last, data)
