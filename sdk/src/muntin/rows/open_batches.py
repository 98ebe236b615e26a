"""OpenBatches: row windows whose members leave all at once, at the latest some time after the first of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.axis import INFINITY, Axis, spell_number
from muntin.rows.action import Action
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.policies import ElapsedPolicy
from muntin.rows.subwindows import Expiring, OpenBatch, Subwindows


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
