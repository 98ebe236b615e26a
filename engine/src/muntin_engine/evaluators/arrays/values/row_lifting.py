"""The map side: rows to stretches of keys, where the rows are.

On a grid, points and events that last are merged here into what their slices, or runs of slices, hold. Rows of sessions
and snapshots stay one by one, since which of them are late is known only where the state is: merged with a late row, a
row that is in time would be lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.columnar.arrays import Array, BoolArray, IntArray
from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS, BoundForm, LiftedArrays, failing_row
from muntin_engine.evaluators.arrays.stretches.coding import (
    compress,
    distinct,
    encode,
    number,
    product,
    stable_order,
)
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense, Values, lifted
from muntin_engine.evaluators.arrays.stretches.key_table import At, named_keys
from muntin_engine.evaluators.arrays.stretches.row_values import SOURCE, RowLists, RowValues
from muntin_engine.evaluators.arrays.stretches.slices import slices_of
from muntin_engine.evaluators.arrays.stretches.stretch_blobs import to_blob
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, ROWS, Groups, Part, StretchTable
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.time.changes import Key
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_table, numpy_array
from muntin_engine.wire.key_buckets import buckets_of
from muntin_engine.wire.task_payload import TaskPayload

CACHED_ROWS: Final = 1 << 16
"""So many rows stay in a processor's cache with what is computed of each: arrays of all rows would be fresh memory."""


@dataclass(frozen=True, slots=True)
class RowsToLift:
    """The good rows of a batch.

    Attributes:
        bucket_count: The number of buckets that keys are spread over.
        starts: The start of each row's lifetime, in ticks.
        ends: The end of each row's lifetime; None if all rows are points.
        keys: The key columns.
        inputs: The input columns.
        sources: The source that each row is of, where late rows are kept with it.
    """

    bucket_count: int
    starts: IntArray
    ends: IntArray | None
    keys: Sequence[pa.Array]
    inputs: Sequence[pa.Array]
    sources: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def where(self, is_selected: BoolArray) -> RowsToLift:
        """Select rows by a mask."""
        mask = arrow_array(is_selected)
        return RowsToLift(
            bucket_count=self.bucket_count,
            starts=self.starts[is_selected],
            ends=None if self.ends is None else self.ends[is_selected],
            keys=[column.filter(mask) for column in self.keys],
            inputs=[column.filter(mask) for column in self.inputs],
            sources=None if self.sources is None else self.sources.filter(mask),
        )

    def key(self, row: int) -> Key:
        """Return the key of a row, for messages."""
        return tuple(column[row].as_py() for column in self.keys)

    def lists(self) -> RowLists:
        """Return each row as a list of one row, which has its times, its source and its payload."""
        columns: dict[str, Any] = {"start": self.starts}
        if self.ends is not None:
            columns["end"] = self.ends
        if self.sources is not None:
            columns[SOURCE] = self.sources
        for place, column in enumerate(self.inputs):
            columns[f"i{place}"] = column
        return RowLists.of(arrow_table(columns), np.ones(len(self), np.int64))


def rows_to_lift(task: TaskPayload, table: pa.Table, side: int = 0) -> RowsToLift:
    """Return the projected rows of an input as arrays.

    Args:
        task: The query.
        table: The rows.
        side: The number of the input: 0, or 1 for the right input of a join.
    """
    input_task = task.inputs[side]
    table_of_one_chunk = table.combine_chunks()

    def array(name: str) -> pa.Array:
        """Return a column as one array; a table of one chunk is not copied."""
        column = table_of_one_chunk.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    is_point = input_task.plan_input.is_point
    has_sources = task.plan.keeps_late_rows and input_task.tracker.sources
    return RowsToLift(
        bucket_count=task.plan.buckets,
        starts=numpy_array(array("start")),
        ends=None if is_point else numpy_array(array("end")),
        keys=list(map(array, input_task.key_names)),
        inputs=list(map(array, input_task.payload_names)),
        sources=array(SOURCE) if has_sources else None,
    )


class BucketStretches(NamedTuple):
    """The stretches of rows for one bucket.

    Attributes:
        bucket: The number of the bucket.
        keys: The keys that have rows.
        stretches: The stretches, which number these keys.
        first: The number of stretches of the buckets before it.
    """

    bucket: int
    keys: pa.Table
    stretches: StretchTable
    first: int


