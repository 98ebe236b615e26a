"""Changes of lifetimes in the rows of a batch, before the shuffle and for whole batches at once.

What each change does to arrays of starts and ends is in `lifetime_arrays`; here are the rows around them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.tasks.batch_rows import CHANGES, PUNCTUATE, PUNCTUATE_KEY, BatchRows, RowTimes
from muntin_engine.tasks.lifetime_arrays import LifetimeArrays, clipped, on_arrays
from muntin_engine.tasks.row_problems import NO_LENGTH, NO_PROBLEM, SHORT_LENGTH
from muntin_engine.time.lifetimes import LengthColumn, LifetimeChange, LifetimeChanges
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, numpy_array
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.times import as_ticks
from muntin_engine.wire.value_flags import flags


class ChangedRows(NamedTuple):
    """The rows of a batch with changed lifetimes; a revision may have become two rows, or none.

    Attributes:
        rows: The rows.
        without_lifetime: The number of insertions that have no lifetime any more, and are left out.
        unchanging: The number of revisions that change nothing any more, and are left out.
    """

    rows: BatchRows
    without_lifetime: int
    unchanging: int


def with_changed_lifetimes(input_task: InputTask, rows: BatchRows) -> ChangedRows:
    """Change the lifetimes of rows: first by the changes of their own source, then by the changes of the whole input.

    The rows of a source that has changes of its own move behind the rows of other sources.

    The counts of rows that are left out are those of `ChangedRows`.

    Cost: that of `_changed_rows`, and a copy of the rows for each source that has changes of its own.
    """
    without_lifetime = 0
    unchanging = 0
    for rule in input_task.plan_input.rules:  # there is a rule for each source that was a stream of its own
        if not rule.lifetime_changes:
            continue
        is_of_source = flags(pc.equal(rows.batch.column("source"), arrow_scalar(rule.source)))
        source_rows = _changed_rows(rule.changes, rows.take(np.flatnonzero(is_of_source)))
        rows = rows.take(np.flatnonzero(~is_of_source)).followed_by(source_rows.rows)
        without_lifetime += source_rows.without_lifetime
        unchanging += source_rows.unchanging
    if input_task.plan_input.lifetime_changes:
        input_rows = _changed_rows(input_task.plan_input.changes, rows)
        rows = input_rows.rows
        without_lifetime += input_rows.without_lifetime
        unchanging += input_rows.unchanging
    return ChangedRows(rows, without_lifetime, unchanging)


def _changed_rows(lifetime_changes: LifetimeChanges, rows: BatchRows) -> ChangedRows:
    """Change the lifetimes of a batch; rows with a problem stay as they came.

    A revision that no longer changes anything is left out, and so is an event that has no lifetime any more.

    Cost: a few vectorised passes for each change; a call in Python for each row of punctuation.
    """
    # `CHANGES` lists events first, then punctuation, then rows that have no time on the axis.
    is_good = rows.is_good
    is_event = is_good & (rows.kind < PUNCTUATE_KEY)
    is_punctuation = is_good & ~is_event & (rows.kind <= PUNCTUATE)

    old_lifetimes = _lifetimes_of(rows, np.flatnonzero(is_event))
    lifetimes = old_lifetimes
    for change in lifetime_changes.changes:
        lifetimes, length = _with_length(change, lifetimes, rows.batch)
        lifetimes = on_arrays(change, length).apply(lifetimes)

    # A revision changes nothing if its old and its new end have become the same. If it does not say its old end, it may
    # change something, and stays.
    changes_something = lifetimes.is_insertion | ~lifetimes.is_end_known | (lifetimes.end != lifetimes.new_end)
    lifetimes = lifetimes.take(changes_something)
    # A change may turn a row into two, the second of which lies behind all others: bring them next to each other.
    lifetimes = lifetimes.take(np.argsort(lifetimes.row, kind="stable"))

    is_left_out = ~np.isin(old_lifetimes.row, lifetimes.row)
    without_lifetime = np.count_nonzero(is_left_out & old_lifetimes.is_insertion)
    unchanging = np.count_nonzero(is_left_out & ~old_lifetimes.is_insertion)

    # Each lifetime gets a row of its own: a row with two lifetimes is repeated, and an event without any is left out.
    # `origins` has, for each new row, the place of the row that it is made of.
    origins = np.sort(np.concatenate([np.flatnonzero(~is_event), lifetimes.row]))
    event_places = np.flatnonzero(is_event[origins])
    punctuation_places = np.flatnonzero(is_punctuation[origins])
    new_rows = _with_lifetimes(rows.take(origins), event_places, lifetimes)
    new_rows = _with_watermarks(new_rows, punctuation_places, lifetime_changes)
    return ChangedRows(new_rows, int(without_lifetime), int(unchanging))


def _lifetimes_of(rows: BatchRows, places: IntArray) -> LifetimeArrays:
    """Return the lifetimes of the rows at places; where a row has no such time, 0 stands in its place."""
    return LifetimeArrays(
        row=places,
        kind=rows.kind[places],
        start=numpy_array(rows.times.start, nulls=0)[places],
        end=numpy_array(rows.times.end, nulls=0)[places],
        is_end_known=flags(rows.times.end.is_valid())[places],
        new_end=numpy_array(rows.times.new_end, nulls=0)[places],
        problem=np.full(len(places), NO_PROBLEM),
    )


def _with_lifetimes(rows: BatchRows, places: IntArray, lifetimes: LifetimeArrays) -> BatchRows:
    """Give rows other lifetimes. If a lifetime has a problem, its row gets the problem and keeps its times.

    Args:
        rows: The rows.
        places: The places of the rows that change, ascending.
        lifetimes: The lifetime of each of these.
    """
    has_problem = lifetimes.problem != NO_PROBLEM
    good_places = places[~has_problem]
    good = lifetimes.take(~has_problem)
    times = RowTimes(
        start=_replaced(rows.times.start, good_places, good.start),
        end=_replaced(rows.times.end, good_places, good.end, is_null=~good.is_end_known),
        new_end=_replaced(rows.times.new_end, good_places, good.new_end, is_null=good.is_insertion),
    )
    kind = rows.kind.copy()
    kind[good_places] = good.kind
    return BatchRows(
        batch=_with_changes(rows.batch, kind != rows.kind, kind),
        kind=kind,
        times=times,
        problem=_replaced(rows.problem, places[has_problem], lifetimes.problem[has_problem]),
    )


def _with_watermarks(rows: BatchRows, places: IntArray, changes: LifetimeChanges) -> BatchRows:
    """Move the ticks of rows of punctuation to where changes of lifetimes move a watermark.

    Args:
        rows: The rows.
        places: The places of the rows of punctuation, ascending.
        changes: The changes of lifetimes.
    """
    ticks = rows.times.start.take(arrow_array(places)).to_pylist()
    watermarks = np.array([changes.watermark(tick) for tick in ticks], np.int64)
    start = _replaced(rows.times.start, places, watermarks)
    return rows._replace(times=rows.times._replace(start=start))


def _with_changes(batch: pa.RecordBatch, has_new_kind: BoolArray, kind: IntArray) -> pa.RecordBatch:
    """Write the column `change` anew for rows that have a new kind.

    Args:
        batch: The rows.
        has_new_kind: True for each row whose kind is not the one that its column `change` names.
        kind: The kind of each row, as a place among `CHANGES`.
    """
    if not has_new_kind.any():
        return batch
    column = batch.column("change")
    names = arrow_array([CHANGES[number] for number in kind[has_new_kind].tolist()], column.type)
    column = pc.replace_with_mask(column, arrow_array(has_new_kind), names)
    return batch.set_column(batch.schema.get_field_index("change"), "change", column)


def _replaced(values: pa.Array, places: IntArray, replacements: IntArray, is_null: BoolArray | None = None) -> pa.Array:
    """Replace values of an array.

    Args:
        values: The array.
        places: The places of the values to replace, ascending.
        replacements: The new value for each of these places.
        is_null: True for each new value that is null; None if none is.
    """
    is_replaced = np.zeros(len(values), np.bool_)
    is_replaced[places] = True
    return pc.replace_with_mask(
        values, arrow_array(is_replaced), arrow_array(replacements, mask=is_null).cast(values.type)
    )


def _with_length(
    change: LifetimeChange, lifetimes: LifetimeArrays, batch: pa.RecordBatch
) -> tuple[LifetimeArrays, int | IntArray]:
    """Read the length by which a change alters each lifetime.

    Args:
        change: The change.
        lifetimes: The lifetimes before the change.
        batch: The rows that the lifetimes are of, with the columns of lengths.

    Returns:
        The lifetimes, with a problem where the length is missing or too short; and the length for each of them, or one
        for all.
    """
    length = change.length
    if not isinstance(length, LengthColumn):
        return lifetimes, length or 0  # some changes need no length

    lengths = as_ticks(batch.column(length.name))
    ticks = numpy_array(lengths, nulls=length.least)
    needs_length = np.ones(len(batch), np.bool_)
    # The column `kept` flags the events that the query's filter does not leave out. Only these need a length.
    if "kept" in batch.schema.names:
        needs_length = flags(batch.column("kept"))
    is_missing = needs_length & flags(lengths.is_null())
    is_short = needs_length & (ticks < length.least)
    lifetimes = lifetimes.with_problem(NO_LENGTH, is_missing[lifetimes.row])
    lifetimes = lifetimes.with_problem(SHORT_LENGTH, is_short[lifetimes.row])
    # The least length stands in for a missing or a shorter one: its row has a problem by now, but arrays need a number.
    return lifetimes, clipped(np.maximum(ticks, length.least))[lifetimes.row]
