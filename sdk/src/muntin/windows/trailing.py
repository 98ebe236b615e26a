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

    The window at a start `t` is `[t - length + 1, t + 1)`, and its members are the events that overlap it, also those
    that began before the window. With `every=n` the first start of a key has a window, then the n-th after it, and so
    on, as for `count_by_start`; an event that comes late then moves all windows after it. (The thesis *Window Queries
    over Data Streams*, section 5.1.5: slide-by-tuple windows.)

    `cut` yields the one tick of the start as the window; to make up for that, an event counts for the length after its
    last tick. The number of starts that were forgotten is carried, modulo `every`.

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
        """Yield the last tick of each window that ends at a start in `[start, end)`; `extent_start` has its start."""
        starts = stretches.starts
        kept_since, forgotten_starts = _carried(stretches)
        first_kept = bisect_left(starts, kept_since)
        for index in range(bisect_left(starts, max(start, kept_since)), len(starts)):
            if starts[index] >= end:
                return
            # The rank of a start among all starts of the key: those that are forgotten come first.
            rank = forgotten_starts + index - first_kept
            if rank % self.every == 0:
                yield Window(starts[index], starts[index] + 1)

    def extent_start(self, start: int) -> int:
        """Return the first tick that the window at a start looks back to."""
        return start if start in (EARLIEST, INFINITY) else start - self.length + 1

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch; with `every`, all time from its start on, as the ranks of all later starts may change."""
        return start, INFINITY if self.every > 1 else end

    def carried(self, stretches: Stretches, frontier: int) -> tuple[int, int] | None:
        """Return a tick from which on all starts are kept, and the number of starts before it, modulo `every`.

        None if each start has a window: then ranks do not matter.
        """
        if self.every == 1:
            return None
        kept_since, forgotten_starts = _carried(stretches)
        # An open window looks back by its length, so starts are kept from there on.
        bound = max(kept_since, frontier - self.length + 1)
        starts_to_forget = bisect_left(stretches.starts, bound) - bisect_left(stretches.starts, kept_since)
        return bound, (forgotten_starts + starts_to_forget) % self.every

    def outlives(self, carried: tuple[int, int] | None) -> bool:
        """Return True if the carried number of starts is needed to know which later start has a window."""
        return carried is not None and carried[1] > 0

    @property
    def reach(self) -> int:
        """The length less one tick: a window looks back from its last tick, which is a start."""
        return self.length - 1

    @property
    def longest(self) -> int:
        """The length."""
        return self.length

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for windows that look back as far as the reach."""
        return cls(max(1, axis.round_up(reach))).spell(axis)


def _carried(stretches: Stretches) -> tuple[int, int]:
    """Return a tick from which on all starts are kept, and the number of forgotten starts before it, modulo `every`."""
    kept_since, forgotten_starts = stretches.carried or (EARLIEST, 0)
    return kept_since, forgotten_starts


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
        every: The number of distinct starts from one window to the next, in the order of time: 1 for a window at each
            start; 5 for windows at the first start of a key, at the sixth, and so on.

    Raises:
        WindowError: The length or the number is not positive.

    Example:
        >>> print(trailing(300), trailing(300, every=5))
        trailing(300) trailing(300, every=5)
    """
    return TrailingWindows(ticks(length), every)
