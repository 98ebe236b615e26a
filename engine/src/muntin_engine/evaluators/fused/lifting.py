"""The map side of sessions: each row becomes a partial state of its own.

Rows are not merged here, since which of them are late is known only where the state is: merged with a late row, a row
that is in time would be lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.columnar.arrays import IntArray
from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.columnar.coding import encode, stable_order
from muntin_engine.evaluators.columnar.failing import failing_row
from muntin_engine.evaluators.columnar.lifting import Rows, key_rows, lifted_parts
from muntin_engine.evaluators.columnar.partials import (
    COUNTED,
    Part,
    Partials,
    Values,
    reduce_part,
    take_part,
)
from muntin_engine.evaluators.columnar.wire import to_blob
from muntin_engine.evaluators.over_slices.bucket_blob import BucketBlob
from muntin_engine.exchange.bound_form import PAYLOADS, BoundForm


@dataclass(frozen=True, slots=True)
class Fusing:
    """The way in which the windows of a query fuse.

    Attributes:
        gap: An event counts until so many ticks after its last one.
    """

    gap: int

    def until(self, starts: IntArray, ends: IntArray | None) -> IntArray:
        """Return the ends of the stretches of events; without ends these are points."""
        if ends is None:
            return starts + self.gap
        until: IntArray = np.where(ends == INFINITY, INFINITY, np.minimum(ends, INFINITY - self.gap) - 1 + self.gap)
        return until


class BucketRows(NamedTuple):
    """The rows of a bucket, among the rows of a batch in the order of their buckets.

    Attributes:
        bucket: Its number.
        start: The place of its first row.
        stop: The place after its last one.
        keys: Its keys.
        numbers: For each of its rows the place of the row's key among them.
    """

    bucket: int
    start: int
    stop: int
    keys: pa.Table
    numbers: IntArray


def by_bucket(rows: Rows, order: IntArray) -> Iterator[BucketRows]:
    """Yield the rows of each bucket that has any.

    Args:
        rows: The rows of a batch; there are some.
        order: Their places in the order of their buckets.
    """
    keyed = encode(rows.keys, len(rows))
    codes = keyed.codes[order]
    buckets, firsts = np.unique(rows.buckets[order], return_index=True)
    for bucket, first, stop in zip(buckets, firsts, [*firsts[1:], len(order)], strict=True):
        distinct, numbers = _numbered(codes[first:stop], keyed.size)
        keys = key_rows([key.take(pa.array(keyed.first[distinct])) for key in rows.keys], len(distinct))
        yield BucketRows(int(bucket), int(first), int(stop), keys, numbers)


def bucket_order(rows: Rows) -> IntArray:
    """Return the places of rows in the order of their buckets."""
    return stable_order(rows.buckets, int(rows.buckets.max()) + 1)


def lift_rows(fusing: Fusing, forms: Sequence[BoundForm], rows: Rows) -> Iterator[BucketBlob]:
    """Yield the partial states of a batch of rows for each bucket that has any.

    Cost: a few passes over the rows.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    if not len(rows):
        return
    order = bucket_order(rows)
    until = fusing.until(rows.starts, rows.ends)[order]
    parts = row_parts(fusing, forms, rows, order)
    whole = Partials(rows.starts[order], order, np.ones(len(order), np.int8), parts, until)
    for bucket, start, stop, keys, numbers in by_bucket(rows, order):
        yield BucketBlob(bucket, to_blob(keys, whole.slice(start, stop).with_keys(numbers)))


def _numbered(codes: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct codes, and for each code its place among them."""
    is_there = np.zeros(size, np.bool_)
    is_there[codes] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[codes]


def row_parts(fusing: Fusing, forms: Sequence[BoundForm], rows: Rows, order: IntArray) -> dict[Part, Values]:
    """Return the components of each row, in some order.

    Raises:
        ModuleFailedError: A form raised an exception.
        ModuleContractError: A form returned something else than it declares.
    """
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    parts: dict[Part, Values] = {}
    for place, form in enumerate(forms):
        try:
            lifted, present = form.lift(rows.inputs, len(rows))
        except ModuleFailedError as failure:
            row = failing_row(form, rows.inputs, len(rows))
            raise failure if row is None else failure.at(*_whereabouts(fusing, rows, row)) from failure.__cause__
        codes = place_of if present is None else place_of[present]
        if present is not None:
            parts[Part(place, PAYLOADS, COUNTED)] = np.bincount(codes, minlength=len(order))
        is_whole = present is None
        for part, values in lifted_parts(place, form, lifted, len(codes)):
            parts[part] = take_part(values, order) if is_whole else reduce_part(part, codes, len(order), values)
    return parts


def _whereabouts(fusing: Fusing, rows: Rows, row: int) -> tuple[Key, Window]:
    """Return the key of a row, and the stretch on which it counts."""
    key = tuple(column[row].as_py() for column in rows.keys)
    until = fusing.until(rows.starts, rows.ends)
    return key, Window(int(rows.starts[row]), int(until[row]))
