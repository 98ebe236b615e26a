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
from muntin_engine.exchange.counting import numbers_at, ticks_of
from muntin_engine.exchange.problems import (
    CHANGED_TOO_FAR,
    CHANGES,
    INSERT,
    NO_LENGTH,
    NO_OLD_END,
    PUNCTUATE,
    PUNCTUATE_KEY,
    RETRACT,
    SHORT_LENGTH,
    UNKNOWN,
    RowTimes,
)
from muntin_engine.exchange.task_payload import InputTask
from muntin_engine.exchange.times import as_ticks
from muntin_engine.exchange.value_flags import flags
from muntin_engine.plan import LATEST

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
        return _Lives(
            self.place[chosen],
            self.kind[chosen],
            self.start[chosen],
            self.end[chosen],
            self.is_said[chosen],
            self.new_end[chosen],
            self.fault[chosen],
        )

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
    batch, kind, times, problem, gone = rows
    is_good = flags(problem.is_null())
    is_event, is_mark = is_good & (kind < PUNCTUATE_KEY), is_good & (kind >= PUNCTUATE_KEY) & (kind <= PUNCTUATE)
    given = _lives(kind, times, np.flatnonzero(is_event))
    lives = given
    for change in changes.changes:
        lives = _changed(change, *_with_lengths(change, lives, batch))
    is_idle = ~lives.is_new & lives.is_said & (lives.end == lives.new_end)
    lives = lives.take(~is_idle)
    is_gone = ~np.isin(given.place, lives.place)
    is_wrong = lives.fault != UNKNOWN
    if is_wrong.any():  # which are shown as they came
        came = _lives(kind, times, lives.place)
        lives = replace(
            lives,
            kind=np.where(is_wrong, came.kind, lives.kind),
            start=np.where(is_wrong, came.start, lives.start),
            end=np.where(is_wrong, came.end, lives.end),
            is_said=np.where(is_wrong, came.is_said, lives.is_said),
            new_end=np.where(is_wrong, came.new_end, lives.new_end),
        )
    others = np.flatnonzero(~is_event)
    starts = _starts_of_others(changes, times.start, is_mark, others)
    place = np.concatenate([others, lives.place])
    order = np.argsort(place, kind="stable")

    def united(of_others: pa.Array, own: IntArray, is_null: BoolArray) -> pa.Array:
        return pa.concat_arrays([of_others, pa.array(own, of_others.type, mask=is_null)]).take(pa.array(order))

    taken = {name: getattr(times, name).take(pa.array(others)) for name in ("end", "new_end")}
    nowhere = np.zeros(len(lives.place), np.bool_)
    taken_rows = batch.take(pa.array(place[order]))
    if (lives.kind != kind[lives.place]).any():
        said = pa.array([CHANGES[number] for number in lives.kind.tolist()], batch.column("change").type)
        said = pa.concat_arrays([batch.column("change").take(pa.array(others)), said]).take(pa.array(order))
        taken_rows = taken_rows.set_column(batch.schema.get_field_index("change"), "change", said)
    return ChangedRows(
        taken_rows,
        np.concatenate([kind[others], lives.kind])[order],
        RowTimes(
            united(starts, lives.start, nowhere),
            united(taken["end"], lives.end, ~lives.is_said),
            united(taken["new_end"], lives.new_end, lives.is_new),
        ),
        united(problem.take(pa.array(others)), lives.fault.astype(np.int16), ~is_wrong),
        gone + np.bincount(~given.is_new[is_gone], minlength=2),
    )


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


def _starts_of_others(changes: LifetimeChanges, starts: pa.Array, is_mark: BoolArray, others: IntArray) -> pa.Array:
    """Return the starts of rows of no event, with the watermarks among them changed."""
    taken = starts.take(pa.array(others))
    marks = is_mark[others]
    if not marks.any():
        return taken
    ticks = taken.fill_null(0).to_numpy().copy()
    ticks[marks] = [changes.watermark(tick) for tick in ticks[marks].tolist()]
    return pa.array(ticks, mask=~flags(taken.is_valid()))
