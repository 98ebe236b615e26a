"""Hopping and tumbling windows: a grid that no event changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, ClassVar, Self

from muntin.axis import INFINITY, Axis, Duration, offset_ticks, spell_as_written, ticks
from muntin.errors import WindowError
from muntin.windows.extent import Window
from muntin.windows.grid import Grid
from muntin.windows.kind import WindowKind
from muntin.windows.regular import RegularWindows
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class HoppingWindows(Grid, WindowKind):
    """A window of `size` ticks at every multiple of `hop` from `offset` on, in both directions: a grid of ticks.

    The fields are the arguments of `hopping`, in ticks.
    """

    name: ClassVar[str] = "hopping"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "hopping or tumbling windows"
    lengths: ClassVar[tuple[str, ...]] = ("size", "hop", "offset", "reach")
    waits_for_events: ClassVar[bool] = False
    can_be_time_bound: ClassVar[bool] = True

    reach: int = 0

    def __post_init__(self) -> None:
        """Refuse a size or a hop that is not above zero, and a reach below zero."""
        if self.size <= 0 or self.hop <= 0:
            if self.size == self.hop:  # most likely written as `tumbling`, which has no hop
                raise WindowError(f"a tumbling window needs a size above zero, got {spell_as_written(self.size)}")
            lengths = f"the size {spell_as_written(self.size)} and the hop {spell_as_written(self.hop)}"
            raise WindowError(f"a hopping window needs a size and a hop above zero, got {lengths}")
        if self.reach < 0:
            raise WindowError(f"the reach of a window cannot be negative, got {spell_as_written(self.reach)}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged by the reach; nothing for an event between two windows."""
        reached_end = end if end == INFINITY else end + self.reach
        # The first window that ends after the event's start may begin only after the event, if the hop is longer than
        # the size: then the event lies in a gap.
        is_between_windows = self.next_start(start) >= reached_end
        return (start, start) if is_between_windows else (start, reached_end)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows of the grid that share a tick with `[start, end)`."""
        if start < end:
            for window_start in range(self.next_start(start), end, self.hop):
                yield Window(window_start, window_start + self.size)

    def grid(self) -> RegularWindows | None:
        """Return the windows themselves; None with a reach, where events count in windows that they do not overlap."""
        return None if self.reach else self

    @property
    def longest(self) -> int:
        """The size."""
        return self.size

    def with_reach(self, reach: int) -> Self:
        """Return the windows with a reach of at least `reach` ticks."""
        return replace(self, reach=max(self.reach, reach))

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for tumbling windows not shorter than the reach; of whole hours where the axis is time."""
        round_reach = axis.round_up(reach)
        if axis is Axis.TIME:
            hour = ticks("1 hour")
            # Rounded up, as `-(-a // b)` is; at least one hour, also for a reach of zero.
            size = -(-max(round_reach, 1) // hour) * hour
        else:
            size = max(10, round_reach)  # ten ticks are a size that is seen to be an example
        return cls(size=size, hop=size, reach=round_reach).spell(axis)

    @property
    def holds_past(self) -> int:
        """The reach, and the time that neighbouring windows share."""
        return self.reach + max(0, self.size - self.hop)

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `tumbling` or `hopping` and its arguments."""
        # `super()` alone does not work in a dataclass with slots.
        name, arguments = super(HoppingWindows, self).call()
        if self.size != self.hop:
            return name, arguments
        del arguments["hop"]
        return "tumbling", arguments

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `hopping` or `tumbling`."""
        arguments = [self.spell_field("size", axis)]
        is_tumbling = self.size == self.hop
        if not is_tumbling:
            arguments.append(self.spell_field("hop", axis))
        for name in ("offset", "reach"):
            if getattr(self, name):
                arguments.append(f"{name}={self.spell_field(name, axis)}")
        return f"{'tumbling' if is_tumbling else 'hopping'}({', '.join(arguments)})"


def hopping(size: Duration, hop: Duration, offset: Duration | date = 0, *, reach: Duration = 0) -> HoppingWindows:
    """Return windows of a size at every multiple of a hop, in both directions.

    With a hop below the size windows overlap, and above it there are gaps.

    Three events, and the windows that `hopping(6, 3)` makes of them, with the number of members:

    ```text
             -3        7         17
    event a      [----)
    event b         [----)
    event c                 [-)
    window   [-----)                  1
    window      [-----)               2
    window         [-----)            2
    window            [-----)         1
    window               [-----)      1
    window                  [-----)   1
    ```

    Args:
        size: Length of each window, for example `"1 hour"`.
        hop: Distance between neighbouring starts; any ratio to the size is allowed.
        offset: The start of one of the windows, counted from tick 0 (the epoch where the axis is time); or the time or
            day at which one starts, a datetime or a date, which are in UTC unless they say otherwise.
        reach: The time after its end for which an event stays a member (StreamInsight's altered duration, for
            membership alone). A pattern that looks back six hours needs a reach of at least six hours. The module still
            sees the event's own lifetime.

    Raises:
        WindowError: The size or the hop is not positive, or the reach is negative.

    Example:
        >>> hopping("1 hour", "10 minutes")
        HoppingWindows(size=3600000000, hop=600000000, offset=0, reach=0)
    """
    hop_ticks = ticks(hop)
    return HoppingWindows(
        size=ticks(size),
        hop=hop_ticks,
        offset=offset_ticks(offset, period=hop_ticks),
        reach=ticks(reach),
    )


def tumbling(size: Duration, offset: Duration | date = 0, *, reach: Duration = 0) -> HoppingWindows:
    """Return windows of a size, one after the other: a hop equal to the size.

    Three events, and the windows that `tumbling(5)` makes of them, with the number of members:

    ```text
             0         10
    event a   [----)
    event b      [----)
    event c              [-)
    window   [----)             2
    window        [----)        2
    window             [----)   1
    ```

    Args:
        size: Length of each window, for example `"1 hour"`; above zero.
        offset: The start of one of the windows, as for `hopping`; it may be negative, as in `"-15 minutes"`. There are
            windows before it, too: for windows that begin at a time, with none before it, see `landmark`.
        reach: The time after its end for which an event stays a member, as for `hopping`.

    Raises:
        WindowError: The size is not positive, or the reach is negative.

    Example:
        >>> tumbling(60) == hopping(60, 60)
        True
        >>> tumbling("7 days", date(2024, 5, 1)) == tumbling("7 days", "6 days")
        True
    """
    return hopping(size, hop=size, offset=offset, reach=reach)
