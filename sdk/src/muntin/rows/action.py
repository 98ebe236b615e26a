"""The steps of row windows: insert, evict, flush, trigger."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import Any, NamedTuple

from muntin.windows.extent import Window


class Row(NamedTuple):
    """A row, as far as windows need to know it.

    Attributes:
        number: Tells the rows of a key apart; later rows have larger numbers.
        time: Its time on the axis; it never goes back.
        values: What the windows read of it, in the order of `RowWindows.reads`.
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
        kind: What is done.
        partition: The partition in which it is done; 0 where there are none.
        rows: The numbers of the rows that it is done to; none where it is done to all members, as a flush is.
        window: What a result of a trigger or a flush is computed for; None for other actions.
    """

    kind: ActionKind
    partition: Hashable = 0
    rows: tuple[int, ...] = ()
    window: Window | None = None
