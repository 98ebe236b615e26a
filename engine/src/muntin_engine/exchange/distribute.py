"""The map side: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle. Each task sends every bucket what it has seen of the progress of the
input, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin.errors import ModuleFailedError
from muntin_engine.core.changes import Progress, canonical
from muntin_engine.core.key_patterns import Told
from muntin_engine.evaluators.contracts import LiftsRows
from muntin_engine.evaluators.registry import LIFTS_ROWS
from muntin_engine.exchange.changed_lifetimes import with_changed_lifetimes
from muntin_engine.exchange.durations import Durations
from muntin_engine.exchange.event_ids import in_utc
from muntin_engine.exchange.problems import (
    CHANGES,
    CLOCK,
    CLOSE,
    INSERT,
    PUNCTUATE,
    PUNCTUATE_KEY,
    PUNCTUATE_KEYS,
    RETRACT,
    SIGNAL,
    UNKNOWN,
    RowTimes,
    find_problems,
)
from muntin_engine.exchange.shuffle import by_side, exchanged, pack_observations, pack_patterns, to_blob
from muntin_engine.exchange.spreading import by_bucket
from muntin_engine.exchange.task_payload import InputTask, TaskPayload
from muntin_engine.exchange.times import as_ticks, too_far
from muntin_engine.exchange.value_flags import flags, forbidden_nulls, unreadable
from muntin_engine.plan import LATEST
from muntin_engine.plan.lengths import microseconds_of
from muntin_engine.progress import Observation, merged

if TYPE_CHECKING:
    from muntin_engine.exchange.recorded_rows import RecordedRows

MOST_ROWS: Final = 100_000
"""After how many rows a task sends its blobs; also after `MOST_BYTES`."""

MOST_LIFTED: Final = 2_000_000
"""The same where it sends partial states, of which there are the fewer the more rows they are made of."""

MOST_BYTES: Final = 64 * 2**20


class ReadRows(NamedTuple):
    """The rows of a batch, and what they say.

    Attributes:
        rows: The rows with their problems.
        progress: The progress they carry.
        observed: What they show of each source.
        patterns: The patterns of keys that they say are complete up to a time.
        skipped: The number of insertions that each of `Plan.choosy_labels` does not accept.
        filtered: The number of insertions that the query's filter leaves out, or that have no lifetime.
        unchanging: The number of revisions that change nothing under the query's changes of lifetimes.
    """

    rows: pa.Table
    progress: Progress
    observed: list[Observation]
    patterns: list[Told]
    skipped: list[int]
    filtered: int
    unchanging: int


def distribute(
    task: TaskPayload, batches: Iterable[pa.RecordBatch], recorded: RecordedRows | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task as blobs for their buckets, or what their partial states are; then their progress.

    Args:
        task: The query.
        batches: Its projected rows.
        recorded: Where these are recorded, if they are.

    Cost: a few vectorised passes over the rows. A blob has at most `MOST_ROWS` rows and one Arrow batch more.
    """
    distribution = Distribution(task, recorded)
    for batch in batches:
        yield from distribution.take(batch)
    yield from distribution.finish()


