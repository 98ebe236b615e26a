"""Rows as the values of stretches, and the calls of modules with the rows of a window when it closes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Event, Window
from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.stretches.coding import by_key_and_start, expanded, few_members
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, key_names
from muntin_engine.evaluators.arrays.stretches.python_states import StateModule, States
from muntin_engine.evaluators.arrays.stretches.row_values import SOURCE, TIMES, RowLists
from muntin_engine.evaluators.arrays.stretches.stretch_codec import ENTRY_BYTES, Arrival, ColumnFormat
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, LISTS_ALONE, STATE, Part, StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, lift_each, lift_rows
from muntin_engine.evaluators.arrays.values.slice_queues import RowQueue
from muntin_engine.evaluators.arrays.values.sliding_windows import SlidingWindows, sliding_windows
from muntin_engine.evaluators.arrays.values.stretch_values import StretchValues
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.keyed.called_windows import CalledWindows
from muntin_engine.evaluators.keyed.computation import WindowResults
from muntin_engine.evaluators.keyed.event_index import StoredEvent, stored_event
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.log import Entry, LogEntry
from muntin_engine.time.changes import Key
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.arrow_arrays import numpy_array
from muntin_engine.wire.python_values import values_in

MOST_OBJECTS: Final = 1 << 15
"""About so many rows are Python objects at a time, and the next ones get their memory; a window has all of its own."""


class ListedRows(ColumnFormat, StretchValues):
    """The rows themselves, with their times: modules compute windows of them.

    Cost: nothing is done for a row, or a key, in Python before a window closes. Then the rows of the windows are sorted
    once by window and time, become Python objects, and each module is called for each window.
    """

    def __init__(  # what rows and their windows depend on
        self,
        query: EvaluatorQuery,
        grids: Sequence[SliceGrid] = (),
        gap: int = 1,
        *,
        slides: bool = False,
        values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in,
        with_late_rows: bool = False,
    ) -> None:
        """Describe the rows of a query.

        Args:
            query: The query.
            grids: The windows of each specification, over slices that all of them share; none of sessions and
                snapshots.
            gap: How far the stretch of an event reaches past its last tick: by the gap of sessions, otherwise by 1
                tick.
            slides: True if modules carry their states from window to window, adding and removing rows.
            values_of: Returns the values of an input column.
            with_late_rows: True if late rows are kept, with their sources.
        """
        ColumnFormat.__init__(self, parts=LISTS_ALONE)
        StretchValues.__init__(self, with_late_rows=with_late_rows)
        self._query = query
        self._grids = grids
        self._gap = gap
        self._values_of = values_of
        self._computed = WindowResults(query)
        self._modules = tuple(map(StateModule, query.bindings)) if slides else ()
        """The modules that carry their states from window to window; none if they do not."""

    def lift_into_slices(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the rows of slices for each bucket."""
        slices = self._grids[0]  # all grids have the same slices
        return lift_rows(slices, forms=(), rows=rows, with_rows=True)

    def lift_each(self, rows: RowsToLift) -> Iterator[BucketBlob]:
        """Yield the rows as they are for each bucket."""
        return lift_each(self._gap, rows, (), with_rows=True)

    def read_entry(self, entry: LogEntry, keys: KeyTable) -> Arrival:
        """Decode a log entry, and bring the columns of its rows into the order that the query has now."""
        arrival = super().read_entry(entry, keys)
        version = entry.schema_version
        if version is None:  # the present schema version wrote the entry
            return arrival
        lists: RowLists = arrival.stretches.parts[LISTS]
        reordered_lists = replace(lists, table=_with_inputs(lists.table, version.columns))
        stretches = replace(arrival.stretches, parts={LISTS: reordered_lists})
        return arrival._replace(stretches=stretches)

    def entries(self, stretches: StretchTable, keys: KeyTable, size: int, packed: Sequence[bytes]) -> Iterator[Entry]:
        """Encode rows as log entries; a stretch of many rows is divided among several."""
        return super().entries(_divided(stretches), keys, size, packed)

    def without_late_rows(self, stretches: StretchTable) -> StretchTable:
        """Drop the sources of rows, which only rejections of late rows name. The rows stay: they are the values."""
        lists: RowLists = stretches.parts[LISTS]
        if SOURCE not in lists.table.column_names:
            return stretches
        without_sources = replace(lists, table=lists.table.drop_columns([SOURCE]))
        return replace(stretches, parts={**stretches.parts, LISTS: without_sources})

    def sliding_windows(self, keys: KeyTable) -> Sequence[SlidingWindows]:
        """Return the makers of windows, which add and remove rows; none if the modules compute each window anew."""
        if not self._modules:
            return ()
        return sliding_windows(self._modules, self._grids, keys, queue_of=RowQueue, slices_have_states=False)

    def of_slices(self, slices: StretchTable) -> StretchTable:
        """Return slices with lists of payloads, one for each module, in the place of states.

        Sliding windows add these payloads to their own states as the slice enters, and remove them as it leaves.
        """
        lists: RowLists = slices.parts[LISTS]
        places = lists.places()
        columns = lists.payload(places, self._values_of)
        bounds = [0, *np.cumsum(slices.weight).tolist()]  # the rows lie slice by slice, as many as its weight
        parts: dict[Part, States] = {}
        for module_place, module in enumerate(self._modules):
            payloads_of_slices = module.payloads(columns, len(places)).groups(bounds)
            parts[Part(module_place, STATE)] = States.of(module, payloads_of_slices, len(slices))
        return replace(slices, parts=parts)

    def results(self, windows: StretchTable, keys: KeyTable) -> list[list[Any]]:
        """Call the modules with the rows of each window.

        Returns:
            For each module the result of each window. The result of an operator is a list of rows; they are events if
            the operator says how long its rows last.

        Raises:
            ModuleFailedError: A module raised an exception.
            ModuleContractError: An operator's row starts before its window, and the query takes its times as they are.
        """
        results: list[list[Any]] = [[] for _ in self._computed.computations]
        # Windows are taken in runs of about `MOST_OBJECTS` rows.
        for start, stop in few_members(windows.weight, MOST_OBJECTS):
            run = windows.take(slice(start, stop))
            for place, values in enumerate(self._results_of_run(run, keys)):
                results[place] += values
        return results

    def _results_of_run(self, windows: StretchTable, keys: KeyTable) -> Iterator[list[Any]]:
        """Yield for each module its results for a run of windows, all of whose rows become Python objects at once."""
        # The rows are ordered by window, and those of a window by time.
        lists: RowLists = windows.parts[LISTS]
        places = lists.places()
        starts = numpy_array(lists.table.column("start"))[places]
        window_of_row = np.repeat(np.arange(len(windows)), windows.weight)
        places = places[by_key_and_start(window_of_row, starts)]
        columns = lists.payload(places, self._values_of)
        bounds = [0, *np.cumsum(windows.weight).tolist()]

        window_keys = keys.take(windows.keys)
        called_windows = CalledWindows(window_keys, key_names(window_keys), windows.low, windows.high)

        events: list[StoredEvent] = []  # made once, for all modules that see events
        results: list[Any]
        for computation in self._computed.computations:
            # Modules that see times get a window's rows as events, others get the payloads.
            if computation.sees_events:
                events = events or _events(lists, places, columns)
                results = []
                for (start, stop), (key, window) in zip(pairwise(bounds), called_windows, strict=True):
                    results.append(computation.result_of_members(events[start:stop], key, window))
            else:
                payloads = computation.payloads(columns, len(places))
                results = computation.results_of_groups(payloads, bounds, called_windows)
            if self._query.is_operator:
                rows_of_windows: list[list[Any]] = []
                for rows, (key, window) in zip(results, called_windows, strict=True):
                    rows_of_windows.append(self._output_rows(rows, key, window))
                results = rows_of_windows
            yield results

    def _output_rows(self, rows: list[Any], key: Key, window: Window) -> list[Any]:
        """Return the rows that an operator made of a window: their payloads, or events if it sets their times itself.

        Args:
            rows: The rows, as the operator returned them.
            key: The key of the window.
            window: The window.
        """
        if not self._query.timestamps.is_set_by_module:
            return [row.payload if isinstance(row, Event) else row for row in rows]
        stamped_rows = self._computed.stamper.rows(key, window, [rows])  # the rows are the result of the only module
        return [Event(row.start, row.end, row.value) for row in stamped_rows]


