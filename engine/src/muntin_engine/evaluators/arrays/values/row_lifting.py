"""The map side: rows to stretches of keys, where the rows are.

On a grid, points and events that last are merged here into what their slices, or runs of slices, hold. Rows of sessions
and snapshots stay one by one, since which of them are late is known only where the state is: merged with a late row, a
row that is in time would be lost with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.columnar.arrays import BoolArray, IntArray
from muntin.errors import ModuleFailedError
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS, BoundForm, failing_row
from muntin_engine.evaluators.arrays.stretches.coding import (
    compress,
    encode,
    first_places,
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
from muntin_engine.wire.key_buckets import buckets_of
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True, slots=True)
class Rows:
    """The good rows of a batch.

    Attributes:
        buckets: Over how many buckets the keys are spread.
        starts: Where each row's lifetime starts, in ticks.
        ends: Where it ends; not needed where all are points.
        keys: The key columns.
        inputs: The input columns.
        sources: The source that each row is of, if that is wanted.
    """

    buckets: int
    starts: IntArray
    ends: IntArray | None
    keys: Sequence[pa.Array]
    inputs: Sequence[pa.Array]
    sources: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def where(self, is_wanted: BoolArray) -> Rows:
        """Return some of the rows."""
        mask = pa.array(is_wanted)
        keys, inputs = ([column.filter(mask) for column in some] for some in (self.keys, self.inputs))
        ends = None if self.ends is None else self.ends[is_wanted]
        sources = None if self.sources is None else self.sources.filter(mask)
        return Rows(self.buckets, self.starts[is_wanted], ends, keys, inputs, sources)

    def key(self, row: int) -> Key:
        """Return the key of a row, for messages."""
        return tuple(column[row].as_py() for column in self.keys)


def rows_to_lift(task: TaskPayload, table: pa.Table, side: int = 0) -> Rows:
    """Return the projected rows of an input as arrays."""
    given, whole = task.inputs[side], table.combine_chunks()

    def array(name: str) -> pa.Array:
        column = whole.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    return Rows(
        task.plan.buckets,
        array("start").to_numpy(),
        None if given.plan_input.is_point else array("end").to_numpy(),
        list(map(array, given.key_names)),
        list(map(array, given.payload_names)),
        array(SOURCE) if task.plan.keeps_late_rows and given.tracker.sources else None,
    )


@dataclass(frozen=True, slots=True)
class SpreadKeys:
    """The keys of rows, bucket by bucket.

    Attributes:
        codes: For each row the place of its key.
        table: The keys.
        buckets: For each key its bucket.
        ends: For each bucket where its keys start, and at last where all end.
    """

    codes: IntArray
    table: pa.Table
    buckets: IntArray
    ends: IntArray

    @classmethod
    def of(cls, rows: Rows) -> SpreadKeys:
        """Return the keys of rows."""
        keyed = encode(rows.keys, len(rows))
        columns = [key.take(pa.array(keyed.first)) for key in rows.keys]
        buckets = buckets_of(columns, keyed.size, rows.buckets)
        order = stable_order(buckets, rows.buckets)
        places = np.empty(keyed.size, np.int64)
        places[order] = np.arange(keyed.size)
        keys = named_keys([column.take(pa.array(order)) for column in columns], keyed.size)
        return cls(places[keyed.codes], keys, buckets[order], np.cumsum([0, *np.bincount(buckets)]))

    def blobs(
        self, stretches: StretchTable, written: Callable[[pa.Table, StretchTable, int], bytes]
    ) -> Iterator[BucketBlob]:
        """Yield stretches for each bucket that has any.

        Args:
            stretches: The stretches, bucket by bucket.
            written: Returns a bucket's keys and stretches, and how many stretches others have before it, as bytes.
        """
        buckets, starts = np.unique(self.buckets[stretches.keys], return_index=True)
        for bucket, start, stop in zip(buckets.tolist(), starts, [*starts[1:], len(stretches)], strict=True):
            first, last = self.ends[bucket : bucket + 2]
            some = stretches.take(slice(start, stop))
            blob = written(self.table.slice(first, last - first), some.with_keys(some.keys - first), int(start))
            yield BucketBlob(bucket, blob)


def group_rows(grid: SliceGrid, rows: Rows, keys: SpreadKeys) -> Groups:
    """Return the groups of rows of the same key and slices, in the order of buckets, then slices, then keys.

    Cost: a few passes over the rows, and no sorting of them.
    """
    low, high = slices_of(grid, rows.starts, rows.ends)
    relative, span = number(low)
    if high is not low:
        more, lengths = number(high)
        relative, span = compress(relative * lengths + more, product(span, lengths))
    firsts, sizes = keys.ends[keys.buckets], np.diff(keys.ends)[keys.buckets]
    base = firsts * (span - 1) + np.arange(len(firsts))
    codes = base[keys.codes] + relative * sizes[keys.codes]
    codes, size = compress(codes, product(len(firsts), span))
    of = first_places(codes, size)
    at = low[of]
    return Groups(codes, keys.codes[of], at, at if high is low else high[of])


def lift_rows(
    grid: SliceGrid, forms: Sequence[BoundForm], rows: Rows, *, with_rows: bool = False
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
    codes, size = groups.codes, len(groups.keys)

    def at(row: int) -> tuple[Key, Window]:
        return rows.key(row), grid.extent(int(groups.low[codes[row]]))

    counts = np.bincount(codes, minlength=size)
    parts = lift_parts(forms, rows, at, codes, size)
    if with_rows:
        parts[LISTS] = row_lists(rows).reduce(codes, size)
    batch = StretchTable(groups.keys, groups.low, groups.high, counts, parts)
    yield from keys.blobs(batch, lambda names, some, _: to_blob(names, some))


def counted_until(starts: IntArray, ends: IntArray | None, gap: int = 1) -> IntArray:
    """Return the ends of the stretches of events that count for so long after their last tick; None of points."""
    if ends is None:
        return starts + gap
    until: IntArray = np.where(ends == INFINITY, INFINITY, np.minimum(ends, INFINITY - gap) - 1 + gap)
    return until


def lift_each(
    gap: int,
    rows: Rows,
    forms: Sequence[BoundForm] | None = None,
    packed: Sequence[bytes] = (),
    *,
    with_rows: bool = False,
) -> Iterator[BucketBlob]:
    """Yield the rows of a batch for each bucket that has any: each as a partial state, or as it is.

    Cost: a few passes over the rows.

    Args:
        gap: An event counts until so many ticks after its last one.
        rows: The rows.
        forms: The forms of the query; None to send the payload alone, of which the bucket makes values.
        packed: What is to lie beside the rows of each bucket.
        with_rows: True to send the rows themselves, with their times.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    if not len(rows):
        return
    keys = SpreadKeys.of(rows)
    order = stable_order(keys.buckets[keys.codes], rows.buckets)
    until = counted_until(rows.starts, rows.ends, gap)
    parts: dict[Part, Values]
    if forms is None:
        columns = {f"i{place}": column for place, column in enumerate(rows.inputs)}
        parts = {ROWS: RowValues(pa.table(columns), order)}
    else:
        parts = row_parts(forms, rows, until, order)
    if with_rows:
        parts[LISTS] = row_lists(rows).take(order)
    weight = np.ones(len(rows), np.int8)
    whole = StretchTable(keys.codes[order], rows.starts[order], until[order], weight, parts)
    yield from keys.blobs(whole, lambda names, some, _: to_blob(names, some, packed))


