"""The state of row windows: the rows of each partition, and when something is due."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Generic, NamedTuple, TypeVar


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
    def size(self) -> int:
        """The number of members."""
        return len(self.rows)

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
        self.is_fresh, self.last = True, member.time
        if member.value is not None:
            heappush(self.by_value, (member.value, number))

    def shared(self, value: Any) -> Any:
        """Return the attribute of the next member: a null is as that of the member before it, or else after it."""
        before = self.rows[next(reversed(self.rows))].value if self.rows else value
        if before is None and value is not None:
            for number, (time, _) in self.rows.items():
                self.rows[number] = Member(time, value)
                heappush(self.by_value, (value, number))
        return before if value is None else value

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


@dataclass(slots=True)
class OpenBatch:
    """The rows of one partition since it was last flushed. They leave all at once, so none needs to be known.

    Attributes:
        last: The time of the last row that was inserted.
        size: The number of members.
        first: The time of the oldest.
        base: The attribute from which the difference counts.
    """

    last: int
    size: int = 0
    first: int = 0
    base: Any = None

    @property
    def is_new(self) -> bool:
        """False: a window without rows is gone."""
        return False

    def insert(self, time: int) -> None:
        """Add the newest member."""
        self.first = self.first if self.size else time
        self.size += 1
        self.last = time

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        return [self.last, self.size, self.first, self.base]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> OpenBatch:
        """Undo `to_data`."""
        return cls(*data)


W = TypeVar("W", bound=Subwindow | OpenBatch)


class Expiring(NamedTuple):
    """A row that leaves when it is too old."""

    time: int
    number: int
    partition: Hashable


@dataclass(slots=True)
class Subwindows(Generic[W]):
    """The windows of all partitions of a key.

    Attributes:
        clock: The next tick at which a policy of elapsed time is due; None while there is nothing to do.
        partitions: The windows by partition, the least recently used first.
        count: How many rows they hold together.
        expiring: The rows of all partitions in order, where rows leave by age; some of them may have left.
        kind: The class of the windows.
    """

    kind: type[W]
    clock: int | None = None
    partitions: OrderedDict[Hashable, W] = field(default_factory=OrderedDict)
    count: int = 0
    expiring: deque[Expiring] = field(default_factory=deque)

    def open(self, partition: Hashable, time: int) -> W:
        """Return the window of a partition that gets a row, a new one if need be, as the most recently used."""
        found = self.partitions.get(partition)
        if found is None:
            found = self.partitions[partition] = self.kind(time)
        elif len(self.partitions) > 1:
            self.partitions.move_to_end(partition)
        return found

    def remove(self, partition: Hashable) -> None:
        """Take out a partition."""
        self.count -= self.partitions.pop(partition).size

    def oldest(self) -> Expiring | None:
        """Return the oldest row of all partitions, where rows leave by age."""
        while self.expiring:
            first = self.expiring[0]
            found = self.partitions.get(first.partition)
            if isinstance(found, Subwindow) and first.number in found.rows:
                return first
            self.expiring.popleft()
        return None

    def to_data(self) -> list[Any]:
        """Return it as plain data."""
        return [self.clock, [[partition, *found.to_data()] for partition, found in self.partitions.items()]]

    @classmethod
    def from_data(cls, kind: type[W], data: Sequence[Any], *, expires: bool) -> Subwindows[W]:
        """Undo `to_data`.

        Args:
            kind: The class of the windows.
            data: What it returned.
            expires: True if rows leave by age.
        """
        clock, stored = data
        partitions = OrderedDict((partition, kind.from_data(found)) for partition, *found in stored)
        count = sum(found.size for found in partitions.values())
        rows = [
            Expiring(member.time, number, partition)
            for partition, found in partitions.items()
            if expires and isinstance(found, Subwindow)
            for number, member in found.rows.items()
        ]
        return cls(kind, clock, partitions, count, deque(sorted(rows, key=_by_number)))


def _by_number(row: Expiring) -> int:
    return row.number