def _events(lists: RowLists, places: IntArray, columns: Sequence[list[Any]]) -> list[StoredEvent]:
    """Return rows as events for modules.

    Args:
        lists: The rows.
        places: The places of the rows, in the order of the events.
        columns: The columns of their payloads, in that order.
    """
    starts, ends, payloads = lists.rows(places, columns)
    # These rows have no ids: a number serves as the id. The last two fields say since and until when an event may be a
    # member of windows: as long as it lasts.
    ids = range(len(places))
    fields = zip(ids, starts, ends, payloads, starts, ends, strict=True)
    return list(map(stored_event, fields))


def _with_inputs(table: pa.Table, columns: Sequence[int | None]) -> pa.Table:
    """Bring the input columns of stored rows into the order that the query has now.

    Args:
        table: The rows, with their times.
        columns: For each input column of the query, its place among those of the stored rows.
    """
    reordered = {name: table.column(name) for name in TIMES if name in table.column_names}
    for place, stored_place in enumerate(columns):
        # There is a place: a query is refused if a module reads a column that its stored rows do not have.
        reordered[f"i{place}"] = table.column(f"i{stored_place}")
    return pa.table(reordered)


def _divided(stretches: StretchTable) -> StretchTable:
    """Divide stretches of many rows, so that the rows of each fit into a log entry."""
    # So many rows of average size make `ENTRY_BYTES`.
    lists: RowLists = stretches.parts[LISTS]
    rows_per_entry = max(1, int(stretches.weight.sum()) * ENTRY_BYTES // max(lists.nbytes, 1))
    piece_counts = (stretches.weight + rows_per_entry - 1) // rows_per_entry  # rounded up
    if not len(stretches) or piece_counts.max() == 1:
        return stretches

    # Each piece of a stretch is full, but for the last one. The rows stay in their order; only the counts change.
    owners, within = expanded(piece_counts)
    rows_left = stretches.weight[owners] - within * rows_per_entry
    counts = np.minimum(rows_left, rows_per_entry)
    pieces = replace(stretches, parts={}).take(owners)
    return replace(pieces, weight=counts, parts={LISTS: RowLists.of(lists.copied().table, counts)})
