"""Find bad rows that can be recognized alone, before the shuffle and for whole batches at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray
from muntin_engine.core.changes import Reason
from muntin_engine.exchange.input_task import InputTask
from muntin_engine.exchange.value_flags import flags, unreadable
from muntin_engine.plan import LATEST

CHANGES: Final = ("insert", "revise", "retract", "punctuate_key", "punctuate", "close", "clock", "signal")
"""What a row can do."""

INSERT, REVISE, RETRACT, PUNCTUATE_KEY, PUNCTUATE, CLOSE, CLOCK, SIGNAL = range(len(CHANGES))
UNKNOWN: Final = -1
"""The kind of a row that does none of these."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a row cannot be taken: a reason that can be counted, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class RowTimes:
    """The times of some rows as ticks, null where a row has none."""

    start: pa.Array
    end: pa.Array
    new_end: pa.Array


PROBLEMS: Final = (
    Problem("unknown change", f"its change is none of {', '.join(CHANGES)}"),
    Problem("null time", "its time is null"),
    Problem("null time", "a revision needs a new end, and it is null"),
    Problem("null id", "its id is null, so nothing can refer to it"),
    Problem("null signal", "its signal is null, or the query names no column for it"),
    Problem("time out of range", f"a time of it is {LATEST} ticks or more away from 0"),
    Problem(str(Reason.EMPTY_LIFETIME), "its end does not lie after its start"),
    Problem("undeclared source", "its source is none of those that events() declares"),
    Problem("undeclared punctuation", "it punctuates its key, and the progress policy has no key punctuation"),
    Problem("unreadable value", "it holds a value that Python has no counterpart for"),
)
"""What can be wrong with the times, the key, the source, the change or a value of a row."""


def find_problems(task: InputTask, batch: pa.RecordBatch, kind: pa.Array, times: RowTimes) -> pa.Array:
    """Return the place among `PROBLEMS` of the first problem of each row; null where there is none.

    Args:
        task: The input.
        batch: The rows.
        kind: What each does, as a place among `CHANGES`.
        times: Their times.
    """
    is_insert = flags(pc.equal(kind, INSERT))
    is_revision = flags(pc.is_in(kind, pa.array([REVISE, RETRACT], kind.type)))
    is_event = is_insert | is_revision
    found = [
        flags(pc.equal(kind, UNKNOWN)),
        flags(pc.is_null(times.start)) & ~flags(pc.is_in(kind, pa.array([CLOSE, SIGNAL], kind.type))),
        flags(pc.equal(kind, REVISE)) & flags(pc.is_null(times.new_end)),
        _has_no_id(batch, is_insert, is_revision),
        _has_no_signal(batch, flags(pc.equal(kind, SIGNAL))),
        is_event & _is_out_of_range(times),
        is_insert & flags(pc.less_equal(times.end, times.start)),
        _has_no_source(task, batch, is_event, kind),
        flags(pc.equal(kind, PUNCTUATE_KEY)) & (not task.tracker.policy.by_key),
        _is_unreadable(task, batch, kind, is_event),
    ]
    codes = np.full(len(batch), UNKNOWN, np.int16)
    for code, is_wrong in reversed(list(enumerate(found))):
        codes[is_wrong] = code
    return pa.array(codes, mask=codes == UNKNOWN)


def _has_no_id(batch: pa.RecordBatch, is_insert: BoolArray, is_revision: BoolArray) -> BoolArray:
    """Flag the rows that need an id and have none; without a column of ids nothing can be revised."""
    if "id" not in batch.schema.names:
        return is_revision
    return (is_insert | is_revision) & flags(pc.is_null(batch.column("id")))


def _has_no_signal(batch: pa.RecordBatch, is_signal: BoolArray) -> BoolArray:
    """Flag the signals without a name."""
    if "signal" not in batch.schema.names:
        return is_signal
    return is_signal & flags(pc.is_null(batch.column("signal")))


def _has_no_source(task: InputTask, batch: pa.RecordBatch, is_event: BoolArray, kind: pa.Array) -> BoolArray:
    """Flag the rows of undeclared sources; punctuation may have no source, and then counts for all."""
    if not task.tracker.sources:
        return np.zeros(len(batch), np.bool_)
    source = batch.column("source")
    is_declared = flags(pc.is_in(source, pa.array(task.tracker.sources, pa.string())))
    return ~is_declared & (is_event | flags(pc.is_valid(source))) & flags(pc.less(kind, CLOCK))


def _is_unreadable(task: InputTask, batch: pa.RecordBatch, kind: pa.Array, is_event: BoolArray) -> BoolArray:
    """Flag the rows that hold a value, among those that are read, without a counterpart in Python."""
    is_keyed, is_signal = is_event | flags(pc.equal(kind, PUNCTUATE_KEY)), flags(pc.equal(kind, SIGNAL))
    readers = dict.fromkeys(task.key_names, is_keyed) | dict.fromkeys(("id", *task.payload_names), is_event)
    found = np.zeros(len(batch), np.bool_)
    for name, is_read in (readers | {"signal": is_signal}).items():
        if name in batch.schema.names and is_read.any():
            found |= is_read & unreadable(batch.column(name))
    return found


def _is_out_of_range(times: RowTimes) -> BoolArray:
    """Flag the rows that have a time too far from 0; an end may be infinite."""
    found = _is_far(times.start)
    for ends in (times.end, times.new_end):
        found |= _is_far(ends) & flags(pc.not_equal(ends, INFINITY))
    return found


def _is_far(ticks: pa.Array) -> BoolArray:
    return flags(pc.or_(pc.greater_equal(ticks, LATEST), pc.less_equal(ticks, -LATEST)))
