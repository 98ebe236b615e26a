"""Stretches as log entries and blobs of map tasks: the format of a kind of values, and the codec of a bucket."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from muntin import INFINITY, Component
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm
from muntin_engine.evaluators.arrays.stretches.coding import distinct
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable
from muntin_engine.evaluators.arrays.stretches.stretch_blobs import from_blob, from_old_blob, to_blob
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS_ALONE, Part, StretchTable, parts_of
from muntin_engine.state.log import Entry, LogEntry

ENTRY_BYTES: Final = 2 * 2**20
"""A log entry that would be larger than about this size is split."""


class Arrival(NamedTuple):
    """A decoded blob, or log entry.

    Attributes:
        codes: The code of each key of the blob. The keys of a blob differ as bytes; equal ones have one code.
        stretches: The stretches of the blob.
        packed: The bytes that come after the stretches.
    """

    codes: IntArray
    stretches: StretchTable
    packed: Sequence[bytes] = ()


class StretchFormat(ABC):
    """Writes and reads the stretches of a bucket, where keys have codes. It holds no stretches itself."""

    @abstractmethod
    def read_blob(self, blob: bytes, keys: KeyTable, *, with_rows: bool) -> Arrival:
        """Decode a blob of a map task; new keys get codes.

        Args:
            blob: The blob.
            keys: The keys of the bucket.
            with_rows: True if the blob has the part `LISTS`, the rows of each stretch, because late rows are kept.
        """

    @abstractmethod
    def read_entry(self, entry: LogEntry, keys: KeyTable) -> Arrival:
        """Decode a log entry, and upgrade it if an older schema version wrote it."""

    @abstractmethod
    def entries(self, stretches: StretchTable, keys: KeyTable, size: int, packed: Sequence[bytes]) -> Iterator[Entry]:
        """Encode stretches as log entries.

        Args:
            stretches: The stretches.
            keys: The keys of the bucket.
            size: The estimated size of the encoded stretches in bytes; 0 if nothing is known of it.
            packed: Bytes to write into each entry, after the stretches.
        """


class ColumnFormat(StretchFormat):
    """Components of forms, numbers, and the columns of rows: all of them are columns of one table."""

    def __init__(self, forms: Sequence[BoundForm] = (), parts: Mapping[Part, Component | None] | None = None) -> None:
        """Describe the parts of stretches.

        Args:
            forms: The forms whose components stretches hold.
            parts: The components of the other parts; None for a part that is lists of rows.
        """
        self.forms = forms
        self._parts = {**parts_of(forms), **(parts or {})}

    def read_blob(self, blob: bytes, keys: KeyTable, *, with_rows: bool) -> Arrival:
        """Decode a blob of a map task."""
        parts = {**self._parts, **LISTS_ALONE} if with_rows else self._parts
        has_rows = not self._parts  # stretches without values of their own are sent with the part `ROWS`
        blob_keys, stretches, packed = from_blob(blob, parts, has_rows=has_rows)
        return coded(keys, blob_keys, stretches, packed)

    def read_entry(self, entry: LogEntry, keys: KeyTable) -> Arrival:
        """Decode a log entry; only components of forms need an upgrade if an older schema version wrote it."""
        if entry.schema_version is None or not self.forms:  # None: the present version wrote it
            entry_keys, stretches, packed = from_blob(entry.data, self._parts)
        else:
            entry_keys, stretches, packed = from_old_blob(entry.data, self.forms, entry.schema_version)
        return coded(keys, entry_keys, stretches, packed)

    def entries(self, stretches: StretchTable, keys: KeyTable, size: int, packed: Sequence[bytes]) -> Iterator[Entry]:
        """Encode stretches as log entries of up to about `ENTRY_BYTES` each."""
        estimated_bytes = max(size or stretches.nbytes, 1)  # 0 is no estimate: their memory serves as one
        stretches_per_entry = max(1, len(stretches) * ENTRY_BYTES // estimated_bytes)
        for start in range(0, len(stretches), stretches_per_entry):
            piece = stretches.take(slice(start, start + stretches_per_entry))
            # An entry has just the keys of its stretches, and numbers these from 0.
            codes, places = distinct(piece.keys)
            data = to_blob(keys.take(codes), piece.with_keys(places), packed)
            yield entry_of(piece, data)


def coded(keys: KeyTable, blob_keys: pa.Table, stretches: StretchTable, packed: Sequence[bytes] = ()) -> Arrival:
    """Replace the keys of decoded stretches, which are places in the blob's own table, by their codes in the bucket.

    Args:
        keys: The keys of the bucket; new keys are added.
        blob_keys: The keys of the blob.
        stretches: The stretches of the blob.
        packed: The bytes that come after the stretches in the blob.
    """
    codes = keys.codes(blob_keys)
    return Arrival(codes, stretches.with_keys(codes[stretches.keys]), packed)


def entry_of(stretches: StretchTable, data: bytes) -> Entry:
    """Return the log entry of stretches, which is dead once all of the stretches are.

    Args:
        stretches: The stretches.
        data: The encoded stretches.
    """
    # A closed stream lets all entries die that are dead before `INFINITY`: also those with stretches without an end.
    last = min(int(stretches.high.max()), INFINITY - 1)
    return Entry(last, data)


class _BlobOfBatch(NamedTuple):
    """A blob of the present batch.

    Attributes:
        stretches: The stretches that were decoded from the blob.
        data: The bytes of the blob.
    """

    stretches: StretchTable
    data: bytes


class StretchCodec:
    """Reads and writes the stretches of one bucket.

    A blob of the present batch becomes a log entry as it is, if all of its stretches are to be written, and nothing was
    merged with them: this saves encoding them again.
    """

    def __init__(self, stretch_format: StretchFormat, keys: KeyTable, *, with_rows: bool = False) -> None:
        """Prepare to read and write.

        Args:
            stretch_format: The format of the bytes.
            keys: The keys of the bucket.
            with_rows: True if blobs have the part `LISTS`, the rows of each stretch, because late rows are kept.
        """
        self._format = stretch_format
        self._keys = keys
        self._with_rows = with_rows
        self._blobs_of_batch: list[_BlobOfBatch] = []
        self._encoded_bytes = 0
        """The bytes of all stretches that were written or read so far, for estimates."""
        self._encoded_count = 0
        """The number of these stretches."""

    def read_blobs(self, blobs: Iterable[bytes]) -> list[Arrival]:
        """Decode the blobs of a batch; new keys get codes."""
        self._blobs_of_batch = []
        arrivals: list[Arrival] = []
        for blob in blobs:
            arrival = self._format.read_blob(blob, self._keys, with_rows=self._with_rows)
            arrivals.append(arrival)
            # The blob may be written to the log as it is, unless two of its keys differ as bytes and are equal: then
            # stretches of both were perhaps merged as they were read.
            distinct_codes, _ = distinct(arrival.codes)
            if len(distinct_codes) == len(arrival.codes):
                self._blobs_of_batch.append(_BlobOfBatch(arrival.stretches, blob))
        return arrivals

    def read(self, entry: LogEntry) -> Arrival:
        """Decode a log entry, and upgrade it if an older schema version wrote it."""
        arrival = self._format.read_entry(entry, self._keys)
        self._learn_size(len(entry.data), len(arrival.stretches))
        return arrival

    def read_stretches(self, entries: Sequence[LogEntry]) -> list[StretchTable]:
        """Decode the stretches of log entries."""
        return [self.read(entry).stretches for entry in entries]

    def write(self, stretches: StretchTable, packed: Sequence[bytes] = ()) -> list[Entry]:
        """Encode stretches as log entries.

        Args:
            stretches: The stretches.
            packed: Bytes to write into each entry, after the stretches.
        """
        blob = self._blob_of(stretches)
        if blob is not None:  # the stretches came as this blob, packed bytes included: it is the entry
            entries = [entry_of(stretches, blob)]
        else:
            size = self.size_of(len(stretches))
            entries = list(self._format.entries(stretches, self._keys, size, packed))
        self._learn_size(sum(len(entry.data) for entry in entries), len(stretches))
        return entries

    def size_of(self, count: int) -> int:
        """Estimate the bytes of `count` stretches by the average size of those that were written or read."""
        return count * self._encoded_bytes // max(1, self._encoded_count)

    def _blob_of(self, stretches: StretchTable) -> bytes | None:
        """Return the blob of the batch from which these very stretches were decoded, to be written as it is.

        None if there is no such blob, because the stretches were changed or merged since then, or if it is too large. A
        blob is returned once.
        """
        for place, blob in enumerate(self._blobs_of_batch):
            if blob.stretches is stretches and len(stretches) and len(blob.data) <= ENTRY_BYTES:
                del self._blobs_of_batch[place]
                return blob.data
        return None

    def _learn_size(self, size: int, count: int) -> None:
        """Take the size of written or read stretches into account for `size_of`."""
        self._encoded_bytes += size
        self._encoded_count += count
