"""The bucket side, first half: blobs back to changes by key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise, repeat
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin_engine.core.changes import InputChange, Key
from muntin_engine.core.frozen_values import freeze
from muntin_engine.exchange.event_ids import needs_stand_ins, stand_ins
from muntin_engine.exchange.problems import CHANGES, PROBLEMS, PUNCTUATE_KEY, Problem
from muntin_engine.exchange.shuffle import from_blob
from muntin_engine.exchange.side_output import SideOutputRow, row_as_json
from muntin_engine.exchange.task_payload import InputTask, TaskPayload
from muntin_engine.plan import LATEST

_NOT_IN_PYTHON: Final = (OverflowError, ValueError)
"""The errors that Arrow raises on a value such as a date after the year 9999, or text that is not UTF-8."""


_change: Final = cast("Callable[[tuple[Any, ...]], InputChange]", partial(tuple.__new__, InputChange))
"""Makes a change of its fields, without a step in Python."""


@dataclass(slots=True)
class Intake:
    """The rows of one bucket in one micro-batch.

    Attributes:
        changes: The good rows, by key; iterated once, after which nothing here holds them.
        rejected: The rows with a problem of their own.
        key_watermarks: Watermarks of single keys, for each input.
    """

    changes: Iterable[tuple[Key, Sequence[InputChange]]] = ()
    rejected: list[SideOutputRow] = field(default_factory=list)
    key_watermarks: list[list[tuple[Key, int]]] = field(default_factory=list)


def take_in(task: TaskPayload, *blobs: Iterable[bytes]) -> Intake:
    """Return the rows of some blobs.

    Args:
        task: The query.
        blobs: Those of each input.

    Cost: for each row, its values as Python objects and a look-up of its key.
    """
    intake, keys, changes = Intake(), dict[Hashable, Key](), dict[Hashable, list[InputChange]]()
    has_plain_keys = not any(pa.types.is_nested(key) or pa.types.is_floating(key) for key in task.keys)
    for given, own in zip(task.inputs, blobs, strict=True):
        key_watermarks: list[tuple[Key, int]] = []
        for blob in own:
            rows, rejected = without_problems(given, from_blob(blob))
            intake.rejected += rejected
            if given.tracker.policy.by_key:
                rows, more = _without_key_watermarks(given, rows)
                key_watermarks += more
            for name, key, some in _sorted_by_key(given, rows) if has_plain_keys else _named_by_stand_ins(given, rows):
                keys.setdefault(name, key)
                changes.setdefault(name, []).extend(some)
        intake.key_watermarks.append(key_watermarks)
    intake.changes = zip(keys.values(), changes.values(), strict=True)
    return intake


def without_problems(given: InputTask, rows: pa.Table) -> tuple[pa.Table, list[SideOutputRow]]:
    """Return the rows that have no problem of their own, and the others as they are rejected."""
    problems = rows.column("problem")
    if problems.null_count == len(problems):
        return rows, []
    bad = rows.filter(problems.is_valid())
    told = (PROBLEMS[code] for code in bad.column("problem").to_pylist())
    return rows.filter(problems.is_null()), [*_rejected(given, bad, told)]


def _sorted_by_key(given: InputTask, table: pa.Table) -> Iterator[tuple[Hashable, Key, Sequence[InputChange]]]:
    """Yield the rows of a table key by key: a key is looked up once, and not with each of its rows."""
    if not table.num_rows:
        return
    columns = [table.column(name).combine_chunks() for name in given.key_names]
    codes = [column.dictionary_encode("encode").indices.to_numpy() for column in columns]
    order = np.lexsort(codes) if codes else np.arange(table.num_rows)
    is_first = np.zeros(len(order), np.bool_)
    is_first[0] = True
    for code in codes:
        is_first[1:] |= np.diff(code[order]) != 0
    firsts = np.flatnonzero(is_first)
    table = table.take(pa.array(order))
    changes = list(changes_of(table, given.payload_names, given.side))
    keys = tuples_of(table.select(given.key_names).take(pa.array(firsts)), given.key_names) if codes else [()]
    for key, (start, stop) in zip(keys, pairwise([*firsts.tolist(), len(changes)]), strict=True):
        yield key, key, changes[start:stop]


def _named_by_stand_ins(given: InputTask, table: pa.Table) -> Iterator[tuple[Hashable, Key, Sequence[InputChange]]]:
    """Yield the rows of a table one by one, where a key cannot be looked up by itself, as an array or a NaN."""
    for key, change in zip(
        tuples_of(table, given.key_names), changes_of(table, given.payload_names, given.side), strict=True
    ):
        yield freeze(key), key, (change,)


def changes_of(table: pa.Table, payload_names: Sequence[str], side: int = 0) -> Iterator[InputChange]:
    """Return the rows of a table as changes; `payload_names` are the columns that make the payload."""
    payloads = tuples_of(table, payload_names)
    names = ("id", "start", "end", "new_end", "source")
    ids, starts, ends, new_ends, sources = (_values(table, name) for name in names)
    if "id" in table.column_names and needs_stand_ins(table.column("id").type):
        ids = stand_ins(table.column("id"))
    return map(_change, zip(ids, starts, ends, payloads, new_ends, sources, repeat(side), strict=False))


def _without_key_watermarks(task: InputTask, table: pa.Table) -> tuple[pa.Table, list[tuple[Key, int]]]:
    """Return the rows that are no punctuation of their key, and those that are: key and tick."""
    is_key_watermark = pc.equal(table.column("change"), CHANGES[PUNCTUATE_KEY])
    marks = table.filter(is_key_watermark)
    ticks = (INFINITY if tick >= LATEST else tick for tick in marks.column("start").to_pylist())
    return table.filter(pc.invert(is_key_watermark)), list(zip(tuples_of(marks, task.key_names), ticks, strict=True))


def tuples_of(table: pa.Table, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return some columns of a table row by row, as Python values."""
    return list(zip(*columns_of(table, names), strict=True)) if names else [()] * table.num_rows


def columns_of(table: pa.Table, names: Sequence[str]) -> list[list[object]]:
    """Return some columns of a table as Python values; each is in it."""
    return [list(_values(table, name)) for name in names]


def _values(table: pa.Table, name: str) -> Iterable[object]:
    """Return a column as Python values; endless nulls if the table has no such column."""
    if name not in table.column_names:
        return repeat(None)
    return values_in(table.column(name))


def values_in(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column as Python values; numbers without nulls by way of NumPy, which is ten times as fast."""
    is_plain = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values: list[Any] = column.to_numpy().tolist() if is_plain and not column.null_count else column.to_pylist()
    return values


def _rejected(task: InputTask, table: pa.Table, problems: Iterable[Problem]) -> Iterator[SideOutputRow]:
    """Yield the rows of a table for the side output, value by value, as Arrow holds them."""
    for row, why in zip(zip(*table.columns, strict=True), problems, strict=True):
        values = {
            name: _text(scalar) if _is_unreadable(scalar) else scalar.as_py()
            for name, scalar in zip(table.column_names, row, strict=True)
        }
        yield SideOutputRow(False, why.reason, why.message, row_as_json(task, values), input=task.given.name)


def _is_unreadable(scalar: pa.Scalar) -> bool:
    try:
        scalar.as_py()
    except _NOT_IN_PYTHON:
        return True
    return False


def _text(scalar: pa.Scalar) -> str:
    try:
        return str(scalar.cast(pa.string()).as_py())
    except (pa.ArrowException, *_NOT_IN_PYTHON):
        return "unreadable"
