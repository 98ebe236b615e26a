"""Count windows: from each distinct start (or end) of an event, or every m-th of them, over the next n."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from muntin.axis import INFINITY, Axis
from muntin.errors import WindowError
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.specification import WindowContext
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class CountWindows(WindowKind):
    """A window from each distinct start (or end) of an event, or every m-th of them, over the next `count`.

    The window is `[t_i, t_(i+count-1) + 1)` and has as members the events that start (or end) inside. Distinct
    *times* are counted, so events at the same time never make the result depend on their order; there
    may then be more than `count` members. Times with fewer than `count - 1` successors open no window.

    With `every=m` the first time of a key opens a window, then the m-th after it, and so on. The rank of a time is its
    place among all times of the key, however long ago they were. An event that comes late moves all later times on by
    one, so every later window changes. If `m` is above the count, there are times between windows, and their events are
    members of none.

    The fields are the arguments of `count_by_start` and `count_by_end`; `by` says which.
    """

    name: ClassVar[str] = "count"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "count windows"

    count: int
    by: Literal["start", "end"] = "start"
    every: int = 1

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count <= 0:
            raise WindowError(f"a count window needs a whole number above zero, got {self.count!r}")
        if self.by not in ("start", "end"):
            raise WindowError(f"a count window counts by 'start' or by 'end', got {self.by!r}")
        if type(self.every) is not int or self.every <= 0:
            raise WindowError(f"count windows begin every so many times, a whole number above zero, got {self.every!r}")

    @property
    def can_be_time_bound(self) -> bool:  # type: ignore[override]  # it depends on a field
        """True if each time opens a window; others are replaced by several when a late event moves ranks."""
        return self.every == 1

    @property
    def least_events(self) -> int:
        """The count: a window is complete when so many times have come."""
        return self.count

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the tick that is counted; an event that has not ended has no end to count."""
        counted = start if self.by == "start" else end
        return (counted, counted) if counted == INFINITY else (counted, counted + 1)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows with a counted time in a stretch, or between two of theirs."""
        ticks = stretches.starts
        successors = self.count - 1
        # A window reaches over its opening time and so many after it: one that begins earlier may share a tick.
        first = max(self._origin(stretches), bisect_left(ticks, start) - successors)
        for place in range(self._next_opening(stretches, first), len(ticks) - successors, self.every):
            if ticks[place] >= end:
                return
            yield Window(ticks[place], ticks[place + successors] + 1)

    def members(self, window: Window, events: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the events that start (or end) inside."""
        members: list[tuple[int, int]] = []
        for start, end in events:
            counted = start if self.by == "start" else end
            if window.start <= counted < window.end:
                members.append((start, end))
        return members

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch; all from its start on, where the ranks of later times say which of them open windows."""
        return start, end if self.every == 1 else INFINITY

    def unborn(self, stretches: Stretches) -> int:
        """Return the first time that may open a window and has too few successors."""
        ticks = stretches.starts
        # Times with enough successors have their windows already.
        first = max(len(ticks) - self.count + 1, bisect_left(ticks, stretches.frontier))
        place = self._next_opening(stretches, first)
        return ticks[place] if place < len(ticks) else INFINITY

    def carried(self, stretches: Stretches, frontier: int) -> Any:
        """Return the distance in times from one that opens a window to the first from the frontier on, or None."""
        # None for zero: nothing needs to be kept where the first time from the frontier on opens a window.
        return (bisect_left(stretches.starts, frontier) - self._first_opening(stretches)) % self.every or None

    def outlives(self, carried: int | None) -> bool:
        """Return True if times have been counted since the last one that opened a window."""
        return carried is not None

    def _origin(self, stretches: Stretches) -> int:
        """Return the place of the first time that is not forgotten; times of kept events may lie before it."""
        return 0 if self.every == 1 else bisect_left(stretches.starts, stretches.frontier)

    def _first_opening(self, stretches: Stretches) -> int:
        """Return the place of a time that opens a window; it may lie before those that are kept."""
        return self._origin(stretches) - (stretches.carried or 0)

    def _next_opening(self, stretches: Stretches, place: int) -> int:
        """Return the first place, at one or later, whose time opens a window."""
        return place + (self._first_opening(stretches) - place) % self.every

    def known_at(self, window: Window) -> int | None:
        """Return the last tick, which is the last of the times that the window counts."""
        return window.end - 1

    def successor(self, window: Window, since: int) -> tuple[int, int] | None:
        """Return the start: the window from the same time takes its place."""
        return window.start, window.start

    @property
    def context(self) -> WindowContext:
        """Nothing, if each time alone is a window; earlier times, if their number says which of them are."""
        if self.count > 1:
            return WindowContext.FORWARD
        if self.every == 1:
            return WindowContext.FREE
        # An event that ends earlier may start later.
        return WindowContext.BACKWARD if self.by == "start" else WindowContext.FORWARD

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return windows over two starts."""
        return cls(2).spell(axis)

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `count_by_start` or `count_by_end`."""
        every = f", every={self.every}" if self.every > 1 else ""
        return f"count_by_{self.by}({self.count}{every})"

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `count_by_start` or `count_by_end` and its arguments."""
        arguments = {"count": self.count}
        if self.every > 1:
            arguments["every"] = self.every
        return f"count_by_{self.by}", arguments

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data; without `every` where each time opens a window, as checkpoints before that field."""
        data = super(CountWindows, self).to_dict()
        return {name: value for name, value in data.items() if name != "every" or value != 1}


def count_by_start(count: int, every: int = 1) -> CountWindows:
    """Return windows over `count` distinct starts of events.

    There is a window from each start over the next `count` starts, which ends one tick after the last of them. Times
    are counted, not events: a window may have more members than the count, and the order of events at one time does not
    matter. With `every`, an event that comes late or is retracted changes all later windows. Where that must not be,
    let windows wait for the watermark (`emit="final"`), or use `batch`, which numbers rows in the order of a column. A
    key whose number of starts is no multiple of `every` is kept for ever, as a number of a few bytes; all its events
    go. Time-bound results are refused, except with `every=1`.

    Three events, and the windows that `count_by_start(2)` makes of them, with the number of members:

    ```text
             1         11
    event a  [----)
    event b     [----)
    event c             [-)
    window   [---)            2
    window      [--------)    2
    ```

    Args:
        count: The number of distinct starts that a window spans.
        every: The number of distinct starts between the starts of neighbouring windows: by default each start opens a
            window; `count_by_start(10, every=10)` puts windows of ten end to end.

    Raises:
        WindowError: An argument is not a whole number above zero.

    Example:
        >>> print(count_by_start(10), count_by_start(10, every=10))
        count_by_start(10) count_by_start(10, every=10)
    """
    return CountWindows(count, "start", every)


def count_by_end(count: int, every: int = 1) -> CountWindows:
    """Return windows over `count` distinct ends of events; as `count_by_start`, with ends.

    An event that has not ended is not counted yet.

    Three events, and the windows that `count_by_end(2)` makes of them, with the number of members:

    ```text
             1         11
    event a  [----)
    event b     [----)
    event c             [-)
    window        [---)        2
    window           [-----)   2
    ```

    Args:
        count: The number of distinct ends that a window spans.
        every: The number of distinct ends between the starts of neighbouring windows, as for `count_by_start`.

    Raises:
        WindowError: An argument is not a whole number above zero.

    Example:
        >>> print(count_by_end(5, every=5))
        count_by_end(5, every=5)
    """
    return CountWindows(count, "end", every)
