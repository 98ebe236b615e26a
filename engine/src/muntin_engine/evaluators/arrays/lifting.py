"""The map side: rows to partial states, where the rows are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.columnar.arrays import BoolArray, IntArray
from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Key
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.coding import Codes, compress, encode, first_places, number, product
from muntin_engine.evaluators.arrays.results import failing_row
from muntin_engine.evaluators.arrays.rows import RowLists
from muntin_engine.evaluators.arrays.stretch_table import LISTS, Part, StretchTable
from muntin_engine.evaluators.arrays.values import COUNTED, ComponentValues, Dense, Values, lifted
from muntin_engine.evaluators.arrays.wire import to_blob
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.exchange.bound_form import PAYLOADS, BoundForm
from muntin_engine.exchange.counting import numbers_at
from muntin_engine.exchange.spreading import buckets_of
from muntin_engine.exchange.task_payload import TaskPayload

NO_KEYS: Final = "none"
"""The column that counts the keys of a query without key columns."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The good rows of a batch.

    Attributes:
        buckets: Over how many buckets the keys are spread.
        starts: Where each row's lifetime starts, in ticks.
        ends: Where it ends; not needed where all are points.
        keys: The key columns.
        inputs: The input columns.
    """

    buckets: int
    starts: IntArray
    ends: IntArray | None
    keys: Sequence[pa.Array]
    inputs: Sequence[pa.Array]

    def __len__(self) -> int:
        return len(self.starts)

    def where(self, is_wanted: BoolArray) -> Rows:
        """Return some of the rows."""
        keys, inputs = ([column.filter(pa.array(is_wanted)) for column in some] for some in (self.keys, self.inputs))
        ends = None if self.ends is None else self.ends[is_wanted]
        return Rows(self.buckets, self.starts[is_wanted], ends, keys, inputs)

    def buckets_of(self, keyed: Codes) -> IntArray:
        """Return the bucket of each distinct key, given the codes of the rows' keys."""
        first = pa.array(keyed.first)
        return buckets_of([key.take(first) for key in self.keys], keyed.size, self.buckets)


def rows_to_lift(task: TaskPayload, table: pa.Table, side: int = 0) -> Rows:
    """Return the projected rows of an input as arrays."""
    given, whole = task.inputs[side], table.combine_chunks()

    def array(name: str) -> pa.Array:
        column = whole.column(name)
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    return Rows(
        task.plan.buckets,
        array("start").to_numpy(),
        None if given.is_point else array("end").to_numpy(),
        list(map(array, given.key_names)),
        list(map(array, given.payload_names)),
    )


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Rows by bucket, slice and key.

    Attributes:
        codes: For each row the number of its group. Groups are in the order of buckets, then slices, then keys.
        size: How many groups there are.
        buckets: The bucket of each group.
        low: The slice of each group, or the first one of its run.
        high: The same slice, or the last one of its run.
        keys: The key of each group: its place among the keys of its bucket.
        first: For each key a row that has it, bucket by bucket.
        ends: For each bucket where its keys start in `first`, and at last where all end.
    """

    codes: IntArray
    size: int
    buckets: IntArray
    low: IntArray
    high: IntArray
    keys: IntArray
    first: IntArray
    ends: IntArray

    def keys_of(self, bucket: int) -> IntArray:
        """Return for each key of a bucket a row that has it."""
        return self.first[self.ends[bucket] : self.ends[bucket + 1]]


def group_rows(grid: SliceGrid, rows: Rows) -> RowGroups:
    """Return the groups of rows.

    Cost: a few passes over the rows, and no sorting of them.
    """
    keyed = encode(rows.keys, len(rows))
    bucket_of_key = rows.buckets_of(keyed)
    order = np.argsort(bucket_of_key, kind="stable")
    sizes = np.bincount(bucket_of_key)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    place = np.empty(keyed.size, np.int64)
    place[order] = np.arange(keyed.size)
    place -= ends[bucket_of_key]
    low, high = slices_of(grid, rows.starts, rows.ends)
    relative, span = number(low)
    if high is not low:
        more, lengths = number(high)
        relative, span = compress(relative * lengths + more, product(span, lengths))
    base = ends[bucket_of_key] * span + place
    codes = base[keyed.codes] + relative * sizes[bucket_of_key][keyed.codes]
    codes, size = compress(codes, product(keyed.size, span))
    rows_of = first_places(codes, size)
    at = low[rows_of]
    return RowGroups(
        codes,
        size,
        bucket_of_key[keyed.codes[rows_of]],
        at,
        at if high is low else high[rows_of],
        place[keyed.codes[rows_of]],
        keyed.first[order],
        ends,
    )


def lift_rows(grid: SliceGrid, forms: Sequence[BoundForm] | None, rows: Rows) -> Iterator[BucketBlob]:
    """Yield the partial states of a batch of rows for each bucket that has any.

    Cost: a few passes over the rows, whatever the windows are.

    Args:
        grid: The slices.
        forms: The forms of the query; None to keep the rows themselves.
        rows: The rows.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    if not len(rows):
        return
    groups = group_rows(grid, rows)
    counts = np.bincount(groups.codes, minlength=groups.size)
    parts: Mapping[Part, Values]
    if forms is None:
        parts = {LISTS: row_lists(rows).reduce(groups.codes, groups.size)}
    else:
        parts = _merged(grid, forms, rows, groups)
    batch = StretchTable(groups.keys, groups.low, groups.high, counts, parts)
    buckets, starts = np.unique(groups.buckets, return_index=True)
    for bucket, start, stop in zip(buckets, starts, [*starts[1:], len(batch)], strict=True):
        places = pa.array(groups.keys_of(bucket))
        keys = key_rows([key.take(places) for key in rows.keys], len(places))
        yield BucketBlob(int(bucket), to_blob(keys, batch.take(slice(start, stop))))


