"""Writing slices as entries of a log."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from muntin_engine.evaluators.slices.groups import (
    CHUNK_GROUPS,
    Blob,
    Chunk,
    EntryKind,
    SliceGroups,
    UnstorableError,
    encode_blob,
)
from muntin_engine.evaluators.slices.key_names import key_of
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import MOST_BYTES, Entry
from muntin_engine.state.value_columns import ValueColumn


def entry_of(blobs: Sequence[bytes], first: int, last: int, codec: Codec) -> Entry:
    """Return blobs as an entry."""
    return Entry(first, last, codec.pack(list(blobs)))


def blobs_of(data: bytes, codec: Codec) -> list[Blob]:
    """Return the blobs of an entry's data."""
    return [Blob(blob, codec) for blob in codec.unpack(data)]


@dataclass(slots=True)
class _Buffer:
    """Groups of one kind that wait to become a chunk."""

    numbers: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    columns: list[list[Any]] = field(default_factory=list)

    def extend_columns(self, columns: list[list[object]]) -> None:
        """Take some more values."""
        if not self.columns:
            self.columns = [[] for _ in columns]
        for mine, more in zip(self.columns, columns, strict=True):
            mine.extend(more)


class EntryWriter:
    """Writes groups as entries, each of which but the last has `MOST_BYTES` or some more."""

    def __init__(self, query: SlicedQuery) -> None:
        self._query = query
        self._codec = query.codec
        self._entries: list[Entry] = []
        self._start()

    def add(
        self, kind: EntryKind, number: int, names: Sequence[Hashable], counts: list[int], columns: list[list[Any]]
    ) -> None:
        """Add groups of a slice; slices come in their order."""
        row = 0
        for start in range(0, len(names), CHUNK_GROUPS):
            some = counts[start : start + CHUNK_GROUPS]
            low, row = (row, row + sum(some)) if kind is EntryKind.ROWS else (start, start + len(some))
            self._buffer(kind, number, names[start : start + CHUNK_GROUPS], some, [c[low:row] for c in columns])

    def finish(self) -> list[Entry]:
        """Return the entries."""
        self._close()
        return self._entries

    def _start(self) -> None:
        self._places: dict[Hashable, int] = {}
        self._chunks: list[Chunk] = []
        self._bytes = self._weighed = 0
        self._buffers = {EntryKind.STATES: _Buffer(), EntryKind.ROWS: _Buffer()}

    def _buffer(
        self, kind: EntryKind, number: int, names: Sequence[Hashable], counts: list[int], columns: list[list[Any]]
    ) -> None:
        buffer, places = self._buffers[kind], self._places
        buffer.numbers += [number] * len(names)
        buffer.places += [places.setdefault(name, len(places)) for name in names]
        buffer.counts += counts
        buffer.extend_columns(columns)
        if len(buffer.places) >= CHUNK_GROUPS:
            self._flush(kind)
            if self._bytes >= MOST_BYTES:
                self._close()

    def _flush(self, kind: EntryKind) -> None:
        buffer, self._buffers[kind] = self._buffers[kind], _Buffer()
        if buffer.places:
            groups = SliceGroups.of(kind, buffer.numbers, buffer.places, buffer.counts, buffer.columns)
            try:
                chunks = list(groups.encode(self._codec))
            except UnstorableError as failure:
                raise self._query.unstorable(failure, list(map(key_of, self._places))) from failure
            self._chunks += chunks
            self._bytes += sum(len(chunk.body) for chunk in chunks) + self._weigh_keys()

    def _weigh_keys(self) -> int:
        """Return the size in bytes of the keys that were not weighed yet."""
        fresh = [key_of(name) for name in islice(self._places, self._weighed, None)]
        self._weighed = len(self._places)
        return len(self._codec.pack(ValueColumn(fresh)))

    def _close(self) -> None:
        for kind in self._buffers:
            self._flush(kind)
        if self._chunks:
            blob = encode_blob([key_of(name) for name in self._places], self._chunks, self._codec)
            first, last = min(chunk.first for chunk in self._chunks), max(chunk.last for chunk in self._chunks)
            self._entries.append(entry_of([blob], first, last, self._codec))
        self._start()
