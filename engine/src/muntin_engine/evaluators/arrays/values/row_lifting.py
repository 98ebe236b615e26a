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
        ends: Its end; None where all are points.
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
        """Select rows."""
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
        """Return each row as a list of one, with its times."""
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
        side: The place of the input among those of the query.
    """
    input_task = task.inputs[side]
    whole = table.combine_chunks()

    def array(name: str) -> pa.Array:
        """Return a column as one array; a table of one chunk is not copied."""
        column = whole.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    names_sources = task.plan.keeps_late_rows and input_task.tracker.sources
    return RowsToLift(
        bucket_count=task.plan.buckets,
        starts=numpy_array(array("start")),
        ends=None if input_task.plan_input.is_point else numpy_array(array("end")),
        keys=list(map(array, input_task.key_names)),
        inputs=list(map(array, input_task.payload_names)),
        sources=array(SOURCE) if names_sources else None,
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
        codes: For each row the place of its key.
        table: The keys.
        buckets: For each key its bucket.
        bounds: For each bucket the place of its first key, and at last the number of all keys.
    """

    codes: IntArray
    table: pa.Table
    buckets: IntArray
    bounds: IntArray

    @classmethod
    def of(cls, rows: RowsToLift) -> SpreadKeys:
        """Sort the keys of rows by their buckets."""
        encoded = encode(rows.keys, len(rows))
        buckets = buckets_of(encoded.columns, encoded.size, rows.bucket_count)
        order = stable_order(buckets, rows.bucket_count)
        places = np.empty(encoded.size, np.int64)
        places[order] = np.arange(encoded.size)
        keys = named_keys([column.take(arrow_array(order)) for column in encoded.columns], encoded.size)
        bounds = np.cumsum([0, *np.bincount(buckets)])
        return cls(places[encoded.codes], keys, buckets[order], bounds)

    def by_bucket(self, stretches: StretchTable) -> Iterator[BucketStretches]:
        """Yield the stretches of each bucket that has any; they come bucket by bucket."""
        buckets, starts = np.unique(self.buckets[stretches.keys], return_index=True)
        stops = [*starts[1:], len(stretches)]
        for bucket, start, stop in zip(buckets.tolist(), starts.tolist(), stops, strict=True):
            first_key, end_key = self.bounds[bucket : bucket + 2]
            keys = self.table.slice(first_key, end_key - first_key)
            bucket_stretches = stretches.take(slice(start, stop))
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
    """
    low, high = slices_of(grid, rows.starts, rows.ends)
    runs, run_count = number(low)
    if high is not low:
        highs, high_count = number(high)
        runs, run_count = compress(runs * high_count + highs, product(run_count, high_count))

    # Each key and run has a cell, and the codes of groups are those of their cells in order. A bucket with k keys, the
    # first of which has the place f, has the k * run_count cells from f * run_count on.
    cell_count = product(len(keys.buckets), run_count)
    key_counts = np.diff(keys.bounds)
    first_cells = keys.bounds * run_count
    first_cell_of_key = first_cells[keys.buckets] + np.arange(len(keys.buckets)) - keys.bounds[keys.buckets]
    cells_of_run = key_counts[keys.buckets]
    row_cells = np.empty(len(rows), np.int64)
    for start in range(0, len(rows), CACHED_ROWS):
        block = slice(start, start + CACHED_ROWS)
        row_keys = keys.codes[block]
        row_cells[block] = first_cell_of_key[row_keys] + runs[block] * cells_of_run[row_keys]
    cells, codes = distinct(row_cells, cell_count)

    # What a group is of follows from its cell: to look it up at one of its rows would take as long as all before.
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
    """Yield the partial states of a batch of rows for each bucket that has any.

    Cost: a few passes over the rows, whatever the windows are.

    Args:
        grid: The slices.
        forms: The forms of the query.
        rows: The rows.
        with_rows: True to send the rows themselves as well.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
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
    """Yield the rows of a batch for each bucket that has any: each as a partial state, or as it is.

    Cost: a few passes over the rows.

    Args:
        gap: The ticks that an event counts for after its last one.
        rows: The rows.
        forms: The forms of the query; None to send the payload alone, of which the bucket makes values.
        packed: Bytes that are sent beside the rows of each bucket.
        with_rows: True to send the rows themselves, with their times.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    if not len(rows):
        return
    keys = SpreadKeys.of(rows)
    order = stable_order(keys.buckets[keys.codes], rows.bucket_count)
    starts = rows.starts[order]
    until = counted_until(starts, None if rows.ends is None else rows.ends[order], gap)
    parts: dict[Part, Values]
    if forms is None:
        columns = {f"i{place}": column for place, column in enumerate(rows.inputs)}
        parts = {ROWS: RowValues(arrow_table(columns), order)}
    else:
        parts = row_parts(forms, rows, order, until)
    if with_rows:
        parts[LISTS] = rows.lists().take(order)
    weight = np.ones(len(rows), np.int8)
    stretches = StretchTable(keys.codes[order], starts, until, weight, parts)
    yield from keys.blobs(stretches, packed)


def counted_until(starts: IntArray, ends: IntArray | None, gap: int) -> IntArray:
    """Return the ends of the stretches of events.

    Args:
        starts: The starts of the events.
        ends: Their ends; None of points.
        gap: The ticks that each counts for after its last one.
    """
    if ends is None:
        return starts + gap
    until: IntArray = np.where(ends == INFINITY, INFINITY, np.minimum(ends, INFINITY - gap) - 1 + gap)
    return until


def row_parts(forms: Sequence[BoundForm], rows: RowsToLift, order: IntArray, until: IntArray) -> dict[Part, Values]:
    """Return the components of each row, in some order.

    Args:
        forms: The forms of the query.
        rows: The rows.
        order: The places of the rows.
        until: The end of the stretch of each, in that order.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """

    def locate(row: int) -> tuple[Key, Window]:
        """Return the key of a row, and its stretch."""
        (place,) = np.flatnonzero(order == row)
        return rows.key(row), Window(int(rows.starts[row]), int(until[place]))

    return {part: values.take(order) for part, values in parts_of_rows(forms, rows, locate).items()}


def parts_of_rows(forms: Sequence[BoundForm], rows: RowsToLift, locate: At) -> dict[Part, Values]:
    """Return the components of each row, in the order of the rows.

    Args:
        forms: The forms of the query.
        rows: The rows.
        locate: Returns the key and the window of a row, for messages.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        arrays, accepted_rows = lifted_arrays(form, rows, locate)
        if accepted_rows is None:  # each row has a value, and nothing is merged
            for name, component in form.stored.items():
                parts[Part(place, name)] = lifted(component, arrays[name])
        else:
            parts |= reduced_parts(place, form, arrays, accepted_rows, len(rows))
    return parts


