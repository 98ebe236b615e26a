"""The rows of one input, read from projected Arrow batches: typed columns, problems, progress, and counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.state.key_patterns import CompletePattern
from muntin_engine.tasks.batch_rows import INSERT, PUNCTUATE_KEYS, BatchRows, good_rows, kinds_of, times_of
from muntin_engine.tasks.changed_lifetimes import with_changed_lifetimes
from muntin_engine.tasks.reported_progress import observations_of, patterns_of, progress_of
from muntin_engine.tasks.row_problems import find_problems
from muntin_engine.time.changes import Progress
from muntin_engine.time.progress_tracker import Observation
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.event_ids import in_utc
from muntin_engine.wire.shuffle import RowCounts
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.times import far_times_column
from muntin_engine.wire.value_flags import flags, forbidden_nulls


class InputRows(NamedTuple):
    """The rows of a batch of one input, and what they say of its progress.

    Attributes:
        rows: The rows with their problems.
        progress: The progress that they carry.
        observations: An observation of each source.
        patterns: The patterns of keys that rows of punctuation declare complete, each with the time.
        counts: The counts of rows that no bucket gets.
    """

    rows: pa.Table
    progress: Progress
    observations: list[Observation]
    patterns: list[CompletePattern]
    counts: RowCounts


def read_rows(input_task: InputTask, batch: pa.RecordBatch) -> InputRows:
    """Read a projected batch of one input.

    The rows that are returned go to the buckets. Their columns are `problem`, `start`, `end`, the keys and the payload;
    `id`, `source`, and `change` with `new_end`, if the query has them. Times are ticks. Punctuation of a single key is
    among them, as only the bucket of the key needs it. Other punctuation is in the progress and the patterns instead.
    """
    kind = kinds_of(input_task, batch)
    times = times_of(input_task, batch, kind)
    rows = BatchRows(batch, kind, times, find_problems(input_task, batch, kind, times))

    # A source is observed by its rows as it sent them, before the query changes their lifetimes.
    good = good_rows(input_task, rows)
    observations = list(observations_of(input_task, good)) if input_task.tracker.needs_observations else []
    without_lifetime = 0
    unchanging = 0
    if input_task.plan_input.changes_lifetimes:
        rows, without_lifetime, unchanging = with_changed_lifetimes(input_task, rows)
        good = good_rows(input_task, rows)

    # Insertions that do not meet the query's conditions are filtered; other rows have no conditions to meet.
    is_good = rows.is_good
    is_insertion = rows.kind == INSERT
    meets_conditions = np.ones(len(rows.kind), np.bool_)
    if input_task.plan_input.columns.conditions:
        meets_conditions = flags(rows.batch.column("kept"))  # the conditions, as the projection has evaluated them
    is_filtered = is_insertion & ~meets_conditions

    columns = typed_columns(input_task, rows)
    if input_task.plan_input.keeps_filtered:
        columns |= _marked_columns(input_task, columns, is_insertion, meets_conditions)
    table = pa.table(columns)
    is_sent = _is_sent(input_task, rows.kind, is_good, is_filtered)
    counts = RowCounts(
        unaccepted=_count_unaccepted(input_task, columns, is_insertion & meets_conditions & is_good),
        filtered=int(np.count_nonzero(is_filtered)) + without_lifetime,  # neither kind has an effect on results
        unchanging=unchanging,
    )
    return InputRows(
        rows=table if is_sent.all() else table.filter(arrow_array(is_sent)),
        progress=progress_of(input_task, good),
        observations=observations,
        patterns=_read_patterns(input_task, table, is_good & (rows.kind == PUNCTUATE_KEYS)),
        counts=counts,
    )


def _is_sent(input_task: InputTask, kind: IntArray, is_good: BoolArray, is_filtered: BoolArray) -> BoolArray:
    """Flag the rows that buckets get.

    Rows of no key are only reported. Bad rows are sent for the side output, unless the query filters them. Filtered
    events are sent only if the input keeps them, and only those that are good.
    """
    is_of_key = kind < PUNCTUATE_KEYS  # the kinds of rows of a single key come first among the numbers of kinds
    is_sent: BoolArray = is_of_key | ~is_good
    if input_task.plan_input.keeps_filtered:
        return is_sent & (~is_filtered | is_good)
    return is_sent & ~is_filtered


def _read_patterns(input_task: InputTask, table: pa.Table, is_pattern: BoolArray) -> list[CompletePattern]:
    """Return the patterns of keys that rows declare complete up to a time.

    Args:
        input_task: The input.
        table: All rows.
        is_pattern: True for each row that punctuates the keys of a pattern.
    """
    if not is_pattern.any():
        return []
    return list(patterns_of(input_task, table.filter(arrow_array(is_pattern))))


def typed_columns(input_task: InputTask, rows: BatchRows) -> dict[str, pa.Array]:
    """Return the columns of rows in the types in which they travel to the buckets.

    Args:
        input_task: The input.
        rows: The rows, with their problems and with times in ticks.
    """
    batch = rows.batch
    columns = {"problem": rows.problem, "start": rows.times.start, "end": rows.times.end}
    if input_task.columns.has_changes:
        columns["change"] = batch.column("change")
        columns["new_end"] = rows.times.new_end

    # A decimal may lie further away than ticks reach. Such a row is rejected, and one more column, `far_` and the name,
    # has the time as it came, to be shown.
    for name, ticks in zip(rows.times._fields, rows.times, strict=True):
        if name in batch.schema.names and pa.types.is_decimal(batch.column(name).type):
            columns |= far_times_column(name, batch.column(name), ticks)

    if "id" in batch.schema.names:
        ids = batch.column("id")
        columns["id"] = ids.cast(in_utc(ids.type))  # times come in the zone of the session
    if input_task.tracker.sources:
        columns["source"] = batch.column("source")

    key_types = input_task.query.keys
    for name, key_type in zip(input_task.key_names, key_types, strict=True):
        columns[name] = batch.column(name).cast(key_type, safe=False)
    payload_types = input_task.columns.payload
    # The last type may be that of the mark of filtered events, which is no projected column: see `_marked_columns`.
    for name, payload_type in zip(input_task.projected_payload_names, payload_types, strict=False):
        columns[name] = batch.column(name).cast(payload_type, safe=False)

    # Punctuation of keys may name a range of keys.
    for place, key_type in enumerate(key_types):
        for name in (f"low{place}", f"high{place}"):
            if name in input_task.plan_input.columns.ranges:
                columns[name] = batch.column(name).cast(key_type, safe=False)
    return columns


def _marked_columns(
    input_task: InputTask, columns: dict[str, pa.Array], is_insertion: BoolArray, meets_conditions: BoolArray
) -> dict[str, pa.Array]:
    """Return the payload columns that change if an input keeps filtered events.

    A revision may refer to a filtered event, so the id and the lifetime of the event are sent. Its payload is not
    needed: the columns that are returned hold nulls there. One more column, the last, marks the rows: True for an event
    that meets the conditions, False for a filtered one, and null for a row without a payload.

    Args:
        input_task: The input.
        columns: The typed columns by name.
        is_insertion: True for each row that inserts an event.
        meets_conditions: True for each row that meets the conditions of the query.
    """
    names = input_task.projected_payload_names
    has_payload = is_insertion.copy()
    for name in names:
        has_payload |= flags(columns[name].is_valid())  # a retraction may repeat the payload
    is_blank = arrow_array(has_payload & ~meets_conditions)

    # The columns that order samples keep their values. Of two samples at one time the last one holds; if that is a
    # filtered sample, its place in the order is still needed.
    order_places: set[int | None] = set()
    if input_task.plan_input.has_samples:
        order_places = {input_task.plan_input.order, *input_task.plan_input.then_by}
    marked_columns: dict[str, pa.Array] = {}
    for place, name in enumerate(names):
        if place not in order_places:
            marked_columns[name] = pc.if_else(is_blank, pa.nulls(1, columns[name].type)[0], columns[name])
    marked_columns[input_task.payload_names[-1]] = arrow_array(meets_conditions, mask=~has_payload)
    return marked_columns


def _count_unaccepted(input_task: InputTask, columns: dict[str, pa.Array], is_candidate: BoolArray) -> tuple[int, ...]:
    """Count the rows that each module does not accept, in the order of `TaskPayload.labels_of_skipping_modules`.

    Args:
        input_task: The input.
        columns: The typed columns by name.
        is_candidate: True for each row that counts: a good insertion that meets the conditions of the query.
    """
    labels = input_task.query.labels_of_skipping_modules
    is_unaccepted = {label: np.zeros(len(is_candidate), np.bool_) for label in labels}
    for read in input_task.reads:  # each is a column that a module reads
        is_null = forbidden_nulls(columns[f"i{read.place}"], read.field)
        if read.sources:  # the module does not read rows of other sources
            is_null &= flags(pc.is_in(columns["source"], arrow_array(read.sources, columns["source"].type)))
        is_unaccepted[read.reader] |= is_null
    return tuple(int(np.count_nonzero(is_candidate & is_unaccepted[label])) for label in labels)