@dataclass(frozen=True, slots=True)
class SpreadKeys:
    """The keys of rows, bucket by bucket.

    Attributes:
        codes: For each row the place of its key in the table.
        table: The keys, bucket by bucket.
        buckets: For each key its bucket.
        bounds: For each bucket the place of its first key, and at last the number of all keys.
    """

    codes: IntArray
    table: pa.Table
    buckets: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, rows: RowsToLift) -> SpreadKeys:
        """Find the distinct keys of rows, and sort them by their buckets."""
        encoded = encode(rows.keys, len(rows))
        buckets = buckets_of(encoded.columns, encoded.size, rows.bucket_count)
        order = stable_order(buckets, rows.bucket_count)
        # Keys were numbered as they came; each gets its place in the sorted order.
        places = np.empty(encoded.size, np.int64)
        places[order] = np.arange(encoded.size)
        sorted_columns = [column.take(arrow_array(order)) for column in encoded.columns]
        return cls(
            codes=places[encoded.codes],
            table=named_keys(sorted_columns, encoded.size),
            buckets=buckets[order],
            bounds=np.cumsum([0, *np.bincount(buckets)]),
        )

    def by_bucket(self, stretches: StretchTable) -> Iterator[BucketStretches]:
        """Divide stretches by bucket: yield those of each bucket that has any.

        Args:
            stretches: The stretches, which must lie bucket by bucket.
        """
        buckets, starts = np.unique(self.buckets[stretches.keys], return_index=True)
        stops = [*starts[1:], len(stretches)]
        for bucket, start, stop in zip(buckets.tolist(), starts.tolist(), stops, strict=True):
            first_key = self.bounds[bucket]
            key_stop = self.bounds[bucket + 1]
            keys = self.table.slice(first_key, key_stop - first_key)
            bucket_stretches = stretches.take(slice(start, stop))
            # In its blob, the keys of a bucket are numbered from 0.
            numbered = bucket_stretches.with_keys(bucket_stretches.keys - first_key)
            yield BucketStretches(bucket, keys, numbered, start)

    def blobs(self, stretches: StretchTable, packed: Sequence[bytes] = ()) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that has stretches.

        Args:
            stretches: The stretches, bucket by bucket.
            packed: Bytes that are sent beside the stretches of each bucket.
        """
        for bucket, keys, bucket_stretches, _ in self.by_bucket(stretches):
            yield BucketBlob(bucket, to_blob(keys, bucket_stretches, packed))


def group_rows(grid: SliceGrid, rows: RowsToLift, keys: SpreadKeys) -> Groups:
    """Group rows of the same key and slices, in the order of buckets, then slices, then keys.

    This is where the rows of a slice are brought together on the map side.

    Cost: a few passes over the rows, and no sorting of them.

    Args:
        grid: The slices.
        rows: The rows.
        keys: The keys of the rows, bucket by bucket.
    """
    # Each row is on a run of slices, from `low` to `high`; runs are numbered in order. A point is on one slice.
    low, high = slices_of(grid, rows.starts, rows.ends)
    runs, run_count = number(low)
    if high is not low:
        highs, high_count = number(high)
        runs, run_count = compress(runs * high_count + highs, product(run_count, high_count))

    # There is a cell for each run and key; the rows of one cell are a group. The cells lie bucket by bucket, and within
    # a bucket run by run. So the number of a row's cell is the sum of
    # - the first cell of its bucket: `run_count` cells for each key of the buckets before it
    # - its run * the number of keys of its bucket
    # - the place of its key in the bucket
    cell_count = product(len(keys.buckets), run_count)
    key_counts = np.diff(keys.bounds)  # for each bucket the number of its keys
    first_cells = keys.bounds * run_count  # for each bucket its first cell, and at last the number of all cells
    places_of_keys = np.arange(len(keys.buckets)) - keys.bounds[keys.buckets]
    first_cell_of_key = first_cells[keys.buckets] + places_of_keys  # on run 0
    cells_of_run = key_counts[keys.buckets]  # for each key the number of keys of its bucket
    row_cells = np.empty(len(rows), np.int64)
    for start in range(0, len(rows), CACHED_ROWS):
        block = slice(start, start + CACHED_ROWS)
        row_keys = keys.codes[block]
        row_cells[block] = first_cell_of_key[row_keys] + runs[block] * cells_of_run[row_keys]
    cells, codes = distinct(row_cells, cell_count)

    # The key and the run of a group follow from its cell, by the same formula backwards. They could be read from a row
    # of the group as well, but finding one takes as long as all the steps before.
    groups_of_buckets = np.diff(np.searchsorted(cells, first_cells))
    places_in_bucket = cells - np.repeat(first_cells[:-1], groups_of_buckets)
    group_runs, key_places = np.divmod(places_in_bucket, np.repeat(key_counts, groups_of_buckets))
    group_keys = key_places + np.repeat(keys.bounds[:-1], groups_of_buckets)
    lows = np.empty(run_count, np.int64)
    lows[runs] = low  # all rows of a run have the same slices
    group_low = lows[group_runs]
    group_high = group_low
    if high is not low:
        highs = np.empty(run_count, np.int64)
        highs[runs] = high
        group_high = highs[group_runs]
    return Groups(codes, group_keys, group_low, group_high)


def lift_rows(
    grid: SliceGrid, forms: Sequence[BoundForm], rows: RowsToLift, *, with_rows: bool = False
) -> Iterator[BucketBlob]:
    """Merge rows into partial states of slices, and yield the states of each bucket that has any.

    Cost: a few passes over the rows, whatever the windows are.

    Args:
        grid: The slices.
        forms: The columnar forms of the query's modules.
        rows: The rows.
        with_rows: True to send the rows themselves as well.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned arrays of other types or shapes than it declares.
    """
    if not len(rows):
        return
    keys = SpreadKeys.of(rows)
    groups = group_rows(grid, rows, keys)
    codes = groups.codes
    size = len(groups.keys)

    def locate(row: int) -> tuple[Key, Window]:
        """Return the key of a row, and the extent of its slice: its windows are not known yet."""
        return rows.key(row), grid.extent(int(groups.low[codes[row]]))

    parts = lift_parts(forms, rows, locate, codes, size)
    if with_rows:
        parts[LISTS] = rows.lists().reduce(codes, size)
    counts = np.bincount(codes, minlength=size)
    yield from keys.blobs(StretchTable(groups.keys, groups.low, groups.high, counts, parts))


def lift_each(
    gap: int,
    rows: RowsToLift,
    forms: Sequence[BoundForm] | None = None,
    packed: Sequence[bytes] = (),
    *,
    with_rows: bool = False,
) -> Iterator[BucketBlob]:
    """Make each row a stretch of its own, unmerged, and yield the stretches of each bucket that has any.

    Cost: a few passes over the rows.

    Args:
        gap: How far the stretch of an event reaches past its last tick: by the gap of sessions, otherwise by 1 tick.
        rows: The rows.
        forms: The columnar forms of the query's modules, which lift each row to a partial state. None sends payloads,
            of which the bucket makes states.
        packed: Bytes that are sent beside the rows of each bucket, such as the side of a join that the rows are of.
        with_rows: True to send the rows themselves as well, with their times.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned arrays of other types or shapes than it declares.
    """
    if not len(rows):
        return
    keys = SpreadKeys.of(rows)
    order = stable_order(keys.buckets[keys.codes], rows.bucket_count)  # bucket by bucket
    starts = rows.starts[order]
    ends = None if rows.ends is None else rows.ends[order]
    stretch_ends = ends_of_stretches(starts, ends, gap)

    parts: dict[Part, Values]
    if forms is None:
        columns = {f"i{place}": column for place, column in enumerate(rows.inputs)}  # as the bucket reads them
        parts = {ROWS: RowValues(arrow_table(columns), order)}
    else:
        parts = row_parts(forms, rows, order, stretch_ends)
    if with_rows:
        parts[LISTS] = rows.lists().take(order)
    weight = np.ones(len(rows), np.int8)
    stretches = StretchTable(keys.codes[order], starts, stretch_ends, weight, parts)
    yield from keys.blobs(stretches, packed)


def ends_of_stretches(starts: IntArray, ends: IntArray | None, gap: int) -> IntArray:
    """Return the ends of the stretches of events: the last tick of each plus the gap.

    Args:
        starts: The starts of the events.
        ends: The ends of the events; None if all events are points, whose only tick is their start.
        gap: How far the stretch of an event reaches past its last tick: by the gap of sessions, otherwise by 1 tick.
    """
    if ends is None:
        return starts + gap
    # An end is the tick after the last one. The minimum keeps the sum of other ends from passing `INFINITY`.
    last_ticks = np.minimum(ends, INFINITY - gap) - 1
    stretch_ends: IntArray = np.where(ends == INFINITY, INFINITY, last_ticks + gap)
    return stretch_ends


def row_parts(
    forms: Sequence[BoundForm], rows: RowsToLift, order: IntArray, stretch_ends: IntArray
) -> dict[Part, Values]:
    """Lift each row to the components of a partial state of its own, and return these in another order of the rows.

    Args:
        forms: The columnar forms of the query's modules.
        rows: The rows.
        order: The places of the rows in the order in which the components are returned.
        stretch_ends: The end of the stretch of each row, in that order.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned arrays of other types or shapes than it declares.
    """

    def locate(row: int) -> tuple[Key, Window]:
        """Return the key and the stretch of a row, given its place in `rows`, for the message if a form fails."""
        (new_place,) = np.flatnonzero(order == row)  # `stretch_ends` are in the order of the result
        return rows.key(row), Window(int(rows.starts[row]), int(stretch_ends[new_place]))

    return {part: values.take(order) for part, values in parts_of_rows(forms, rows, locate).items()}


def parts_of_rows(forms: Sequence[BoundForm], rows: RowsToLift, locate: At) -> dict[Part, Values]:
    """Lift each row to the components of a partial state of its own, in the order of the rows.

    Args:
        forms: The columnar forms of the query's modules.
        rows: The rows.
        locate: Returns the key and the window of the row at a place, for the message if a form fails.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned arrays of other types or shapes than it declares.
    """
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        arrays, accepted_rows = lifted_arrays(form, rows, locate)
        if accepted_rows is None:  # the form takes all rows: there is a value for each
            for name, component in form.stored.items():
                parts[Part(place, name)] = lifted(component, arrays[name])
        else:  # the places of accepted rows serve as their codes: rows left out get the states of no rows
            parts |= reduced_parts(place, form, arrays, accepted_rows, len(rows))
    return parts


def lift_parts(
    forms: Sequence[BoundForm], rows: RowsToLift, locate: At, codes: IntArray, size: int
) -> dict[Part, Values]:
    """Lift rows to the components of one partial state for each group of rows.

    Args:
        forms: The columnar forms of the query's modules.
        rows: The rows.
        locate: Returns the key and the window of the row at a place, for the message if a form fails.
        codes: The number of each row's group.
        size: The number of groups.

    Returns:
        The components; and, for each form that leaves rows out, such as nulls, the number of its rows in each group.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned arrays of other types or shapes than it declares.
    """
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        arrays, accepted_rows = lifted_arrays(form, rows, locate)
        if accepted_rows is None:  # the form takes all rows
            for name, component in form.stored.items():
                parts[Part(place, name)] = lifted(component, arrays[name]).reduce(codes, size)
        else:
            parts |= reduced_parts(place, form, arrays, codes[accepted_rows], size)
    return parts


def lifted_arrays(form: BoundForm, rows: RowsToLift, locate: At) -> LiftedArrays:
    """Return the value that a form gives each row, for each component.

    Args:
        form: The form.
        rows: The rows.
        locate: Returns the key and the window of the row at a place, for the message if the form fails.

    Raises:
        ModuleFailedError: The form raised an exception. If it does so for one row alone, the error names the key and
            the window of that row.
        ModuleContractError: The form returned arrays of other types or shapes than it declares.
    """
    try:
        return form.lift(rows.inputs, len(rows))
    except ModuleFailedError as failure:
        row = failing_row(form, rows.inputs, len(rows))
        if row is None:
            raise
        key, window = locate(row)
        raise failure.at(key, window) from failure.__cause__


def reduced_parts(
    place: int, form: BoundForm, arrays: Mapping[str, Array], codes: IntArray, size: int
) -> dict[Part, Values]:
    """Merge the values of a form that leaves rows out, group by group; count the rows of each group that it took.

    Args:
        place: The place of the form among those of the query.
        form: The form.
        arrays: The values of the rows that the form took, for each component.
        codes: The number of each such row's group.
        size: The number of groups.
    """
    row_counts = np.bincount(codes, minlength=size)
    parts: dict[Part, Values] = {Part(place, PAYLOADS): Dense(COUNTED, row_counts)}
    for name, component in form.stored.items():
        parts[Part(place, name)] = lifted(component, arrays[name]).reduce(codes, size)
    return parts