def lift_parts(
    forms: Sequence[BoundForm], rows: RowsToLift, locate: At, codes: IntArray, size: int
) -> dict[Part, Values]:
    """Return the components of forms for rows by code, with the number of rows of each where a form leaves some out.

    Args:
        forms: The forms.
        rows: The rows.
        locate: Returns the key and the window of a row, for messages.
        codes: The code of each row.
        size: The number of codes.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        arrays, accepted_rows = lifted_arrays(form, rows, locate)
        if accepted_rows is None:
            for name, component in form.stored.items():
                parts[Part(place, name)] = lifted(component, arrays[name]).reduce(codes, size)
        else:
            parts |= reduced_parts(place, form, arrays, codes[accepted_rows], size)
    return parts


def lifted_arrays(form: BoundForm, rows: RowsToLift, locate: At) -> LiftedArrays:
    """Lift rows with a form.

    Raises:
        ModuleFailedError: The form raised an exception; it names the key and the window of a row.
        ModuleContractError: The form returned something else than it declares.
    """
    try:
        return form.lift(rows.inputs, len(rows))
    except ModuleFailedError as failure:
        row = failing_row(form, rows.inputs, len(rows))
        raise failure if row is None else failure.at(*locate(row)) from failure.__cause__


def reduced_parts(
    place: int, form: BoundForm, arrays: Mapping[str, Array], codes: IntArray, size: int
) -> dict[Part, Values]:
    """Return the components of a form that leaves rows out, merged by code, with the number of rows of each code.

    Args:
        place: The place of the form among those of the query.
        form: The form.
        arrays: The values of the rows that it does not leave out.
        codes: The code of each of these.
        size: The number of codes.
    """
    parts: dict[Part, Values] = {Part(place, PAYLOADS): Dense(COUNTED, np.bincount(codes, minlength=size))}
    for name, component in form.stored.items():
        parts[Part(place, name)] = lifted(component, arrays[name]).reduce(codes, size)
    return parts
