"""The state of row windows: the window of each partition, and the rows that time removes."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple


class Member(NamedTuple):
    """A row in a window.

    Attributes:
        time: The time of the row.
        value: The attribute, if rows leave by delta; None if they leave otherwise, or no row has an attribute yet.
    """

    time: int
    value: Any = None


@dataclass(slots=True)
class Subwindow:
    """The window of one partition.

    Attributes:
        last_insertion: The time of the last row that was inserted, which may have left since.
        size: The number of members.
        oldest_time: The time of the oldest member.
        oldest_number: The number of the oldest member.
        newest_time: The time of the newest member.
        rows_since_computed: The number of rows since the window was last computed.
        base: The attribute from which the next difference of a trigger counts; None before there is one.
        is_full: True if the window was full once.
        has_new_rows: True if a row came since the window was last computed.
        rows: The members by number, the oldest first; empty if members leave all at once, as none need be kept then.
        by_value: A heap of the attributes of members, with their numbers, if rows leave by delta.
    """

    last_insertion: int
    size: int = 0
    oldest_time: int = 0
    oldest_number: int = 0
    newest_time: int = 0
    rows_since_computed: int = 0
    base: Any = None
    is_full: bool = False
    has_new_rows: bool = False
    rows: OrderedDict[int, Member] = field(default_factory=OrderedDict)
    by_value: list[tuple[Any, int]] = field(default_factory=list)

    @property
    def is_new(self) -> bool:
        """True if the window has no rows, and treats later rows as a new window would."""
        return not self.size and not self.rows_since_computed and self.base is None

    def insert(self, number: int, time: int, value: Any, *, is_kept: bool) -> None:
        """Add the newest member.

        Args:
            number: The number of the row.
            time: The time of the row.
            value: The attribute by which the row leaves; None if it has none, or leaves otherwise.
            is_kept: False if members leave all at once, so that the row itself need not be kept.
        """
        if not self.size:
            self.oldest_time = time
            self.oldest_number = number
        self.size += 1
        # The newest time goes back when members leave, the time of the last insertion does not.
        self.newest_time = time
        self.last_insertion = time
        self.has_new_rows = True
        if is_kept:
            self.rows[number] = Member(time, value)
            if value is not None:
                heappush(self.by_value, (value, number))

    def evict(self, numbers: Sequence[int]) -> None:
        """Remove members by their numbers, and find the oldest and the newest member again."""
        for number in numbers:
            del self.rows[number]
        self.size = len(self.rows)
        if self.rows:  # if none is left, the next insertion sets these
            newest_number = next(reversed(self.rows))
            self.oldest_number = next(iter(self.rows))
            self.oldest_time = self.rows[self.oldest_number].time
            self.newest_time = self.rows[newest_number].time

    def fill_null(self, value: Any) -> Any:
        """Return the attribute of the next member; for a null, that of the previous member.

        Members before the first one with an attribute are given that attribute, when it comes.
        """
        # Each null took the attribute before it: if the newest member has none, no member has one.
        newest_value = self.rows[next(reversed(self.rows))].value if self.rows else value
        if newest_value is None and value is not None:
            for number, (time, _) in self.rows.items():
                self.rows[number] = Member(time, value)
                heappush(self.by_value, (value, number))
        return newest_value if value is None else value

    def pop_exceeded(self, value: Any, size: float) -> list[int]:
        """Take the members out of `by_value` whose attribute is smaller than a value by more than a size.

        Returns:
            Their numbers, the oldest first. They are still members until `evict` removes them.
        """
        if value is None:
            return []
        numbers: list[int] = []
        # The heap has the smallest attribute first.
        while self.by_value and value - self.by_value[0][0] > size:
            _, number = heappop(self.by_value)
            numbers.append(number)
        return sorted(numbers)

    def to_data(self) -> list[Any]:
        """Return the window as plain data: the fields in their order, without `by_value`, which the rows tell."""
        rows = [[number, *member] for number, member in self.rows.items()]
        members = [self.last_insertion, self.size, self.oldest_time, self.oldest_number, self.newest_time]
        return [*members, self.rows_since_computed, self.base, self.is_full, self.has_new_rows, rows]

    @classmethod
    def from_data(cls, data: Sequence[Any]) -> Subwindow:
        """Return the window from the data that `to_data` returned."""
        *field_values, rows = data
        window = cls(*field_values)
        window.rows = OrderedDict((number, Member(*member)) for number, *member in rows)
        # A sorted list is a heap.
        window.by_value = sorted((row.value, number) for number, row in window.rows.items() if row.value is not None)
        return window


class Expiring(NamedTuple):
    """A row that leaves when it is too old, or that began a window which ends at that age.

    Attributes:
        time: The time of the row.
        number: The number of the row.
        partition: The partition of the row.
    """

    time: int
    number: int
    partition: Hashable


@dataclass(slots=True)
class Subwindows:
    """The windows of all partitions of a key.

    Attributes:
        clock: The end of the present period, if windows are computed by time; None while there are no rows.
        partitions: The windows by partition, the least recently used first.
        count: The number of rows in all windows.
        expiring: The rows of all partitions that leave by time, or begin a window that ends by time, in their order.
            Some of them may have left for another reason.
    """

    clock: int | None = None
    partitions: OrderedDict[Hashable, Subwindow] = field(default_factory=OrderedDict)
    count: int = 0
    expiring: deque[Expiring] = field(default_factory=deque)

    @property
    def least_recent(self) -> int:
        """The time of the last row of the least recently used partition."""
        return next(iter(self.partitions.values())).last_insertion

    def open(self, partition: Hashable, time: int) -> Subwindow:
        """Return the window of a partition that gets a row, a new one if need be, and make it the most recently used.

        Args:
            partition: The partition.
            time: The time of the row.
        """
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

    def next_expiring(self) -> Expiring | None:
        """Return the oldest row that is still a member and expires; None if there is none.

        Older rows in `expiring` have left their windows for another reason, and are dropped.
        """
        while self.expiring:
            row = self.expiring[0]
            window = self.partitions.get(row.partition)
            if window is not None and window.size:
                # A window that keeps no rows knows the number of its oldest one, which is the only one that expires.
                is_member = row.number == window.oldest_number or row.number in window.rows
                if is_member:
                    return row
            self.expiring.popleft()  # the row has left meanwhile
        return None

    def pop_overdue(self, expires_after: int, tick: int) -> Iterator[Expiring]:
        """Take out and yield the rows that expire, a time after their own, at a tick or before."""
        while (row := self.next_expiring()) is not None and row.time + expires_after <= tick:
            yield self.expiring.popleft()

    def to_data(self) -> list[Any]:
        """Return the state as plain data, without `expiring` and `count`, which the windows tell."""
        windows = [[partition, *window.to_data()] for partition, window in self.partitions.items()]
        return [self.clock, windows]

    @classmethod
    def from_data(cls, data: Sequence[Any], *, is_timed: bool) -> Subwindows:
        """Return the state from the data that `to_data` returned.

        Args:
            data: The data.
            is_timed: True if rows leave or windows end by time, so that rows expire.
        """
        clock, stored_windows = data
        state = cls(clock)
        expiring: list[Expiring] = []
        for partition, *window_data in stored_windows:
            window = Subwindow.from_data(window_data)
            state.partitions[partition] = window
            state.count += window.size
            # A window that keeps no rows ends as a whole when its oldest row expires, whose number and time it knows.
            members: Mapping[int, Member] = window.rows
            if not members:
                members = {window.oldest_number: Member(window.oldest_time)}
            expiring += [Expiring(member.time, number, partition) for number, member in members.items()]
        if is_timed:
            # Rows expire in the order in which they came, whatever their partition is.
            state.expiring.extend(sorted(expiring, key=lambda row: row.number))
        return state
