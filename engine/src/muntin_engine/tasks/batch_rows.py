"""The rows of a batch of one input as arrays: what each changes, its times, and its problem."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.time.changes import LATEST
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, numpy_array
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.times import as_ticks
from muntin_engine.wire.value_flags import flags

CHANGES: Final = (
    "insert",
    "revise",
    "retract",
    "punctuate_key",
    "punctuate_keys",
    "punctuate",
    "close",
    "clock",
    "signal",
)
"""The kinds of changes that a projected row can make, as the column `change` has them; each is known by its place."""

INSERT, REVISE, RETRACT, PUNCTUATE_KEY, PUNCTUATE_KEYS, PUNCTUATE, CLOSE, CLOCK, SIGNAL = range(len(CHANGES))
"""The places of the kinds among `CHANGES`.

Comparisons rely on the order: events, punctuation of keys, punctuation of all, other rows of no key.
"""

UNKNOWN: Final = -1
"""The kind of a row whose change has none of these names."""


def watermark_of(tick: int) -> int:
    """Return the watermark that punctuation of keys says: beyond all times no row of these keys will follow."""
    return INFINITY if tick >= LATEST else tick


class RowTimes(NamedTuple):
    """The times of rows as ticks, null where a row has none.

    Attributes:
        start: The starts.
        end: The ends; of revisions the ends so far.
        new_end: The ends from now on, of revisions.
    """

    start: pa.Array
    end: pa.Array
    new_end: pa.Array

    def take(self, places: pa.Array) -> RowTimes:
        """Select rows by their places."""
        return RowTimes(self.start.take(places), self.end.take(places), self.new_end.take(places))


class BatchRows(NamedTuple):
    """The rows of a batch.

    Attributes:
        batch: The projected columns.
        kind: The kind of change of each row, as a place among `CHANGES`.
        times: The times of the rows.
        problem: The number of the problem of each among `PROBLEMS`; null where there is none.
    """

    batch: pa.RecordBatch
    kind: IntArray
    times: RowTimes
    problem: pa.Array

    @property
    def is_good(self) -> BoolArray:
        """Flags of the rows that have no problem."""
        if self.has_only_good_rows:
            return np.ones(len(self.problem), np.bool_)
        return flags(self.problem.is_null())

    @property
    def has_only_good_rows(self) -> bool:
        """True if no row has a problem."""
        has_only_good_rows: bool = self.problem.null_count == len(self.problem)
        return has_only_good_rows

    def take(self, places: IntArray) -> BatchRows:
        """Select rows by their places."""
        arrow_places = arrow_array(places)
        return BatchRows(
            batch=self.batch.take(arrow_places),
            kind=self.kind[places],
            times=self.times.take(arrow_places),
            problem=self.problem.take(arrow_places),
        )

    def followed_by(self, other: BatchRows) -> BatchRows:
        """Append the rows of another batch."""
        return BatchRows(
            batch=pa.concat_batches([self.batch, other.batch]),
            kind=np.concatenate([self.kind, other.kind]),
            times=RowTimes(*map(pa.concat_arrays, zip(self.times, other.times, strict=True))),
            problem=pa.concat_arrays([self.problem, other.problem]),
        )


class GoodRows(NamedTuple):
    """The rows of a batch without a problem; a time is `EARLIEST` where a row has none.

    Attributes:
        kind: The kind of change of each row, as a place among `CHANGES`.
        start: The starts.
        end: The ends.
        new_end: The new ends.
        source: The sources of the rows; None if the input has none.
    """

    kind: IntArray
    start: IntArray
    end: IntArray
    new_end: IntArray
    source: pa.Array | None

    def where(self, mask: BoolArray) -> GoodRows:
        """Select rows by a mask."""
        return GoodRows(
            kind=self.kind[mask],
            start=self.start[mask],
            end=self.end[mask],
            new_end=self.new_end[mask],
            source=None if self.source is None else self.source.filter(arrow_array(mask)),
        )

    def punctuation(self) -> int:
        """Return the watermark that rows of punctuation say: the latest of them, or `INFINITY` once the stream ends.

        It is `EARLIEST` if there is no punctuation.
        """
        latest = int(self.start[self.kind == PUNCTUATE].max(initial=EARLIEST))
        # A stream ends by a row that closes it, and by punctuation that lies beyond all times.
        is_closed = latest >= LATEST or (self.kind == CLOSE).any()
        return INFINITY if is_closed else latest


def good_rows(input_task: InputTask, rows: BatchRows) -> GoodRows:
    """Return the rows that have no problem, with their times as NumPy arrays; a null becomes `EARLIEST`."""
    # Without a column of changes all rows are insertions. None of these has a new end: they share one number in memory.
    new_end: IntArray = np.broadcast_to(np.int64(EARLIEST), len(rows.kind))
    if input_task.columns.has_changes:
        new_end = numpy_array(rows.times.new_end, nulls=EARLIEST)
    all_rows = GoodRows(
        kind=rows.kind,
        start=numpy_array(rows.times.start, nulls=EARLIEST),
        end=numpy_array(rows.times.end, nulls=EARLIEST),
        new_end=new_end,
        source=rows.batch.column("source") if input_task.tracker.sources else None,
    )
    return all_rows if rows.has_only_good_rows else all_rows.where(rows.is_good)


def kinds_of(input_task: InputTask, batch: pa.RecordBatch) -> IntArray:
    """Return the kind of change of each row, as a place among `CHANGES`."""
    if not input_task.columns.has_changes:
        return np.full(len(batch), INSERT, np.int32)
    kind: IntArray = numpy_array(pc.index_in(batch.column("change"), arrow_array(CHANGES)), nulls=UNKNOWN)
    return kind


def times_of(input_task: InputTask, batch: pa.RecordBatch, kind: IntArray) -> RowTimes:
    """Return the times of rows as ticks: microseconds since the epoch in UTC for timestamps, see `as_ticks`.

    A point ends one tick after its start. A retraction deletes its event: the new end is the start.

    Args:
        input_task: The input.
        batch: The projected rows.
        kind: The kind of change of each row, as a place among `CHANGES`.
    """
    names = batch.schema.names
    nulls = pa.nulls(len(batch), pa.int64())
    start = as_ticks(batch.column("start"))
    end = as_ticks(batch.column("end")) if "end" in names else nulls
    new_end = as_ticks(batch.column("new_end")) if "new_end" in names else nulls
    if input_task.plan_input.incoming_lifetimes == "point":
        end = pc.add(start, arrow_scalar(1))
    if not input_task.columns.has_changes:  # all rows are insertions
        return RowTimes(start=start, end=end.fill_null(arrow_scalar(INFINITY)), new_end=nulls)

    is_insertion = arrow_array(kind == INSERT)
    is_retraction = arrow_array(kind == RETRACT)
    # An event that is inserted without an end goes on for ever; a revision without one does not say the end so far.
    end = pc.if_else(pc.and_(is_insertion, end.is_null()), arrow_scalar(INFINITY), end)
    new_end = pc.if_else(is_retraction, start, new_end)
    new_end = pc.if_else(is_insertion, arrow_scalar(None, pa.int64()), new_end)
    return RowTimes(start, end, new_end)
