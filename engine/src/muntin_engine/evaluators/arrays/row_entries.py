"""Rows as entries of a bucket's log, and the calls of modules with the rows of a window when it closes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Event, Window
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.coding import expanded
from muntin_engine.evaluators.arrays.edges import by_key_and_start
from muntin_engine.evaluators.arrays.entries import ENTRY_BYTES, Decoded, FormEntries
from muntin_engine.evaluators.arrays.key_table import keys_in
from muntin_engine.evaluators.arrays.late_rows import LateRows, without_sources
from muntin_engine.evaluators.arrays.queues import RowQueue
from muntin_engine.evaluators.arrays.rows import TIMES, RowLists
from muntin_engine.evaluators.arrays.state_windows import sliding_windows
from muntin_engine.evaluators.arrays.states import StateModule, States
from muntin_engine.evaluators.arrays.stretch_table import LISTS, STATE, Part, StretchTable
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, stored_event
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.time.changes import Key
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.python_values import values_in

MOST_OBJECTS: Final = 1 << 20
"""About so many rows are Python objects at a time; a window has all of its own."""


class RowEntries(FormEntries):
    """Reads and writes rows as they came, and has modules compute windows of them.

    Cost: nothing is done for a row, or a key, in Python before a window closes. Then the rows of the windows are sorted
    once by window and time, become Python objects, and each module is called for each window.
    """

    def __init__(
        self,
        query: EvaluatorQuery,
        sliding: Sequence[SliceGrid] = (),
        values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in,
        late: LateRows | None = None,
    ) -> None:
        """Read and write for the modules of a query.

        Args:
            query: The query.
            sliding: Its slices, if states go on from window to window.
            values_of: Returns the values of an input column.
            late: Makes late rows, if these are wanted.
        """
        super().__init__((), {LISTS: None}, late)
        self._query, self._values_of = query, values_of
        self._computed = WindowResults(query)
        self._modules = tuple(map(StateModule, query.bindings)) if sliding else ()
        self._windows = sliding_windows(self._modules, sliding, self.keys, RowQueue)

    def decoded(self, entry: StoredEntry) -> Decoded:
        """Return the rows of an entry with the columns that the query has now."""
        found, version = super().decoded(entry), entry.schema_version
        if version is None:
            return found
        lists: RowLists = found.batch.parts[LISTS]
        renamed = replace(lists, table=_with_inputs(lists.table, version.columns))
        return found._replace(batch=replace(found.batch, parts={LISTS: renamed}))

    def in_time(self, batch: StretchTable) -> StretchTable:
        """Return what is held of what came in time."""
        return without_sources(batch)

    def _seen(self, slices: StretchTable) -> StretchTable:
        """Return slices with a list of payloads for each module."""
        lists: RowLists = slices.parts[LISTS]
        places, bounds = lists.places(), [0, *np.cumsum(slices.weight).tolist()]
        columns = lists.payload(places, self._values_of)
        parts = {}
        for place, module in enumerate(self._modules):
            seen = module.payloads(columns, len(places))
            groups = ([one for one in seen[start:stop] if one is not SKIPPED] for start, stop in pairwise(bounds))
            parts[Part(place, STATE)] = States.of(module, groups, len(slices))
        return replace(slices, parts=parts)

    def results(self, ended: StretchTable) -> list[list[Any]]:
        """Return the results of each module; of an operator, the list of rows of each window.

        Where an operator says how long its rows last, these are events.

        Raises:
            ModuleFailedError: A module raised an exception.
            ModuleContractError: An operator's row starts before its window, and the query keeps it.
        """
        found: list[list[Any]] = [[] for _ in self._computed.computations]
        ends = np.cumsum(ended.weight)
        cuts = np.searchsorted(ends, np.arange(0, ends[-1], MOST_OBJECTS), "right").tolist()
        for start, stop in pairwise([*dict.fromkeys(cuts), len(ended)]):
            for place, more in enumerate(self._of_windows(ended.take(slice(start, stop)))):
                found[place] += more
        return found

    def _of_windows(self, ended: StretchTable) -> Iterator[list[Any]]:
        """Yield the results of each module for some windows."""
        lists: RowLists = ended.parts[LISTS]
        places = lists.places()
        starts = lists.table.column("start").to_numpy()[places]
        places = places[by_key_and_start(np.repeat(np.arange(len(ended)), ended.weight), starts)]
        columns = lists.payload(places, self._values_of)
        windows = list(map(Window, ended.low.tolist(), ended.high.tolist()))
        bounds = list(pairwise([0, *np.cumsum(ended.weight).tolist()]))
        keys, events, found = keys_in(self.keys.take(ended.keys)), list[StoredEvent](), list[Any]()
        for computation in self._computed.computations:
            if computation.sees_events:
                events = events or _events(lists, places, columns)
                members = (events[start:stop] for start, stop in bounds)
                found = list(map(computation.result_of_members, members, keys, windows))
            else:
                seen = computation.payloads(columns, len(places))
                groups = (seen[start:stop] for start, stop in bounds)
                if computation.is_choosy:
                    groups = ([one for one in group if one is not SKIPPED] for group in groups)
                found = list(map(computation.result_of_seen, groups, keys, windows))
            yield list(map(self._stamped, found, keys, windows)) if self._query.is_operator else found

    def _stamped(self, rows: list[Any], key: Key, window: Window) -> list[Any]:
        """Return the rows of an operator: as events with the lifetimes that they get, where it says these itself."""
        if not self._query.timestamps.is_set_by_module:
            return [row.payload if isinstance(row, Event) else row for row in rows]
        return [Event(row.start, row.end, row.value) for row in self._computed.stamper.rows(key, window, [rows])]

    def _written(self, live: StretchTable, packed: Sequence[bytes]) -> Iterator[Entry]:
        return super()._written(_divided(live), packed)


def _events(lists: RowLists, places: IntArray, columns: Sequence[list[Any]]) -> list[StoredEvent]:
    """Return rows as events, by their places."""
    starts, ends, payloads = lists.rows(places, columns)
    return list(map(stored_event, zip(range(len(places)), starts, ends, payloads, starts, ends, strict=True)))


def _with_inputs(table: pa.Table, columns: Sequence[int | None]) -> pa.Table:
    """Return rows with their input columns, given the place at which each was when they were written."""
    times = {name: table.column(name) for name in TIMES if name in table.column_names}
    return pa.table(times | {f"i{now}": table.column(f"i{was}") for now, was in enumerate(columns)})


def _divided(live: StretchTable) -> StretchTable:
    """Return stretches of so few rows that an entry may have any number of them."""
    lists: RowLists = live.parts[LISTS]
    most = max(1, int(live.weight.sum()) * ENTRY_BYTES // max(lists.nbytes, 1))
    pieces = (live.weight + most - 1) // most
    if not len(live) or pieces.max() == 1:
        return live
    owners, within = expanded(pieces)
    counts = np.minimum(live.weight[owners] - within * most, most)
    bare = replace(live, parts={}).take(owners)
    return replace(bare, weight=counts, parts={LISTS: RowLists.of(lists.copied().table, counts)})
