"""The state of row windows: the window of each partition, and the rows that time removes."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple


class Member(NamedTuple):
    """A row in a window.

    Attributes:
        time: Its time.
        value: The attribute by which rows leave; None if they leave otherwise, or no row has one yet.
    """

    time: int
    value: Any = None


@dataclass(slots=True)
class Subwindow:
    """The window of one partition.

    Attributes:
        last: The time of the last row that was inserted.
        size: The number of members.
        first: The time of the oldest member.
        opened: The number of the oldest member.
        newest: The time of the newest member.
        counted: The number of rows since it was last computed.
        base: The attribute from which the next difference counts.
        is_full: True if it was full once.
        is_fresh: True if a row came since it was last computed.
        rows: The members by number, the oldest first; none where they leave all at once.
        by_value: A heap of the attributes of members, with their numbers.
    """

    last: int
    size: int = 0
    first: int = 0
    opened: int = 0
    newest: int = 0
    counted: int = 0
    base: Any = None
    is_full: bool = False
    is_fresh: bool = False
    rows: OrderedDict[int, Member] = field(default_factory=OrderedDict)
    by_value: list[tuple[Any, int]] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        """True if it has no rows, and what comes does not depend on those that it had."""
        return not self.size and not self.counted and self.base is None

    def insert(self, number: int, time: int, value: Any, *, is_kept: bool) -> None:
        """Add the newest member."""
        if not self.size:
            self.first, self.opened = time, number
        self.size += 1
        self.last = self.newest = time
        self.is_fresh = True
        if is_kept:
            self.rows[number] = Member(time, value)
            if value is not None:
                heappush(self.by_value, (value, number))

    def evict(self, numbers: Sequence[int]) -> None:
        """Remove members."""
        for number in numbers:
            del self.rows[number]
        self.size = len(self.rows)
        if self.rows:
            self.opened = next(iter(self.rows))
            self.first, self.newest = self.rows[self.opened].time, self.rows[next(reversed(self.rows))].time

    def shared(self, value: Any) -> Any:
        """Return the attribute of the next member: a null is as that of the member before it, or else after it."""
        before = self.rows[next(reversed(self.rows))].value if self.rows else value
        if before is None and value is not None:
            for number, (time, _) in self.rows.items():
                self.rows[number] = Member(time, value)
                heappush(self.by_value, (value, number))
        return before if value is None else value

    def exceeded(self, value: Any, size: float) -> list[int]:
        """Return the members to evict: their attribute is smaller than a value by more than a size."""
        gone = []
        while value is not None and self.by_value and value - self.by_value[0][0] > size:
            gone.append(heappop(self.by_value)[1])
        return sorted(gone)

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        rows = [[number, *member] for number, member in self.rows.items()]
        of_members = [self.last, self.size, self.first, self.opened, self.newest]
        return [*of_members, self.counted, self.base, self.is_full, self.is_fresh, rows]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Subwindow:
        """Undo `to_data`."""
        *told, rows = data
        window = cls(*told)
        window.rows = OrderedDict((number, Member(*member)) for number, *member in rows)
        window.by_value = sorted((row.value, number) for number, row in window.rows.items() if row.value is not None)
        return window


class Expiring(NamedTuple):
    """A row that leaves when it is too old, or that began a window which ends then."""

    time: int
    number: int
    partition: Hashable


@dataclass(slots=True)
class Subwindows:
    """The windows of all partitions of a key.

    Attributes:
        clock: The next tick at which a policy of elapsed time is due; None while there is nothing to do.
        partitions: The windows by partition, the least recently used first.
        count: The number of rows that they hold together.
        expiring: The rows of all partitions that time removes, in order; some of them may have left.
    """

    clock: int | None = None
    partitions: OrderedDict[Hashable, Subwindow] = field(default_factory=OrderedDict)
    count: int = 0
    expiring: deque[Expiring] = field(default_factory=deque)

    @property
    def least_recent(self) -> int:
        """The time of the last row of the least recently used partition."""
        return next(iter(self.partitions.values())).last

    def open(self, partition: Hashable, time: int) -> Subwindow:
        """Return the window of a partition that gets a row, a new one if need be, as the most recently used."""
        found = self.partitions.get(partition)
        if found is None:
            found = self.partitions[partition] = Subwindow(time)
        elif len(self.partitions) > 1:
            self.partitions.move_to_end(partition)
        return found

    def remove(self, partition: Hashable) -> None:
        """Take out a partition."""
        self.count -= self.partitions.pop(partition).size

    def oldest(self) -> Expiring | None:
        """Return the oldest row that time is to remove and that is still there."""
        while self.expiring:
            row = self.expiring[0]
            found = self.partitions.get(row.partition)
            if found is not None and found.size and (row.number == found.opened or row.number in found.rows):
                return row
            self.expiring.popleft()
        return None

    def overdue(self, stay: int, tick: int) -> Iterator[Expiring]:
        """Take out the rows that came so long before a tick."""
        while (row := self.oldest()) is not None and row.time + stay <= tick:
            yield self.expiring.popleft()

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        return [self.clock, [[partition, *found.to_data()] for partition, found in self.partitions.items()]]

    @classmethod
    def from_data(cls, data: Sequence[Any], *, is_timed: bool) -> Subwindows:
        """Undo `to_data`."""
        clock, stored = data
        windows = OrderedDict((partition, Subwindow.from_data(found)) for partition, *found in stored)
        rows = [
            Expiring(time, number, partition)
            for partition, found in windows.items()
            for number, (time, _) in (found.rows or {found.opened: Member(found.first)}).items()
            if is_timed
        ]
        count = sum(found.size for found in windows.values())
        return cls(clock, windows, count, deque(sorted(rows, key=lambda row: row.number)))
