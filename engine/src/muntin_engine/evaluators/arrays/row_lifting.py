"""The map side of sessions and snapshots: each row becomes a partial state of its own.

Rows are not merged here, since which of them are late is known only where the state is: merged with a late row, a row
that is in time would be lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.columnar.arrays import IntArray
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.arrays.coding import distinct, encode, stable_order
from muntin_engine.evaluators.arrays.lifting import Rows, key_rows, lift_form, row_lists
from muntin_engine.evaluators.arrays.rows import RowValues
from muntin_engine.evaluators.arrays.stretch_table import LISTS, ROWS, Part, StretchTable
from muntin_engine.evaluators.arrays.values import COUNTED, Dense, Values
from muntin_engine.evaluators.arrays.wire import to_blob
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.exchange.bound_form import PAYLOADS, BoundForm


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
    holds_rows: bool = False,
) -> Iterator[BucketBlob]:
    """Yield the rows of a batch for each bucket that has any: as partial states, or as they are.

    Cost: a few passes over the rows.

    Args:
        gap: An event counts until so many ticks after its last one.
        rows: The rows.
        forms: The forms of the query; None where its modules are called in the bucket.
        packed: What is to lie beside the rows of each bucket.
        holds_rows: True if the bucket holds the rows themselves until their windows close.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    if not len(rows):
        return
    keyed, weight = encode(rows.keys, len(rows)), np.ones(len(rows), np.int8)
    of_row = rows.buckets_of(keyed)[keyed.codes]
    order = stable_order(of_row, rows.buckets)
    parts: Mapping[Part, Values]
    if holds_rows:
        parts = {LISTS: row_lists(rows).take(order)}
    elif forms is None:
        columns = {f"i{place}": column for place, column in enumerate(rows.inputs)}
        parts = {ROWS: RowValues(pa.table(columns), order)}
    else:
        parts = row_parts(gap, forms, rows, order)
    until = counted_until(rows.starts, rows.ends, gap)[order]
    whole = StretchTable(keyed.codes[order], rows.starts[order], until, weight, parts)
    buckets, firsts = np.unique(of_row[order], return_index=True)
    for bucket, first, stop in zip(buckets, firsts, [*firsts[1:], len(order)], strict=True):
        some = whole.take(slice(first, stop))
        codes, numbers = distinct(some.keys)
        keys = key_rows([key.take(pa.array(keyed.first[codes])) for key in rows.keys], len(codes))
        yield BucketBlob(int(bucket), to_blob(keys, some.with_keys(numbers), packed))


def row_parts(gap: int, forms: Sequence[BoundForm], rows: Rows, order: IntArray) -> dict[Part, Values]:
    """Return the components of each row, in some order.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        values, present = lift_form(place, form, rows, lambda row: _whereabouts(gap, rows, row))
        codes = place_of if present is None else place_of[present]
        if present is not None:
            parts[Part(place, PAYLOADS)] = Dense(COUNTED, np.bincount(codes, minlength=len(order)))
        for part, some in values.items():
            parts[part] = some.take(order) if present is None else some.reduce(codes, len(order))
    return parts


def _whereabouts(gap: int, rows: Rows, row: int) -> tuple[Key, Window]:
    """Return the key of a row, and the stretch on which it counts."""
    key = tuple(column[row].as_py() for column in rows.keys)
    until = counted_until(rows.starts, rows.ends, gap)
    return key, Window(int(rows.starts[row]), int(until[row]))
