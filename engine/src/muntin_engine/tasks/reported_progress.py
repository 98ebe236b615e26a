"""The progress of an input that a map task reports to every bucket, and how rows imply it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin import EARLIEST, INFINITY
from muntin.columnar.arrays import IntArray
from muntin_engine.plan.lengths import microseconds_of
from muntin_engine.state.key_patterns import CompletePattern, Condition
from muntin_engine.tasks.batch_rows import (
    CHANGES,
    CLOCK,
    INSERT,
    PUNCTUATE,
    PUNCTUATE_KEY,
    SIGNAL,
    GoodRows,
    watermark_of,
)
from muntin_engine.time.changes import LATEST, Progress, canonical
from muntin_engine.time.progress_tracker import Observation, merge_observations
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar
from muntin_engine.wire.shuffle import PackedReport, pack_observations, pack_patterns
from muntin_engine.wire.task_payload import InputTask
from muntin_engine.wire.value_flags import flags, unreadable


@dataclass(slots=True)
class ReportedProgress:
    """The progress of one input in one task, over all rows so far.

    Attributes:
        starts_kept: The number of largest starts that an observation keeps.
        progress: The progress of the whole input.
        observations: An observation of each source.
        patterns: The patterns of keys that rows declare complete, each with the time.
    """

    starts_kept: int
    progress: Progress = Progress()  # noqa: RUF009  # it is a tuple
    observations: list[Observation] = field(default_factory=list)
    patterns: list[CompletePattern] = field(default_factory=list)

    def add(self, progress: Progress, observations: list[Observation], patterns: list[CompletePattern]) -> None:
        """Add the progress, the observations of sources and the patterns of keys of a batch."""
        self.progress = self.progress.advance(progress)
        if observations:
            self.observations = merge_observations([*self.observations, *observations], self.starts_kept)
        self.patterns += patterns

    def packed(self) -> PackedReport:
        """Return the report in the form in which buckets get it."""
        return PackedReport(self.progress, pack_observations(self.observations), pack_patterns(self.patterns))


def progress_of(input_task: InputTask, rows: GoodRows) -> Progress:
    """Return the progress of the whole input that rows say themselves.

    Its watermark is that of punctuation alone; a progress policy may advance it later, by observations. Its horizon
    lies past every start, every known end, and all punctuation, also that of a key.
    """
    if not input_task.columns.has_changes:  # all rows are insertions
        newest = int(rows.start.max(initial=EARLIEST))
        return Progress(horizon=_horizon(input_task, newest, _latest(rows.end)), newest=newest)

    newest = int(rows.start[rows.kind == INSERT].max(initial=EARLIEST))
    rows_of_no_source = rows
    if rows.source is not None:  # punctuation of one source says nothing about the whole input
        rows_of_no_source = rows.where(flags(rows.source.is_null()))
    is_event = rows.kind < PUNCTUATE_KEY
    latest_end = max(_latest(rows.end[is_event]), _latest(rows.new_end[is_event]))
    # Punctuation beyond all times is left out of the horizon, as it is no tick on the axis. It ends the stream, and the
    # watermark below says so.
    is_punctuation = (rows.kind >= PUNCTUATE_KEY) & (rows.kind <= PUNCTUATE) & (rows.start < LATEST)
    latest_punctuation = int(rows.start[is_punctuation].max(initial=EARLIEST))
    return Progress(
        watermark=rows_of_no_source.punctuation(),
        horizon=_horizon(input_task, newest, latest_end, latest_punctuation),
        newest=newest,
        clock=_latest_clock(input_task, rows),
    )


def _latest(ends: IntArray) -> int:
    """Return the latest end that is known; `EARLIEST` if there is none."""
    latest = int(ends.max(initial=EARLIEST))
    if latest >= INFINITY:  # few batches have an end at infinity: the others need no second pass
        latest = int(ends[ends < INFINITY].max(initial=EARLIEST))
    return latest


def _horizon(input_task: InputTask, newest: int, latest_end: int, latest_punctuation: int = EARLIEST) -> int:
    """Return the first tick past every start, known end and punctuation.

    Args:
        input_task: The input.
        newest: The largest start; `EARLIEST` if there is none.
        latest_end: The latest known end; `EARLIEST` if there is none.
        latest_punctuation: The latest punctuation; `EARLIEST` if there is none.
    """
    horizon = latest_punctuation
    if newest != EARLIEST:
        horizon = max(horizon, newest + 1)
    if latest_end != EARLIEST:
        # Windows may keep an event as a member for some time after its end: their reach.
        horizon = max(horizon, latest_end + input_task.query.plan.window.reach)
    return horizon


def _latest_clock(input_task: InputTask, rows: GoodRows) -> int:
    """Return the latest reading of a clock, in microseconds; `EARLIEST` if there is none."""
    tick = int(rows.start[rows.kind == CLOCK].max(initial=EARLIEST))
    if tick == EARLIEST:
        return EARLIEST
    plan = input_task.query.plan
    return microseconds_of(tick, plan.unit, plan.decimal_places)


def observations_of(input_task: InputTask, rows: GoodRows) -> Iterator[Observation]:
    """Yield an observation of each source that has rows; rows that name no source have one together, of source None."""
    rows = rows.where(rows.kind < CLOCK)  # readings of a clock and signals say nothing about a source
    if rows.source is None:
        if len(rows.kind):
            yield _observation(None, rows, input_task.tracker.starts_kept)
        return
    for source in pc.unique(rows.source).to_pylist():
        is_of_source = rows.source.is_null() if source is None else pc.equal(rows.source, arrow_scalar(source))
        yield _observation(source, rows.where(flags(is_of_source)), input_task.tracker.starts_kept)


def _observation(source: str | None, rows: GoodRows, starts_kept: int) -> Observation:
    """Return the observation of the rows of one source."""
    starts = rows.start[rows.kind == INSERT]
    largest_starts: tuple[int, ...] = ()
    if starts_kept:
        largest = starts
        if starts_kept < len(starts):  # a partition finds the largest without sorting all
            largest = np.partition(starts, len(starts) - starts_kept)[-starts_kept:]
        largest_starts = tuple(sorted(largest.tolist(), reverse=True))
    newest = int(starts.max(initial=EARLIEST))
    return Observation(
        source=source,
        newest=newest,
        rows=len(starts),
        latest=largest_starts,
        watermark=rows.punctuation(),
    )


def patterns_of(input_task: InputTask, punctuation: pa.Table) -> Iterator[CompletePattern]:
    """Yield the pattern of keys that each row of punctuation declares complete, with the time up to which it does.

    A pattern has a condition for each key column; see `_conditions`.

    Args:
        input_task: The input.
        punctuation: The rows of punctuation.
    """
    conditions_by_column = [_conditions(punctuation, place) for place in range(len(input_task.query.keys))]
    ticks = punctuation.column("start").to_pylist()
    for number, tick in enumerate(ticks):
        pattern = [column_conditions[number] for column_conditions in conditions_by_column]
        yield pattern, watermark_of(tick)


_ANY_VALUE: Final[Condition] = ()
"""The condition that every value of a key column meets."""


def _conditions(punctuation: pa.Table, place: int) -> list[Condition]:
    """Return the condition of each row of punctuation on one key column.

    It is `(value,)` if the row names a value, `(low, high)` if it names a range, and empty if it names neither.

    Args:
        punctuation: The rows of punctuation.
        place: The place of the key column.
    """
    conditions: list[Condition] = []
    values = _canonical_values(punctuation, f"k{place}")
    lows = _canonical_values(punctuation, f"low{place}")
    highs = _canonical_values(punctuation, f"high{place}")
    for value, low, high in zip(values, lows, highs, strict=True):
        if value is not None:
            conditions.append((value,))
        elif low is None and high is None:
            conditions.append(_ANY_VALUE)
        else:
            conditions.append((low, high))
    return conditions


def _canonical_values(punctuation: pa.Table, name: str) -> list[object]:
    """Return the values of a column in the form in which equal keys are written alike; nulls if there is no column."""
    if name not in punctuation.column_names:
        return [None] * len(punctuation)
    values: list[object] = canonical(punctuation.column(name).to_pylist())
    return values


def signals_in(batch: pa.RecordBatch) -> frozenset[str]:
    """Return the names of the signals in projected rows.

    Cost: two vectorised passes over the rows of a query that has signals; none for others.
    """
    if not {"signal", "change"} <= set(batch.schema.names):
        return frozenset()
    is_signal = pc.fill_null(pc.equal(batch.column("change"), arrow_scalar(CHANGES[SIGNAL])), arrow_scalar(False))
    # Rows whose name is null or unreadable are rejected as bad rows.
    names = pc.unique(pc.drop_null(batch.column("signal").filter(is_signal)))
    return frozenset(names.filter(arrow_array(~unreadable(names))).to_pylist())