class Distribution:
    """The map side of a query in one task, which is handed batches of rows; several may take turns."""

    def __init__(self, task: TaskPayload, recorded: RecordedRows | None = None) -> None:
        self._task, self._recorded = task, recorded
        self._lifter = LIFTS_ROWS.get(task.plan.choice.evaluator)
        self._most = MOST_ROWS if self._lifter is None else MOST_LIFTED
        self._waiting: list[pa.RecordBatch] = []
        self._durations, self._progress = Durations(task), [Progress()] * len(task.inputs)
        self._observed, self._signals = [list[Observation]() for _ in task.inputs], frozenset[str]()
        self._patterns = [list[Told]() for _ in task.inputs]
        self._skipped = [0] * (len(task.choosy_labels) + 2)

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of a batch and of those that waited for more: each costs the same few hundred calls."""
        if self._recorded is not None:
            self._recorded.take(batch)
        self._waiting.append(batch)
        rows, size = sum(map(len, self._waiting)), sum(some.nbytes for some in self._waiting)
        if rows >= self._most or size >= MOST_BYTES:
            yield from self._send()

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of what still waits, then the progress of all rows for each bucket."""
        if self._waiting:
            yield from self._send()
        task, count = self._task, len(self._task.buckets)
        to_one = {"durations": self._durations.pack(), "skipped": self._skipped}
        first: dict[str, Sequence[Any]] = {name: [value, *[None] * (count - 1)] for name, value in to_one.items()}
        sides = self._told()
        if self._recorded is not None:
            self._recorded.finish(sides, self._signals)
        for side, (seen, observed, patterns) in enumerate(sides):
            told = {"signals": sorted(self._signals), "observed": observed, "patterns": patterns}
            to_all: dict[str, Sequence[Any]] = {name: [value] * count for name, value in told.items()}
            yield exchanged(task, list(task.buckets), {**to_all, **({} if side else first)}, seen, side)

    def _told(self) -> list[tuple[Progress, bytes | None, bytes | None]]:
        """Return what the rows so far say of each input: progress, observations of sources, patterns of keys."""
        observations = (pack_observations(some) if some else None for some in self._observed)
        return list(zip(self._progress, observations, map(pack_patterns, self._patterns), strict=True))

    def _send(self) -> Iterator[pa.RecordBatch]:
        batch, self._waiting = pa.concat_batches(self._waiting), []
        stages = self._durations.stages
        stage = "distribute" if self._lifter is None else "lift"
        send = _blobs if self._lifter is None else partial(_lifted, lifter=self._lifter)
        for given, part in by_side(self._task, batch):
            side = given.side
            with stages["distribute"]:
                rows, seen, sources, patterns, unaccepted, *others = read_rows(given, part)
                self._patterns[side] += patterns
                self._progress[side] = self._progress[side].advance(seen)
                if sources:
                    self._observed[side] = merged([*self._observed[side], *sources], given.tracker.starts_kept)
                self._skipped = list(map(add, self._skipped, [*unaccepted, *others]))
                if "signal" in part.schema.names:
                    self._signals |= signals_in(part)
            with stages[stage]:
                try:
                    sent = list(send(self._task, rows, side))
                except ModuleFailedError:
                    if self._recorded is not None:  # the rows that led there are what one looks for
                        self._recorded.finish(self._told(), self._signals)
                    raise
            yield from sent


