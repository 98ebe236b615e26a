"""Batches of rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from muntin.axis import INFINITY, Axis, Duration, spell_number
from muntin.errors import WindowError
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
from muntin.rows.subwindows import Expiring, OpenBatch, Subwindows
from muntin.rows.view import Action, ActionKind, Row
from muntin.windows.extent import Window
from muntin.windows.specification import WindowContext


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBatches(PartitionedRows[OpenBatch]):
    """Row windows that flush: of each partition at most one is open.

    Attributes:
        within: The time after its first row at which a window ends if nothing has ended it; None if it stays open.
    """

    leaves_at_once: ClassVar[bool] = True

    within: ElapsedPolicy | None = None

    def next_tick(self, state: Subwindows[OpenBatch]) -> int:
        """Return the next tick at which a window is as old as it may be, a partition too old, or a period ends."""
        return min(PartitionedRows.next_tick(self, state), self._overdue(state))

    def to_data(self, state: Subwindows[OpenBatch]) -> list[Any]:
        """Return the state as plain data."""
        return [state.to_data(), [list(row) for row in state.expiring if self._is_first(state, row)]]

    def from_data(self, data: Sequence[Any]) -> Subwindows[OpenBatch]:
        """Undo `to_data`."""
        stored, opening = data
        state = Subwindows.from_data(OpenBatch, stored, expires=False)
        state.expiring = deque(Expiring(*row) for row in opening)
        return state

    @property
    def _lifetime(self) -> None:
        return None

    def _kind(self) -> type[OpenBatch]:
        return OpenBatch

    def _spell_within(self, axis: Axis) -> str:
        if self.within is None:
            return ""
        length = self.within.length
        return f", within={axis.spell_length(length)!r}" if axis is Axis.TIME else f", within={spell_number(length)}"

    def _insert(self, state: Subwindows[OpenBatch], partition: Hashable, number: int, time: int) -> None:
        """Add a row to the window of a partition, which it may begin."""
        found = state.open(partition, time)
        if self.within is not None and not found.size:
            state.expiring.append(Expiring(time, number, partition))
        found.insert(time)
        state.count += 1

    def _overdue(self, state: Subwindows[OpenBatch]) -> int:
        """Return the tick at which the oldest window is as old as it may be."""
        while self.within is not None and state.expiring:
            if self._is_first(state, state.expiring[0]):
                return state.expiring[0].time + self.within.length
            state.expiring.popleft()
        return INFINITY

    def _is_first(self, state: Subwindows[OpenBatch], row: Expiring) -> bool:
        """Return True if a row is the first of a window that is open, or came when that one did."""
        found = state.partitions.get(row.partition)
        return found is not None and found.first == row.time

    def _end_overdue(self, state: Subwindows[OpenBatch], tick: int) -> Iterator[Action]:
        while self._overdue(state) <= tick:
            yield from self._break_off(state, state.expiring.popleft().partition, tick)

    def _break_off(self, state: Subwindows[OpenBatch], partition: Hashable, now: int) -> Iterator[Action]:
        """Yield the end of a window that no row ends."""
        yield from self._compute(state, partition, now)


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
