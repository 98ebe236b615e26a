"""The bucket side, first half: blobs back to changes by key."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin_engine.core.changes import InputChange, Key
from muntin_engine.core.frozen_values import freeze
from muntin_engine.plan import LATEST
from muntin_engine.tasks.change_kinds import CHANGES, PUNCTUATE_KEY
from muntin_engine.tasks.row_problems import PROBLEMS, Problem
from muntin_engine.wire.blobs import from_blob
from muntin_engine.wire.python_values import changes_of, tuples_of
from muntin_engine.wire.side_output import SideOutputRow, row_as_json
from muntin_engine.wire.task_payload import InputTask, TaskPayload

_NOT_IN_PYTHON: Final = (OverflowError, ValueError)
"""The errors that Arrow raises on a value such as a date after the year 9999, or text that is not UTF-8."""


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


def _without_key_watermarks(task: InputTask, table: pa.Table) -> tuple[pa.Table, list[tuple[Key, int]]]:
    """Return the rows that are no punctuation of their key, and those that are: key and tick."""
    is_key_watermark = pc.equal(table.column("change"), CHANGES[PUNCTUATE_KEY])
    marks = table.filter(is_key_watermark)
    ticks = (INFINITY if tick >= LATEST else tick for tick in marks.column("start").to_pylist())
    return table.filter(pc.invert(is_key_watermark)), list(zip(tuples_of(marks, task.key_names), ticks, strict=True))


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
