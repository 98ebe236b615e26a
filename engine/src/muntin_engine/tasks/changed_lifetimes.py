"""Changes of lifetimes in the rows of a batch, before the shuffle and for whole batches at once.

A change is a function of one event's start and end. A row of a stream names up to two ends of its event, the one so far
and the next, and the function is applied to both; deletions stay deletions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import INFINITY
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.core.lifetimes import (
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
from muntin_engine.core.window_grid import WindowGrid
from muntin_engine.plan import LATEST
from muntin_engine.tasks.change_kinds import CHANGES, INSERT, PUNCTUATE, PUNCTUATE_KEY, RETRACT, UNKNOWN
from muntin_engine.tasks.row_problems import CHANGED_TOO_FAR, NO_LENGTH, NO_OLD_END, SHORT_LENGTH, RowTimes
from muntin_engine.wire.period_numbers import numbers_at, ticks_of
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.times import as_ticks
from muntin_engine.wire.value_flags import flags

_NONE: Final = np.zeros(2, np.int64)


class ChangedRows(NamedTuple):
    """The rows of a batch with changed lifetimes.

    Attributes:
        batch: The rows; a revision may have become two, or none.
        kind: What each does, as a place among `CHANGES`.
        times: Their times.
        problem: The place of the problem of each among `PROBLEMS`; null where there is none.
        gone: The number of insertions that have no lifetime any more, and of revisions that change nothing any more.
    """

    batch: pa.RecordBatch
    kind: IntArray
    times: RowTimes
    problem: pa.Array
    gone: IntArray

    def take(self, places: IntArray) -> ChangedRows:
        """Return some of the rows, from which none has been left out."""
        chosen = pa.array(places)
        times = RowTimes(*(ticks.take(chosen) for ticks in self.times))
        return ChangedRows(self.batch.take(chosen), self.kind[places], times, self.problem.take(chosen), _NONE)

    def followed_by(self, other: ChangedRows) -> ChangedRows:
        """Return these rows and others."""
        return ChangedRows(
            pa.concat_batches([self.batch, other.batch]),
            np.concatenate([self.kind, other.kind]),
            RowTimes(*(pa.concat_arrays(pair) for pair in zip(self.times, other.times, strict=True))),
            pa.concat_arrays([self.problem, other.problem]),
            self.gone + other.gone,
        )


@dataclass(frozen=True)
class _Lives:
    """Rows of events; an end is `INFINITY` if there is none.

    Attributes:
        place: The row of the batch that each is made of.
        kind: What each does.
        start: The starts.
        end: The ends so far.
        is_said: True where a row says the end so far; an insertion does.
        new_end: The next ends, of all but insertions.
        fault: The first problem that a change found, as a place among `PROBLEMS`; `UNKNOWN` where there is none.
    """

    place: IntArray
    kind: IntArray
    start: IntArray
    end: IntArray
    is_said: BoolArray
    new_end: IntArray
    fault: IntArray

    @property
    def is_new(self) -> BoolArray:
        flagged: BoolArray = self.kind == INSERT
        return flagged

    def take(self, chosen: IntArray | BoolArray) -> _Lives:
        return _Lives(*(getattr(self, part.name)[chosen] for part in fields(self)))

    def with_fault(self, code: int, is_wrong: BoolArray) -> _Lives:
        """Return the same with a problem where there was none before."""
        return replace(self, fault=np.where((self.fault == UNKNOWN) & is_wrong, code, self.fault))


def with_changed_lifetimes(
    task: InputTask, batch: pa.RecordBatch, kind: IntArray, times: RowTimes, problem: pa.Array
) -> ChangedRows:
    """Return the rows of a batch with the changes of their sources and then with those of the input.

    Cost: that of `_after`, and a copy of the rows for each source that has changes of its own.
    """
    rows = ChangedRows(batch, kind, times, problem, _NONE)
    for rule in task.given.rules:
        if rule.lifetime_changes:
            is_own = flags(pc.equal(rows.batch.column("source"), rule.source))
            own, others = rows.take(np.flatnonzero(is_own)), rows.take(np.flatnonzero(~is_own))
            both = others.followed_by(_after(rule.changes, own))
            rows = both._replace(gone=rows.gone + both.gone)
    return _after(task.given.changes, rows) if task.given.lifetime_changes else rows


def _after(changes: LifetimeChanges, rows: ChangedRows) -> ChangedRows:
    """Return the rows of a batch with changed lifetimes; those with a problem as they came.

    A revision that no longer changes anything is left out, and so is an event that has no lifetime any more.

    Cost: a few vectorised passes for each change; a call in Python for each row of punctuation.
    """
    is_good = flags(rows.problem.is_null())
    is_event = is_good & (rows.kind < PUNCTUATE_KEY)
    is_mark = is_good & ~is_event & (rows.kind <= PUNCTUATE) & flags(rows.times.start.is_valid())
    given = lives = _lives(rows.kind, rows.times, np.flatnonzero(is_event))
    for change in changes.changes:
        lives = _changed(change, *_with_lengths(change, lives, rows.batch))
    lives = lives.take(lives.is_new | ~lives.is_said | (lives.end != lives.new_end))
    is_gone = ~np.isin(given.place, lives.place)
    gone = rows.gone + np.bincount(~given.is_new[is_gone], minlength=2)

    lives = lives.take(np.argsort(lives.place, kind="stable"))
    place = np.sort(np.concatenate([np.flatnonzero(~is_event), lives.place]))
    taken, at, marks = rows.take(place), np.flatnonzero(is_event[place]), np.flatnonzero(is_mark[place])
    is_wrong = lives.fault != UNKNOWN
    right, own = at[~is_wrong], lives.take(~is_wrong)
    watermarks = np.array(list(map(changes.watermark, taken.times.start.take(pa.array(marks)).to_pylist())), np.int64)
    times = RowTimes(
        _placed(_placed(taken.times.start, right, own.start), marks, watermarks),
        _placed(taken.times.end, right, own.end, ~own.is_said),
        _placed(taken.times.new_end, right, own.new_end, own.is_new),
    )
    problem = _placed(taken.problem, at[is_wrong], lives.fault[is_wrong])
    kind, batch = taken.kind.copy(), taken.batch
    kind[right] = own.kind
    if (is_other := kind != taken.kind).any():
        said = pa.array([CHANGES[number] for number in kind[is_other].tolist()], batch.column("change").type)
        said = pc.replace_with_mask(batch.column("change"), pa.array(is_other), said)
        batch = batch.set_column(batch.schema.get_field_index("change"), "change", said)
    return ChangedRows(batch, kind, times, problem, gone)


def _placed(values: pa.Array, places: IntArray, own: IntArray, is_null: BoolArray | None = None) -> pa.Array:
    """Return values with others at some places, which ascend."""
    is_other = np.zeros(len(values), np.bool_)
    is_other[places] = True
    return pc.replace_with_mask(values, pa.array(is_other), pa.array(own, mask=is_null).cast(values.type))


def _lives(kind: IntArray, times: RowTimes, place: IntArray) -> _Lives:
    """Return some rows of events; what a null stands for is not read."""
    start, end, new_end = (ticks.fill_null(0).to_numpy()[place] for ticks in times)
    is_said = flags(times.end.is_valid())[place]
    return _Lives(place, kind[place], start, end, is_said, new_end, np.full(len(place), UNKNOWN))


def _with_lengths(change: LifetimeChange, lives: _Lives, batch: pa.RecordBatch) -> tuple[_Lives, int | IntArray]:
    """Return the rows with the problems of what they say of a length, and that length, which is another for each.

    What the query's filter leaves out needs no length.
    """
    length = change.length
    if not isinstance(length, LengthColumn):
        return lives, length or 0
    said = as_ticks(batch.column(length.name))
    is_met = flags(batch.column("kept")) if "kept" in batch.schema.names else np.ones(len(batch), np.bool_)
    ticks = said.fill_null(length.least).to_numpy()
    is_null, is_short = (is_met & wrong for wrong in (flags(said.is_null()), ticks < length.least))
    lives = lives.with_fault(NO_LENGTH, is_null[lives.place]).with_fault(SHORT_LENGTH, is_short[lives.place])
    return lives, _clipped(np.maximum(ticks, length.least))[lives.place]


def _changed(change: LifetimeChange, lives: _Lives, length: int | IntArray) -> _Lives:
    """Return the rows after one change."""
    if isinstance(change, PointsAtEnd):
        return _points_at_end(change, lives)
    start = _clipped(_start(change, lives.start, length))

    def moved(end: IntArray) -> IntArray:
        alive = _end(change, lives.start, end, length)
        deleted = start + (end - lives.start)  # or further back than that, which no row may say
        return np.where(end > lives.start, np.where(alive == INFINITY, INFINITY, _clipped(alive)), deleted)

    found = replace(lives, start=start, end=moved(lives.end), new_end=moved(lives.new_end))
    is_far = _is_far(start) | (lives.is_said & _is_far(found.end)) | (~lives.is_new & _is_far(found.new_end))
    found = found.with_fault(CHANGED_TOO_FAR, is_far)
    if not change.fixes_ends:
        return found
    if not isinstance(change, ToEdges):  # the end so far is known now, whether it is said or not
        fixed = _clipped(_end(change, lives.start, lives.end, length))
        found = replace(found, end=np.where(lives.is_said, found.end, fixed), is_said=np.ones_like(lives.is_said))
    revives = lives.is_said & (lives.end <= lives.start)
    return found.take(lives.is_new | (lives.new_end <= lives.start) | revives)


def _start(change: LifetimeChange, start: IntArray, length: int | IntArray) -> IntArray:
    if isinstance(change, Shift):
        return start + length
    return _window_starts(change, start) if isinstance(change, Align) else start


def _end(change: LifetimeChange, start: IntArray, end: IntArray, length: int | IntArray) -> IntArray:
    """Return the ends after a change, where they lie after the starts."""
    if isinstance(change, ToEdges):
        return np.full(len(start), INFINITY, np.int64)
    if isinstance(change, SetDuration):
        return start + length
    if isinstance(change, Shift | Extend):
        return np.where(end == INFINITY, INFINITY, end + length)
    if isinstance(change, Shorten):
        return np.where(end == INFINITY, INFINITY, np.maximum(end - change.reduction, start + 1))
    if isinstance(change, Align):
        return np.where(end == INFINITY, INFINITY, _window_ends(change, np.where(end == INFINITY, start + 1, end)))
    return start + 1  # points at the start


def _points_at_end(change: PointsAtEnd, lives: _Lives) -> _Lives:
    """Return the rows after each event has become a point at its end, which is an event of its own for each end."""
    old, new = lives.end, np.where(lives.is_new, lives.end, lives.new_end)
    had_point = ~lives.is_new & lives.is_said & (old > lives.start) & (old != INFINITY)
    has_point = (new > lives.start) & (new != INFINITY)
    is_same = had_point & has_point & (old == new)
    is_unsaid = ~lives.is_new & ~lives.is_said & (not change.is_repeated)
    gone = lives.take(np.flatnonzero((had_point & ~is_same) | is_unsaid))
    come = lives.take(np.flatnonzero(has_point & ~is_same & ~is_unsaid))
    at = np.where(come.is_new, come.end, come.new_end)
    return _joined(
        replace(
            gone,
            kind=np.full(len(gone.kind), RETRACT, gone.kind.dtype),
            start=gone.end,
            end=gone.end + 1,
            new_end=gone.end,
        )
        .with_fault(NO_OLD_END, ~gone.is_said)
        .with_fault(CHANGED_TOO_FAR, gone.is_said & _is_far(gone.end + 1)),
        replace(
            come,
            kind=np.full(len(come.kind), INSERT, come.kind.dtype),
            start=at,
            end=at + 1,
            is_said=np.ones(len(at), np.bool_),
        ).with_fault(CHANGED_TOO_FAR, _is_far(at + 1)),
    )


def _joined(one: _Lives, other: _Lives) -> _Lives:
    return _Lives(*(np.concatenate([getattr(one, part.name), getattr(other, part.name)]) for part in fields(_Lives)))


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
    lasts = counted.hop if isinstance(change, ShareWindows) else counted.size
    return ticks_of(grid.periods, counted.start(numbers) + lasts)


def _clipped(ticks: IntArray) -> IntArray:
    """Return ticks of which none is farther away than the first that no time may be at."""
    return np.clip(ticks, -LATEST, LATEST)


def _is_far(ticks: IntArray) -> BoolArray:
    is_far: BoolArray = (np.abs(ticks) >= LATEST) & (ticks != INFINITY)
    return is_far
