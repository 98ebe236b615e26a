"""Bad rows that can be recognized alone, before the shuffle and for whole batches at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.tasks.batch_rows import (
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
    RowTimes,
)
from muntin_engine.time.changes import LATEST, Reason
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.value_flags import flags, unreadable


@dataclass(frozen=True, slots=True)
class Problem:
    """The reason why a row is rejected.

    Attributes:
        reason: The kind of reason, by which rows are counted.
        message: The reason, in a sentence.
    """

    reason: str
    message: str


# The problems of rows as they come, in the order in which `find_problems` looks for them.
UNKNOWN_CHANGE: Final = 0
NO_TIME: Final = 1
NO_NEW_END: Final = 2
NO_ID: Final = 3
NO_SIGNAL: Final = 4
TIME_TOO_FAR: Final = 5
EMPTY_LIFETIME: Final = 6
UNDECLARED_SOURCE: Final = 7
UNDECLARED_PUNCTUATION: Final = 8
UNREADABLE_VALUE: Final = 9

# The problems of changed lifetimes.
CHANGED_TOO_FAR: Final = 10
NO_OLD_END: Final = 11
NO_LENGTH: Final = 12
SHORT_LENGTH: Final = 13

NO_PROBLEM: Final = -1
"""The number in the place of a problem for a row without one."""

PROBLEMS: Final[Mapping[int, Problem]] = {
    UNKNOWN_CHANGE: Problem("unknown change", f"its change is none of {', '.join(CHANGES)}"),
    NO_TIME: Problem("null time", "its time is null"),
    NO_NEW_END: Problem("null time", "a revision needs a new end, and it is null"),
    NO_ID: Problem("null id", "its id is null, so nothing can refer to it"),
    NO_SIGNAL: Problem("null signal", "its signal is null, or the query names no column for it"),
    TIME_TOO_FAR: Problem("time out of range", f"a time of it is {LATEST} ticks or more away from 0"),
    EMPTY_LIFETIME: Problem(str(Reason.EMPTY_LIFETIME), "its end does not lie after its start"),
    UNDECLARED_SOURCE: Problem("undeclared source", "its source is none of those that events() declares"),
    UNDECLARED_PUNCTUATION: Problem(
        "undeclared punctuation", "it punctuates keys, and the progress policy has no key punctuation"
    ),
    UNREADABLE_VALUE: Problem("unreadable value", "it holds a value that Python has no counterpart for"),
    CHANGED_TOO_FAR: Problem(
        "time out of range", f"its lifetime, as the query changes it, is {LATEST} ticks or more away from 0"
    ),
    NO_OLD_END: Problem("null time", "its old end is null, so it does not say which point at an end it deletes"),
    NO_LENGTH: Problem("null length", "the length by which the query changes its lifetime is null"),
    SHORT_LENGTH: Problem(
        "length too small", "the length by which the query changes its lifetime is below the least one it allows"
    ),
}
"""The problems of the times, the key, the source, the change or a value of a row, by their numbers."""


def find_problems(input_task: InputTask, batch: pa.RecordBatch, kind: IntArray, times: RowTimes) -> pa.Array:
    """Return the number of the first problem of each row; null where there is none.

    Args:
        input_task: The input.
        batch: The rows.
        kind: The kind of change of each row, as a place among `CHANGES`.
        times: The times of the rows.
    """
    if not input_task.columns.has_changes and _are_good_insertions(input_task, batch, times):
        return pa.nulls(len(batch), pa.int16())

    names = batch.schema.names
    is_insertion = kind == INSERT
    is_revision = (kind == REVISE) | (kind == RETRACT)
    is_event = is_insertion | is_revision
    is_signal = kind == SIGNAL

    has_no_id = is_revision  # nothing can be revised without a column of ids
    if "id" in names:
        has_no_id = is_event & flags(batch.column("id").is_null())
    has_no_signal = is_signal
    if "signal" in names:
        has_no_signal = is_signal & flags(batch.column("signal").is_null())
    start = numpy_array(times.start, nulls=0)
    end = numpy_array(times.end, nulls=0)

    rows_by_problem = {
        UNKNOWN_CHANGE: kind == UNKNOWN,
        NO_TIME: flags(times.start.is_null()) & (kind != CLOSE) & ~is_signal,
        NO_NEW_END: (kind == REVISE) & flags(times.new_end.is_null()),
        NO_ID: has_no_id,
        NO_SIGNAL: has_no_signal,
        TIME_TOO_FAR: is_event & _is_out_of_range(times),
        EMPTY_LIFETIME: is_insertion & (end <= start),
        UNREADABLE_VALUE: _is_unreadable(input_task, batch, kind, is_event),
    }
    if input_task.tracker.sources:
        rows_by_problem[UNDECLARED_SOURCE] = _is_undeclared(input_task, batch, is_event, kind)
    if not input_task.tracker.policy.by_key:
        rows_by_problem[UNDECLARED_PUNCTUATION] = (kind == PUNCTUATE_KEY) | (kind == PUNCTUATE_KEYS)

    problems = np.full(len(batch), NO_PROBLEM, np.int16)
    for problem in sorted(rows_by_problem, reverse=True):  # the first one is written last, over the others
        problems[rows_by_problem[problem]] = problem
    return arrow_array(problems, mask=problems == NO_PROBLEM)


def _are_good_insertions(input_task: InputTask, batch: pa.RecordBatch, times: RowTimes) -> bool:
    """Say whether a quick look at a batch of insertions shows that none has a problem.

    It looks at the least and the largest time, and not at each row. If the answer is False, there may still be no
    problem: then each row has to be looked at.

    Cost: a quarter of what a look at each row costs. For nearly all batches the answer is True.
    """
    if not len(batch) or times.start.null_count or input_task.tracker.sources:
        return False  # an empty batch has no least time, and a source has to be compared in each row
    first_start, last_start = pc.min_max(times.start).values()
    first_end, last_end = pc.min_max(times.end).values()
    if min(first_start.as_py(), first_end.as_py()) <= -LATEST or max(last_start.as_py(), last_end.as_py()) >= LATEST:
        return False
    is_point = input_task.plan_input.incoming_lifetimes == "point"  # a point ends after its start
    if not is_point and not pc.all(pc.greater(times.end, times.start)).as_py():
        return False

    names = batch.schema.names
    if "id" in names and batch.column("id").null_count:
        return False
    for name in ("id", *input_task.key_names, *input_task.payload_names):
        if name in names and unreadable(batch.column(name)).any():
            return False
    return True


def _is_out_of_range(times: RowTimes) -> BoolArray:
    """Flag the rows with a time that lies too far from 0; an end may be infinite."""
    start = numpy_array(times.start, nulls=0)
    is_far: BoolArray = (start >= LATEST) | (start <= -LATEST)
    for nullable_ends in (times.end, times.new_end):
        ends = numpy_array(nullable_ends, nulls=0)
        is_far |= ((ends >= LATEST) & (ends != INFINITY)) | (ends <= -LATEST)
    return is_far


def _is_undeclared(input_task: InputTask, batch: pa.RecordBatch, is_event: BoolArray, kind: IntArray) -> BoolArray:
    """Flag the rows of undeclared sources; punctuation without a source is good, as it counts for all sources."""
    source = batch.column("source")
    is_declared = flags(pc.is_in(source, arrow_array(input_task.tracker.sources, pa.string())))
    needs_source = (is_event | flags(source.is_valid())) & (kind < CLOCK)  # clocks and signals are of no source
    is_undeclared: BoolArray = needs_source & ~is_declared
    return is_undeclared


def _is_unreadable(input_task: InputTask, batch: pa.RecordBatch, kind: IntArray, is_event: BoolArray) -> BoolArray:
    """Flag the rows with a value that Python has no counterpart for, in a column that is read of such rows."""
    is_pattern = kind == PUNCTUATE_KEYS
    is_of_key = is_event | (kind == PUNCTUATE_KEY) | is_pattern
    # What a row has in a column counts only if the column is read of such rows. A key column, for example, is read of
    # events and of punctuation of keys.
    is_read_by_column: dict[str, BoolArray] = {}
    for name in input_task.key_names:
        is_read_by_column[name] = is_of_key
    for name in input_task.plan_input.columns.ranges:
        is_read_by_column[name] = is_pattern
    for name in ("id", *input_task.payload_names):
        is_read_by_column[name] = is_event
    is_read_by_column["signal"] = kind == SIGNAL

    is_unreadable = np.zeros(len(batch), np.bool_)
    for name, is_read in is_read_by_column.items():
        if name in batch.schema.names and is_read.any():
            is_unreadable |= is_read & unreadable(batch.column(name))
    return is_unreadable
