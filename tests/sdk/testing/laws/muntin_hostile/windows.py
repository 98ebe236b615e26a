"""Kinds of windows that break a law of `WindowKindLaws` each, and two that keep all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import isqrt
from typing import Any, ClassVar

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import (
    CountWindows,
    CumulateWindows,
    GrowingSteps,
    LandmarkWindows,
    Periods,
    PeriodWindows,
    SnapshotWindows,
    Stretches,
    WindowContext,
    WindowKind,
)


@dataclass(frozen=True)
class Each(WindowKind):
    """Keeps all laws: windows of one length, one from each distinct start of an event."""

    name: ClassVar[str] = "hostile.each"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows from each start"

    length: int = 5

    def membership(self, start: int, end: int) -> tuple[int, int]:
        return start, start + 1

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        windows = (Window(tick, tick + self.length) for tick in stretches.starts)
        return (window for window in windows if window.start < end and window.end > start)


class Crowded(Each):
    """Ends windows at multiples of ten, so that several end at once."""

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        windows = (Window(tick, tick // 10 * 10 + 10) for tick in stretches.starts)
        return (window for window in windows if window.start < end and window.end > start)


class Careless(Each):
    """Leaves out a window that began before the part that is asked for, unless an event starts there too."""

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        windows = super().cut(stretches, start, end)
        return windows if start in stretches.starts else (window for window in windows if window.start >= start)


@dataclass(frozen=True)
class Remembers(Each):
    """Sets the length of all windows by the number of starts at its first call, and has it on itself."""

    first_length: list[int] = field(default_factory=list, init=False, compare=False, repr=False)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        if not self.first_length:
            self.first_length.append(5 + len(stretches.starts))
        windows = (Window(tick, tick + self.first_length[0]) for tick in stretches.starts)
        return (window for window in windows if window.start < end and window.end > start)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.name, "version": self.version, "length": self.length}


class Hasty(Each):
    """Counts an event before it starts; it closes no window for good, so that no other law is broken."""

    def membership(self, start: int, end: int) -> tuple[int, int]:
        return start - 1, start + 1

    def unborn(self, stretches: Stretches) -> int:
        return stretches.frontier


class LastThree(Each):
    """Has the windows of the last three starts alone, so that earlier ones are taken away again."""

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        windows = (Window(tick, tick + self.length) for tick in stretches.starts[-3:])
        return (window for window in windows if window.start < end and window.end > start)

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        return -(2**40), 2**40

    def unborn(self, stretches: Stretches) -> int:
        return stretches.frontier


class Surprising(CountWindows):
    """Claims that no known start opens a window any more."""

    def unborn(self, stretches: Stretches) -> int:
        return INFINITY


class Forgetful(SnapshotWindows):
    """Forgets where the last closed window ended."""

    def carried(self, stretches: Stretches, frontier: int) -> None:
        return None


class Hiding(SnapshotWindows):
    """Does not say that a neighbour changes too."""

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        return start, end


class Ambiguous(Each):
    """Contradicts itself: by `membership` the events that start in a window are members, by `members` all in it."""

    def members(self, window: Window, events: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(start, end) for start, end in events if start < window.end and end > window.start]


class Boastful(Each):
    """Claims that the windows of an event follow from its own times, though a start before it opens one too."""

    @property
    def context(self) -> WindowContext:
        return WindowContext.FREE


class Lossy(Each):
    """Does not write its length down."""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.name, "version": self.version}


class Rash(Each):
    """Claims that events fuse, and has a window from each of them."""

    def fuses_within(self) -> int:
        return self.length


class Sharp(Each):
    """Claims to be cut at the edges of events, and has a window from each start."""

    def cuts_at_edges(self) -> bool:
        return True


@dataclass(frozen=True)
class Squares(Periods):
    """Period n begins at tick n², or -n² if n is negative; each ends where the next one begins.

    Attributes:
        late: How many ticks too late it says that periods begin; 0 if it is right.
        above: How much too large the numbers are that it says of ticks; 0 if it is right.
    """

    late: int = 0
    above: int = 0

    def begins(self, number: int) -> int:
        return number * abs(number) + self.late

    def number_at(self, tick: int) -> int:
        # The root rounded down, also below zero: -5 lies in the period that begins at -9, of number -3.
        root = isqrt(abs(tick))
        if tick >= 0:
            return root + self.above
        is_square = root * root == -tick
        return (-root if is_square else -root - 1) + self.above


@dataclass(frozen=True)
class Growing(WindowKind):
    """Keeps all laws: windows of `size` periods between squares, of which one begins at every `hop`th square."""

    name: ClassVar[str] = "hostile.growing"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows of squares"
    waits_for_events: ClassVar[bool] = False
    periods: ClassVar[Squares] = Squares()

    size: int = 2
    hop: int = 1

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        del stretches
        squares = Squares()
        first_number = 0
        if start not in (EARLIEST, INFINITY):
            # The earliest period with a window that reaches to the start, rounded up to a multiple of the hop.
            earliest_number = squares.number_at(start) - self.size + 1
            first_number = -(-earliest_number // self.hop) * self.hop
        for number in count(first_number, self.hop):
            window = Window(squares.begins(number), squares.begins(number + self.size))
            if window.start >= end:
                return
            if window.end > start:
                yield window

    def grid(self) -> PeriodWindows:
        return PeriodWindows(self.periods, self.size, self.hop)


class Unpunctual(Growing):
    """Claims that its periods begin a tick later than they do."""

    periods = Squares(late=1)


class Miscounting(Growing):
    """Claims that each tick lies in the period after its own."""

    periods = Squares(above=1)


class Shifted(Growing):
    """Claims that its windows are one period longer than they are."""

    def grid(self) -> PeriodWindows:
        return PeriodWindows(self.periods, self.size + 1, self.hop)


class Undefined(Squares):
    """Knows no number of a tick."""

    def number_at(self, tick: int) -> int:
        raise LookupError(tick)


class Unequal(Squares):
    """Equals no other one."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


