"""The state of a bucket as a journal: each batch adds what it brought, and what is dead is dropped whole.

Rewriting the cell of a slice whenever a row falls into it would write a day's keys again and again for a day-long
slice. An entry is written once instead, by the batch that brought it. Entries of a like age are merged now and then,
each about log8 of the number of batches times, so a bucket that is read back reads few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from muntin_engine.evaluators.over_slices.slice_store import Entry, SliceStore, Stored
from muntin_engine.state.cells import Cells
from muntin_engine.state.checked_cells import damaged
from muntin_engine.state.editions import Edition

MOST_ALIKE: Final = 8
"""How many entries of one tier there may be before they are merged into one of the next."""

MOST_BYTES: Final = 2 * 2**20
"""Entries from this size on are not merged any more."""


class Line(NamedTuple):
    """An entry as the ledger lists it.

    Attributes:
        serial: Names its cell.
        first: The first slice in it.
        last: The last one; when that is dead, so is the entry.
        tier: How often it was merged.
        size: Its bytes.
        is_full: True if it is a part that merging could not make fewer of.
        edition: The number of the edition that wrote it.
    """

    serial: int
    first: int
    last: int
    tier: int
    size: int
    is_full: bool = False
    edition: int = 0

    @property
    def cell(self) -> str:
        """The name of its cell."""
        return f"entry {self.serial}"

    @property
    def can_grow(self) -> bool:
        """True if it is to be merged with others."""
        return self.size < MOST_BYTES and not self.is_full


class Journal:
    """The entries of one bucket.

    Cost: one write for what a batch brought, one removal for each entry that died, and, amortised, a few reads and
    writes of as many bytes for each byte brought.
    """

    def __init__(
        self,
        cells: Cells,
        lines: Sequence[Line] = (),
        serial: int = 0,
        editions: Sequence[Edition] = (Edition(),),
    ) -> None:
        """Open a journal as a ledger describes it, with the editions that wrote it, the present one last."""
        self._cells = cells
        self._editions = editions
        self._lines = list(lines)
        self._serial = serial

    def to_data(self) -> list[Any]:
        """Return what the ledger keeps of it."""
        return [self._serial, [list(line) for line in self._lines]]

    @classmethod
    def from_data(cls, cells: Cells, data: Sequence[Any], editions: Sequence[Edition] = (Edition(),)) -> Journal:
        """Return the journal that `to_data` described."""
        serial, lines = data
        return cls(cells, [Line(*line) for line in lines], serial, editions)

    @property
    def size(self) -> int:
        """The bytes of all entries."""
        return sum(line.size for line in self._lines)

    def read(self) -> list[Stored]:
        """Return all entries."""
        return [self._read(line) for line in self._lines]

    def append(self, entries: Sequence[Entry]) -> None:
        """Write what a batch brought."""
        for entry in entries:
            self._write(entry, tier=0)

    def forget(self, first_live: int) -> None:
        """Remove the entries that lie wholly before a slice."""
        for line in self._lines:
            if line.last < first_live:
                self._cells.remove(line.cell)
        self._lines = [line for line in self._lines if line.last >= first_live]

    def tidy(self, store: SliceStore[Any, Any], first_live: int) -> None:
        """Merge entries where there are many of a tier."""
        tier = 0
        while tier <= max((line.tier for line in self._lines), default=-1):
            alike = [line for line in self._lines if line.tier == tier and line.can_grow]
            if len(alike) > MOST_ALIKE:
                self._merge(alike, store, first_live)
            tier += 1

    def _merge(self, alike: Sequence[Line], store: SliceStore[Any, Any], first_live: int) -> None:
        merged = store.compact([self._read(line) for line in alike], first_live)
        for line in alike:
            self._cells.remove(line.cell)
        self._lines = [line for line in self._lines if line not in alike]
        is_full = 2 * len(merged) > len(alike)
        for place, entry in enumerate(merged, 1):
            self._write(entry, alike[0].tier + 1, is_full=is_full and place < len(merged))

    def _write(self, entry: Entry, tier: int, *, is_full: bool = False) -> None:
        self._serial += 1
        line = Line(self._serial, entry.first, entry.last, tier, len(entry.data), is_full, len(self._editions) - 1)
        self._cells.put(line.cell, entry.data)
        self._lines.append(line)

    def _read(self, line: Line) -> Stored:
        data = self._cells.get(line.cell)
        if data is None:
            raise damaged(line.cell, f"the ledger lists its {line.size:,} bytes, and it is empty")
        is_present = line.edition == len(self._editions) - 1
        return Stored(data, None if is_present else self._editions[line.edition])
