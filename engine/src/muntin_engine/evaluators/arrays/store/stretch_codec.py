"""The bytes of a bucket's stretches: blobs are read, log entries are read and written, and their sizes are learned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from muntin_engine.evaluators.arrays.stretches.coding import distinct
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.stretch_format import ENTRY_BYTES, Arrival, StretchFormat, entry_of
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable
from muntin_engine.state.log import Entry, StoredEntry


class _BlobOfBatch(NamedTuple):
    """A blob of the present batch, and what was read of it."""

    stretches: StretchTable
    data: bytes


class StretchCodec:
    """Reads and writes the stretches of one bucket.

    A blob that a batch brought is written as a log entry as it is, unless some of it is late or merged.
    """

    def __init__(self, stretch_format: StretchFormat, keys: KeyTable, *, with_rows: bool = False) -> None:
        """Read and write nothing yet.

        Args:
            stretch_format: The format of the bytes.
            keys: The keys of the bucket.
            with_rows: True if rows lie beside what arrives of them, in case they are late.
        """
        self._format = stretch_format
        self._keys = keys
        self._with_rows = with_rows
        self._blobs_of_batch: list[_BlobOfBatch] = []
        self._bytes = 0
        self._stretches = 0

    def read_blobs(self, blobs: Iterable[bytes]) -> list[Arrival]:
        """Decode the blobs of a batch; new keys get codes."""
        self._blobs_of_batch = []
        arrivals: list[Arrival] = []
        for blob in blobs:
            arrival = self._format.read_blob(blob, self._keys, with_rows=self._with_rows)
            arrivals.append(arrival)
            # Keys that are equal but encoded differently were merged, so the blob no longer matches.
            if len(distinct(arrival.codes)[0]) == len(arrival.codes):
                self._blobs_of_batch.append(_BlobOfBatch(arrival.stretches, blob))
        return arrivals

    def read(self, entry: StoredEntry) -> Arrival:
        """Decode a log entry, and upgrade it if an older schema version wrote it."""
        arrival = self._format.read_entry(entry, self._keys)
        self._learn_size(len(entry.data), len(arrival.stretches))
        return arrival

    def read_stretches(self, entries: Sequence[StoredEntry]) -> list[StretchTable]:
        """Decode the stretches of log entries."""
        return [self.read(entry).stretches for entry in entries]

    def write(self, stretches: StretchTable, packed: Sequence[bytes] = ()) -> list[Entry]:
        """Encode stretches as log entries.

        Args:
            stretches: The stretches.
            packed: The bytes to write beside them in each entry.
        """
        blob = self._blob_of(stretches)
        if blob is not None:
            entries = [entry_of(stretches, blob)]
        else:
            size = self.size_of(len(stretches))
            entries = list(self._format.entries(stretches, self._keys, size, packed))
        self._learn_size(sum(len(entry.data) for entry in entries), len(stretches))
        return entries

    def size_of(self, count: int) -> int:
        """Estimate the bytes of so many stretches: as many as those that were written or read."""
        return count * self._bytes // max(1, self._stretches)

    def _blob_of(self, stretches: StretchTable) -> bytes | None:
        """Take out the blob that these very stretches were read of; None if there is none, or it is too large."""
        for place, blob in enumerate(self._blobs_of_batch):
            if blob.stretches is stretches and len(stretches) and len(blob.data) <= ENTRY_BYTES:
                del self._blobs_of_batch[place]
                return blob.data
        return None

    def _learn_size(self, size: int, count: int) -> None:
        self._bytes += size
        self._stretches += count
