"""What can be wrong with a row that the row itself shows, found before the shuffle for whole batches at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.schemas import Field, ListOf, MapOf, Struct, spell
from muntin_engine.core.changes import Reason
from muntin_engine.inputs import is_tuple
from muntin_engine.plan import LATEST
from muntin_engine.spark.job import Job

CHANGES: Final = ("insert", "revise", "retract", "punctuate_key", "punctuate", "close", "clock", "signal")
"""What a row can do."""

INSERT, REVISE, RETRACT, PUNCTUATE_KEY, PUNCTUATE, CLOSE, CLOCK, SIGNAL = range(len(CHANGES))
UNKNOWN: Final = -1
"""The kind of a row that does none of these."""

_Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a row cannot be taken: a reason that can be counted, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Times:
    """The times of some rows as ticks, null where a row has none."""

    start: pa.Array
    end: pa.Array
    new_end: pa.Array


_FIXED: Final = (
    Problem("unknown change", f"its change is none of {', '.join(CHANGES)}"),
    Problem("null time", "its time is null"),
    Problem("null time", "a revision needs a new end, and it is null"),
    Problem("null id", "its id is null, so nothing can refer to it"),
    Problem("null signal", "its signal is null, or the query names no column for it"),
    Problem(str(Reason.EMPTY_LIFETIME), "its end does not lie after its start"),
    Problem("time out of range", f"a time of it is {LATEST} ticks or more away from 0"),
    Problem("undeclared source", "its source is none of those that events() declares"),
    Problem("undeclared punctuation", "it punctuates its key, and the progress policy has no key punctuation"),
)


def problem(job: Job, code: int) -> Problem:
    """Return the problem of a code that `find_problems` gave."""
    if code < len(_FIXED):
        return _FIXED[code]
    read = job.reads[code - len(_FIXED)]
    name = job.names[f"i{read.place}"]
    return Problem("null input", f"its {name} is or holds a null, and {read.reader} reads {spell(read.field)}")


def find_problems(job: Job, batch: pa.RecordBatch, kind: pa.Array, times: Times) -> pa.Array:
    """Return the code of the first problem of each row; null where there is none.

    Args:
        job: The query.
        batch: The rows.
        kind: What each does, as a place among `CHANGES`.
        times: Their times.
    """
    is_insert = _flags(pc.equal(kind, INSERT))
    is_revision = _flags(pc.is_in(kind, pa.array([REVISE, RETRACT], kind.type)))
    is_event = is_insert | is_revision
    found = [
        _flags(pc.equal(kind, UNKNOWN)),
        _flags(pc.is_null(times.start)) & ~_flags(pc.is_in(kind, pa.array([CLOSE, SIGNAL], kind.type))),
        _flags(pc.equal(kind, REVISE)) & _flags(pc.is_null(times.new_end)),
        _has_no_id(batch, is_insert, is_revision),
        _has_no_signal(batch, _flags(pc.equal(kind, SIGNAL))),
        is_insert & _flags(pc.less_equal(times.end, times.start)),
        is_event & _is_out_of_range(times),
        _has_no_source(job, batch, is_event, kind),
        _flags(pc.equal(kind, PUNCTUATE_KEY)) & (not job.tracker.policy.by_key),
        *(is_insert & forbids(batch.column(f"i{read.place}"), read.field) for read in job.reads),
    ]
    codes = np.full(len(batch), UNKNOWN, np.int16)
    for code, is_wrong in reversed(list(enumerate(found))):
        codes[is_wrong] = code
    return pa.array(codes, mask=codes == UNKNOWN)


def forbids(values: pa.Array, wanted: Field) -> _Flags:
    """Return which values are, or hold at any depth, a null that a module does not read."""
    found = np.zeros(len(values), np.bool_) if wanted.is_nullable else _flags(pc.is_null(values))
    if isinstance(wanted.type, Struct):
        found |= _forbids_in_struct(values, wanted.type)
    elif isinstance(wanted.type, ListOf):
        found |= _forbids_in_list(values, wanted.type.element)
    elif isinstance(wanted.type, MapOf):
        entries = values.cast(pa.list_(pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])))
        found |= _forbids_in_list(entries, Field("", Struct((wanted.type.key, wanted.type.value), dict)))
    return found


def forbids_null(wanted: Field) -> bool:
    """True if `forbids` can be true of any value."""
    data_type = wanted.type
    if isinstance(data_type, Struct):
        parts = data_type.fields
    elif isinstance(data_type, MapOf):
        parts = (data_type.key, data_type.value)
    else:
        parts = (data_type.element,) if isinstance(data_type, ListOf) else ()
    return not wanted.is_nullable or any(map(forbids_null, parts))


def _forbids_in_struct(values: pa.Array, struct: Struct) -> _Flags:
    found = np.zeros(len(values), np.bool_)
    for place, part in enumerate(struct.fields):
        index = place if is_tuple(struct) else values.type.get_field_index(part.name)
        if index >= 0:
            found |= forbids(pc.struct_field(values, [index]), part)
    return found & _flags(pc.is_valid(values))


def _forbids_in_list(values: pa.Array, element: Field) -> _Flags:
    found = np.zeros(len(values), np.bool_)
    parents = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
    found[parents[forbids(pc.list_flatten(values), element)]] = True
    return found


def _has_no_id(batch: pa.RecordBatch, is_insert: _Flags, is_revision: _Flags) -> _Flags:
    """Return which rows need an id and have none; without a column of ids nothing can be revised."""
    if "id" not in batch.schema.names:
        return is_revision
    return (is_insert | is_revision) & _flags(pc.is_null(batch.column("id")))


def _has_no_signal(batch: pa.RecordBatch, is_signal: _Flags) -> _Flags:
    """Return which signals have no name."""
    if "signal" not in batch.schema.names:
        return is_signal
    return is_signal & _flags(pc.is_null(batch.column("signal")))


def _has_no_source(job: Job, batch: pa.RecordBatch, is_event: _Flags, kind: pa.Array) -> _Flags:
    """Return which rows are of no declared source; a mark may be of none, and then speaks for all."""
    if not job.tracker.sources:
        return np.zeros(len(batch), np.bool_)
    source = batch.column("source")
    is_declared = _flags(pc.is_in(source, pa.array(job.tracker.sources, pa.string())))
    return ~is_declared & (is_event | _flags(pc.is_valid(source))) & _flags(pc.less(kind, CLOCK))


def _is_out_of_range(times: Times) -> _Flags:
    """Return which rows have a time too far from 0; an end may be infinite."""
    found = _is_far(times.start)
    for ends in (times.end, times.new_end):
        found |= _is_far(ends) & _flags(pc.not_equal(ends, INFINITY))
    return found


def _is_far(ticks: pa.Array) -> _Flags:
    return _flags(pc.or_(pc.greater_equal(ticks, LATEST), pc.less_equal(ticks, -LATEST)))


def _flags(values: pa.Array) -> _Flags:
    """Return an array of booleans for NumPy; null counts as false."""
    flags: Any = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return np.array(flags, np.bool_)