def slices_of(grid: SliceGrid, starts: IntArray, ends: IntArray | None) -> tuple[IntArray, IntArray]:
    """Return the first and the last slices of events, the very same array where all are points.

    Of events that never end the last one lies after all others.
    """
    first = grid.slices_at(numbers_at(grid.periods, starts))
    if ends is None:
        return first, first
    return first, grid.slices_at(numbers_at(grid.periods, np.minimum(ends, NEVER) - 1))


def key_rows(columns: Sequence[pa.Array], length: int) -> pa.Table:
    """Return keys as a table of `k0`, `k1` and so on; a query without keys has one of no meaning, to count rows by."""
    named = {f"k{place}": column for place, column in enumerate(columns)}
    return pa.table(named or {NO_KEYS: pa.nulls(length)})


def _whereabouts(grid: SliceGrid, rows: Rows, row: int) -> tuple[Key, Window]:
    """Return the key of a row, and the slice that it starts in."""
    key = tuple(column[row].as_py() for column in rows.keys)
    number = int(grid.slices_at(numbers_at(grid.periods, rows.starts[row : row + 1]))[0])
    return key, grid.extent(number)


def lift_form(
    place: int, form: BoundForm, rows: Rows, where: Callable[[int], tuple[Key, Window]]
) -> tuple[dict[Part, ComponentValues], IntArray | None]:
    """Return the components of a form for the rows that it does not leave out, and the places of these; None for all.

    Args:
        place: The place of the form among those of the query.
        form: The form.
        rows: The rows.
        where: Returns the key and the window of a row, for messages.

    Raises:
        ModuleFailedError: The form raised an exception.
        ModuleContractError: It returned something else than it declares.
    """
    try:
        arrays, present = form.lift(rows.inputs, len(rows))
    except ModuleFailedError as failure:
        row = failing_row(form, rows.inputs, len(rows))
        raise failure if row is None else failure.at(*where(row)) from failure.__cause__
    return {Part(place, name): lifted(component, arrays[name]) for name, component in form.stored.items()}, present


def row_lists(rows: Rows) -> RowLists:
    """Return each row as a list of one."""
    times = {"start": rows.starts} if rows.ends is None else {"start": rows.starts, "end": rows.ends}
    table = pa.table({**times, **{f"i{place}": column for place, column in enumerate(rows.inputs)}})
    return RowLists.of(table, np.ones(len(rows), np.int64))


def _merged(grid: SliceGrid, forms: Sequence[BoundForm], rows: Rows, groups: RowGroups) -> dict[Part, Values]:
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        values, present = lift_form(place, form, rows, lambda row: _whereabouts(grid, rows, row))
        codes = groups.codes if present is None else groups.codes[present]
        if present is not None:
            parts[Part(place, PAYLOADS)] = Dense(COUNTED, np.bincount(codes, minlength=groups.size))
        parts |= {part: some.reduce(codes, groups.size) for part, some in values.items()}
    return parts


def python_values(column: pa.Array) -> list[Any]:
    """Return a column as Python values; numbers without nulls by way of NumPy, which is much faster."""
    is_plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values: list[Any] = column.to_numpy().tolist() if is_plain and not column.null_count else column.to_pylist()
    return values
