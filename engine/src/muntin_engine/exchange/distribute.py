"""The map side: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle. Each task sends every bucket what it has seen of the progress of the
input, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import add
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY, ModuleFailedError
from muntin.columnar.arrays import BoolArray
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.registry import evaluator_named
from muntin_engine.exchange.blobs import to_blob
from muntin_engine.exchange.durations import Durations
from muntin_engine.exchange.input_task import InputTask
from muntin_engine.exchange.observing import GoodRows, observe, pack_observations, progress_of, signals_in
from muntin_engine.exchange.problems import CHANGES, INSERT, PUNCTUATE, RETRACT, UNKNOWN, RowTimes, find_problems
from muntin_engine.exchange.sides import SIDE, by_side
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.value_flags import flags, forbidden_nulls
from muntin_engine.progress import Observation, merged

PROGRESS: Final = tuple(part.name for part in fields(Progress))
"""The columns of progress, in the order in which `Progress` takes them."""

EXCHANGE: Final = pa.schema(
    [
        ("bucket", pa.int32()),
        ("rows", pa.binary()),
        ("partials", pa.binary()),
        ("observed", pa.binary()),
        *((name, pa.int64()) for name in PROGRESS),
        ("signals", pa.list_(pa.string())),
        ("durations", pa.binary()),
        ("skipped", pa.list_(pa.int64())),
    ]
)
"""What crosses the shuffle: blobs of rows or of partial states, and for each task, bucket and input one row of
progress, with what the task observed of each source, and signals. The first of these has the task's durations, too, and
how many rows each module did not accept. With several inputs, `exchange_schema` adds the side of each row."""

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
        skipped: How many insertions each of `Plan.choosy_labels` does not accept.
        filtered: How many insertions the query's filter leaves out.
    """

    rows: pa.Table
    progress: Progress
    observed: list[Observation]
    skipped: list[int]
    filtered: int


def exchange_schema(inputs: int) -> pa.Schema:
    """Return the schema of what crosses the shuffle, for so many inputs."""
    return EXCHANGE if inputs == 1 else EXCHANGE.append(pa.field(SIDE, pa.int32()))


