"""Find bad rows that can be recognized alone, before the shuffle and for whole batches at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import Reason
from muntin_engine.plan import LATEST
from muntin_engine.tasks.change_kinds import (
    CHANGES,
    CLOCK,
    CLOSE,
    INSERT,
    PUNCTUATE_KEY,
    PUNCTUATE_KEYS,
    RETRACT,
    REVISE,
    SIGNAL,
    UNKNOWN,
)
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.value_flags import flags, unreadable

CHANGED_TOO_FAR: Final = 10
NO_OLD_END: Final = 11
NO_LENGTH: Final = 12
SHORT_LENGTH: Final = 13
"""Problems of a changed lifetime, as places among `PROBLEMS`."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a row cannot be taken, as one that can be counted and as a sentence."""

    reason: str
    message: str


class RowTimes(NamedTuple):
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
    Problem("undeclared punctuation", "it punctuates keys, and the progress policy has no key punctuation"),
    Problem("unreadable value", "it holds a value that Python has no counterpart for"),
    Problem("time out of range", f"its lifetime, as the query changes it, is {LATEST} ticks or more away from 0"),
    Problem("null time", "its old end is null, so it does not say which point at an end it deletes"),
    Problem("null length", "the length by which the query changes its lifetime is null"),
    Problem("length too small", "the length by which the query changes its lifetime is below the least one it allows"),
)
"""The faults that there are of the times, the key, the source, the change or a value of a row."""


def find_problems(task: InputTask, batch: pa.RecordBatch, kind: IntArray, times: RowTimes) -> pa.Array:
    """Return the place among `PROBLEMS` of the first problem of each row; null where there is none.

    Args:
        task: The input.
        batch: The rows.
        kind: What each does, as a place among `CHANGES`.
        times: Their times.
    """
    is_insert, is_signal, names = kind == INSERT, kind == SIGNAL, batch.schema.names
    is_revision = (kind == REVISE) | (kind == RETRACT)
    is_event = is_insert | is_revision
    is_of_keys = (kind == PUNCTUATE_KEY) | (kind == PUNCTUATE_KEYS)
    start, end, new_end = (ticks.fill_null(0).to_numpy() for ticks in times)
    is_far = (start >= LATEST) | (start <= -LATEST)
    for ends in (end, new_end):  # which may be infinite
        is_far |= ((ends >= LATEST) & (ends != INFINITY)) | (ends <= -LATEST)
    found = [
        kind == UNKNOWN,
        flags(times.start.is_null()) & (kind != CLOSE) & ~is_signal,
        (kind == REVISE) & flags(times.new_end.is_null()),
        # without a column of ids nothing can be revised
        is_event & flags(batch.column("id").is_null()) if "id" in names else is_revision,
        is_signal & flags(batch.column("signal").is_null()) if "signal" in names else is_signal,
        is_event & is_far,
        is_insert & (end <= start),
        _is_undeclared(task, batch, is_event, kind) if task.tracker.sources else np.zeros(len(batch), np.bool_),
        is_of_keys & (not task.tracker.policy.by_key),
        _is_unreadable(task, batch, kind, is_event),
    ]
    codes = np.full(len(batch), UNKNOWN, np.int16)
    for code, is_wrong in reversed(list(enumerate(found))):
        codes[is_wrong] = code
    return pa.array(codes, mask=codes == UNKNOWN)


def _is_undeclared(task: InputTask, batch: pa.RecordBatch, is_event: BoolArray, kind: IntArray) -> BoolArray:
    """Flag the rows of undeclared sources; punctuation may have no source, and then counts for all."""
    source = batch.column("source")
    is_declared = flags(pc.is_in(source, pa.array(task.tracker.sources, pa.string())))
    is_undeclared: BoolArray = ~is_declared & (is_event | flags(source.is_valid())) & (kind < CLOCK)
    return is_undeclared


def _is_unreadable(task: InputTask, batch: pa.RecordBatch, kind: IntArray, is_event: BoolArray) -> BoolArray:
    """Flag the rows that hold a value, among those that are read, without a counterpart in Python."""
    is_pattern = kind == PUNCTUATE_KEYS
    readers = dict.fromkeys(task.key_names, is_event | (kind == PUNCTUATE_KEY) | is_pattern)
    readers |= dict.fromkeys(task.range_names, is_pattern)
    readers |= dict.fromkeys(("id", *task.payload_names), is_event) | {"signal": kind == SIGNAL}
    found = np.zeros(len(batch), np.bool_)
    for name, is_read in readers.items():
        if name in batch.schema.names and is_read.any():
            found |= is_read & unreadable(batch.column(name))
    return found
