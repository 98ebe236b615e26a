"""Rows, as row windows get them and as a module that follows rows sees them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from muntin.windows.extent import Window


class Row(NamedTuple):
    """A row, as row windows get it.

    Attributes:
        number: The number of the row among those of its key; later rows have larger numbers.
        time: The time of the row on the axis; it never goes back.
        values: The values of the expressions in `RowWindows.reads`, in their order.
    """

    number: int
    time: int
    values: tuple[Any, ...] = ()


class ActionKind(StrEnum):
    """A kind of action of row windows."""

    INSERT = "insert"
    """A row becomes a member."""
    EVICT = "evict"
    """Members leave a sliding window."""
    TRIGGER = "trigger"
    """A sliding window is ready to be computed."""
    FULL = "full"
    """A sliding window is full for the first time."""
    FLUSH = "flush"
    """A tumbling window is ready to be computed; all members leave after it."""
    EMPTY = "empty"
    """A marker came and there was no member."""
    REMOVE = "remove"
    """A partition is removed, with the rows that it still holds."""


class Action(NamedTuple):
    """One action of row windows.

    Attributes:
        kind: The kind of the action.
        partition: The partition of the action; 0 if rows are not partitioned.
        rows: The numbers of the rows that enter or leave; empty if all members leave, as with a flush.
        window: The extent of the results of a trigger or a flush; None for other actions.
    """

    kind: ActionKind
    partition: Hashable = 0
    rows: tuple[int, ...] = ()
    window: Window | None = None


In = TypeVar("In")


class MemberRow(NamedTuple, Generic[In]):
    """A row of the input, as a module that follows rows sees it.

    Attributes:
        number: The number of the row among those of its key; later rows have larger numbers. Numbers begin anew after
            the key was forgotten: when its windows were empty and the module's state as good as a new one, and
            `on_full` had not been called.
        time: The time of the row on the axis, in ticks.
        payload: The payload that the query makes of the row. Read-only.
    """

    number: int
    time: int
    payload: In


class RowsInWindow(Generic[In]):
    """The window of a partition during a call of a handler, and the windows of the other partitions of its key.

    It must not be used after the call. Rows that the module does not accept, because they hold a null, are not in it.

    Attributes:
        partition: The partition; 0 if rows are not partitioned.
        time: The tick of the step for which the handler is called.
        extent: The extent of the window, if a trigger or a flush computes it; None in other calls.

    Cost: `rows` and `partitions` copy what they return.
    """

    __slots__ = ("_members", "extent", "partition", "time")

    def __init__(
        self,
        members: Mapping[Hashable, Mapping[int, MemberRow[In]]],
        partition: Hashable,
        time: int,
        extent: Window | None = None,
    ) -> None:
        """Show the window of a partition.

        Args:
            members: The members of each partition of the key, by number, the oldest first.
            partition: The partition.
            time: The tick of the step.
            extent: The extent of the window, if it is computed.
        """
        self._members = members
        self.partition = partition
        self.time = time
        self.extent = extent

    @property
    def rows(self) -> tuple[MemberRow[In], ...]:
        """The members, the oldest first."""
        return tuple(self._members.get(self.partition, {}).values())

    @property
    def partitions(self) -> dict[Hashable, tuple[MemberRow[In], ...]]:
        """The members of each partition of the key that has members, the partition with the oldest member first."""
        members = {partition: tuple(rows.values()) for partition, rows in self._members.items() if rows}
        sorted_partitions = sorted(members, key=lambda partition: members[partition][0].number)
        return {partition: members[partition] for partition in sorted_partitions}
