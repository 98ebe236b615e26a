"""Changes of lifetimes in the rows of a batch, before the shuffle and for whole batches at once.

A change is a function of one event's start and end. A row of a stream names up to two ends of its event, the one so far
and the next, and the function is applied to both; deletions stay deletions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.plan import LATEST
from muntin_engine.tasks.batch_rows import BatchRows, RowTimes
from muntin_engine.tasks.change_kinds import CHANGES, INSERT, PUNCTUATE, PUNCTUATE_KEY, RETRACT, UNKNOWN
from muntin_engine.tasks.row_problems import CHANGED_TOO_FAR, NO_LENGTH, NO_OLD_END, SHORT_LENGTH
from muntin_engine.time.lifetimes import (
    Align,
    Extend,
    LengthColumn,
    LifetimeChange,
    LifetimeChanges,
    PointsAtEnd,
    SetDuration,
    ShareWindows,
    Shift,
    Shorten,
    ToEdges,
)
from muntin_engine.time.window_grid import WindowGrid
from muntin_engine.wire.period_numbers import numbers_at, ticks_of
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


@dataclass(frozen=True)
class _Lifetimes:
    """The lifetimes of events; an end is `INFINITY` if there is none.

    Attributes:
        row: The row of the batch that each lifetime is of; a row may have several, or none.
        kind: The kind of change of the row.
        start: The starts.
        end: The ends so far.
        is_end_known: True where the row says the end so far; an insertion does.
        new_end: The next ends, of all but insertions.
        problem: The first problem that a change met, as a place among `PROBLEMS`; `UNKNOWN` where there is none.
    """

    row: IntArray
    kind: IntArray
    start: IntArray
    end: IntArray
    is_end_known: BoolArray
    new_end: IntArray
    problem: IntArray

    @property
    def is_insertion(self) -> BoolArray:
        """True for insertions."""
        is_insertion: BoolArray = self.kind == INSERT
        return is_insertion

    def take(self, chosen: IntArray | BoolArray) -> _Lifetimes:
        """Select lifetimes by their places, or by a mask."""
        return _Lifetimes(*(getattr(self, part.name)[chosen] for part in fields(self)))

    def with_problem(self, code: int, is_wrong: BoolArray) -> _Lifetimes:
        """Add a problem, where there was none before."""
        is_first = (self.problem == UNKNOWN) & is_wrong
        return replace(self, problem=np.where(is_first, code, self.problem))

    def followed_by(self, other: _Lifetimes) -> _Lifetimes:
        """Append other lifetimes."""
        return _Lifetimes(
            *(np.concatenate([getattr(self, part.name), getattr(other, part.name)]) for part in fields(self))
        )


def with_changed_lifetimes(input_task: InputTask, rows: BatchRows) -> ChangedRows:
    """Apply the changes of each source to its rows, and then those of the input to all.

    Cost: that of `_changed_rows`, and a copy of the rows for each source that has changes of its own.
    """
    without_lifetime = 0
    unchanging = 0
    for rule in input_task.plan_input.rules:
        if not rule.lifetime_changes:
            continue
        is_of_source = flags(pc.equal(rows.batch.column("source"), rule.source))
        changed = _changed_rows(rule.changes, rows.take(np.flatnonzero(is_of_source)))
        rows = rows.take(np.flatnonzero(~is_of_source)).followed_by(changed.rows)
        without_lifetime += changed.without_lifetime
        unchanging += changed.unchanging
    if input_task.plan_input.lifetime_changes:
        changed = _changed_rows(input_task.plan_input.changes, rows)
        rows = changed.rows
        without_lifetime += changed.without_lifetime
        unchanging += changed.unchanging
    return ChangedRows(rows, without_lifetime, unchanging)


def _changed_rows(changes: LifetimeChanges, rows: BatchRows) -> ChangedRows:
    """Change the lifetimes of a batch; rows with a problem stay as they came.

    A revision that no longer changes anything is left out, and so is an event that has no lifetime any more.

    Cost: a few vectorised passes for each change; a call in Python for each row of punctuation.
    """
    is_good = rows.is_good
    is_event = is_good & (rows.kind < PUNCTUATE_KEY)
    is_punctuation = is_good & ~is_event & (rows.kind <= PUNCTUATE) & flags(rows.times.start.is_valid())

    before = _lifetimes_of(rows, np.flatnonzero(is_event))
    after = before
    for change in changes.changes:
        after, length = _with_length(change, after, rows.batch)
        after = _changed_lifetimes(change, after, length)
    after = after.take(after.is_insertion | ~after.is_end_known | (after.end != after.new_end))
    after = after.take(np.argsort(after.row, kind="stable"))

    is_left_out = ~np.isin(before.row, after.row)
    without_lifetime = np.count_nonzero(is_left_out & before.is_insertion)
    unchanging = np.count_nonzero(is_left_out & ~before.is_insertion)

    # Each lifetime has a row of its own now, in the place of the one that it came from.
    origins = np.sort(np.concatenate([np.flatnonzero(~is_event), after.row]))
    changed = _with_lifetimes(rows.take(origins), np.flatnonzero(is_event[origins]), after)
    changed = _with_watermarks(changed, np.flatnonzero(is_punctuation[origins]), changes)
    return ChangedRows(changed, int(without_lifetime), int(unchanging))


def _lifetimes_of(rows: BatchRows, row: IntArray) -> _Lifetimes:
    """Return the lifetimes of some rows; values under nulls are unspecified."""
    start = rows.times.start.fill_null(0).to_numpy()
    end = rows.times.end.fill_null(0).to_numpy()
    new_end = rows.times.new_end.fill_null(0).to_numpy()
    is_end_known = flags(rows.times.end.is_valid())
    no_problem = np.full(len(row), UNKNOWN)
    return _Lifetimes(row, rows.kind[row], start[row], end[row], is_end_known[row], new_end[row], no_problem)


def _with_lifetimes(rows: BatchRows, places: IntArray, lifetimes: _Lifetimes) -> BatchRows:
    """Give rows other lifetimes; one with a problem gets only that.

    Args:
        rows: The rows.
        places: The places of the rows that change, ascending.
        lifetimes: The lifetime of each of these.
    """
    is_wrong = lifetimes.problem != UNKNOWN
    wrong_places = places[is_wrong]
    right_places = places[~is_wrong]
    right = lifetimes.take(~is_wrong)
    times = RowTimes(
        _replaced(rows.times.start, right_places, right.start),
        _replaced(rows.times.end, right_places, right.end, is_null=~right.is_end_known),
        _replaced(rows.times.new_end, right_places, right.new_end, is_null=right.is_insertion),
    )
    kind = rows.kind.copy()
    kind[right_places] = right.kind
    problem = _replaced(rows.problem, wrong_places, lifetimes.problem[is_wrong])
    return BatchRows(_with_changes(rows.batch, kind != rows.kind, kind), kind, times, problem)


def _with_watermarks(rows: BatchRows, places: IntArray, changes: LifetimeChanges) -> BatchRows:
    """Move the watermarks of rows of punctuation, at ascending places, as changes of lifetimes do."""
    ticks = rows.times.start.take(pa.array(places)).to_pylist()
    watermarks = np.array([changes.watermark(tick) for tick in ticks], np.int64)
    start = _replaced(rows.times.start, places, watermarks)
    return rows._replace(times=rows.times._replace(start=start))


def _with_changes(batch: pa.RecordBatch, is_other: BoolArray, kind: IntArray) -> pa.RecordBatch:
    """Write the names of changes anew, where they are others than before."""
    if not is_other.any():
        return batch
    column = batch.column("change")
    names = pa.array([CHANGES[number] for number in kind[is_other].tolist()], column.type)
    column = pc.replace_with_mask(column, pa.array(is_other), names)
    return batch.set_column(batch.schema.get_field_index("change"), "change", column)


def _replaced(values: pa.Array, places: IntArray, replacements: IntArray, is_null: BoolArray | None = None) -> pa.Array:
    """Replace the values at ascending places."""
    is_replaced = np.zeros(len(values), np.bool_)
    is_replaced[places] = True
    return pc.replace_with_mask(values, pa.array(is_replaced), pa.array(replacements, mask=is_null).cast(values.type))


def _with_length(
    change: LifetimeChange, lifetimes: _Lifetimes, batch: pa.RecordBatch
) -> tuple[_Lifetimes, int | IntArray]:
    """Return the length of a change for each lifetime, and the lifetimes with the problems of their lengths.

    Events that the query's filter leaves out need no length.
    """
    length = change.length
    if not isinstance(length, LengthColumn):
        return lifetimes, length or 0
    lengths = as_ticks(batch.column(length.name))
    ticks = lengths.fill_null(length.least).to_numpy()
    needs_length = np.ones(len(batch), np.bool_)
    if "kept" in batch.schema.names:
        needs_length = flags(batch.column("kept"))
    is_missing = needs_length & flags(lengths.is_null())
    is_short = needs_length & (ticks < length.least)
    lifetimes = lifetimes.with_problem(NO_LENGTH, is_missing[lifetimes.row])
    lifetimes = lifetimes.with_problem(SHORT_LENGTH, is_short[lifetimes.row])
    return lifetimes, _clipped(np.maximum(ticks, length.least))[lifetimes.row]


def _changed_lifetimes(change: LifetimeChange, lifetimes: _Lifetimes, length: int | IntArray) -> _Lifetimes:
    """Apply one change to lifetimes, a length being given for each or for all."""
    if isinstance(change, PointsAtEnd):
        return _points_at_end(change, lifetimes)
    start = _clipped(_changed_starts(change, lifetimes.start, length))
    changed = replace(
        lifetimes,
        start=start,
        end=_moved_ends(change, lifetimes, lifetimes.end, start, length),
        new_end=_moved_ends(change, lifetimes, lifetimes.new_end, start, length),
    )
    is_far = _is_far(start)
    is_far |= lifetimes.is_end_known & _is_far(changed.end)
    is_far |= ~lifetimes.is_insertion & _is_far(changed.new_end)
    changed = changed.with_problem(CHANGED_TOO_FAR, is_far)
    if not change.fixes_ends:
        return changed

    if not isinstance(change, ToEdges):
        # The end so far follows from the start now, whether the row says it or not.
        fixed = _clipped(_changed_ends(change, lifetimes.start, lifetimes.end, length))
        changed = replace(
            changed,
            end=np.where(lifetimes.is_end_known, changed.end, fixed),
            is_end_known=np.ones_like(lifetimes.is_end_known),
        )
    # No revision moves a fixed end: what is left are insertions, deletions, and events that come back.
    is_deletion = lifetimes.new_end <= lifetimes.start
    revives = lifetimes.is_end_known & (lifetimes.end <= lifetimes.start)
    return changed.take(lifetimes.is_insertion | is_deletion | revives)


def _moved_ends(
    change: LifetimeChange, lifetimes: _Lifetimes, end: IntArray, start: IntArray, length: int | IntArray
) -> IntArray:
    """Return ends after a change.

    Args:
        change: The change.
        lifetimes: The lifetimes before it.
        end: Their ends, or their next ends.
        start: The starts after it.
        length: The length of the change.
    """
    alive = _changed_ends(change, lifetimes.start, end, length)
    alive = np.where(alive == INFINITY, INFINITY, _clipped(alive))
    # An end at the start deletes the event, and still does; one before it is wrong, and stays as far before.
    deleted = start + (end - lifetimes.start)
    return np.where(end > lifetimes.start, alive, deleted)


def _changed_starts(change: LifetimeChange, start: IntArray, length: int | IntArray) -> IntArray:
    """Return starts after a change."""
    if isinstance(change, Shift):
        return start + length
    if isinstance(change, Align):
        return _window_starts(change, start)
    return start


def _changed_ends(change: LifetimeChange, start: IntArray, end: IntArray, length: int | IntArray) -> IntArray:
    """Return ends after a change, where they lie after the starts."""
    is_open = end == INFINITY
    if isinstance(change, ToEdges):
        return np.full(len(start), INFINITY, np.int64)
    if isinstance(change, SetDuration):
        return start + length
    if isinstance(change, Shift | Extend):
        return np.where(is_open, INFINITY, end + length)
    if isinstance(change, Shorten):
        return np.where(is_open, INFINITY, np.maximum(end - change.reduction, start + 1))
    if isinstance(change, Align):
        finite_end = np.where(is_open, start + 1, end)
        return np.where(is_open, INFINITY, _window_ends(change, finite_end))
    return start + 1  # points at the start


def _points_at_end(change: PointsAtEnd, lifetimes: _Lifetimes) -> _Lifetimes:
    """Turn each event into a point at its end: an event of its own for each end, so a revision may become two rows."""
    old_end = lifetimes.end
    new_end = np.where(lifetimes.is_insertion, lifetimes.end, lifetimes.new_end)
    had_point = ~lifetimes.is_insertion & lifetimes.is_end_known & (old_end > lifetimes.start) & (old_end != INFINITY)
    has_point = (new_end > lifetimes.start) & (new_end != INFINITY)
    is_same_point = had_point & has_point & (old_end == new_end)
    is_unknown = ~lifetimes.is_insertion & ~lifetimes.is_end_known & (not change.is_repeated)

    removed = lifetimes.take(np.flatnonzero((had_point & ~is_same_point) | is_unknown))
    retractions = replace(
        removed,
        kind=np.full(len(removed.kind), RETRACT, removed.kind.dtype),
        start=removed.end,
        end=removed.end + 1,
        new_end=removed.end,
    )
    retractions = retractions.with_problem(NO_OLD_END, ~removed.is_end_known)
    retractions = retractions.with_problem(CHANGED_TOO_FAR, removed.is_end_known & _is_far(removed.end + 1))

    added = lifetimes.take(np.flatnonzero(has_point & ~is_same_point & ~is_unknown))
    point = np.where(added.is_insertion, added.end, added.new_end)
    insertions = replace(
        added,
        kind=np.full(len(added.kind), INSERT, added.kind.dtype),
        start=point,
        end=point + 1,
        is_end_known=np.ones(len(point), np.bool_),
    )
    insertions = insertions.with_problem(CHANGED_TOO_FAR, _is_far(point + 1))
    return retractions.followed_by(insertions)


def _window_starts(change: Align, ticks: IntArray) -> IntArray:
    """Return the start of the first window that ends after each tick."""
    grid = change.grid
    counted = WindowGrid.of(grid)
    numbers = counted.first_ending_after(numbers_at(grid.periods, ticks))
    return ticks_of(grid.periods, counted.start(numbers))


def _window_ends(change: Align, ticks: IntArray) -> IntArray:
    """Return the end of the last window that starts before each tick, or the start of the next one after it."""
    grid = change.grid
    counted = WindowGrid.of(grid)
    numbers = counted.last_starting_before(numbers_at(grid.periods, ticks - 1) + 1)
    length = counted.hop if isinstance(change, ShareWindows) else counted.size
    return ticks_of(grid.periods, counted.start(numbers) + length)


def _clipped(ticks: IntArray) -> IntArray:
    """Clip ticks to the range of times and one tick more on each side, so that sums do not overflow."""
    return np.clip(ticks, -LATEST, LATEST)


def _is_far(ticks: IntArray) -> BoolArray:
    """Flag ticks that lie out of the range of times."""
    is_far: BoolArray = (np.abs(ticks) >= LATEST) & (ticks != INFINITY)
    return is_far
