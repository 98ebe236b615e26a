"""The map side: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle. Each task sends every bucket what it has seen of the progress of the
input, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.changes import Progress, canonical
from muntin_engine.core.key_patterns import Told
from muntin_engine.plan import LATEST
from muntin_engine.plan.lengths import microseconds_of
from muntin_engine.progress import Observation
from muntin_engine.tasks.change_kinds import (
    CHANGES,
    CLOCK,
    CLOSE,
    INSERT,
    PUNCTUATE,
    PUNCTUATE_KEY,
    SIGNAL,
)
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.value_flags import flags, unreadable

if TYPE_CHECKING:
    pass


class GoodRows(NamedTuple):
    """The rows of a batch that have no problem of their own; a time is `EARLIEST` where a row has none.

    Attributes:
        kind: What each does, as a place among `CHANGES`.
        start: The starts.
        end: The ends.
        new_end: The new ends.
        source: The sources they are of; None if the input has none.
    """

    kind: IntArray
    start: IntArray
    end: IntArray
    new_end: IntArray
    source: pa.Array | None

    def where(self, is_wanted: BoolArray) -> GoodRows:
        """Return some of the rows."""
        source = None if self.source is None else self.source.filter(pa.array(is_wanted))
        kind, start, end, new_end = (values[is_wanted] for values in self[:4])
        return GoodRows(kind, start, end, new_end, source)

    def punctuation(self) -> int:
        """Return the largest punctuation; one beyond all times closes the stream."""
        latest = int(self.start[self.kind == PUNCTUATE].max(initial=EARLIEST))
        return INFINITY if latest >= LATEST or (self.kind == CLOSE).any() else latest


def progress_of(task: InputTask, rows: GoodRows) -> Progress:
    """Return the progress of the whole input by explicit rows: punctuation, readings, times; a policy adds the rest.

    The horizon is past every start, known end and punctuation, be it of a key.
    """
    kind, start, is_event = rows.kind, rows.start, rows.kind < PUNCTUATE_KEY
    newest = int(start[kind == INSERT].max(initial=EARLIEST))
    ends = np.concatenate([rows.end[is_event], rows.new_end[is_event]])
    latest = int(ends[ends < INFINITY].max(initial=EARLIEST))
    is_mark = (kind >= PUNCTUATE_KEY) & (kind <= PUNCTUATE) & (start < LATEST)
    horizon = max(
        EARLIEST if newest == EARLIEST else newest + 1,
        EARLIEST if latest == EARLIEST else latest + task.plan.window.reach,
        int(start[is_mark].max(initial=EARLIEST)),
    )
    of_all = rows if rows.source is None else rows.where(flags(rows.source.is_null()))
    clock = int(start[kind == CLOCK].max(initial=EARLIEST))
    if clock > EARLIEST:
        clock = microseconds_of(clock, task.plan.unit, task.plan.places)
    return Progress(of_all.punctuation(), horizon, newest, clock)


def patterns_of(task: InputTask, marks: pa.Table) -> Iterator[Told]:
    """Yield the patterns of punctuation of some keys: for each key column its value, or else its range, if any."""
    names = [name for place in range(len(task.query.keys)) for name in (f"k{place}", f"low{place}", f"high{place}")]
    nothing = [None] * len(marks)
    columns = [canonical(marks.column(name).to_pylist()) if name in marks.column_names else nothing for name in names]
    for tick, row in zip(marks.column("start").to_pylist(), zip(*columns, strict=True), strict=True):
        limits = zip(row[::3], row[1::3], row[2::3], strict=True)
        pattern = [
            (value,) if value is not None else () if low is None and high is None else (low, high)
            for value, low, high in limits
        ]
        yield pattern, INFINITY if tick >= LATEST else tick


def observe(task: InputTask, rows: GoodRows) -> Iterator[Observation]:
    """Yield an observation of each source with rows."""
    spoken, count = rows.where(rows.kind < CLOCK), task.tracker.starts_kept
    for source in [None] if spoken.source is None else pc.unique(spoken.source).to_pylist():
        own = spoken
        if spoken.source is not None:
            own = spoken.where(flags(spoken.source.is_null() if source is None else pc.equal(spoken.source, source)))
        if not len(own.kind):
            continue
        starts = own.start[own.kind == INSERT]
        latest = np.partition(starts, len(starts) - count)[-count:] if 0 < count < len(starts) else starts
        several = tuple(sorted(latest.tolist(), reverse=True)) if count else ()
        yield Observation(source, int(starts.max(initial=EARLIEST)), len(starts), several, own.punctuation())


def signals_in(batch: pa.RecordBatch) -> frozenset[str]:
    """Return the names of the signals in some projected rows.

    Cost: two vectorised passes over the rows of a query that has signals; none for others.
    """
    if not {"signal", "change"} <= set(batch.schema.names):
        return frozenset()
    is_signal = pc.fill_null(pc.equal(batch.column("change"), CHANGES[SIGNAL]), False)
    names = pc.drop_null(batch.column("signal").filter(is_signal))
    known = pc.unique(names)
    return frozenset(known.filter(pa.array(~unreadable(known))).to_pylist())
