"""The state of a bucket as a log: each batch appends its changes, and dead entries are dropped whole.

Rewriting a cell whenever a row changes a part of it would write a day's keys again and again for a day-long window. An
entry is written once instead, by the batch that brought it. Entries of about one age are merged now and then, so that
few are read when a bucket is. Data is merged again about log8(n) times in n batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from muntin import EARLIEST
from muntin_engine.state.cells import Cells, damaged
from muntin_engine.state.schema_versions import SchemaVersion

MOST_OF_LEVEL: Final = 8
"""The most entries of one level; more are merged into one of the next level."""

FULL_ENTRY: Final = 2 * 2**20
"""The bytes from which on an entry is not merged any more."""

MOST_DEAD: Final = 16 * 2**10
"""A log is not rewritten for so few dead bytes alone."""


class Entry(NamedTuple):
    """A part of a bucket's state as bytes, which is appended to the log.

    Attributes:
        last: The last position on the axis that the part is about, such as the start of a slice. The entry is dead once
            no position up to it is live.
        data: The part.
    """

    last: int
    data: bytes


class LogEntry(NamedTuple):
    """An entry that was read from the log.

    Attributes:
        data: The part of the state.
        schema_version: The schema version of the query that wrote it, if it was another one.
    """

    data: bytes
    schema_version: SchemaVersion | None = None


class Merges(Protocol):
    """Merges entries of a log: the store that they are parts of, which can read them."""

    def merge(self, entries: Sequence[LogEntry], first_live: int) -> list[Entry]:
        """Merge log entries into as few as possible, without what lies before the first live position.

        Args:
            entries: The entries, as they were appended or merged before. Those of `StateLog.rewrite` are never among
                them, so these may have another form.
            first_live: The first live position.
        """
        ...


class Segment(NamedTuple):
    """An entry as the metadata lists it.

    Attributes:
        serial: The number that names its cell.
        last: The last position that the entry is about; when that is dead, so is the entry.
        level: The number of times that the entry was merged.
        size: The number of its bytes.
        is_full: True if the entry is never merged with others: that would hardly leave fewer entries, or `rewrite`
            wrote it.
        schema_version: The number of the schema version that wrote it.
    """

    serial: int
    last: int
    level: int
    size: int
    is_full: bool = False
    schema_version: int = 0

    @property
    def cell(self) -> str:
        """The name of its cell."""
        return f"entry {self.serial}"


class StateLog:
    """The entries of one bucket.

    Cost: one write for the changes of a batch, one removal for each entry that died, and, amortised, a few reads and
    writes for each byte.

    Attributes:
        serial: The number of entries that were ever written.
    """

    def __init__(
        self,
        cells: Cells,
        data: Sequence[Any] = (0, ()),
        schema_versions: Sequence[SchemaVersion] = (SchemaVersion(),),
    ) -> None:
        """Open a log.

        Args:
            cells: The cells of its entries.
            data: The data that `to_data` returned.
            schema_versions: The schema versions that wrote it, the present one last.
        """
        self._cells = cells
        self._schema_versions = schema_versions
        self.serial, segments = data
        self._segments = [Segment(*segment) for segment in segments]

    def to_data(self) -> list[object]:
        """Return the log's data for the metadata."""
        return [self.serial, [list(segment) for segment in self._segments]]

    @property
    def size(self) -> int:
        """The bytes of all entries."""
        return sum([segment.size for segment in self._segments])

    @property
    def names(self) -> list[str]:
        """The names of the entries' cells."""
        return [segment.cell for segment in self._segments]

    def read(self) -> list[LogEntry]:
        """Return all entries, in no order of age.

        Merged entries are put at the end, behind entries that are too large to be merged, which may be newer.
        """
        return [self._read(segment) for segment in self._segments]

    def append(self, entries: Sequence[Entry], level: int = 0, *, is_full: bool = False) -> None:
        """Write entries.

        Args:
            entries: The changes of a batch, or merged entries.
            level: The number of times that the entries were merged.
            is_full: True if the entries are not to be merged with others any more.
        """
        present_version = len(self._schema_versions) - 1
        for last, data in entries:
            self.serial += 1
            segment = Segment(
                serial=self.serial,
                last=last,
                level=level,
                size=len(data),
                is_full=is_full,
                schema_version=present_version,
            )
            self._cells.put(segment.cell, data)
            self._segments.append(segment)

    def forget(self, first_live: int) -> None:
        """Remove the entries that are dead: those that lie before the first live position as a whole.

        Args:
            first_live: The first position on the axis of which the state is still needed, such as the start of a slice.
        """
        live_segments: list[Segment] = []
        for segment in self._segments:
            if segment.last < first_live:
                self._cells.remove(segment.cell)
            else:
                live_segments.append(segment)
        self._segments = live_segments

    def compact(self, store: Merges, first_live: int, full_entry: int | None = None) -> None:
        """Merge the entries of each level that has many.

        Args:
            store: The store that merges entries.
            first_live: The first live position; merged entries leave out what lies before it.
            full_entry: The bytes from which on an entry is not merged any more; None for `FULL_ENTRY`.
        """
        most_bytes = FULL_ENTRY if full_entry is None else full_entry
        by_level: dict[int, list[Segment]] = {}
        for segment in self._segments:
            if segment.size < most_bytes and not segment.is_full:
                by_level.setdefault(segment.level, []).append(segment)
        for level in sorted(by_level):
            if len(by_level[level]) > MOST_OF_LEVEL:
                self._merge(by_level[level], store, first_live)
                self.compact(store, first_live, full_entry)  # there may be many of the next level now
                return

    def tidy(
        self,
        store: Merges,
        live_bytes: int,
        whole: Callable[[], Sequence[Entry]],
        first_live: int = EARLIEST,
        full_entry: int | None = None,
    ) -> None:
        """Write the log anew if more than half of it is dead; otherwise merge the entries of each level that has many.

        If nothing is live, it is written anew however small it is: there is next to nothing to write, and otherwise
        each start would read the dead entries of a bucket whose keys may never come again.

        Args:
            store: The store that merges entries.
            live_bytes: The bytes of the state that is live.
            whole: The function that returns the whole state as entries.
            first_live: The first live position; merged entries leave out what lies before it.
            full_entry: The bytes from which on an entry is not merged any more; None for `FULL_ENTRY`.
        """
        if not live_bytes or self.size > 2 * live_bytes + MOST_DEAD:
            self.rewrite(whole())
        else:
            self.compact(store, first_live, full_entry)

    def rewrite(self, entries: Sequence[Entry]) -> None:
        """Write the whole state anew, as entries that are never merged with others.

        So they may have a form that `Merges.merge` does not read: those of `RankedStore` have ranks.
        """
        for segment in self._segments:
            self._cells.remove(segment.cell)
        self._segments = []
        self.append(entries, is_full=True)

    def _merge(self, segments: Sequence[Segment], store: Merges, first_live: int) -> None:
        """Merge entries of one level into few of the next."""
        merged_entries = store.merge([self._read(segment) for segment in segments], first_live)
        for segment in segments:
            self._cells.remove(segment.cell)
        self._segments = [segment for segment in self._segments if segment not in segments]
        level = segments[0].level + 1
        # All merged entries but the last are as large as entries get. If merging has not even halved their number, to
        # merge them once more would cost as much and hardly help: they are marked as full.
        has_hardly_helped = 2 * len(merged_entries) > len(segments)
        self.append(merged_entries[:-1], level, is_full=has_hardly_helped)
        self.append(merged_entries[-1:], level)

    def _read(self, segment: Segment) -> LogEntry:
        """Read an entry, with the schema version that wrote it unless that is the present one.

        Raises:
            StateError: The cell of the entry is empty, or damaged.
        """
        data = self._cells.get(segment.cell)
        if data is None:
            raise damaged(segment.cell, f"the metadata lists its {segment.size:,} bytes, and it is empty")
        is_present = segment.schema_version == len(self._schema_versions) - 1
        return LogEntry(data, None if is_present else self._schema_versions[segment.schema_version])
