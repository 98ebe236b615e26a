"""The state of a bucket as a log: each batch adds what it brought, and what is dead is dropped whole.

Rewriting the cell of a slice whenever a row falls into it would write a day's keys again and again for a day-long
slice. An entry is written once instead, by the batch that brought it. Entries of a like age are merged now and then,
each about log8 of the number of batches times, so a bucket that is read back reads few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from muntin_engine.evaluators.over_slices.slice_store import Delta, Entry, Output, SliceStore, StoredEntry
from muntin_engine.state.cells import Cells, damaged
from muntin_engine.state.compatibility import SchemaVersion

MOST_ALIKE: Final = 8
"""How many entries of one level there may be before they are merged into one of the next."""

MOST_BYTES: Final = 2 * 2**20
"""Entries from this size on are not merged any more."""


class Segment(NamedTuple):
    """An entry as the metadata lists it.

    Attributes:
        serial: Names its cell.
        first: The first slice in it.
        last: The last one; when that is dead, so is the entry.
        level: How often it was merged.
        size: Its bytes.
        is_full: True if it is a part that merging could not make fewer of.
        schema_version: The number of the schema version that wrote it.
    """

    serial: int
    first: int
    last: int
    level: int
    size: int
    is_full: bool = False
    schema_version: int = 0

    @property
    def cell(self) -> str:
        """The name of its cell."""
        return f"entry {self.serial}"

    @property
    def can_grow(self) -> bool:
        """True if it is to be merged with others."""
        return self.size < MOST_BYTES and not self.is_full


class SliceLog:
    """The entries of one bucket.

    Cost: one write for what a batch brought, one removal for each entry that died, and, amortised, a few reads and
    writes of as many bytes for each byte brought.
    """

    def __init__(
        self,
        cells: Cells,
        segments: Sequence[Segment] = (),
        serial: int = 0,
        schema_versions: Sequence[SchemaVersion] = (SchemaVersion(),),
    ) -> None:
        """Open a log as the metadata describes it, with the schema versions that wrote it, the present one last."""
        self._cells = cells
        self._schema_versions = schema_versions
        self._segments = list(segments)
        self._serial = serial

    def to_data(self) -> list[object]:
        """Return the log's data for the metadata."""
        return [self._serial, [list(segment) for segment in self._segments]]

    @classmethod
    def from_data(
        cls, cells: Cells, data: Sequence[Any], schema_versions: Sequence[SchemaVersion] = (SchemaVersion(),)
    ) -> SliceLog:
        """Return the log that `to_data` described."""
        serial, segments = data
        return cls(cells, [Segment(*segment) for segment in segments], serial, schema_versions)

    @property
    def size(self) -> int:
        """The bytes of all entries."""
        return sum(segment.size for segment in self._segments)

    def read(self) -> list[StoredEntry]:
        """Return all entries."""
        return [self._read(segment) for segment in self._segments]

    def append(self, entries: Sequence[Entry]) -> None:
        """Write what a batch brought."""
        for entry in entries:
            self._write(entry, level=0)

    def forget(self, first_live: int) -> None:
        """Remove the entries that lie wholly before a slice."""
        for segment in self._segments:
            if segment.last < first_live:
                self._cells.remove(segment.cell)
        self._segments = [segment for segment in self._segments if segment.last >= first_live]

    def replace(self, entries: Sequence[Entry]) -> None:
        """Write some entries in the place of all."""
        for segment in self._segments:
            self._cells.remove(segment.cell)
        self._segments = []
        self.append(entries)

    def compact(self, store: SliceStore[Delta, Output], first_live: int) -> None:
        """Merge entries where there are many of a level."""
        level = 0
        while level <= max((segment.level for segment in self._segments), default=-1):
            alike = [segment for segment in self._segments if segment.level == level and segment.can_grow]
            if len(alike) > MOST_ALIKE:
                self._merge(alike, store, first_live)
            level += 1

    def _merge(self, alike: Sequence[Segment], store: SliceStore[Delta, Output], first_live: int) -> None:
        merged = store.compact([self._read(segment) for segment in alike], first_live)
        for segment in alike:
            self._cells.remove(segment.cell)
        self._segments = [segment for segment in self._segments if segment not in alike]
        is_full = 2 * len(merged) > len(alike)
        for place, entry in enumerate(merged, 1):
            self._write(entry, alike[0].level + 1, is_full=is_full and place < len(merged))

    def _write(self, entry: Entry, level: int, *, is_full: bool = False) -> None:
        self._serial += 1
        segment = Segment(
            self._serial, entry.first, entry.last, level, len(entry.data), is_full, len(self._schema_versions) - 1
        )
        self._cells.put(segment.cell, entry.data)
        self._segments.append(segment)

    def _read(self, segment: Segment) -> StoredEntry:
        data = self._cells.get(segment.cell)
        if data is None:
            raise damaged(segment.cell, f"the metadata lists its {segment.size:,} bytes, and it is empty")
        is_present = segment.schema_version == len(self._schema_versions) - 1
        return StoredEntry(data, None if is_present else self._schema_versions[segment.schema_version])