def row_parts(forms: Sequence[BoundForm], rows: Rows, until: IntArray, order: IntArray) -> dict[Part, Values]:
    """Return the components of each row, in some order.

    Args:
        forms: The forms of the query.
        rows: The rows.
        until: Where the stretch of each ends.
        order: The places of the rows.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """

    def at(row: int) -> tuple[Key, Window]:
        return rows.key(row), Window(int(rows.starts[row]), int(until[row]))

    codes = np.empty(len(order), np.int64)
    codes[order] = np.arange(len(order))
    return lift_parts(forms, rows, at, codes, len(order), order)


def lift_parts(  # what merging takes
    forms: Sequence[BoundForm], rows: Rows, at: At, codes: IntArray, size: int, order: IntArray | None = None
) -> dict[Part, Values]:
    """Return the components of forms for rows by code, with the number of rows of each where a form leaves some out.

    Args:
        forms: The forms.
        rows: The rows.
        at: Returns the key and the window of a row, for messages.
        codes: The code of each row.
        size: How many codes there are.
        order: The row of each code, if each has one.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        try:
            arrays, present = form.lift(rows.inputs, len(rows))
        except ModuleFailedError as failure:
            row = failing_row(form, rows.inputs, len(rows))
            raise failure if row is None else failure.at(*at(row)) from failure.__cause__
        some = codes if present is None else codes[present]
        if present is not None:
            parts[Part(place, PAYLOADS)] = Dense(COUNTED, np.bincount(some, minlength=size))
        for name, component in form.stored.items():
            values: Values = lifted(component, arrays[name])
            if order is not None and present is None:
                parts[Part(place, name)] = values.take(order)
            else:
                parts[Part(place, name)] = values.reduce(some, size)
    return parts


def row_lists(rows: Rows) -> RowLists:
    """Return each row as a list of one."""
    columns: dict[str, Any] = {"start": rows.starts} if rows.ends is None else {"start": rows.starts, "end": rows.ends}
    columns |= {} if rows.sources is None else {SOURCE: rows.sources}
    table = pa.table(columns | {f"i{place}": column for place, column in enumerate(rows.inputs)})
    return RowLists.of(table, np.ones(len(rows), np.int64))
