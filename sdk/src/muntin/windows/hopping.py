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
        if self.size <= 0 or self.hop <= 0:
            if self.size == self.hop:
                raise WindowError(f"a tumbling window needs a size above zero, got {spell_as_written(self.size)}")
            lengths = f"the size {spell_as_written(self.size)} and the hop {spell_as_written(self.hop)}"
            raise WindowError(f"a hopping window needs a size and a hop above zero, got {lengths}")
        if self.reach < 0:
            raise WindowError(f"the reach of a window cannot be negative, got {spell_as_written(self.reach)}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged by the reach; nothing for an event between two windows."""
        until = end if end == INFINITY else end + self.reach
        # Only where the hop is longer than the size: an event in the gap belongs to no window.
        is_between_windows = self.next_start(start) >= until
        return (start, start) if is_between_windows else (start, until)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows of the grid over a stretch."""
        if start < end:
            for first in range(self.next_start(start), end, self.hop):
                yield Window(first, first + self.size)

    def grid(self) -> RegularWindows | None:
        """Return the grid, unless events are members of windows that they do not overlap."""
        return None if self.reach else self

    @property
    def longest(self) -> int:
        """The size."""
        return self.size

    def with_reach(self, reach: int) -> Self:
        """Return the windows with a reach of at least so many ticks."""
        return replace(self, reach=max(self.reach, reach))

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return tumbling windows that are not shorter than the reach; whole hours where the axis is time."""
        least = axis.round_up(reach)
        if axis is Axis.TIME:
            hour = ticks("1 hour")
            # Rounded up, as `-(-a // b)` is.
            size = -(-max(least, 1) // hour) * hour
        else:
            size = max(10, least)
        return cls(size, size, reach=least).spell(axis)

    @property
    def holds_past(self) -> int:
        """The reach, and what neighbours have in common."""
        return self.reach + max(0, self.size - self.hop)

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `tumbling` or `hopping` and its arguments."""
        name, parts = super(HoppingWindows, self).call()
        if self.size != self.hop:
            return name, parts
        return "tumbling", {part: value for part, value in parts.items() if part != "hop"}

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
        offset: Where one of the windows starts, counted from tick 0 (the epoch where the axis is time); or the time or
            day at which one starts, a datetime or a date, which are in UTC unless they say otherwise.
        reach: For how long after its end an event stays a member (StreamInsight's altered duration, for
            membership alone); a pattern that looks back six hours wants a reach of at least that. The module still
            sees the event's own lifetime.

    Raises:
        WindowError: The size or the hop is not positive, or the reach is negative.

    Example:
        >>> hopping("1 hour", "10 minutes")
        HoppingWindows(size=3600000000, hop=600000000, offset=0, reach=0)
    """
    length_of_hop = ticks(hop)
    return HoppingWindows(ticks(size), length_of_hop, offset_ticks(offset, length_of_hop), ticks(reach))


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
        offset: Where one of the windows starts, as for `hopping`; it may be negative, as in `"-15 minutes"`, and
            windows go on before it. For windows that begin at a time, with none before it, see `landmark`.
        reach: For how long after its end an event stays a member, as for `hopping`.

    Raises:
        WindowError: The size is not positive, or the reach is negative.

    Example:
        >>> tumbling(60) == hopping(60, 60)
        True
        >>> tumbling("7 days", date(2024, 5, 1)) == tumbling("7 days", "6 days")
        True
    """
    return hopping(size, size, offset, reach=reach)
