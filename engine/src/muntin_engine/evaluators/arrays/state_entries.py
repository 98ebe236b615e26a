"""Batches of Python states as entries of a bucket's log, and rows as the states that modules make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin_engine.evaluators.arrays.coding import distinct
from muntin_engine.evaluators.arrays.entries import ENTRY_BYTES, Decoded, Entries, entry_of
from muntin_engine.evaluators.arrays.key_table import At
from muntin_engine.evaluators.arrays.late_rows import LateRows
from muntin_engine.evaluators.arrays.queues import queue_of_states
from muntin_engine.evaluators.arrays.state_modules import StateModules, located, whereabouts
from muntin_engine.evaluators.arrays.state_windows import sliding_windows
from muntin_engine.evaluators.arrays.stretch_blobs import from_blob
from muntin_engine.evaluators.arrays.stretch_table import LISTS, ROWS, Groups, StretchTable, alike
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.time.slice_grid import SliceGrid

ENTRY_STATES: Final = 1 << 14
"""Most states of a module in an entry."""


STATE_MEMORY: Final = 8
"""The memory of a Python state as a multiple of the bytes that are written of it, roughly."""


class StateEntries(Entries):
    """Reads and writes Python states, several modules to a stretch.

    What arrives are states of slices, or the rows of sessions.

    Cost: `combine` once for each state of a stretch that was there before; otherwise that of `StateModules` and
    `StateWindows`, and a few passes over arrays.
    """

    def __init__(self, modules: StateModules, grids: Sequence[SliceGrid] = (), late: LateRows | None = None) -> None:
        """Read and write for the modules of a query.

        Args:
            modules: The modules.
            grids: The slices of the query; none of sessions.
            late: Makes late rows, if these are wanted.
        """
        super().__init__({}, late)
        self._modules = modules
        self._windows = sliding_windows(modules.modules, grids, self.keys, queue_of_states)

    def _arrived(self, blob: bytes) -> Decoded:
        """Decode a blob from the map side."""
        found = super()._arrived(blob)
        if not self._windows:
            return found
        rows = {part: values for part, values in found.batch.parts.items() if part == LISTS}
        batch = self._with_states(found.batch, found.packed) if found.packed else replace(found.batch, parts={})
        batch = replace(batch, parts={**batch.parts, **rows})
        if len(distinct(found.codes)[0]) < len(found.codes):  # keys that differ as bytes may be equal
            batch = self.merge(batch, alike(batch))
        return Decoded(found.codes, batch)

    def lift(self, rows: StretchTable, groups: Groups) -> StretchTable:
        """Return the states of sessions, each with its rows added in one call."""
        table, counts = rows.parts[ROWS].table if ROWS in rows.parts else pa.table({}), np.bincount(groups.codes)
        inputs = [column.combine_chunks() for column in table.columns]
        parts = self._modules.lift(inputs, groups.codes, counts, self._at(groups))
        return StretchTable(groups.keys, groups.low, groups.high, counts, parts)

    def merge(self, batch: StretchTable, groups: Groups) -> StretchTable:
        """Return each group of states combined; the first of a group may be changed."""
        with located(self._at(groups)):
            return batch.reduce(groups)

    def results(self, ended: StretchTable) -> list[list[Any]]:
        """Return the results of each module; of an operator, the list of rows of each window."""
        at = whereabouts(self.keys, ended.keys, lambda place: Window(int(ended.low[place]), int(ended.high[place])))
        return self._modules.results(ended, at)

    def read(self, entry: StoredEntry) -> StretchTable:
        """Return an entry, upgraded if an older schema version wrote it."""
        found = self._coded(*from_blob(entry.data, self._parts))
        self._saw(len(entry.data), len(found.batch))
        return self._with_states(found.batch, found.packed, entry)

    def memory_of(self, stretches: int) -> int:
        """Return about how many bytes keys take in memory, and the states of stretches."""
        return super().memory_of(stretches) + STATE_MEMORY * self.size_of(stretches)

    def _with_states(
        self, bare: StretchTable, packed: Sequence[bytes], entry: StoredEntry | None = None
    ) -> StretchTable:
        version = None if entry is None else entry.schema_version
        parts = self._modules.unpack(packed, len(bare), version, self._at(bare))
        return StretchTable(bare.keys, bare.low, bare.high, bare.weight, parts)

    def _written(self, live: StretchTable, packed: Sequence[bytes]) -> Iterator[Entry]:
        assert not packed, "states lie there"
        starts = range(0, len(live), ENTRY_STATES)
        return (entry for start in starts for entry in self._cut(live.take(slice(start, start + ENTRY_STATES))))

    def _cut(self, some: StretchTable) -> Iterator[Entry]:
        """Yield states as an entry, or as several if it were huge."""
        codes, places = distinct(some.keys)
        data = self._modules.to_blob(self.keys.take(codes), some.with_keys(places), self._at(some))
        if len(data) > ENTRY_BYTES and len(some) > 1:
            half = len(some) // 2
            yield from self._cut(some.take(slice(0, half)))
            yield from self._cut(some.take(slice(half, len(some))))
        else:
            yield entry_of(some, data)

    def _at(self, stretches: StretchTable | Groups) -> At:
        def window(place: int) -> Window:
            low, high = int(stretches.low[place]), int(stretches.high[place])
            return self._windows[0].grid.extent(low) if self._windows else Window(low, high)

        return whereabouts(self.keys, stretches.keys, window)
