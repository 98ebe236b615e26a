"""Tumbling row windows: rows come until the window is flushed, and then leave all at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from muntin.axis import Axis, Duration, spell_number
from muntin.errors import WindowError
from muntin.rows.action import Action, ActionKind, Row
from muntin.rows.open_batches import OpenBatches
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.policies import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    RowPolicy,
    elapsed,
    policy_of,
)
from muntin.rows.subwindows import OpenBatch, Subwindows
from muntin.windows.context import WindowContext
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class RowBatches(OpenBatches):
    """Batches of rows of each partition; made by `batch` (IBM Streams: tumbling windows).

    By count a row is inserted and then the full window flushed, with it. By delta the window is flushed first, without
    it. By time windows are flushed at multiples of the period, counted from tick 0, before the rows at that tick. By
    marker the windows of all partitions are flushed when one comes. A flushed partition is gone. `within` flushes a
    window at the latest so long after its first row, without the row at that tick.

    Attributes:
        evicts: When the window is flushed.
        partitions: How rows are partitioned.
        shows_empty: True if a window without rows is computed too, where time or a marker flushes it.
    """

    name: ClassVar[str] = "batch"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "batches of rows"

    evicts: RowPolicy

    def __post_init__(self) -> None:
        if self.within is not None and isinstance(self.evicts, ElapsedPolicy):
            raise WindowError(
                f"{self.spell()} is flushed by time twice: at multiples of {self.evicts.spell(Axis.TICKS)}, and within "
                f"{spell_number(self.within.length)} of its first row\n  leave one of them out"
            )
        if isinstance(self.evicts, ConditionPolicy):
            raise WindowError(
                f"a batch does not end with {self.evicts.spell(Axis.TICKS)}\n"
                f"  write between(closes={self.evicts.condition!r}) for batches that end with such a row"
            )
        if self.shows_empty and self.partitions is not None:
            raise WindowError("a flushed partition is gone, so it has no empty windows: leave out .with_empty()")
        if self.shows_empty and not isinstance(self.evicts, ElapsedPolicy | MarkerPolicy):
            raise WindowError(
                f"batch({self.evicts.spell(Axis.TICKS)}) is flushed for a row, so it is never empty\n"
                "  leave out .with_empty(), or flush by time or by a marker"
            )

    @property
    def policies(self) -> tuple[RowPolicy, ...]:
        """The one that flushes."""
        return (self.evicts,)

    @property
    def context(self) -> WindowContext:
        """Rows before, which say the number of the batch; by time alone, none."""
        if self._is_limited:
            return WindowContext.FORWARD
        return WindowContext.FREE if isinstance(self.evicts, ElapsedPolicy) else WindowContext.BACKWARD

    def step(self, state: Subwindows[OpenBatch], row: Row) -> Iterator[Action]:
        """Take a row, and yield what is done."""
        yield from self.advance(state, row.time)
        partition, values = self._read(row)
        evicts, value = self.evicts, None
        if isinstance(evicts, MarkerPolicy) and values[0]:
            yield from self._mark(state, row.time)
            return
        if not self._is_admitted(row):
            return
        found = state.open(partition, row.time)
        if isinstance(evicts, DeltaPolicy):
            value = values[0]
            if evicts.is_exceeded(value, found.base):
                yield from self._compute(state, partition, row.time)
                found = state.open(partition, row.time)
            if found.base is None:
                found.base = value
        self._insert(state, partition, row.number, row.time)
        self._wake(state, row.time)
        yield Action(ActionKind.INSERT, partition, (row.number,))
        if isinstance(evicts, CountPolicy) and found.size == evicts.size:
            yield from self._compute(state, partition, row.time)
        yield from self._limit(state, row.time)

    @property
    def least_events(self) -> int:
        """The number of rows of a full batch, if that alone flushes it."""
        return self.evicts.size if isinstance(self.evicts, CountPolicy) and self.within is None else 1

    def earliest_start(self, state: Subwindows[OpenBatch], tick: int) -> int:
        """Return the start of the period, where time flushes; otherwise the time of the oldest row."""
        if self._period is not None:
            return tick // self._period * self._period
        return PartitionedRows.earliest_start(self, state, tick)

    def close(self, state: Subwindows[OpenBatch], tick: int) -> Iterator[Action]:
        """Yield the flushes of what is left: by time when it is due, otherwise at the end."""
        yield from self.advance(state, tick)
        if state.clock is not None and state.count:
            yield from self.advance(state, state.clock)
        for partition in [*state.partitions]:
            yield from self._compute(state, partition, tick)

    @property
    def _period(self) -> int | None:
        return self.evicts.length if isinstance(self.evicts, ElapsedPolicy) else None

    def _mark(self, state: Subwindows[OpenBatch], time: int) -> Iterator[Action]:
        if not state.count:
            yield Action(ActionKind.EMPTY)
        for partition in [*state.partitions] or ([0] if self.shows_empty else []):
            yield from self._compute(state, partition, time)

    def _compute(self, state: Subwindows[OpenBatch], partition: Hashable, now: int) -> Iterator[Action]:
        found = state.partitions.get(partition)
        start, end = now, now + 1
        if self._period is not None:
            start, end = now - self._period, now
        elif found is not None:
            start, end = found.first, max(now, found.last + 1)
        if found is not None:
            state.remove(partition)
        yield Action(ActionKind.FLUSH, partition, window=Window(start, end))

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `batch`, and those after it."""
        if "." in self.name:
            return PartitionedRows.spell(self, axis)
        return f"batch({self.evicts.spell(axis)}{self._spell_within(axis)}){self._spell_more(axis)}"


def batch(size: RowPolicy | int | str | timedelta, *, within: Duration | None = None) -> RowBatches:
    """Return tumbling windows: so many rows at a time, or those up to the next flush.

    Args:
        size: So many rows; those of so much time, such as `"5 minutes"`; with `delta`, those whose attribute is not too
            far from that of the first; or, with `marker`, those up to a row that ends the window.
        within: The time after its first row at which a window is flushed though it is not full. It is time of the axis,
            and the rows at that tick are not in it.

    Raises:
        WindowError: It is no policy, or one of time besides `within`.
        DurationError: A length of time cannot be read.

    Example:
        >>> from muntin.rows import marker
        >>> print(batch(100), batch(marker("is_last")), batch(100, within="5 seconds").describe(Axis.TIME))
        batch(100) batch(marker('is_last')) batch(100, within='5 seconds')
    """
    return RowBatches(policy_of(size), within=None if within is None else elapsed(within))
