"""Trailing windows: the length before each start, or before every n-th."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import EARLIEST, INFINITY, Axis, Duration, spell_as_written, ticks
from muntin.errors import WindowError
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class TrailingWindows(WindowKind):
    """A window at each distinct start of an event, or at every n-th of them, over the length before it.

    The window at a start `t` is `[t - length + 1, t + 1)`, and has as members the events that overlap it: a point if it
    lies inside, an event that lasts also if it began before and lasts into the window. With `every=n` the first start
    of a key has a window, then the n-th after it, and so on, as for `count_by_start`; an event that comes late then
    moves all windows after it. (The thesis *Window Queries over Data Streams*, section 5.1.5: slide-by-tuple windows.)

    What is cut is the one tick of the start; an event counts for the length after its last tick. The number of starts
    that were forgotten is carried, modulo `every`.

    The fields are the arguments of `trailing`, in ticks.
    """

    name: ClassVar[str] = "trailing"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "trailing windows"
    lengths: ClassVar[tuple[str, ...]] = ("length",)

    length: int
    every: int = 1

    def __post_init__(self) -> None:
        if self.length <= 0:
            raise WindowError(f"trailing windows need a length above zero, got {spell_as_written(self.length)}")
        if type(self.every) is not int or self.every <= 0:
            raise WindowError(f"trailing windows come at every n-th start, n a whole number above zero: {self.every!r}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, and the length after its last tick."""
        return start, end if end == INFINITY else end - 1 + self.length

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the ticks of the starts that are counted."""
        starts = stretches.starts
        since, rank = _carried(stretches)
        first = bisect_left(starts, since)
        for place in range(bisect_left(starts, max(start, since)), len(starts)):
            if starts[place] >= end:
                return
            # Starts before `since` are forgotten, and only counted: their number goes on with the first that is kept.
            if (rank + place - first) % self.every == 0:
                yield Window(starts[place], starts[place] + 1)

    def extent_start(self, start: int) -> int:
        """Return the first tick that a window looks back to."""
        return start if start in (EARLIEST, INFINITY) else start - self.length + 1

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch; to the end, if a start more or less moves the windows after it."""
        return start, INFINITY if self.every > 1 else end

    def carried(self, stretches: Stretches, frontier: int) -> tuple[int, int] | None:
        """Return the number of starts before a tick from which on all are kept; nothing if each start has a window."""
        if self.every == 1:
            return None
        since, rank = _carried(stretches)
        # An open window looks back by its length, so starts are kept from there on.
        bound = max(since, frontier - self.length + 1)
        passed = bisect_left(stretches.starts, bound) - bisect_left(stretches.starts, since)
        return bound, (rank + passed) % self.every

    def outlives(self, carried: tuple[int, int] | None) -> bool:
        """Return True if starts have been counted since the last window."""
        return carried is not None and carried[1] > 0

    @property
    def reach(self) -> int:
        """The length, less the tick of the start."""
        return self.length - 1

    @property
    def longest(self) -> int:
        """The length."""
        return self.length

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return windows that look back so far."""
        return cls(max(1, axis.round_up(reach))).spell(axis)


def _carried(stretches: Stretches) -> tuple[int, int]:
    """Return a tick from which on all starts are kept, and the number of starts before it, modulo `every`."""
    since, rank = stretches.carried or (EARLIEST, 0)
    return since, rank


def trailing(length: Duration, every: int = 1) -> TrailingWindows:
    """Return windows that look back from each start of an event, or from every n-th.

    The window at a start `t` is `[t - length + 1, t + 1)`, and events at one time share it. An event that comes late
    opens a window of its own and is a member of those after it; with `every` above 1 it also moves them. Unlike
    `last("5 minutes")`, these windows need no order of rows, and their events may be revised.

    Three events, and the windows that `trailing(6)` makes of them, with the number of members:

    ```text
             -4        6
    event a       [----)
    event b          [----)
    event c                  [-)
    window   [-----)               1
    window      [-----)            2
    window              [-----)    2
    ```

    Args:
        length: The time that they look back, for example `"5 minutes"`.
        every: The number of distinct starts between those of neighbouring windows, in the order of time: 1 for a window
            at each; 5 for one at the first start of a key, at the sixth, and so on.

    Raises:
        WindowError: The length or the number is not positive.

    Example:
        >>> print(trailing(300), trailing(300, every=5))
        trailing(300) trailing(300, every=5)
    """
    return TrailingWindows(ticks(length), every)
