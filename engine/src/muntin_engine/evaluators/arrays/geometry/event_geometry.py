"""Windows of events with ids: on a grid, or snapshots, and what these keep of events that have ended.

An event is live until the watermark passes its end: until then a legal row may revise it. After that its partial state
is merged with those of other events, as that of an event is which nothing ever revises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.geometry.grid_geometry import add_piece, forget_slices, windows_of_pieces
from muntin_engine.evaluators.arrays.geometry.sessions_and_snapshots import are_past, cut_starts, snapshots_of
from muntin_engine.evaluators.arrays.geometry.tick_geometry import watermark_of_open_windows
from muntin_engine.evaluators.arrays.geometry.window_geometry import WindowGeometry
from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.store.live_events import START
from muntin_engine.evaluators.arrays.stretches.key_table import key_columns
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows
from muntin_engine.evaluators.arrays.stretches.slices import slices_of
from muntin_engine.evaluators.arrays.stretches.stretch_table import EMPTY, ROWS, StretchTable, concat, ends_before
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, row_parts
from muntin_engine.evaluators.arrays.values.stretch_values import FormComponents
from muntin_engine.state.bucket_state import BucketState
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.state.log import Entry, LogEntry, StateLog
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid, output_watermark


class EventGeometry(WindowGeometry[EventStore]):
    """Windows of events that may be revised: each live event is a stretch of its own, with the columns of its row.

    Cost: one write for what a batch changed, and a few passes over the live events. The log is written anew when more
    than half of it is garbage.
    """

    def __init__(self, components: FormComponents, codec: Codec, *, at_end: bool) -> None:
        """Make windows of events.

        Args:
            components: The components of the query's forms, which are lifted when events are added.
            codec: Writes waiting rows.
            at_end: True if results are points at the ends of windows.
        """
        self._components = components
        self._codec = codec
        self._at_end = at_end

    @abstractmethod
    def completed_windows(
        self, store: EventStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[StretchTable]:
        """Yield the windows that the progress has completed, from start to end in ticks."""

    @abstractmethod
    def forget_ended(self, store: EventStore, watermark: int) -> None:
        """Drop the events that end before a watermark from the live ones; keep what open windows need of them."""

    @abstractmethod
    def are_over(self, store: EventStore, events: StretchTable, watermark: int) -> BoolArray:
        """Return for each event whether it has ended and no open window needs it.

        Args:
            store: The store, after `forget_ended` for the same watermark.
            events: The events.
            watermark: The watermark.
        """

    def new_store(self) -> EventStore:
        """Return an empty store."""
        return EventStore(self._codec)

    def restore(self, store: EventStore, entries: Sequence[LogEntry], cells: Cells, progress: InputsProgress) -> None:
        """Read the events and results of the log, and the rows that wait for others of their event."""
        watermark = progress.least.watermark
        store.restore_waiting(cells)
        events, results = store.read_records(entries)
        # The weight of a retracted result is -1.
        store.results.held = results.where(results.weight > 0)
        store.results.forget(watermark)
        if len(events):
            store.schema = events.parts[ROWS].shared_table.schema
            # Events that have ended are added, too: `forget_ended` merges those that open windows need.
            is_deleted = events.high <= events.parts[START].array  # a deleted event ends where it starts
            self.add(store, [events.where(~is_deleted)])
            self.forget_ended(store, watermark)

    def stage(self, progress: InputsProgress) -> int:
        """Return the watermark, by which events end and rows stop waiting for others."""
        return progress.least.watermark

    def add(self, store: EventStore, rows: Sequence[StretchTable]) -> None:
        """Lift new events to partial states, and add them to the live ones."""
        events = concat([EMPTY, *rows])
        if not len(events):
            return
        keys = key_columns(store.keys.take(events.keys))
        payload_columns = events.parts[ROWS].table.columns[1:]  # the first column is the id
        inputs = [column.combine_chunks() for column in payload_columns]
        starts = events.parts[START].array
        event_rows = RowsToLift(bucket_count=1, starts=starts, ends=events.high, keys=keys, inputs=inputs)
        components = row_parts(
            self._components.forms, event_rows, order=np.arange(len(events)), stretch_ends=events.high
        )
        store.live.add(replace(events, parts={**events.parts, **components}))

    def completed(
        self, store: EventStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[ResultWindows]:
        """Yield the windows with members that the progress has completed."""
        for windows in self.completed_windows(store, previous, progress):
            if len(windows):
                yield ResultWindows(place=0, windows=windows, keys=store.keys.take(windows.keys))

    def forget(self, store: EventStore, previous: InputsProgress, progress: InputsProgress) -> None:
        """Drop the events that no row may revise any more and no open window needs."""
        del previous
        self.forget_ended(store, progress.least.watermark)

    def write(self, store: EventStore, state: BucketState, progress: InputsProgress) -> None:
        """Write the events and the results that a batch changed, and the rows that wait."""
        log = state.log
        watermark = progress.least.watermark
        serial = log.serial + 1  # records of one batch have one number, larger than that of all records before
        entries: list[Entry] = []
        if store.changed_events is not None:
            # An event that is over needs no record, unless the log may have an earlier record of it: without a new one,
            # the earlier record would be the last of the event, and count again.
            events = store.changed_events.events
            needs_no_record = self.are_over(store, events, watermark) & ~store.changed_events.are_stored
            entries += store.write_batch(events.where(~needs_no_record), serial)
        results = store.changed_results
        entries += store.write_batch(results.where(results.high > watermark), serial)
        store.changed_events = None
        store.changed_results = EMPTY

        # A result is final once its window ends at the watermark or before it. So an entry of results dies if its last
        # window ends before the tick after the watermark. An entry of events ends at `INFINITY`, and never dies: the
        # minimum keeps that tick from passing `INFINITY` when the stream is closed.
        first_live = min(watermark, INFINITY - 1) + 1
        log.forget(first_live)
        log.append(entries)
        # If more than half of the log is garbage, it is written anew with all that the store holds.
        live_bytes = store.codec.size_of(len(store) + len(store.results))
        log.tidy(store, live_bytes, whole=lambda: self._all_entries(store, log, serial, watermark))
        store.write_waiting(state.cells)

    def present_events(self, store: EventStore, entries: Sequence[LogEntry], watermark: int) -> StretchTable:
        """Return the events of the log that are live or that open windows need, with their rows.

        Args:
            store: The store, after `restore`.
            entries: The log. Only here are the rows of events that have ended: the store has just their partial states.
            watermark: The watermark.
        """
        events = store.read_records(entries).events
        if not len(events):
            return events
        is_deleted = events.high <= events.parts[START].array  # a deleted event ends where it starts
        return events.where(~is_deleted & ~self.are_over(store, events, watermark))

    def _all_entries(self, store: EventStore, log: StateLog, serial: int, watermark: int) -> list[Entry]:
        """Encode all events and results of the store, to write the log anew.

        Args:
            store: The store.
            log: The log as it is.
            serial: The number of the batch.
            watermark: The watermark.
        """
        if store.ended.rows:
            # Open windows need events that have ended: their rows are in the log alone.
            events = self.present_events(store, log.read(), watermark)
        else:
            # All live events, without their partial states: these are lifted again when the log is read.
            events = store.live.unlifted(np.arange(len(store.live)))
        return [*store.write_batch(events, serial), *store.write_batch(store.results.held, serial)]


class EventGridGeometry(EventGeometry):
    """Windows on a grid, of ticks or of a calendar: each event is merged into the run of slices that it overlaps.

    What a legal row may still change is kept event by event; once an event has ended for good, it is merged with the
    others of its key and run.

    Cost: a live event costs a few steps for each batch that completes windows, and so does a run of a key of which
    all events have ended; never one for each window that it overlaps.

    Attributes:
        grid: The slices.
    """

    def __init__(self, grid: SliceGrid, components: FormComponents, codec: Codec, *, at_end: bool) -> None:
        """Make windows on a grid; see `EventGeometry`."""
        super().__init__(components, codec, at_end=at_end)
        self.grid = grid

    def completed_windows(
        self, store: EventStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[StretchTable]:
        """Yield the windows that were open before the batch, and are complete after it.

        A stream that is closed completes all windows. Those that begin at the horizon or later, where no row has been,
        are left out: an event without an end would have a result in each of them, without end.
        """
        windows = self.grid.windows
        first = self.first_open(previous)
        first_still_open = windows.first_open(progress.least.watermark)
        stop = min(first_still_open, windows.first_unbegun(progress.least.horizon))
        yield from self.windows_between(store, first, stop)

    def windows_between(
        self, store: EventStore, first: int, stop: int, key_mask: BoolArray | None = None
    ) -> Iterator[StretchTable]:
        """Yield the windows with members from `first` up to but not including `stop`.

        Args:
            store: The store.
            first: The number of a window, or `-NEVER`, which is before all others.
            stop: The number of a window, or `NEVER`, which is after all others.
            key_mask: For each code of a key whether its windows are yielded; None if those of all keys are.
        """
        if stop > first:
            # Live events become runs anew for each call: a revision may still move their ends.
            live_runs = self._runs(store.live.members(), first, stop)
            yield from windows_of_pieces(self.grid, [*store.ended.tables, live_runs], first, stop, key_mask)

    def first_open(self, progress: InputsProgress) -> int:
        """Return the number of the first open window."""
        return self.grid.windows.first_open(progress.least.watermark)

    def forget_ended(self, store: EventStore, watermark: int) -> None:
        """Move the events that end before a watermark from the live ones to the ended ones, if open windows need them.

        Ended events of one key and one run of slices are merged: no row can change them any more.
        """
        first_open = self.grid.windows.first_open(watermark)
        first_live = self.grid.first_live(first_open)
        has_ended = ends_before(store.live.held.high, watermark)
        if has_ended.any():
            runs = self._runs(store.live.members(has_ended), first_open, stop=INFINITY)
            if len(runs):
                # Slices that no open window needs are cut off. Then more events have the same run, and are merged.
                live_runs = replace(runs, low=np.maximum(runs.low, first_live))
                merged_runs = self._components.merge_alike([live_runs], store.keys)
                add_piece(store.ended, merged_runs, self._components, store.keys)
            store.live.keep(~has_ended)
        forget_slices(store.ended, first_live)

    def are_over(self, store: EventStore, events: StretchTable, watermark: int) -> BoolArray:
        """Return for each event whether it has ended, and is a member of no open window."""
        first_open = self.grid.windows.first_open(watermark)
        low, high = slices_of(self.grid, events.low, events.high)
        is_member = events.weight > 0  # an event that the filter leaves out is a member of no window
        is_in_open_window = is_member & self._are_in_windows(low, high, first_open, INFINITY)
        are_over: BoolArray = ends_before(events.high, watermark) & ~is_in_open_window
        return are_over

    def output_watermark(self, progress: InputsProgress, first_start: int) -> int:
        """Return the tick before which no later output changes anything: a grid says where open windows start."""
        return output_watermark([self.grid], progress.least.watermark, at_end=self._at_end)

    def _runs(self, events: StretchTable, first: int, stop: int) -> StretchTable:
        """Turn events into the ranges of slices that they overlap; drop those in no window from `first` up to `stop`.

        Args:
            events: The events, as stretches of ticks.
            first: The number of the first window.
            stop: The number after that of the last window.
        """
        first_slices, last_slices = slices_of(self.grid, events.low, events.high)
        runs = events.moved(first_slices, last_slices)
        return runs.where(self._are_in_windows(runs.low, runs.high, first, stop))

    def _are_in_windows(self, low: IntArray, high: IntArray, first: int, stop: int) -> BoolArray:
        """Return for each range of slices whether it is in a window from `first` up to but not including `stop`.

        Args:
            low: The first slice of each range.
            high: The last slice of each range.
            first: The number of the first window.
            stop: The number after that of the last window.
        """
        first_windows = self.grid.first_window(low)
        last_windows = self.grid.last_window(high)
        # A range in a gap between two windows is in no window: its first window is the one after the gap, and its last
        # window the one before it.
        is_in_a_window = first_windows <= last_windows
        is_between: BoolArray = is_in_a_window & (last_windows >= first) & (first_windows < stop)
        return is_between


class EventSnapshotGeometry(EventGeometry):
    """Snapshots, for modules all of whose components can be subtracted: running sums from edge to edge.

    A live event that began before the watermark is cut: its partial state begins where the first open snapshot of its
    key starts. So nothing is kept of events that have ended. Where results are points at the ends of snapshots, one
    without an end has none.
    """

    def completed_windows(
        self, store: EventStore, previous: InputsProgress, progress: InputsProgress
    ) -> Iterator[StretchTable]:
        """Yield the snapshots that end at the previous watermark or later, and before the present one."""
        previous_watermark = previous.least.watermark
        watermark = progress.least.watermark
        members = store.live.members()
        if not len(members) or previous_watermark >= watermark:
            return
        snapshots = snapshots_of(members, previous_watermark, watermark)
        if self._at_end:  # a snapshot without an end has no point there
            snapshots = snapshots.where(snapshots.high < INFINITY)
        yield snapshots

    def forget_ended(self, store: EventStore, watermark: int) -> None:
        """Drop the events that end before a watermark, and cut those that begin before it.

        A cut event begins with the first open snapshot of its key.
        """
        live = store.live
        # Only members have edges at which snapshots begin: an event that the filter leaves out is not cut.
        low = live.held.low.copy()
        is_member = live.held.weight > 0
        low[is_member] = cut_starts(live.members(), watermark)
        live.held = replace(live.held, low=low)
        live.keep(~ends_before(live.held.high, watermark))

    def are_over(self, store: EventStore, events: StretchTable, watermark: int) -> BoolArray:
        """Return for each event whether it has ended, and no open snapshot starts where it ended; see `are_past`."""
        return are_past(events, store.live.members(), watermark)

    def first_start(self, store: EventStore) -> int:
        """Return the least start of an open snapshot with an event; `INFINITY` if there is none."""
        # Events that have ended are gone, and others are cut: the first open snapshot starts where a live event does.
        starts: IntArray = store.live.members().low
        return int(starts.min(initial=INFINITY))

    def output_watermark(self, progress: InputsProgress, first_start: int) -> int:
        """Return the output watermark of windows that follow events."""
        return watermark_of_open_windows(progress, first_start, at_end=self._at_end)
