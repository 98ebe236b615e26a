"""Python states of modules that define `combine` as the values of stretches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin_engine.evaluators.arrays.stretches.coding import distinct, stable_order
from muntin_engine.evaluators.arrays.stretches.key_table import At, KeyTable
from muntin_engine.evaluators.arrays.stretches.stretch_blobs import from_blob
from muntin_engine.evaluators.arrays.stretches.stretch_codec import ENTRY_BYTES, Arrival, coded, entry_of
from muntin_engine.evaluators.arrays.stretches.stretch_table import (
    LISTS,
    LISTS_ALONE,
    ROWS,
    Groups,
    StretchTable,
    alike,
)
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, lift_each
from muntin_engine.evaluators.arrays.values.slice_queues import queue_of_states
from muntin_engine.evaluators.arrays.values.sliding_windows import SlidingWindows, sliding_windows
from muntin_engine.evaluators.arrays.values.state_modules import StateModules, lift_states, located, whereabouts
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.state.log import Entry, LogEntry
from muntin_engine.state.schema_versions import SchemaVersion
from muntin_engine.time.slice_grid import SliceGrid

ENTRY_STATES: Final = 1 << 14
"""A log entry has at most so many states of a module."""

STATE_MEMORY: Final = 8
"""The memory of a Python state as a multiple of the bytes that are written of it, roughly."""


class PythonStates(StretchValues):
    """A Python state of each module.

    Map tasks send the states of slices; of sessions they send the rows, of which the bucket makes states.

    Cost: `combine` once for each state that arrives for a stretch that has one; otherwise that of `StateModules` and
    `SlidingWindows`, and a few passes over arrays.
    """

    def __init__(
        self, modules: StateModules, grids: Sequence[SliceGrid] = (), gap: int = 1, *, with_late_rows: bool = False
    ) -> None:
        """Describe the states of a query.

        Args:
            modules: The modules of the query.
            grids: The windows of each specification, over slices that all of them share; none of sessions.
            gap: How far the stretch of an event reaches past its last tick: by the gap of sessions, otherwise by 1
                tick.
            with_late_rows: True if the rows travel with the states, because late rows are kept.
        """
        super().__init__(with_late_rows=with_late_rows)
        self._modules = modules
        self._grids = grids
        self._gap = gap

    def lift_into_slices(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the states of slices for each bucket."""
        return lift_states(self._modules, self._grids, rows, with_rows=self.with_late_rows)

    def lift_each(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the payload of each row for each bucket."""
        return lift_each(self._gap, rows, with_rows=self.with_late_rows)

    def read_blob(self, blob: bytes, keys: KeyTable, *, with_rows: bool) -> Arrival:
        """Decode a blob of a map task: the states of slices, or the rows of sessions."""
        # States come packed after the table of stretches, rows of sessions as its columns, late rows as lists.
        blob_keys, blob_stretches, packed = from_blob(blob, LISTS_ALONE if with_rows else {})
        arrival = coded(keys, blob_keys, blob_stretches, packed)
        if not self._grids:
            return arrival  # of sessions, rows are sent

        late_rows = {LISTS: arrival.stretches.parts[LISTS]} if with_rows else {}
        stretches = replace(arrival.stretches, parts={})
        if arrival.packed:  # rows in gaps between windows come without states
            stretches = self._with_states(stretches, arrival.packed, keys)
        stretches = replace(stretches, parts={**stretches.parts, **late_rows})

        # Keys that differ as bytes may be equal, such as 0.0 and -0.0: then stretches of one key and slice are merged.
        distinct_codes, _ = distinct(arrival.codes)
        if len(distinct_codes) < len(arrival.codes):
            stretches = self.merge(stretches, alike(stretches), keys)
        return Arrival(arrival.codes, stretches)

    def read_entry(self, entry: LogEntry, keys: KeyTable) -> Arrival:
        """Decode a log entry, and upgrade the states if an older schema version wrote them."""
        entry_keys, entry_stretches, packed = from_blob(entry.data, {})
        arrival = coded(keys, entry_keys, entry_stretches, packed)
        stretches = self._with_states(arrival.stretches, arrival.packed, keys, entry.schema_version)
        return arrival._replace(stretches=stretches)

    def entries(self, stretches: StretchTable, keys: KeyTable, size: int, packed: Sequence[bytes]) -> Iterator[Entry]:
        """Encode states as log entries."""
        assert not packed, "states are all that is packed beside stretches"
        for start in range(0, len(stretches), ENTRY_STATES):
            yield from self._entries_of_size(stretches.take(slice(start, start + ENTRY_STATES)), keys)

    def lift_groups(self, rows: StretchTable, groups: Groups, keys: KeyTable) -> StretchTable:
        """Make a state of the rows of each session, by one call that adds all of them.

        Args:
            rows: The rows, each a stretch of its own.
            groups: The sessions.
            keys: The keys of the bucket.
        """
        payload = rows.parts[ROWS].table if ROWS in rows.parts else pa.table({})  # modules may read no column at all
        counts = np.bincount(groups.codes)
        inputs = [column.combine_chunks() for column in payload.columns]
        order = stable_order(groups.codes, len(counts))
        parts = self._modules.lift(inputs, order, counts, self._whereabouts(groups, keys))
        return StretchTable(groups.keys, groups.low, groups.high, counts, parts)

    def merge(self, stretches: StretchTable, groups: Groups, keys: KeyTable) -> StretchTable:
        """Combine the states of each group into one; `combine` may change the first state of a group in place."""
        with located(self._whereabouts(groups, keys)):
            return stretches.reduce(groups)

    def results(self, windows: StretchTable, keys: KeyTable) -> list[list[Any]]:
        """Return for each module the result of each window; an operator's result is a list of rows."""

        def extent(place: int) -> Window:
            """Return the extent of a window."""
            return Window(int(windows.low[place]), int(windows.high[place]))

        return self._modules.results(windows, whereabouts(keys, windows.keys, extent))

    def sliding_windows(self, keys: KeyTable) -> Sequence[SlidingWindows]:
        """Return the makers of windows, which combine the states of slices."""
        return sliding_windows(self._modules.modules, self._grids, keys, queue_of_states, slices_have_states=True)

    def bytes_of_objects(self, written_bytes: int) -> int:
        """Estimate the memory of states."""
        return STATE_MEMORY * written_bytes

    def _with_states(
        self, stretches: StretchTable, packed: Sequence[bytes], keys: KeyTable, version: SchemaVersion | None = None
    ) -> StretchTable:
        """Return stretches with the states that were packed beside them, upgraded to the present schema version.

        Args:
            stretches: The stretches.
            packed: The encoded states of each module.
            keys: The keys of the bucket.
            version: The schema version that packed the states; None if that is the present one.
        """
        states = self._modules.unpack(packed, len(stretches), version, self._whereabouts(stretches, keys))
        return replace(stretches, parts=states)

    def _entries_of_size(self, stretches: StretchTable, keys: KeyTable) -> Iterator[Entry]:
        """Encode states as one log entry; if it is too large, as the entries of each half."""
        codes, places = distinct(stretches.keys)
        numbered = stretches.with_keys(places)  # an entry numbers its own keys from 0
        data = self._modules.to_blob(keys.take(codes), numbered, self._whereabouts(stretches, keys))
        if len(data) <= ENTRY_BYTES or len(stretches) == 1:
            yield entry_of(stretches, data)
            return
        half = len(stretches) // 2
        yield from self._entries_of_size(stretches.take(slice(0, half)), keys)
        yield from self._entries_of_size(stretches.take(slice(half, len(stretches))), keys)

    def _whereabouts(self, stretches: StretchTable | Groups, keys: KeyTable) -> At:
        """Make the function that tells the key and the window of a state by the place of its stretch, for messages."""

        def extent(place: int) -> Window:
            """Return the extent of a slice, or of a session."""
            low = int(stretches.low[place])
            if self._grids:
                return self._grids[0].extent(low)  # all grids have the same slices
            return Window(low, int(stretches.high[place]))

        return whereabouts(keys, stretches.keys, extent)
