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
        value: The attribute by which rows leave; None if they leave otherwise, or no row has it yet.
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
        oldest_number: The number of the oldest member.
        newest: The time of the newest member.
        rows_since_computed: The number of rows since it was last computed.
        base: The attribute from which the next difference counts.
        is_full: True if it was full once.
        is_fresh: True if a row came since it was last computed.
        rows: The members by number, the oldest first; none where they leave all at once.
        by_value: A heap of the attributes of members, with their numbers.
    """

    last: int
    size: int = 0
    first: int = 0
    oldest_number: int = 0
    newest: int = 0
    rows_since_computed: int = 0
    base: Any = None
    is_full: bool = False
    is_fresh: bool = False
    rows: OrderedDict[int, Member] = field(default_factory=OrderedDict)
    by_value: list[tuple[Any, int]] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        """True if it has no rows, and later rows are treated as in a new window."""
        return not self.size and not self.rows_since_computed and self.base is None

    def insert(self, number: int, time: int, value: Any, *, is_kept: bool) -> None:
        """Add the newest member."""
        if not self.size:
            self.first = time
            self.oldest_number = number
        self.size += 1
        self.newest = time
        self.last = time
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
            newest = next(reversed(self.rows))
            self.oldest_number = next(iter(self.rows))
            self.first = self.rows[self.oldest_number].time
            self.newest = self.rows[newest].time

    def shared(self, value: Any) -> Any:
        """Return the attribute of the next member; a null counts as that of the previous member.

        Members before the first one with an attribute get that attribute, once it comes.
        """
        # The newest member has an attribute unless none of them has one, as each null took the one before it.
        previous = self.rows[next(reversed(self.rows))].value if self.rows else value
        if previous is None and value is not None:
            for number, (time, _) in self.rows.items():
                self.rows[number] = Member(time, value)
                heappush(self.by_value, (value, number))
        return previous if value is None else value

    def exceeded(self, value: Any, size: float) -> list[int]:
        """Return the members to evict: their attribute is smaller than a value by more than a size."""
        if value is None:
            return []
        # The heap has the smallest attribute first, which falls behind first.
        numbers: list[int] = []
        while self.by_value and value - self.by_value[0][0] > size:
            _, number = heappop(self.by_value)
            numbers.append(number)
        return sorted(numbers)

    def to_data(self) -> list[Any]:
        """Return the window as plain data: the fields in their order, and last the members, which tell `by_value`."""
        rows = [[number, *member] for number, member in self.rows.items()]
        members = [self.last, self.size, self.first, self.oldest_number, self.newest]
        return [*members, self.rows_since_computed, self.base, self.is_full, self.is_fresh, rows]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Subwindow:
        """Undo `to_data`."""
        *values, rows = data
        window = cls(*values)
        window.rows = OrderedDict((number, Member(*member)) for number, *member in rows)
        # A sorted list is a heap, so it can take the place of the one that was stored.
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
        window = self.partitions.get(partition)
        if window is None:
            window = Subwindow(time)
            self.partitions[partition] = window
        elif len(self.partitions) > 1:
            self.partitions.move_to_end(partition)
        return window

    def remove(self, partition: Hashable) -> None:
        """Remove a partition with its rows."""
        self.count -= self.partitions.pop(partition).size

    def oldest(self) -> Expiring | None:
        """Return the oldest row that time is to remove and that is still there."""
        while self.expiring:
            row = self.expiring[0]
            window = self.partitions.get(row.partition)
            # Windows that keep no rows know the number of their first one, which alone is watched.
            if window is not None and window.size and (row.number == window.oldest_number or row.number in window.rows):
                return row
            self.expiring.popleft()  # it has left meanwhile
        return None

    def overdue(self, stay: int, tick: int) -> Iterator[Expiring]:
        """Remove and yield the rows whose stay ends at a tick or before."""
        while (row := self.oldest()) is not None and row.time + stay <= tick:
            yield self.expiring.popleft()

    def to_data(self) -> list[Any]:
        """Return the state as plain data: `expiring` and `count` follow from the windows."""
        windows = [[partition, *window.to_data()] for partition, window in self.partitions.items()]
        return [self.clock, windows]

    @classmethod
    def from_data(cls, data: Sequence[Any], *, is_timed: bool) -> Subwindows:
        """Undo `to_data`; `is_timed` says that time removes rows, or ends windows."""
        clock, stored_windows = data
        state = cls(clock)
        expiring: list[Expiring] = []
        for partition, *stored in stored_windows:
            window = Subwindow.from_data(stored)
            state.partitions[partition] = window
            state.count += window.size
            # Of windows that keep no rows, time watches the first one.
            members = window.rows or {window.oldest_number: Member(window.first)}
            expiring += [Expiring(member.time, number, partition) for number, member in members.items()]
        if is_timed:
            state.expiring.extend(sorted(expiring, key=lambda row: row.number))
        return state
