"""The meaning of row windows, written as their definition: over the whole history, without a state.

Each row says itself whether it is in a window, by all rows between it and the time in question. The times at which
windows are computed follow from the history of a partition. Nothing is shared with the automata.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muntin import INFINITY, Window
from muntin.rows import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    LastRows,
    MarkerPolicy,
    PartitionedRows,
    Row,
    RowBatches,
    RowPolicy,
)
from tests.sdk.rows.tracing import Computed


@dataclass(frozen=True)
class ReadRow:
    """A row with the values that the windows read of it.

    Attributes:
        row: Row.
        partition: Partition of the row.
        evict: Value for the policy of eviction; None if it reads none.
        trigger: Value for the policy of triggers; None if it reads none.
        is_admitted: True if the row is in windows.
    """

    row: Row
    partition: Hashable
    evict: Any
    trigger: Any
    is_admitted: bool

    @property
    def time(self) -> int:
        """The time of the row."""
        return self.row.time


def computed(windows: PartitionedRows, rows: Sequence[Row], tick: int) -> list[Computed]:
    """Return the windows that are computed of rows and of time up to a tick, in any order."""
    ends_by_markers = isinstance(windows.policies[0], MarkerPolicy)
    read_rows: list[ReadRow] = []
    for row in rows:
        read_row = _read(windows, row)
        if read_row.is_admitted or (ends_by_markers and read_row.evict):
            read_rows.append(read_row)

    windows_computed: list[Computed] = []
    for partition in {row.partition for row in read_rows}:
        if isinstance(windows, LastRows):
            windows_computed += _sliding(windows, read_rows, partition, tick)
        else:
            assert isinstance(windows, RowBatches)
            windows_computed += _tumbling(windows, read_rows, partition, tick)
    return windows_computed


def full(windows: LastRows, rows: Sequence[Row], tick: int) -> list[tuple[Hashable, int]]:
    """Return the partitions that were full up to a tick, each with the first tick at which it was.

    It is full with its n-th row, when a row that follows is too far away from one before it, or when its first row is
    too old.
    """
    read_rows = [_read(windows, row) for row in rows]
    admitted = [row for row in read_rows if row.is_admitted]
    full_partitions: list[tuple[Hashable, int]] = []
    for partition in {row.partition for row in admitted}:
        time = _first_full(windows, [row for row in admitted if row.partition == partition])
        if time is not None and time <= tick:
            full_partitions.append((partition, time))
    return full_partitions


def _first_full(windows: LastRows, rows: Sequence[ReadRow]) -> int | None:
    """Return the first tick at which a partition is full."""
    evicts = windows.evicts
    if isinstance(evicts, CountPolicy):
        return rows[evicts.size - 1].time if len(rows) >= evicts.size else None
    if isinstance(evicts, ElapsedPolicy):
        return rows[0].time + evicts.length + 1
    for count, row in enumerate(rows, 1):
        if not all(_stays(windows, rows[:count], place, 0) for place in range(count - 1)):
            return row.time
    return None


def _read(windows: PartitionedRows, row: Row) -> ReadRow:
    values = list(row.values)
    is_admitted = windows.admits is None or bool(values.pop())
    partition = values.pop(0) if windows.partitions is not None else 0
    with_value = DeltaPolicy | MarkerPolicy | ConditionPolicy
    of_policies = [values.pop(0) if isinstance(policy, with_value) else None for policy in windows.policies]
    evict, trigger = (*of_policies, None)[:2]
    return ReadRow(row, partition, evict, trigger, is_admitted)


def _sliding(windows: LastRows, rows: Sequence[ReadRow], partition: Hashable, tick: int) -> Iterator[Computed]:
    """Yield the windows of a partition's last rows that are computed up to a tick."""
    rows = [row for row in rows if row.partition == partition]
    triggers = windows.triggers
    if isinstance(triggers, CountPolicy):
        for count in range(triggers.size, len(rows) + 1, triggers.size):
            yield from _window_after(windows, rows[:count], rows[count - 1].time)
    elif isinstance(triggers, ConditionPolicy):
        for count, row in enumerate(rows, 1):
            if row.trigger is True:
                yield from _window_after(windows, rows[:count], row.time)
    elif isinstance(triggers, DeltaPolicy):
        base = None
        for place, row in enumerate(rows):
            if base is None:
                base = row.trigger
            elif row.trigger is not None and row.trigger > base + triggers.size:
                base = row.trigger
                yield from _window_after(windows, rows[:place], row.time)
    else:
        assert isinstance(triggers, ElapsedPolicy)
        period = triggers.length
        first_end = rows[0].time // period * period + period
        for end in range(first_end, tick + 1, period):
            yield from _window_after(windows, [row for row in rows if row.time < end], end)


