"""The rows of a bucket, read from blobs: good ones as changes by key, bad ones for the side output."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import IntArray
from muntin_engine.state.frozen_values import freeze
from muntin_engine.tasks.batch_rows import CHANGES, PUNCTUATE_KEY, watermark_of
from muntin_engine.tasks.row_problems import PROBLEMS
from muntin_engine.time.changes import InputChange, Key
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, numpy_array
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.python_values import changes_of, tuples_of
from muntin_engine.wire.side_output import SideOutputRow, row_as_json
from muntin_engine.wire.task_payload import InputTask, TaskPayload

_NOT_IN_PYTHON: Final = (OverflowError, ValueError)
"""The errors that Arrow raises on a value such as a date after the year 9999, or text that is not UTF-8."""


class KeyRows(NamedTuple):
    """Rows of a key.

    Attributes:
        lookup: The key in a form that can be hashed and equals itself: the key as it is, or a frozen copy of it.
        key: The key.
        changes: The rows.
    """

    lookup: Hashable
    key: Key
    changes: Sequence[InputChange]


@dataclass(slots=True)
class BucketRows:
    """The rows of one bucket in one micro-batch.

    Attributes:
        changes: The good rows, by key. They can be iterated once, and their memory is free afterwards.
        rejected: The rows with a problem of their own.
        key_watermarks: Watermarks of single keys, for each input.
    """

    changes: Iterable[tuple[Key, Sequence[InputChange]]] = ()
    rejected: list[SideOutputRow] = field(default_factory=list)
    key_watermarks: list[list[tuple[Key, int]]] = field(default_factory=list)


def read_bucket_rows(task: TaskPayload, blobs_by_input: Sequence[Iterable[bytes]]) -> BucketRows:
    """Read the blobs of rows that arrive at a bucket.

    Args:
        task: The query.
        blobs_by_input: The blobs of each input.

    Cost: for each row, its values as Python objects and a look-up of its key.
    """
    bucket_rows = BucketRows()
    changes_by_key: dict[Hashable, tuple[Key, list[InputChange]]] = {}
    # Arrays, structs and maps cannot be hashed, and a NaN does not equal itself: such keys are frozen to look them up.
    has_plain_keys = not any(pa.types.is_nested(key) or pa.types.is_floating(key) for key in task.keys)
    rows_by_key = _sorted_by_key if has_plain_keys else _with_frozen_keys
    for input_task, blobs in zip(task.inputs, blobs_by_input, strict=True):
        key_watermarks: list[tuple[Key, int]] = []
        for blob in blobs:
            rows, rejected = split_problems(input_task, from_blob(blob))
            bucket_rows.rejected += rejected
            if input_task.tracker.policy.by_key:  # under other policies punctuation of a key is a problem of its row
                rows, watermarks = _split_key_watermarks(input_task, rows)
                key_watermarks += watermarks
            for lookup, key, changes in rows_by_key(input_task, rows):
                _, key_changes = changes_by_key.setdefault(lookup, (key, []))
                key_changes.extend(changes)
        bucket_rows.key_watermarks.append(key_watermarks)
    bucket_rows.changes = iter(changes_by_key.values())
    return bucket_rows


def split_problems(input_task: InputTask, rows: pa.Table) -> tuple[pa.Table, list[SideOutputRow]]:
    """Split rows by whether they have a problem.

    Returns:
        The rows without a problem, and those with one as rows of the side output.
    """
    problems = rows.column("problem")
    if problems.null_count == len(problems):
        return rows, []
    bad_rows = rows.filter(problems.is_valid())
    return rows.filter(problems.is_null()), list(_rejected_rows(input_task, bad_rows))


def _sorted_by_key(input_task: InputTask, table: pa.Table) -> Iterator[KeyRows]:
    """Yield the rows of a table key by key: a key is looked up once, and not with each of its rows."""
    if not table.num_rows:
        return
    names = input_task.key_names
    # Equal keys become neighbours: each column is coded by its distinct values, and rows are sorted by the codes.
    codes: list[IntArray] = []
    for name in names:
        codes.append(numpy_array(table.column(name).combine_chunks().dictionary_encode("encode").indices))
    order = np.lexsort(codes) if codes else np.arange(table.num_rows)
    is_first = np.zeros(len(order), np.bool_)
    is_first[0] = True
    for column_codes in codes:
        is_first[1:] |= np.diff(column_codes[order]) != 0
    first_places = np.flatnonzero(is_first)  # of the first row of each key

    table = table.take(arrow_array(order))
    changes = list(changes_of(table, input_task.payload_names, input_task.side))
    keys: list[Key] = [()]  # a query without key columns has one key
    if names:
        keys = tuples_of(table.select(names).take(arrow_array(first_places)), names)
    bounds = pairwise([*first_places.tolist(), len(changes)])
    for key, (start, stop) in zip(keys, bounds, strict=True):
        yield KeyRows(lookup=key, key=key, changes=changes[start:stop])


def _with_frozen_keys(input_task: InputTask, table: pa.Table) -> Iterator[KeyRows]:
    """Yield the rows of a table one by one, with frozen keys: arrays and NaN, for example, cannot be looked up."""
    keys = tuples_of(table, input_task.key_names)
    changes = changes_of(table, input_task.payload_names, input_task.side)
    for key, change in zip(keys, changes, strict=True):
        yield KeyRows(lookup=freeze(key), key=key, changes=(change,))


def _split_key_watermarks(input_task: InputTask, table: pa.Table) -> tuple[pa.Table, list[tuple[Key, int]]]:
    """Take the punctuation of single keys out of the rows.

    Returns:
        The other rows; and for each row of punctuation, its key and the watermark of that key.
    """
    is_punctuation = pc.equal(table.column("change"), arrow_scalar(CHANGES[PUNCTUATE_KEY]))
    punctuation = table.filter(is_punctuation)
    keys = tuples_of(punctuation, input_task.key_names)
    ticks = punctuation.column("start").to_pylist()
    watermarks = list(zip(keys, map(watermark_of, ticks), strict=True))
    return table.filter(pc.invert(is_punctuation)), watermarks


def _rejected_rows(input_task: InputTask, table: pa.Table) -> Iterator[SideOutputRow]:
    """Yield bad rows for the side output.

    Each value is read by itself: one that Python cannot represent must not keep others from being read.
    """
    for scalars in zip(*table.columns, strict=True):
        row = dict(zip(table.column_names, scalars, strict=True))
        problem = PROBLEMS[row["problem"].as_py()]
        values = {name: readable_value(scalar) for name, scalar in row.items()}
        yield SideOutputRow(
            is_late=False,
            reason=problem.reason,
            message=problem.message,
            row=row_as_json(input_task, values),
            input=input_task.plan_input.name,
        )


def readable_value(scalar: pa.Scalar) -> object:
    """Return a value as a Python object, or as text if Python has none for it."""
    try:
        value: object = scalar.as_py()
    except _NOT_IN_PYTHON:
        return _text(scalar)
    return value


def _text(scalar: pa.Scalar) -> str:
    """Return a value as text; the word `unreadable` if it cannot be written as text either."""
    try:
        return str(scalar.cast(pa.string()).as_py())
    except (pa.ArrowException, *_NOT_IN_PYTHON):
        return "unreadable"
