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
    PartitionView,
    RowPolicy,
)
from muntin.rows.subwindows import Expiring, Subwindow, Subwindows
from muntin.rows.view import Action, ActionKind, Row
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAutomaton(PartitionedRows):
    """Follows rows: windows begin, rows enter and leave, windows are computed and end.

    A kind of windows configures it: by the policy by which rows leave one by one (`_leaving`), by the policy that
    computes a window (`_computing`), by the rows at which a window begins or ends (`_begins`, `_ended_before`), and by
    the time after which it ends (`_patience`).
    """

    @property
    def _patience(self) -> int | None:
        """The time after its first row at which a window ends if nothing has ended it; None if it stays open."""
        return None

    @property
    def _waits(self) -> bool:
        """True if a window is not computed before it was full once."""
        return False

    def _begins(self, values: Sequence[Any]) -> bool:
        """Return True if a row may begin a window of a partition that has none."""
        return True

    def _ended_before(
        self, state: Subwindows, partition: Hashable, values: Sequence[Any], time: int
    ) -> Iterator[Action] | None:
        """Return the actions of a window that is computed or ends before the row is inserted; None if it does not."""
        policy = self._computing
        if not isinstance(policy, DeltaPolicy):
            return None
        window = state.partitions[partition]
        attribute = values[-1]
        if window.base is None:
            window.base = attribute if policy.start is None or self.leaves_at_once else policy.start
        if not policy.is_exceeded(attribute, window.base):
            return None
        window.base = attribute
        return self._compute(state, partition, time)

    def _break_off(self, state: Subwindows, partition: Hashable, time: int) -> Iterator[Action]:
        """Yield the end of a window that no row ends."""
        yield from self._compute(state, partition, time)

    def step(self, state: Subwindows, row: Row) -> Iterator[Action]:
        """Yield the actions of a row.

        In order: time advances to the row; a marker ends all windows; a window that ends or is computed before the row
        does so; rows that it pushes out leave; the row is inserted; the window is computed if the row makes it due; and
        partitions beyond the limits are removed.
        """
        number, time, row_values = row
        yield from self.advance(state, time)

        # The values are the partition, those that the policies read, and the condition that admits a row.
        values = [None if value != value else value for value in row_values]  # noqa: PLR0124  # NaN is like null
        is_admitted = self.admits is None or bool(values.pop())
        partition = 0 if self.partitions is None else values.pop(0)
        leaving = self._leaving
        computing = self._computing

        # A marker counts whether it is admitted or not, and is no member.
        if isinstance(computing, MarkerPolicy) and values[0]:
            if not state.count:
                yield Action(ActionKind.EMPTY)
            yield from self._compute_all(state, time)
            return
        if not is_admitted:
            return

        # A window that ends before the row may take its partition along: the row then opens another one.
        while True:
            if partition not in state.partitions and not self._begins(values):
                return
            window = state.open(partition, time)
            ending = self._ended_before(state, partition, values, time)
            if ending is None:
                break
            yield from ending

        # Rows that leave by number or by delta make room before the row; by time they left in `advance`.
        leaving_rows = [] if leaving is None else _pushed_out(leaving, window, values)
        if leaving_rows:
            yield from self._evict(state, partition, leaving_rows)

        # Time watches each row that leaves by it, and of a tumbling window the first row alone, as all leave together.
        begins_patience = leaving is None and not window.size and self._patience is not None
        if begins_patience or isinstance(leaving, ElapsedPolicy):
            state.expiring.append(Expiring(time, number, partition))

        # Insert the row. Windows whose rows leave all at once need not keep them: their size and first row are enough.
        value = window.shared(values[0]) if isinstance(leaving, DeltaPolicy) else None
        window.insert(number, time, value, is_kept=leaving is not None)
        state.count += 1
        if state.clock is None and isinstance(computing, ElapsedPolicy):  # periods end at their multiples
            state.clock = (time // computing.length + 1) * computing.length
        yield Action(ActionKind.INSERT, partition, (number,))

        # Windows by number are full when they have that many rows; all others when the first row leaves, see `_evict`.
        if isinstance(leaving, CountPolicy) and window.size == leaving.size and not window.is_full:
            window.is_full = True
            yield Action(ActionKind.FULL, partition)

        is_due = isinstance(computing, ConditionPolicy) and bool(values[-1])
        if isinstance(computing, CountPolicy):
            window.rows_since_computed = (window.rows_since_computed + 1) % computing.size
            is_due = not window.rows_since_computed
        if is_due:
            yield from self._compute(state, partition, time)
        yield from self._limit(state, time)

    def next_tick(self, state: Subwindows) -> int:
        """Return the next tick at which a row, a window or a partition is too old, or a period ends."""
        due = INFINITY if state.clock is None else state.clock
        oldest = state.oldest()
        if oldest is not None:
            due = min(due, oldest.time + self._stay)
        if self._age is not None and state.partitions:
            due = min(due, state.least_recent + self._age)
        return due

    def advance(self, state: Subwindows, tick: int) -> Iterator[Action]:
        """Yield the actions due up to a tick: at one tick rows leave, then partitions, then windows are computed."""
        while (due := self.next_tick(state)) <= tick and due < INFINITY:
            if not self.leaves_at_once:
                # One action per partition, so that a module handles all rows that leave together in one call.
                too_old: dict[Hashable, list[int]] = {}
                for row in state.overdue(self._stay, due):
                    too_old.setdefault(row.partition, []).append(row.number)
                for partition, numbers in too_old.items():
                    yield from self._evict(state, partition, numbers)
            if self._age is not None:
                yield from self._limit(state, due)
            if self.leaves_at_once:
                for row in state.overdue(self._stay, due):
                    yield from self._break_off(state, row.partition, due)

            # A period that ends goes on while there are rows; without any, the next row starts the periods again.
            period = self._period
            if state.clock == due and period is not None:
                yield from self._compute_all(state, due)
                has_next = state.count > 0 or self.shows_empty
                state.clock = due + period if has_next else None

    def close(self, state: Subwindows, tick: int) -> Iterator[Action]:
        """Yield the actions of a period that is not over, if rows came in it, and flush windows that are open."""
        yield from self.advance(state, tick)
        if state.clock is not None and any(window.is_fresh for window in state.partitions.values()):
            # The period is not over, and its rows would never be computed: let it end now.
            yield from self.advance(state, state.clock)
        if self.leaves_at_once:
            # A copy, as a window that ends takes its partition along.
            for partition in [*state.partitions]:
                yield from self._break_off(state, partition, tick)

    def earliest_start(self, state: Subwindows, tick: int) -> int:
        """Return the least start of a later window: by time, if time bounds windows, or else the oldest row's."""
        if isinstance(self._leaving, ElapsedPolicy):
            return tick - self._leaving.length
        if self.leaves_at_once and self._period is not None:
            return tick // self._period * self._period
        return min([tick, *(window.first for window in state.partitions.values() if window.size)])

    def is_empty(self, state: Subwindows) -> bool:
        """Return True if there is no row, no count towards the next computation and no time to wait for."""
        if state.clock is not None or (self.partitions is not None and state.partitions):
            return False
        windows = state.partitions.values()
        return all(window.is_new and not (self._waits and window.is_full) for window in windows)

    def create_state(self) -> Subwindows:
        """Return the state of a key without rows."""
        return Subwindows()

    def to_data(self, state: Subwindows) -> list[Any]:
        """Return the state as plain data."""
        return state.to_data()

    def from_data(self, data: Sequence[Any]) -> Subwindows:
        """Undo `to_data`."""
        is_timed = isinstance(self._leaving, ElapsedPolicy) or self._patience is not None
        return Subwindows.from_data(data, is_timed=is_timed)

    @property
    def _period(self) -> int | None:
        """The period at which windows are computed by time; None if they are not."""
        return self._computing.length if isinstance(self._computing, ElapsedPolicy) else None

    @property
    def _stay(self) -> int:
        """The time after which a row leaves by time, or the window that it began ends."""
        if isinstance(self._leaving, ElapsedPolicy):
            return self._leaving.length + 1
        return self._patience or 0

    @property
    def _age(self) -> int | None:
        """The age at which a partition is removed without an insertion; None if it is not."""
        if self.partitions is None or self.partitions.on_insertion:
            return None
        return self.partitions.age

    def _compute(self, state: Subwindows, partition: Hashable, time: int) -> Iterator[Action]:
        """Yield the computation of a partition's window; it ends at a time, or after its newest row."""
        window = state.partitions.get(partition)
        # With `with_empty`, a partition without rows has an empty window.
        if window is None:
            window = Subwindow(time)
        window.is_fresh = False
        if not (window.size or self.shows_empty) or (self._waits and not window.is_full):
            return
        extent = self._extent(window, time)
        if not self.leaves_at_once:
            yield Action(ActionKind.TRIGGER, partition, window=extent)
            return
        if partition in state.partitions:
            state.remove(partition)
        yield Action(ActionKind.FLUSH, partition, window=extent)

    def _extent(self, window: Subwindow, time: int) -> Window:
        """Return the extent of a window that is computed at a time: the whole length, if time bounds it."""
        bound = self._computing if self.leaves_at_once else self._leaving
        end = max(time, window.newest + 1) if window.size else time
        if isinstance(bound, ElapsedPolicy):
            return Window(time - bound.length, end)
        if window.size:
            return Window(window.first, end)
        return Window(time, time + 1)

    def _compute_all(self, state: Subwindows, time: int) -> Iterator[Action]:
        """Yield the computation of the windows of all partitions."""
        partitions = [*state.partitions]  # a copy, as a window that ends takes its partition along
        if not partitions and self.shows_empty:
            partitions = [0]
        for partition in partitions:
            yield from self._compute(state, partition, time)

    def _evict(self, state: Subwindows, partition: Hashable, numbers: Sequence[int]) -> Iterator[Action]:
        """Remove rows from a window, and yield that they leave; the first time the window counts as full."""
        window = state.partitions[partition]
        window.evict(numbers)
        state.count -= len(numbers)
        if not window.is_full:
            window.is_full = True
            yield Action(ActionKind.FULL, partition)
        yield Action(ActionKind.EVICT, partition, tuple(numbers))

    def _limit(self, state: Subwindows, time: int) -> Iterator[Action]:
        """Yield the removal of partitions while there are too many, they hold too many rows, or one is too old."""
        limits = self.partitions
        while limits is not None and (
            (limits.most is not None and len(state.partitions) > limits.most)
            or (limits.most_rows is not None and state.count > limits.most_rows)
            or (limits.age is not None and state.partitions and state.least_recent + limits.age <= time)
        ):
            # A plugin may choose otherwise; by default the least recently used one goes, which comes first.
            views = [PartitionView(name, window.size, window.last) for name, window in state.partitions.items()]
            chosen = list(dict.fromkeys(self.select_partitions(views)))
            if not chosen or not all(name in state.partitions for name in chosen):
                raise WindowError(
                    f"{type(self).__name__}.select_partitions returned {chosen!r}\n"
                    f"  expected: one or more of the {len(views)} it was given, as some are too many, or too old"
                )
            for name in chosen:
                state.remove(name)
                yield Action(ActionKind.REMOVE, name)


def _pushed_out(policy: RowPolicy, window: Subwindow, values: Sequence[Any]) -> list[int]:
    """Return the numbers of the rows that leave a window before the next one is inserted."""
    if isinstance(policy, CountPolicy):
        return [window.oldest_number] if window.size == policy.size else []
    if isinstance(policy, DeltaPolicy):
        return window.exceeded(values[0], policy.size)
    return []