def _window_after(windows: LastRows, rows: Sequence[ReadRow], time: int) -> Iterator[Computed]:
    """Yield the window after the rows of a partition at a time, if a row is still in it."""
    held = [row for place, row in enumerate(rows) if _stays(windows, rows, place, time)]
    if not held:
        return
    start = time - windows.evicts.length if isinstance(windows.evicts, ElapsedPolicy) else held[0].time
    end = max(time, rows[-1].time + 1)
    yield Computed(Window(start, end), held[0].partition, numbers_of(held))


def numbers_of(rows: Sequence[ReadRow]) -> tuple[int, ...]:
    return tuple(row.row.number for row in rows)


def _stays(windows: LastRows, rows: Sequence[ReadRow], place: int, time: int) -> bool:
    """True if a row is still in the window.

    By differences it stays as long as the nearest row with an attribute: itself, one before it, or one after it.
    """
    row = rows[place]
    later = rows[place + 1 :]
    evicts = windows.evicts
    if isinstance(evicts, CountPolicy):
        return len(later) < evicts.size
    if isinstance(evicts, ElapsedPolicy):
        return time - row.time <= evicts.length
    assert isinstance(evicts, DeltaPolicy)
    nearest_first = [*reversed(rows[: place + 1]), *later]
    attribute = next((row.evict for row in nearest_first if row.evict is not None), None)
    return all(row.evict - attribute <= evicts.size for row in later if row.evict is not None)


def _tumbling(windows: RowBatches, all_rows: Sequence[ReadRow], partition: Hashable, tick: int) -> Iterator[Computed]:
    """Yield the batches of a partition that are complete up to a tick."""
    (evicts,) = windows.policies
    rows = [row for row in all_rows if row.partition == partition and not _is_marker(evicts, row)]
    if isinstance(evicts, ElapsedPolicy):
        for period in sorted({row.time // evicts.length for row in rows}):
            start = period * evicts.length
            end = start + evicts.length
            if end <= tick:
                batch = [row for row in rows if start <= row.time < end]
                yield Computed(Window(start, end), partition, numbers_of(batch))
        return
    while rows:
        start = rows[0].time
        closing = _closing(evicts, rows, all_rows)
        overdue = INFINITY if windows.within is None else start + windows.within.length
        if overdue <= (tick if closing is None else closing.time):
            batch = [row for row in rows if row.time < overdue]
            end = overdue
        elif closing is None:
            return
        elif isinstance(evicts, CountPolicy):  # the row that closes a batch is in it
            batch = [row for row in rows if row.row.number <= closing.row.number]
            end = closing.time + 1
        else:
            batch = [row for row in rows if row.row.number < closing.row.number]
            end = max(closing.time, batch[-1].time + 1)
        yield Computed(Window(start, end), partition, numbers_of(batch))
        rows = rows[len(batch) :]


def _is_marker(evicts: RowPolicy, row: ReadRow) -> bool:
    return isinstance(evicts, MarkerPolicy) and bool(row.evict)


def _closing(evicts: RowPolicy, rows: Sequence[ReadRow], all_rows: Sequence[ReadRow]) -> ReadRow | None:
    """Return the row that ends the batch which begins with the first of a partition's rows, if time does not."""
    if isinstance(evicts, CountPolicy):
        return rows[evicts.size - 1] if len(rows) >= evicts.size else None
    if isinstance(evicts, MarkerPolicy):
        markers = (row for row in all_rows if row.evict)
        return next((marker for marker in markers if marker.row.number > rows[0].row.number), None)
    assert isinstance(evicts, DeltaPolicy)
    with_attribute = [row for row in rows if row.evict is not None]
    return next((row for row in with_attribute if row.evict - with_attribute[0].evict > evicts.size), None)
