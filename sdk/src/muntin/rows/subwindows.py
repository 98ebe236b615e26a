"""The state of row windows: the rows of each partition, and when something is due."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple


class Member(NamedTuple):
    """A row in a window.

    Attributes:
        time: Its time.
        value: The attribute by which rows leave; None if they leave otherwise, or it is null or NaN.
    """

    time: int
    value: Any = None


@dataclass(slots=True)
class Subwindow:
    """The window of one partition.

    Attributes:
        last: The time of the last row that was inserted.
        rows: The members by number, the oldest first.
        counted: The number of rows since the last trigger.
        base: The attribute from which the next difference counts.
        is_full: True if it was full once.
        is_fresh: True if a row came since it was last computed.
        by_value: A heap of the attributes of members, with their numbers; some of these may have left.
    """

    last: int
    rows: OrderedDict[int, Member] = field(default_factory=OrderedDict)
    counted: int = 0
    base: Any = None
    is_full: bool = False
    is_fresh: bool = False
    by_value: list[tuple[Any, int]] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        """True if it has no rows, and what comes does not depend on those that it had."""
        return not self.rows and not self.counted and self.base is None

    @property
    def first(self) -> int:
        """The time of the oldest member."""
        return self.rows[next(iter(self.rows))].time

    @property
    def newest(self) -> int:
        """The time of the newest member."""
        return self.rows[next(reversed(self.rows))].time

    def insert(self, number: int, member: Member) -> None:
        """Add the newest member."""
        self.rows[number] = member
        self.is_fresh = True
        if member.value is not None:
            heappush(self.by_value, (member.value, number))

    def exceeded(self, value: Any, size: float) -> tuple[int, ...]:
        """Take out the members whose attribute is smaller than a value by more than a size; return their numbers."""
        gone = []
        while value is not None and self.by_value and value - self.by_value[0][0] > size:
            _, number = heappop(self.by_value)
            gone.append(number)
            del self.rows[number]
        return tuple(sorted(gone))

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        rows = [[number, *member] for number, member in self.rows.items()]
        return [self.last, self.counted, self.base, self.is_full, self.is_fresh, rows]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Subwindow:
        """Undo `to_data`."""
        last, counted, base, is_full, is_fresh, rows = data
        members = OrderedDict((number, Member(*member)) for number, *member in rows)
        values = sorted((member.value, number) for number, member in members.items() if member.value is not None)
        return cls(last, members, counted, base, is_full, is_fresh, values)


class Expiring(NamedTuple):
    """A row that leaves when it is too old."""

    time: int
    number: int
    partition: Hashable


@dataclass(slots=True)
class Subwindows:
    """The windows of all partitions of a key.

    Attributes:
        clock: The next tick at which a policy of elapsed time is due; None while there is nothing to do.
        partitions: The windows by partition, the least recently used first.
        count: How many rows they hold together.
        expiring: The rows of all partitions in order, where rows leave by age; some of them may have left.
    """

    clock: int | None = None
    partitions: OrderedDict[Hashable, Subwindow] = field(default_factory=OrderedDict)
    count: int = 0
    expiring: deque[Expiring] = field(default_factory=deque)

    def open(self, partition: Hashable, time: int) -> Subwindow:
        """Return the window of a partition that gets a row, a new one if need be, as the most recently used."""
        found = self.partitions.get(partition)
        if found is None:
            found = self.partitions[partition] = Subwindow(time)
        elif len(self.partitions) > 1:
            self.partitions.move_to_end(partition)
        found.last = time
        return found

    def remove(self, partition: Hashable) -> tuple[int, ...]:
        """Take out a partition, and return the rows that it holds."""
        rows = tuple(self.partitions.pop(partition).rows)
        self.count -= len(rows)
        return rows

    def oldest(self) -> Expiring | None:
        """Return the oldest row of all partitions, where rows leave by age."""
        while self.expiring:
            first = self.expiring[0]
            found = self.partitions.get(first.partition)
            if found is not None and first.number in found.rows:
                return first
            self.expiring.popleft()
        return None

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        return [self.clock, [[partition, *found.to_data()] for partition, found in self.partitions.items()]]

    @classmethod
    def from_data(cls, data: Sequence[Any], *, expires: bool) -> Subwindows:
        """Undo `to_data`.

        Args:
            data: What it returned.
            expires: True if rows leave by age.
        """
        clock, stored = data
        partitions = OrderedDict((partition, Subwindow.from_data(found)) for partition, *found in stored)
        count = sum(len(found.rows) for found in partitions.values())
        rows = [
            Expiring(member.time, number, partition)
            for partition, found in partitions.items()
            for number, member in found.rows.items()
            if expires
        ]
        return cls(clock, partitions, count, deque(sorted(rows, key=_by_number)))


def _by_number(row: Expiring) -> int:
    return row.number
