"""The progress of the input, as the rows of one task imply it, and the external events among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.exchange.input_task import InputTask
from muntin_engine.exchange.problems import CHANGES, CLOCK, CLOSE, INSERT, PUNCTUATE, PUNCTUATE_KEY, SIGNAL, RowTimes
from muntin_engine.exchange.value_flags import unreadable
from muntin_engine.plan import LATEST
from muntin_engine.plan.lengths import microseconds_of
from muntin_engine.progress import Observation
from muntin_engine.state.codec import Codec


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


_CODEC: Final = Codec()


class GoodRows(NamedTuple):
    """The rows of a batch that have no problem of their own.

    Attributes:
        kind: What each does, as a place among `CHANGES`.
        times: Their times.
        source: The sources they are of; None if the input has none.
    """

    kind: pa.Array
    times: RowTimes
    source: pa.Array | None

    @classmethod
    def of(cls, kind: pa.Array, times: RowTimes, source: pa.Array | None, problem: pa.Array) -> GoodRows:
        """Return the rows of a batch without those that have a problem."""
        if problem.null_count == len(problem):
            return cls(kind, times, source)
        return cls(kind, times, source).where(pc.is_null(problem))

    def where(self, is_wanted: pa.Array) -> GoodRows:
        """Return some of the rows."""
        if pc.all(is_wanted).as_py():
            return self
        times = RowTimes(*(ticks.filter(is_wanted) for ticks in (self.times.start, self.times.end, self.times.new_end)))
        source = None if self.source is None else self.source.filter(is_wanted)
        return GoodRows(self.kind.filter(is_wanted), times, source)


def progress_of(task: InputTask, rows: GoodRows) -> Progress:
    """Return the progress of the whole input by explicit rows: punctuation, readings, times; a policy adds the rest."""
    events = rows.where(pc.less(rows.kind, PUNCTUATE_KEY))
    marks = rows if rows.source is None else rows.where(pc.is_null(rows.source))
    clock = _largest(rows.times.start.filter(pc.equal(rows.kind, CLOCK)))
    if clock > EARLIEST:
        clock = microseconds_of(clock, task.plan.unit)
    watermark = Progress(_punctuation(marks), _latest_mark(rows), EARLIEST, clock)
    return _progress_of_events(task, events).advance(watermark)


def observe(task: InputTask, rows: GoodRows) -> Iterator[Observation]:
    """Yield an observation of each source with rows, if the tracker needs it."""
    if not task.tracker.needs_observations:
        return
    spoken = rows.where(pc.less(rows.kind, CLOCK))
    if spoken.source is None:
        yield from _observe(task, None, spoken)
        return
    for name in pc.unique(spoken.source):
        is_of_it = pc.is_null(spoken.source) if name.as_py() is None else pc.equal(spoken.source, name)
        yield from _observe(task, name.as_py(), spoken.where(pc.fill_null(is_of_it, False)))


def pack_observations(observations: Iterable[Observation]) -> bytes:
    """Return observations as bytes, those of one source as one."""
    return _CODEC.pack([observation.to_data() for observation in observations])


def unpack_observations(data: bytes) -> list[Observation]:
    """Return the observations that `pack_observations` wrote."""
    return [Observation.from_data(part) for part in _CODEC.unpack(data)]


def _observe(task: InputTask, source: str | None, rows: GoodRows) -> Iterator[Observation]:
    if not len(rows.kind):
        return
    starts = rows.where(pc.equal(rows.kind, INSERT)).times.start
    latest = _several_largest(starts, task.tracker.starts_kept)
    yield Observation(source, _largest(starts), len(starts), latest, _punctuation(rows))


def _several_largest(ticks: pa.Array, count: int) -> tuple[int, ...]:
    if not count:
        return ()
    values = ticks.to_numpy(zero_copy_only=False)
    if len(values) > count:
        values = np.partition(values, len(values) - count)[-count:]
    return tuple(sorted(values.tolist(), reverse=True))


def _progress_of_events(task: InputTask, events: GoodRows) -> Progress:
    newest = _largest(events.where(pc.equal(events.kind, INSERT)).times.start)
    ends = pa.concat_arrays([events.times.end, events.times.new_end])
    latest = _largest(ends.filter(pc.less(ends, INFINITY)))
    starts_known = EARLIEST if newest == EARLIEST else newest + 1
    ends_known = EARLIEST if latest == EARLIEST else latest + task.plan.reach
    return Progress(EARLIEST, max(starts_known, ends_known), newest)


def _punctuation(rows: GoodRows) -> int:
    """Return the largest punctuation; one beyond all times closes the stream."""
    marks = rows.times.start.filter(pc.equal(rows.kind, PUNCTUATE))
    is_closed = pc.any(pc.equal(rows.kind, CLOSE)).as_py() or pc.any(pc.greater_equal(marks, LATEST)).as_py()
    return INFINITY if is_closed else _largest(marks)


def _latest_mark(rows: GoodRows) -> int:
    """Return the latest punctuation, be it of a key, that says of a time that it was seen."""
    is_mark = pc.and_(pc.greater_equal(rows.kind, PUNCTUATE_KEY), pc.less_equal(rows.kind, PUNCTUATE))
    marks = rows.times.start.filter(is_mark)
    return _largest(marks.filter(pc.less(marks, LATEST)))


def _largest(ticks: object) -> int:
    largest = pc.max(ticks).as_py()
    return EARLIEST if largest is None else int(largest)
