"""RowAutomaton: the machine that runs all built-in row windows, by eviction, trigger and delimiter."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from muntin.axis import INFINITY
from muntin.errors import WindowError
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.policies import (
    ConditionPolicy,
    CountPolicy,
    DeltaPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    Partitions,
    PartitionView,
    RowPolicy,
)
from muntin.rows.subwindows import Expiring, Subwindow, Subwindows
from muntin.rows.view import Action, ActionKind, Row
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAutomaton(PartitionedRows):
    """Follow rows: windows begin, rows enter and leave, windows are computed and end.

    A kind of windows configures the machine. `_eviction_policy` says when rows leave one by one, and `_trigger_policy`
    when a window is computed. `_may_begin` and `_compute_before` decide if a row begins or ends a window, and
    `_time_limit` is the time after which a window ends by itself.
    """

    @property
    def _time_limit(self) -> int | None:
        """The time after its first row at which a window ends if nothing has ended it; None if it stays open."""
        return None

    @property
    def _waits_until_full(self) -> bool:
        """True if a window is not computed before it was full once."""
        return False

    def _may_begin(self, values: Sequence[Any]) -> bool:
        """Return True if a row may begin a window of a partition that has none."""
        return True

    def _compute_before(
        self, state: Subwindows, partition: Hashable, values: Sequence[Any], time: int
    ) -> Iterator[Action] | None:
        """Return the actions that compute a window before a row is inserted; None if the window is not computed then.

        By default a window with a trigger by delta is computed if its attribute has grown by more than the size since
        the base, which is the attribute at the last trigger, or at the first row. The base is kept up to date here.

        Args:
            state: The state of the key.
            partition: The partition of the row, which has a window.
            values: The values that the policies read of the row: the attribute is the last one.
            time: The time of the row.
        """
        policy = self._trigger_policy
        if not isinstance(policy, DeltaPolicy):
            return None
        window = state.partitions[partition]
        attribute = values[-1]
        if window.base is None:
            # A batch always begins with its first row; a sliding window may begin with a given value.
            begins_with_row = policy.start is None or self.leaves_at_once
            window.base = attribute if begins_with_row else policy.start
        if not policy.is_exceeded(attribute, window.base):
            return None
        window.base = attribute
        return self._compute(state, partition, time)

    def _break_off(self, state: Subwindows, partition: Hashable, time: int) -> Iterator[Action]:
        """Yield the end of a window that no row has ended: it is too old, or the stream ends."""
        yield from self._compute(state, partition, time)

    def step(self, state: Subwindows, row: Row) -> Iterator[Action]:
        """Yield the actions of a row.

        In order: time advances to the row; a marker ends all windows; a window is computed without the row if the row
        ends it, or is further from its base than the trigger's delta; rows leave to make room; the row is inserted; the
        window is computed if the row triggers it; and partitions beyond the limits are removed.
        """
        number, time, row_values = row
        yield from self.advance(state, time)

        # If the windows have partitions, the first value is that of the partition. If they admit rows by a condition,
        # the last value is that of the condition. All other values are read by policies.
        values = [None if value != value else value for value in row_values]  # noqa: PLR0124  # NaN is like null
        is_admitted = self.admits is None or bool(values.pop())
        partition = 0 if self.partitions is None else values.pop(0)
        eviction = self._eviction_policy
        trigger = self._trigger_policy

        # A marker, whose condition is the only value that policies read, counts whether it is admitted or not. It never
        # is a member.
        if isinstance(trigger, MarkerPolicy) and values[0]:
            if not state.count:
                yield Action(ActionKind.EMPTY)  # a marker without rows before it
            yield from self._compute_all(state, time)
            return
        if not is_admitted:
            return

        # The row may have a window computed without it, before it is inserted. Then look again at the window that is
        # open after that, until a look computes nothing. A tumbling window ends when it is computed, and its partition
        # is removed: the next look opens a new window. A sliding window stays, with the row's attribute as its new
        # base: the next look computes nothing.
        while True:
            if partition not in state.partitions and not self._may_begin(values):
                return  # no window is open, and the row may not begin one: it is a member of none
            window = state.open(partition, time)
            actions_before = self._compute_before(state, partition, values, time)
            if actions_before is None:
                break
            yield from actions_before

        # Rows that leave by number or by delta make room for the row; rows that leave by time did so in `advance`.
        leaving_rows = [] if eviction is None else _pushed_out(eviction, window, values)
        if leaving_rows:
            yield from self._evict(state, partition, leaving_rows)

        # Each row that leaves by time expires; so does the first row of a window that ends after a time.
        begins_time_limit = eviction is None and not window.size and self._time_limit is not None
        if begins_time_limit or isinstance(eviction, ElapsedPolicy):
            state.expiring.append(Expiring(time, number, partition))

        # Insert the row. Windows whose rows leave all at once keep no rows: their size and first row are enough.
        value = window.fill_null(values[0]) if isinstance(eviction, DeltaPolicy) else None
        window.insert(number, time, value, is_kept=eviction is not None)
        state.count += 1
        if state.clock is None and isinstance(trigger, ElapsedPolicy):
            state.clock = (time // trigger.length + 1) * trigger.length  # periods end at the multiples of their length
        yield Action(ActionKind.INSERT, partition, (number,))

        # Windows by number are full when they have that many rows; all others when the first row leaves, see `_evict`.
        if isinstance(eviction, CountPolicy) and window.size == eviction.size and not window.is_full:
            window.is_full = True
            yield Action(ActionKind.FULL, partition)

        # The value that the eviction policy reads is the first, and the one that the trigger policy reads the last.
        is_triggered = isinstance(trigger, ConditionPolicy) and bool(values[-1])
        if isinstance(trigger, CountPolicy):
            window.rows_since_computed = (window.rows_since_computed + 1) % trigger.size
            is_triggered = not window.rows_since_computed
        if is_triggered:
            yield from self._compute(state, partition, time)
        yield from self._remove_partitions(state, time)

    def next_tick(self, state: Subwindows) -> int:
        """Return the next tick at which a row, a window or a partition is too old, or a period ends."""
        due = INFINITY if state.clock is None else state.clock
        expiring_row = state.next_expiring()
        if expiring_row is not None:
            due = min(due, expiring_row.time + self._expires_after)
        if self._removal_age is not None and state.partitions:
            due = min(due, state.least_recent + self._removal_age)
        return due

    def advance(self, state: Subwindows, tick: int) -> Iterator[Action]:
        """Yield the actions due up to a tick: at one tick rows leave, then partitions, then windows are computed."""
        while (due := self.next_tick(state)) <= tick and due < INFINITY:
            # Rows leave sliding windows when they are too old.
            if not self.leaves_at_once:
                # One action per partition, so that a module handles all rows that leave together in one call.
                overdue_numbers: dict[Hashable, list[int]] = {}
                for row in state.pop_overdue(self._expires_after, due):
                    overdue_numbers.setdefault(row.partition, []).append(row.number)
                for partition, numbers in overdue_numbers.items():
                    yield from self._evict(state, partition, numbers)
            if self._removal_age is not None:
                yield from self._remove_partitions(state, due)
            # A tumbling window ends when its first row is older than the time limit, if it has one.
            if self.leaves_at_once:
                for first_row in state.pop_overdue(self._expires_after, due):
                    yield from self._break_off(state, first_row.partition, due)

            # The next period follows while there are rows; without any, the next row starts the periods again.
            period = self._period
            if state.clock == due and period is not None:
                yield from self._compute_all(state, due)
                has_next = state.count > 0 or self.shows_empty
                state.clock = due + period if has_next else None

    def close(self, state: Subwindows, tick: int) -> Iterator[Action]:
        """Yield the actions of a period that is not over, if rows came in it, and flush windows that are open."""
        yield from self.advance(state, tick)
        if state.clock is not None and any(window.has_new_rows for window in state.partitions.values()):
            # Without rows to come, the period would never end: let it end now.
            yield from self.advance(state, state.clock)
        if self.leaves_at_once:
            partitions = [*state.partitions]  # a copy, as a window that ends takes its partition along
            for partition in partitions:
                yield from self._break_off(state, partition, tick)

    def earliest_start(self, state: Subwindows, tick: int) -> int:
        """Return a lower bound of the starts of windows that are computed when time is at a tick or later."""
        if isinstance(self._eviction_policy, ElapsedPolicy):
            return tick - self._eviction_policy.length  # a window reaches back by its length of time
        if self.leaves_at_once and self._period is not None:
            return tick // self._period * self._period  # a window is a whole period
        # Other windows start with their oldest row.
        starts = [window.oldest_time for window in state.partitions.values() if window.size]
        return min([tick, *starts])

    def is_empty(self, state: Subwindows) -> bool:
        """Return True if there is no row, no count towards the next computation and no time to wait for."""
        if state.clock is not None:
            return False
        if self.partitions is not None and state.partitions:
            return False  # partitions have an age and an order of use
        windows = state.partitions.values()
        # A window that was full once is computed from then on, which a new one is not.
        return all(window.is_new and not (self._waits_until_full and window.is_full) for window in windows)

    def create_state(self) -> Subwindows:
        """Return the state of a key without rows."""
        return Subwindows()

    def to_data(self, state: Subwindows) -> list[Any]:
        """Return the state as plain data, for a checkpoint."""
        return state.to_data()

    def from_data(self, data: Sequence[Any]) -> Subwindows:
        """Return the state from the data that `to_data` returned."""
        is_timed = isinstance(self._eviction_policy, ElapsedPolicy) or self._time_limit is not None
        return Subwindows.from_data(data, is_timed=is_timed)

    @property
    def _period(self) -> int | None:
        """The period at which windows are computed by time; None if they are not."""
        return self._trigger_policy.length if isinstance(self._trigger_policy, ElapsedPolicy) else None

    @property
    def _expires_after(self) -> int:
        """The time after which a row leaves by time, or the window that it began ends; 0 if nothing expires."""
        if isinstance(self._eviction_policy, ElapsedPolicy):
            return self._eviction_policy.length + 1  # a row leaves when it is older than the length
        return self._time_limit or 0

    @property
    def _removal_age(self) -> int | None:
        """The age at which time alone removes a partition; None if there is no such age, or only insertions remove."""
        if self.partitions is None or self.partitions.on_insertion:
            return None
        return self.partitions.age

    def _compute(self, state: Subwindows, partition: Hashable, time: int) -> Iterator[Action]:
        """Yield the computation of a partition's window; a tumbling window ends with it, and its partition goes.

        An empty window is computed only if empty ones are shown, and with `waits_until_full` only one that was full.
        """
        window = state.partitions.get(partition)
        if window is None:
            window = Subwindow(time)  # the empty window of a partition without rows
        window.has_new_rows = False  # also if the window is left out below: the next period begins without new rows
        if not window.size and not self.shows_empty:
            return
        if self._waits_until_full and not window.is_full:
            return
        extent = self._extent(window, time)
        if not self.leaves_at_once:
            yield Action(ActionKind.TRIGGER, partition, window=extent)
            return
        if partition in state.partitions:
            state.remove(partition)
        yield Action(ActionKind.FLUSH, partition, window=extent)

    def _extent(self, window: Subwindow, time: int) -> Window:
        """Return the extent of a window that is computed at a time.

        The window starts with its oldest row or, if time bounds it, its whole length before that time. It ends at that
        time or, if its newest row comes then or later, right after this row. A window without rows that time does not
        bound is the tick at which it is computed.
        """
        # A tumbling window is bounded by the policy that ends it, a sliding one by the policy by which its rows leave.
        bound = self._trigger_policy if self.leaves_at_once else self._eviction_policy
        end = max(time, window.newest_time + 1) if window.size else time
        if isinstance(bound, ElapsedPolicy):
            return Window(time - bound.length, end)
        if window.size:
            return Window(window.oldest_time, end)
        return Window(time, time + 1)

    def _compute_all(self, state: Subwindows, time: int) -> Iterator[Action]:
        """Yield the computation of the windows of all partitions."""
        partitions = [*state.partitions]  # a copy, as a window that ends takes its partition along
        if not partitions and self.shows_empty:
            partitions = [0]  # the one partition of windows without partitions
        for partition in partitions:
            yield from self._compute(state, partition, time)

    def _evict(self, state: Subwindows, partition: Hashable, numbers: Sequence[int]) -> Iterator[Action]:
        """Remove rows from a window; yield that the window is full, the first time, and that the rows leave.

        Args:
            state: The state of the key.
            partition: The partition of the window.
            numbers: The numbers of the rows.
        """
        window = state.partitions[partition]
        window.evict(numbers)
        state.count -= len(numbers)
        # A window from which a row leaves counts as full.
        if not window.is_full:
            window.is_full = True
            yield Action(ActionKind.FULL, partition)
        yield Action(ActionKind.EVICT, partition, tuple(numbers))

    def _remove_partitions(self, state: Subwindows, time: int) -> Iterator[Action]:
        """Yield the removal of partitions while there are too many, they hold too many rows, or one is too old."""
        limits = self.partitions
        while limits is not None and _exceeds(state, limits, time):
            # By default the least recently used partition goes, which comes first; a plugin may choose others.
            views = [
                PartitionView(name, window.size, window.last_insertion) for name, window in state.partitions.items()
            ]
            selected = list(dict.fromkeys(self.select_partitions(views)))
            if not selected or not all(name in state.partitions for name in selected):
                raise WindowError(
                    f"{type(self).__name__}.select_partitions returned {selected!r}\n"
                    f"  expected: one or more of the {len(views)} it was given, as some are too many, or too old"
                )
            for name in selected:
                state.remove(name)
                yield Action(ActionKind.REMOVE, name)


def _exceeds(state: Subwindows, limits: Partitions, time: int) -> bool:
    """Return True if there are too many partitions, they hold too many rows, or one is too old at a time."""
    if limits.most is not None and len(state.partitions) > limits.most:
        return True
    if limits.most_rows is not None and state.count > limits.most_rows:
        return True
    if limits.age is None or not state.partitions:
        return False
    return state.least_recent + limits.age <= time  # the last insertion into the partition that is unused for longest


def _pushed_out(policy: RowPolicy, window: Subwindow, values: Sequence[Any]) -> list[int]:
    """Return the numbers of the rows that leave a window by number or by delta before the next row is inserted.

    Args:
        policy: The policy by which rows leave.
        window: The window.
        values: The values that the policies read of the next row: the attribute of a delta comes first.
    """
    if isinstance(policy, CountPolicy):
        return [window.oldest_number] if window.size == policy.size else []
    if isinstance(policy, DeltaPolicy):
        return window.pop_exceeded(values[0], policy.size)
    return []
