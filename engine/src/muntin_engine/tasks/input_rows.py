"""The map side: rows to buckets, and the progress they carry to every bucket.

It runs where the rows are, before the shuffle. Each task sends every bucket what it has seen of the progress of the
input, so a bucket knows the exact watermark of the very micro-batch it is in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.core.changes import Progress
from muntin_engine.core.key_patterns import Told
from muntin_engine.progress import Observation
from muntin_engine.tasks.change_kinds import (
    CHANGES,
    INSERT,
    PUNCTUATE_KEYS,
    RETRACT,
    UNKNOWN,
)
from muntin_engine.tasks.changed_lifetimes import with_changed_lifetimes
from muntin_engine.tasks.reported_progress import GoodRows, observe, patterns_of, progress_of
from muntin_engine.tasks.row_problems import RowTimes, find_problems
from muntin_engine.wire.event_ids import in_utc
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.times import as_ticks, too_far
from muntin_engine.wire.value_flags import flags, forbidden_nulls

if TYPE_CHECKING:
    pass


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