def distribute(task: TaskPayload, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one task as blobs for their buckets, or what their partial states are; then their progress.

    Cost: a few vectorised passes over the rows. A blob has at most `MOST_ROWS` rows and one Arrow batch more.
    """
    durations, progress = Durations(task), [Progress()] * len(task.inputs)
    observed, signals = [list[Observation]() for _ in task.inputs], frozenset[str]()
    skipped = [0] * (len(task.plan.choosy_labels) + 1)
    lifts = evaluator_named(task.plan.choice.evaluator).lifts_rows
    for batch in _gather(batches, MOST_LIFTED if lifts else MOST_ROWS):
        for given, part in by_side(task, batch):
            side = given.side
            with durations.of("distribute"):
                rows, seen, sources, unaccepted, filtered = read_rows(given, part)
                progress[side] = progress[side].advance(seen)
                if sources:
                    observed[side] = merged([*observed[side], *sources], given.tracker.starts_kept)
                skipped = list(map(add, skipped, [*unaccepted, filtered]))
                signals |= signals_in(part)
            with durations.of("lift" if lifts else "distribute"):
                sent = list(_lifted(task, rows) if lifts else _blobs(task, rows, side))
            yield from sent
    to_one = {"durations": durations.pack(), "skipped": skipped}
    count = len(task.buckets)
    first: dict[str, Sequence[Any]] = {name: [value, *[None] * (count - 1)] for name, value in to_one.items()}
    for side, (seen, some) in enumerate(zip(progress, observed, strict=True)):
        told = {"signals": sorted(signals), "observed": pack_observations(some) if some else None}
        to_all: dict[str, Sequence[Any]] = {name: [value] * count for name, value in told.items()}
        yield _exchange(task, list(task.buckets), {**to_all, **({} if side else first)}, seen, side)


def _gather(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Yield larger batches: every one costs the same few hundred calls, whatever its length."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= most or sum(some.nbytes for some in waiting) >= MOST_BYTES:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)


def read_rows(task: InputTask, batch: pa.RecordBatch) -> ReadRows:
    """Return the rows of one input with their problems, and what they say.

    The rows have the columns `bucket`, `problem`, `start`, `end`, the keys and the inputs; `id`, `source`, and `change`
    with `new_end`, if the query has them. Times are ticks. Punctuation is no row, but that of a key is.
    """
    kind = _kinds(task, batch)
    times = _times(task, batch, kind)
    problem = find_problems(task, batch, kind, times)
    columns = {"bucket": batch.column("bucket"), "problem": problem, "start": times.start, "end": times.end}
    if task.columns.has_changes:
        columns |= {"change": batch.column("change"), "new_end": times.new_end}
    if "id" in batch.schema.names:
        columns["id"] = _in_utc(batch.column("id"))
    source = batch.column("source") if task.tracker.sources else None
    if source is not None:
        columns["source"] = source
    is_new, is_met = flags(pc.equal(kind, INSERT)), np.ones(len(batch), np.bool_)
    if task.given.columns.conditions:
        is_met = flags(batch.column("kept"))
    is_filtered = is_new & ~is_met
    own_names = task.own_payload_names
    types = task.keys + task.columns.payload
    for name, data_type in zip(task.key_names + task.payload_names, types, strict=True):
        if name in task.key_names or name in own_names:
            columns[name] = batch.column(name).cast(data_type, safe=False)
    is_row = flags(pc.or_(pc.less(kind, PUNCTUATE), pc.is_valid(problem)))
    if task.given.keeps_filtered:
        # only where it may be revised is what is left out known, without a payload; a retraction may repeat the payload
        is_told = is_new | np.logical_or.reduce([flags(pc.is_valid(columns[name])) for name in own_names] or [is_new])
        is_left_out = pa.array(is_told & ~is_met)
        columns |= {name: pc.if_else(is_left_out, None, columns[name]) for name in own_names}
        columns[task.payload_names[-1]] = pa.array(is_met, mask=~is_told)
        is_row &= ~is_filtered | flags(pc.is_null(problem))
    else:
        is_row &= ~is_filtered
    rows = pa.table(columns)
    kept = rows if is_row.all() else rows.filter(pa.array(is_row))
    good = GoodRows.of(kind, times, source, problem)
    skipped = _skipped(task, columns, is_new & is_met & flags(pc.is_null(problem)))
    return ReadRows(
        kept, progress_of(task, good), list(observe(task, good)), skipped, int(np.count_nonzero(is_filtered))
    )


def _skipped(task: InputTask, columns: Mapping[str, pa.Array], is_new: BoolArray) -> list[int]:
    """Return the number of new events that each module does not accept."""
    skipped = {label: np.zeros(len(is_new), np.bool_) for label in task.plan.choosy_labels}
    for read in task.reads:
        skipped[read.reader] |= forbidden_nulls(columns[f"i{read.place}"], read.field)
    return [int(np.count_nonzero(is_new & some)) for some in skipped.values()]


def _kinds(task: InputTask, batch: pa.RecordBatch) -> pa.Array:
    """Return the place of each change among `CHANGES`; `UNKNOWN` for any other text, and for null."""
    if not task.columns.has_changes:
        return pa.array(np.full(len(batch), INSERT, np.int32))
    return pc.fill_null(pc.index_in(batch.column("change"), pa.array(CHANGES)), UNKNOWN)


def _times(task: InputTask, batch: pa.RecordBatch, kind: pa.Array) -> RowTimes:
    """Return the times of the rows. A point ends after a tick, and who deletes an event ends it at its start."""
    start = _ticks(batch.column("start"))
    if task.given.is_point:
        end = pc.add(start, 1)
    elif "end" in batch.schema.names:
        end = _ticks(batch.column("end"))
    else:
        end = pa.nulls(len(batch), pa.int64())
    new_end = _ticks(batch.column("new_end")) if "new_end" in batch.schema.names else pa.nulls(len(batch), pa.int64())
    is_insert = pc.equal(kind, INSERT)
    return RowTimes(
        start,
        pc.if_else(pc.and_(is_insert, pc.is_null(end)), INFINITY, end),
        pc.if_else(is_insert, None, pc.if_else(pc.equal(kind, RETRACT), start, new_end)),
    )


def _ticks(times: pa.Array) -> pa.Array:
    """Return times as integer ticks: microseconds since the epoch in UTC for timestamps."""
    return times.cast(pa.int64())


def _in_utc(values: pa.Array) -> pa.Array:
    """Return timestamps as such in UTC, whatever the session's zone, and other values as they are."""
    has_zone = pa.types.is_timestamp(values.type) and values.type.tz is not None
    return values.cast(pa.timestamp("us", tz="UTC")) if has_zone else values


def _blobs(task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield one blob for each bucket that has rows; the rows of a bucket keep their order."""
    if not rows.num_rows:
        return
    bucket = rows.column("bucket").to_numpy()
    order = np.argsort(bucket, kind="stable")
    ordered = rows.drop_columns(["bucket"]).take(pa.array(order))
    places, starts, counts = np.unique(bucket[order], return_index=True, return_counts=True)
    blobs = [to_blob(ordered.slice(start, count)) for start, count in zip(starts, counts, strict=True)]
    yield _exchange(task, [task.buckets[place] for place in places], {"rows": blobs}, Progress(), side)


def _lifted(task: TaskPayload, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """Yield the partial states of the good rows for each bucket that has any, and the other rows as they are."""
    problems = rows.column("problem")
    if problems.null_count < len(problems):
        yield from _blobs(task, rows.filter(pc.is_valid(problems)))
        rows = rows.filter(pc.is_null(problems))
    try:
        lifted = list(evaluator_named(task.plan.choice.evaluator).lift(task, rows))
    except ModuleFailedError as error:
        error.say_window(task.plan.axis.spell_interval)
        raise
    blobs = [blob.blob for blob in lifted]
    yield _exchange(task, [task.buckets[blob.bucket] for blob in lifted], {"partials": blobs}, Progress())


def _exchange(
    task: TaskPayload, buckets: list[int], blobs: Mapping[str, Sequence[object]], progress: Progress, side: int = 0
) -> pa.RecordBatch:
    given: dict[str, Sequence[Any]] = {"bucket": buckets, SIDE: [side] * len(buckets), **blobs}
    given |= {name: [getattr(progress, name)] * len(buckets) for name in PROGRESS}
    nothing = [None] * len(buckets)
    schema = exchange_schema(len(task.inputs))
    columns = [pa.array(given.get(field.name, nothing), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
