"""Count windows: from each distinct start (or end) of an event over the next n of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from muntin.axis import INFINITY, Axis
from muntin.errors import WindowError
from muntin.windows.context import WindowContext
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class CountWindows(WindowKind):
    """A window from each distinct start (or end) of an event over the next `count` of them.

    The window is `[t_i, t_(i+count-1) + 1)` and has as members the events that start (or end) inside. Distinct
    *times* are counted, so events at the same time never make the result depend on their order; there
    may then be more than `count` members. Times with fewer than `count - 1` successors open no window.

    Attributes:
        count: How many distinct times a window spans.
        by: Whether the starts or the ends of events are counted. An event that has not ended has no end yet.
    """

    name: ClassVar[str] = "count"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "count windows"
    can_be_time_bound: ClassVar[bool] = True

    count: int
    by: Literal["start", "end"] = "start"

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count <= 0:
            raise WindowError(f"a count window needs a whole number above zero, got {self.count!r}")
        if self.by not in ("start", "end"):
            raise WindowError(f"a count window counts by 'start' or by 'end', got {self.by!r}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the tick that is counted; an event that has not ended has no end to count."""
        counted = start if self.by == "start" else end
        return (counted, counted) if counted == INFINITY else (counted, counted + 1)

    def cut(self, known: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows with a counted time in a stretch, or between two of theirs."""
        ticks, more = known.starts, self.count - 1
        for place in range(max(0, bisect_left(ticks, start) - more), len(ticks) - more):
            if ticks[place] >= end:
                return
            yield Window(ticks[place], ticks[place + more] + 1)

    def unborn(self, known: Stretches) -> int:
        """Return the first time that has too few successors."""
        ticks = known.starts
        place = max(len(ticks) - self.count + 1, bisect_left(ticks, known.frontier))
        return ticks[place] if place < len(ticks) else INFINITY

    def known_at(self, window: Window) -> int | None:
        """Return the last tick, which is the last of the times that the window counts."""
        return window.end - 1

    def successor(self, window: Window, since: int) -> tuple[int, int] | None:
        """Return the start: the window from the same time takes its place."""
        del since
        return window.start, window.start

    @property
    def context(self) -> WindowContext:
        """Nothing, if a window counts one time alone."""
        return WindowContext.FREE if self.count == 1 else WindowContext.FORWARD

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return windows over two starts."""
        del reach
        return cls(2).spell(axis)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `count_by_start` or `count_by_end`."""
        del axis
        return f"count_by_{self.by}({self.count})"


def count_by_start(count: int) -> CountWindows:
    """Return windows over `count` distinct starts of events."""
    return CountWindows(count, "start")


def count_by_end(count: int) -> CountWindows:
    """Return windows over `count` distinct ends of events."""
    return CountWindows(count, "end")