class Unhashable(Squares):
    """Can be no key of a table."""

    __hash__ = None  # type: ignore[assignment]


class Numberless(Growing):
    """Has periods that raise an exception."""

    periods = Undefined()


class Anew(Growing):
    """Has other periods each time."""

    def grid(self) -> PeriodWindows:
        return PeriodWindows(Unequal(), self.size, self.hop)


class Mutable(Growing):
    """Has periods that have no hash."""

    periods = Unhashable()


@dataclass(frozen=True, slots=True)
class Restarting(CumulateWindows):
    """Claims that its windows start anew twice as often as they do."""

    def growing(self) -> GrowingSteps:
        return GrowingSteps(self.step, self.offset, self.size // 2)


@dataclass(frozen=True, slots=True)
class Early(LandmarkWindows):
    """Claims that its windows grow from a step before the landmark."""

    def growing(self) -> GrowingSteps:
        return GrowingSteps(self.step, self.since - self.step)


HOSTILE_GRIDS: list[WindowKind] = [
    *(Unpunctual(), Miscounting(), Shifted(), Numberless(), Anew(), Mutable(), Sharp()),
    *(Restarting(12, 3), Early(4, 20)),
]
"""Kinds whose grids of periods, steps or edges make other windows, or put ticks into other ones; all else is right."""

HOSTILE_KINDS: dict[str, WindowKind] = {
    "test_windows_ascend_in_start_and_in_end": Crowded(),
    "test_a_part_is_the_whole_cut_restricted": Careless(),
    "test_only_the_set_of_stretches_matters": Remembers(),
    "test_a_stretch_never_begins_before_its_event": Hasty(),
    "test_windows_that_ended_are_settled": LastThree(),
    "test_later_windows_start_where_they_may": Surprising(2),
    "test_what_is_carried_replaces_what_is_forgotten": Forgetful(),
    "test_a_change_stays_where_the_kind_says": Hiding(),
    "test_members_and_windows_are_dual": Ambiguous(),
    "test_windows_depend_on_no_more_than_the_context": Boastful(),
    "test_the_kind_and_what_it_carries_are_plain_data": Lossy(7),
    "test_a_shortcut_makes_the_same_windows": Rash(),
}
"""By law, a kind that breaks this law and no other."""