def _blobs(task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield one blob for each bucket that has rows; the rows of a bucket keep their order."""
    own = by_bucket(rows, task.key_names, task.plan.buckets)
    if sent := {task.buckets[place]: to_blob(some) for place, some in own}:
        yield exchanged(task, list(sent), {"rows": list(sent.values())}, Progress(), side)


def _lifted(task: TaskPayload, rows: pa.Table, side: int, lifter: LiftsRows) -> Iterator[pa.RecordBatch]:
    """Yield the partial states of the good rows for each bucket that has any, and the other rows as they are."""
    problems = rows.column("problem")
    if problems.null_count < len(problems):
        yield from _blobs(task, rows.filter(pc.is_valid(problems)), side)
        rows = rows.filter(pc.is_null(problems))
    try:
        lifted = list(lifter.lift(task, rows, side))
    except ModuleFailedError as error:
        error.say_window(task.plan.words.spell_interval)
        raise
    blobs, oldest = [blob.blob for blob in lifted], [pc.min(rows.column("start")).as_py()] * len(lifted)
    columns = {"evaluator_blobs": blobs, "oldest": oldest}
    yield exchanged(task, [task.buckets[blob.bucket] for blob in lifted], columns, Progress(), side)


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


def read_rows(task: InputTask, batch: pa.RecordBatch) -> ReadRows:
    """Return the rows of one input with their problems, and what they say.

    The rows have the columns `problem`, `start`, `end`, the keys and the inputs; `id`, `source`, and `change`
    with `new_end`, if the query has them. Times are ticks. Punctuation is no row, but that of a single key is.
    """
    kind = np.full(len(batch), INSERT, np.int32)
    if task.columns.has_changes:
        kind = pc.index_in(batch.column("change"), pa.array(CHANGES)).fill_null(UNKNOWN).to_numpy()
    times = _times(task, batch, kind)
    problem = find_problems(task, batch, kind, times)
    told, gone = _good(task, batch, kind, times, problem), np.zeros(2, np.int64)
    if task.given.changes_lifetimes:
        batch, kind, times, problem, gone = with_changed_lifetimes(task, batch, kind, times, problem)
    columns, is_good = _columns(task, batch, times, problem), flags(problem.is_null())
    is_new, is_met = kind == INSERT, np.ones(len(batch), np.bool_)
    if task.given.columns.conditions:
        is_met = flags(batch.column("kept"))
    is_filtered = is_new & ~is_met
    is_row = (kind < PUNCTUATE_KEYS) | ~is_good
    if task.keeps_filtered:
        # only where it may be revised is what is left out known, without a payload; a retraction may repeat the payload
        own_names = task.own_payload_names
        is_told = is_new | np.logical_or.reduce([flags(columns[name].is_valid()) for name in own_names] or [is_new])
        is_left_out = pa.array(is_told & ~is_met)
        for place, name in enumerate(own_names):
            # one that is left out may be the last sample of its time
            if not (task.given.has_samples and place in (task.given.order, *task.given.then_by)):
                columns[name] = pc.if_else(is_left_out, None, columns[name])
        columns[task.payload_names[-1]] = pa.array(is_met, mask=~is_told)
        is_row &= ~is_filtered | is_good
    else:
        is_row &= ~is_filtered
    rows = pa.table(columns)
    kept = rows if is_row.all() else rows.filter(pa.array(is_row))
    good = _good(task, batch, kind, times, problem) if task.given.changes_lifetimes else told
    observed = list(observe(task, told)) if task.tracker.needs_observations else []
    skipped = {label: np.zeros(len(batch), np.bool_) for label in task.query.choosy_labels}
    for read in task.reads:
        is_null = forbidden_nulls(columns[f"i{read.place}"], read.field)
        if read.sources:
            is_null &= flags(pc.is_in(columns["source"], pa.array(read.sources, columns["source"].type)))
        skipped[read.reader] |= is_null
    counts = [int(np.count_nonzero(is_new & is_met & is_good & some)) for some in skipped.values()]
    left_out, unchanging = map(int, gone)
    filtered = int(np.count_nonzero(is_filtered)) + left_out
    is_pattern = is_good & (kind == PUNCTUATE_KEYS)
    patterns = list(patterns_of(task, rows.filter(pa.array(is_pattern)))) if is_pattern.any() else []
    return ReadRows(kept, progress_of(task, good), observed, patterns, counts, filtered, unchanging)


def _good(task: InputTask, batch: pa.RecordBatch, kind: IntArray, times: RowTimes, problem: pa.Array) -> GoodRows:
    """Return the rows without a problem."""
    start, end, new_end = (ticks.fill_null(EARLIEST).to_numpy() for ticks in times)
    source, is_good = batch.column("source") if task.tracker.sources else None, flags(problem.is_null())
    good = GoodRows(kind, start, end, new_end, source)
    return good if is_good.all() else good.where(is_good)


def _columns(task: InputTask, batch: pa.RecordBatch, times: RowTimes, problem: pa.Array) -> dict[str, pa.Array]:
    """Return the columns of rows, keys and payload in the types in which they travel."""
    columns = {"problem": problem, "start": times.start, "end": times.end}
    if task.columns.has_changes:
        columns |= {"change": batch.column("change"), "new_end": times.new_end}
    for name in times._fields:
        if name in batch.schema.names and pa.types.is_decimal(batch.column(name).type):
            columns |= too_far(name, batch.column(name), getattr(times, name))
    if "id" in batch.schema.names:
        ids = batch.column("id")
        columns["id"] = ids.cast(in_utc(ids.type))  # times come in the zone of the session
    if task.tracker.sources:
        columns["source"] = batch.column("source")
    types = task.query.keys + task.columns.payload
    for name, data_type in zip(task.key_names + task.payload_names, types, strict=True):
        if name in task.key_names or name in task.own_payload_names:
            columns[name] = batch.column(name).cast(data_type, safe=False)
    for place, key in enumerate(task.query.keys):
        limits = [name for name in (f"low{place}", f"high{place}") if name in task.range_names]
        columns |= {name: batch.column(name).cast(key, safe=False) for name in limits}
    return columns


def _times(task: InputTask, batch: pa.RecordBatch, kind: IntArray) -> RowTimes:
    """Return the times of the rows as ticks: microseconds since the epoch in UTC for timestamps, see `as_ticks`.

    A point ends after a tick, and who deletes an event ends it at its start.
    """
    names, nothing = batch.schema.names, pa.nulls(len(batch), pa.int64())
    start = as_ticks(batch.column("start"))
    end = as_ticks(batch.column("end")) if "end" in names else nothing
    if task.given.given_lifetimes == "point":
        end = pc.add(start, 1)
    new_end = as_ticks(batch.column("new_end")) if "new_end" in names else nothing
    is_insert = pa.array(kind == INSERT)
    return RowTimes(
        start,
        pc.if_else(pc.and_(is_insert, end.is_null()), INFINITY, end),
        pc.if_else(is_insert, None, pc.if_else(pa.array(kind == RETRACT), start, new_end)),
    )


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
