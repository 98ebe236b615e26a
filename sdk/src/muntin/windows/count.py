"""Count windows: each spans a number of distinct starts (or ends) of events."""

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
    """Windows over `count` distinct starts (or ends) of events, from each of them or from every m-th.

    Let `t_0`, `t_1` and so on be these distinct times. The window from `t_i` is `[t_i, t_(i+count-1) + 1)`, and the
    events that start (or end) inside are its members. Distinct *times* are counted, so events at the same time never
    make the result depend on their order; there may then be more than `count` members. Times with fewer than
    `count - 1` successors open no window.

    With `every=m` the first time of a key opens a window, then the m-th after it, and so on. The *rank* of a time is
    its number among all times of the key, however long ago they were. An event that comes late raises the ranks of all
    later times by one, so every later window changes. If `m` is above the count, there are times between windows, and
    their events are members of no window.

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
        """True if each time opens a window. With `every` above 1, a late event moves ranks and so replaces windows."""
        return self.every == 1

    @property
    def least_events(self) -> int:
        """The count: a window is complete when so many times have come."""
        return self.count

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the one tick that is counted, the event's start or end; nothing while there is no end to count."""
        counted_time = start if self.by == "start" else end
        if counted_time == INFINITY:
            return counted_time, counted_time
        return counted_time, counted_time + 1

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows that share a tick with `[start, end)`."""
        times = stretches.starts
        successors = self.count - 1  # the number of times in a window after the one that opens it
        # So the first window that shares a tick with `[start, end)` may have been opened by a time that lies as many
        # places before the first time at `start` or later.
        first_index = max(self._frontier_index(stretches), bisect_left(times, start) - successors)
        for index in range(self._next_opening(stretches, first_index), len(times) - successors, self.every):
            if times[index] >= end:
                return
            yield Window(times[index], times[index + successors] + 1)

    def members(self, window: Window, events: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the events that start (or end) inside the window."""
        members: list[tuple[int, int]] = []
        for start, end in events:
            counted_time = start if self.by == "start" else end
            if window.start <= counted_time < window.end:
                members.append((start, end))
        return members

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch; with `every`, all time from its start on, as the ranks of all later times may change."""
        return start, end if self.every == 1 else INFINITY

    def unborn(self, stretches: Stretches) -> int:
        """Return the first time that will open a window when it has more successors; `INFINITY` if there is none."""
        times = stretches.starts
        # Earlier times have enough successors, and so their windows, already.
        first_without_window = len(times) - self.count + 1
        first_index = max(first_without_window, bisect_left(times, stretches.frontier))
        index = self._next_opening(stretches, first_index)
        return times[index] if index < len(times) else INFINITY

    def carried(self, stretches: Stretches, frontier: int) -> Any:
        """Return the number of times before the frontier, counted from the last that opened a window, which counts too.

        None if the first time from the frontier on opens a window: then nothing needs to be kept.
        """
        times_since_an_opening = bisect_left(stretches.starts, frontier) - self._opening_index(stretches)
        times_since_the_last_opening = times_since_an_opening % self.every
        return None if times_since_the_last_opening == 0 else times_since_the_last_opening

    def outlives(self, carried: int | None) -> bool:
        """Return True if the carried number is needed to know which later time opens a window."""
        return carried is not None

    def _frontier_index(self, stretches: Stretches) -> int:
        """Return the index of the first time that the carried number does not count; 0 if each time opens a window.

        Earlier times may still be among the stretches, as those of events that are kept for another reason.
        """
        return 0 if self.every == 1 else bisect_left(stretches.starts, stretches.frontier)

    def _opening_index(self, stretches: Stretches) -> int:
        """Return the index of a time that opens a window; it is negative if that time is forgotten."""
        return self._frontier_index(stretches) - (stretches.carried or 0)

    def _next_opening(self, stretches: Stretches, index: int) -> int:
        """Return the index of the first time, from one at an index on, that opens a window."""
        return index + (self._opening_index(stretches) - index) % self.every

    def known_at(self, window: Window) -> int | None:
        """Return the last tick, which is the last of the times that the window counts."""
        return window.end - 1

    def successor(self, window: Window, since: int) -> tuple[int, int] | None:
        """Return the start: the window that opens at the same time takes the place of the removed one."""
        return window.start, window.start

    @property
    def context(self) -> WindowContext:
        """Free if each time alone is a window; backward if ranks among earlier times decide; forward otherwise."""
        if self.count > 1:
            return WindowContext.FORWARD
        if self.every == 1:
            return WindowContext.FREE
        # Ranks by end depend on later rows: an event that starts later may end earlier.
        return WindowContext.BACKWARD if self.by == "start" else WindowContext.FORWARD

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for windows over two starts."""
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
        """Return JSON-able data; without `every` if it is 1, as in checkpoints from before windows had that field."""
        # `super()` alone does not work in a dataclass with slots.
        data = super(CountWindows, self).to_dict()
        return {name: value for name, value in data.items() if name != "every" or value != 1}


def count_by_start(count: int, every: int = 1) -> CountWindows:
    """Return windows over `count` distinct starts of events.

    From each start there is a window over `count` starts, its own included, which ends one tick after the last of them.
    Times are counted, not events: a window may have more members than the count, and the order of events at one time
    does not matter. With `every`, an event that comes late or is retracted changes all later windows. If that is not
    what you want, let windows wait for the watermark (`emit="final"`), or use `batch`, which numbers rows in the order
    of a column. A key whose number of starts is no multiple of `every` is kept for ever, as a number of a few bytes
    without any events. Time-bound results are refused, except with `every=1`.

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
    return CountWindows(count, by="start", every=every)


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
    return CountWindows(count, by="end", every=every)
