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
        evict: Value for the policy of eviction; None if that policy reads none.
        trigger: Value for the policy of triggers; None if that policy reads none.
        is_admitted: True if the row is in windows; False if it only calls handlers, or marks the end of a batch.
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
    """Return the windows that are computed of all rows of a stream and of time up to a tick, in any order."""
    ends_by_markers = isinstance(windows.policies[0], MarkerPolicy)
    read_rows: list[ReadRow] = []
    for row in rows:
        read_row = _read(windows, row)
        is_marker = ends_by_markers and read_row.evict
        if read_row.is_admitted or is_marker:
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

    A partition is full as soon as one of its rows may leave: with its n-th row, when a row comes whose attribute is too
    far from that of an earlier row, or when its first row is too old.
    """
    read_rows = [_read(windows, row) for row in rows]
    admitted = [row for row in read_rows if row.is_admitted]
    full_partitions: list[tuple[Hashable, int]] = []
    for partition in {row.partition for row in admitted}:
        partition_rows = [row for row in admitted if row.partition == partition]
        time = _first_full(windows, partition_rows)
        if time is not None and time <= tick:
            full_partitions.append((partition, time))
    return full_partitions


def _first_full(windows: LastRows, rows: Sequence[ReadRow]) -> int | None:
    """Return the first tick at which a partition with these rows is full, or None if it never is."""
    evicts = windows.evicts
    if isinstance(evicts, CountPolicy):
        return rows[evicts.size - 1].time if len(rows) >= evicts.size else None
    if isinstance(evicts, ElapsedPolicy):
        return rows[0].time + evicts.length + 1  # a row stays while it is at most `length` old

    # By differences: with the first row that makes an earlier one leave.
    for count, newest in enumerate(rows, 1):
        rows_so_far = rows[:count]
        for place in range(count - 1):
            if not _stays(windows, rows_so_far, place, newest.time):
                return newest.time
    return None


def _read(windows: PartitionedRows, row: Row) -> ReadRow:
    """Give each value of a row its role.

    The values come in the order of `windows.reads`: the partition, what each policy reads, and at last whether the row
    is admitted; what the windows do not ask for is left out.
    """
    values = list(row.values)
    is_admitted = True
    if windows.admits is not None:
        is_admitted = bool(values.pop())
    partition: Hashable = 0  # the only one
    if windows.partitions is not None:
        partition = values.pop(0)

    policy_values: list[Any] = []
    for policy in windows.policies:
        reads_value = isinstance(policy, DeltaPolicy | MarkerPolicy | ConditionPolicy)
        policy_values.append(values.pop(0) if reads_value else None)
    evict = policy_values[0]
    trigger = policy_values[1] if len(policy_values) == 2 else None  # a batch has a policy of eviction alone
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
        last_trigger = None  # the value from which the difference counts
        for place, row in enumerate(rows):
            if last_trigger is None:
                last_trigger = row.trigger
            elif row.trigger is not None and row.trigger > last_trigger + triggers.size:
                last_trigger = row.trigger
                yield from _window_after(windows, rows[:place], row.time)  # without the row that triggers
    else:
        assert isinstance(triggers, ElapsedPolicy)
        period = triggers.length
        first_end = rows[0].time // period * period + period
        for end in range(first_end, tick + 1, period):
            yield from _window_after(windows, [row for row in rows if row.time < end], end)


def _window_after(windows: LastRows, rows: Sequence[ReadRow], time: int) -> Iterator[Computed]:
    """Yield the window that a partition has at a time, after these rows; nothing if none of them is still in it."""
    members = [row for place, row in enumerate(rows) if _stays(windows, rows, place, time)]
    if not members:
        return
    start = members[0].time
    if isinstance(windows.evicts, ElapsedPolicy):
        start = time - windows.evicts.length
    end = max(time, rows[-1].time + 1)
    yield Computed(Window(start, end), members[0].partition, numbers_of(members))


def numbers_of(rows: Sequence[ReadRow]) -> tuple[int, ...]:
    return tuple(row.row.number for row in rows)


def _stays(windows: LastRows, rows: Sequence[ReadRow], place: int, time: int) -> bool:
    """Return whether the row at a place is still in the window at a time, after all these rows of its partition.

    By differences a row without an attribute stays as long as the nearest row that has one, looked for before it first.
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
    attributes = [row.evict for row in nearest_first if row.evict is not None]
    later_attributes = [row.evict for row in later if row.evict is not None]
    return all(attribute - attributes[0] <= evicts.size for attribute in later_attributes)


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

    # A batch begins with the first row that is in none yet. It ends by a row, or by time where `within` limits it.
    while rows:
        start = rows[0].time
        closing_row = _closing_row(evicts, rows, all_rows)
        overdue = INFINITY if windows.within is None else start + windows.within.length
        if overdue <= (tick if closing_row is None else closing_row.time):
            batch = [row for row in rows if row.time < overdue]
            end = overdue
        elif closing_row is None:
            return
        elif isinstance(evicts, CountPolicy):  # the row that closes the batch is in it
            batch = [row for row in rows if row.row.number <= closing_row.row.number]
            end = closing_row.time + 1
        else:
            batch = [row for row in rows if row.row.number < closing_row.row.number]
            end = max(closing_row.time, batch[-1].time + 1)
        yield Computed(Window(start, end), partition, numbers_of(batch))
        rows = rows[len(batch) :]


def _is_marker(evicts: RowPolicy, row: ReadRow) -> bool:
    return isinstance(evicts, MarkerPolicy) and bool(row.evict)


def _closing_row(evicts: RowPolicy, rows: Sequence[ReadRow], all_rows: Sequence[ReadRow]) -> ReadRow | None:
    """Return the row that ends the batch which begins with the first of these rows; None if no row does.

    The rows are those of a partition. A marker is looked for among the rows of all partitions: it ends all batches.
    """
    if isinstance(evicts, CountPolicy):
        return rows[evicts.size - 1] if len(rows) >= evicts.size else None
    if isinstance(evicts, MarkerPolicy):
        markers = (row for row in all_rows if row.evict)
        return next((marker for marker in markers if marker.row.number > rows[0].row.number), None)
    assert isinstance(evicts, DeltaPolicy)
    with_attribute = [row for row in rows if row.evict is not None]
    too_far = (row for row in with_attribute if row.evict - with_attribute[0].evict > evicts.size)
    return next(too_far, None)
