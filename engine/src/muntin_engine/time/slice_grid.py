"""Slices: the pieces of the axis of which all windows of a specification are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from muntin import EARLIEST, INFINITY, Window
from muntin.windows import Periods
from muntin.windows.grid import Grid, T
from muntin.windows.regular import GrowingSteps, RegularWindows
from muntin_engine.time.window_grid import NEVER, GrowingGrid, TickGrid, grid_of


@dataclass(frozen=True)
class SliceGrid:
    """Windows of `slices` slices each, every `stride` slices.

    A slice starts at every cut: at some ticks of a cycle, and at the same ticks of every other cycle. With
    one cut all slices are as wide as the greatest common divisor of size and hop (panes: thesis, section 6.2.1). Where
    that makes more than two slices of a hop, a cycle is a hop and cuts lie where a window starts and where one ends, so
    any ratio will do (paired windows: S. Krishnamurthy, C. Wu and M. Franklin, On-the-fly sharing for streamed
    aggregation, SIGMOD 2006). Window `w` starts with slice `shift + w * stride`; both are numbered in both directions.

    Where windows consist of periods of any lengths, cuts and cycles count periods in the place of ticks. Slices and
    windows are numbered alike; only the way from ticks to numbers and back differs.

    Attributes:
        windows: The windows, in ticks.
        stride: The number of slices between the starts of neighbouring windows.
        slices: The number of slices of a window.
        shift: The slice that window 0 starts with.
        cycle: The length after which cuts repeat, in ticks, or in periods.
        cuts: The places in a cycle where slices start, ascending.

    Example:
        >>> from muntin.windows import HoppingWindows
        >>> grid = SliceGrid.of(HoppingWindows(size=9, hop=6))
        >>> grid.cycle, grid.stride, grid.slices, grid.slice_at(7), grid.first_window(2), grid.last_window(2)
        (3, 2, 3, 2, 0, 1)
        >>> grid = SliceGrid.of(HoppingWindows(size=4000, hop=1999))
        >>> grid.cycle, grid.cuts, grid.stride, grid.slices
        (1999, (0, 2), 2, 5)
    """

    windows: TickGrid
    stride: int
    slices: int
    shift: int = 0
    cycle: int = 1
    cuts: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, windows: RegularWindows) -> SliceGrid:
        """Return the slices of one specification."""
        return cls.shared([windows])[0]

    @classmethod
    def shared(cls, specifications: Sequence[RegularWindows]) -> tuple[SliceGrid, ...]:
        """Return a grid for each of several specifications, whose windows are all made of the same slices.

        All must count ticks, or equal periods: see `share_slices`. A cycle is the greatest common divisor of the hops,
        so all windows of a specification have the same number of slices. Growing windows cannot share slices with
        others: they must be the only specification.

        Example:
            >>> from muntin.windows import HoppingWindows
            >>> short, long = SliceGrid.shared([HoppingWindows(6, 6), HoppingWindows(10, 6, offset=2)])
            >>> short.cuts, short.slices, long.slices, long.shift - short.shift
            ((0, 2), 2, 3, 1)
        """
        if isinstance(specifications[0], GrowingSteps):
            return (GrowingSlices.of(specifications[0]),)

        # Slices are cut wherever a window of any specification starts or ends; these places repeat in each cycle.
        cycle = gcd(*(windows.hop for windows in specifications))
        starts = [windows.offset for windows in specifications]
        ends = [windows.offset + windows.size for windows in specifications]
        cuts = tuple(sorted({edge % cycle for edge in (*starts, *ends)}))
        width = gcd(cycle, *(cut - cuts[0] for cut in cuts))
        if cycle == width * len(cuts):  # all slices are equally wide: one cut that repeats sooner describes them
            cycle = width
            cuts = cuts[:1]

        # For each specification, count the slices before its first window, of a window, and of a hop.
        grids: list[SliceGrid] = []
        for windows, start, end in zip(specifications, starts, ends, strict=True):
            first_slice = _cuts_up_to(start, cuts, cycle)
            slices = _cuts_up_to(end, cuts, cycle) - first_slice
            stride = windows.hop // cycle * len(cuts)
            grids.append(cls(grid_of(windows), stride, slices, shift=first_slice, cycle=cycle, cuts=cuts))
        return tuple(grids)

    @property
    def grows(self) -> bool:
        """True if windows share a start, and each has one slice more than the one before: see `GrowingSlices`."""
        return False

    @property
    def first(self) -> int:
        """The first slice that is in a window; `-NEVER` if windows reach back without end."""
        return -NEVER

    @property
    def has_gaps(self) -> bool:
        """True if some slices are in no window."""
        has_gaps_between_windows = self.stride > self.slices
        has_gap_before_all = self.first > -NEVER
        return has_gaps_between_windows or has_gap_before_all

    @property
    def periods(self) -> Periods | None:
        """The periods that are counted; None if ticks are."""
        return self.windows.periods

    @cached_property
    def runs(self) -> Grid:
        """The windows as runs of slices: a grid with the same numbers, over an axis whose ticks are the slices."""
        return Grid(size=self.slices, hop=self.stride, offset=self.shift)

    def slice_at(self, tick: int) -> int:
        """Return the slice that a tick lies in."""
        if self.periods is not None:
            return self.slices_at(self.periods.number_at(tick))
        return self.slices_at(tick)

    def slices_at(self, ticks: T) -> T:
        """Return the slice of each of an array of ticks, or of numbers of periods where the grid counts periods."""
        return _cuts_up_to(ticks, self.cuts, self.cycle)

    def extent(self, number: int) -> Window:
        """Return the extent of a slice, in ticks."""
        start = self._start_of_slice(number)
        end = self._start_of_slice(number + 1)
        if self.periods is None:
            return Window(start, end)
        return Window(self.periods.begins(start), self.periods.begins(end))

    def _start_of_slice(self, number: int) -> int:
        """Return the cut at which a slice starts, as a tick or as the number of a period."""
        cycle, place = divmod(number, len(self.cuts))
        return cycle * self.cycle + self.cuts[place]

    def first_window(self, slices: T) -> T:
        """Return the first window that has a slice, or one after it: the slice itself may lie in a gap."""
        return self.runs.first_ending_after(slices)

    def last_window(self, slices: T) -> T:
        """Return the last window that has a slice, or one before it: the slice itself may lie in a gap."""
        return self.runs.last_starting_before(slices + 1)

    def start_of(self, window: int) -> int:
        """Return the slice that a window starts with; a window before or after all others gives such a slice."""
        if abs(window) >= NEVER:
            return window
        return self.runs.start(window)

    def first_legal(self, first_open: int) -> int:
        """Return the first slice whose rows are not late, given the first open window.

        A row is late if a window that it belongs to is complete, or if it belongs to none and lies before the end of a
        complete window.
        """
        if abs(first_open) >= NEVER:  # all windows are open, or none: then all slices are legal, or none
            return first_open
        return self.start_of(first_open - 1) + self.slices  # the slice after the last complete window

    def first_live(self, first_open: int) -> int:
        """Return the first slice that is part of an open window; those before it can be forgotten."""
        return self.start_of(first_open)


@dataclass(frozen=True)
class GrowingSlices(SliceGrid):
    """Windows that share a start and grow: each has one slice more than the one before, and its last slice's number.

    All slices of a key whose windows are complete are in the same open windows. So they need no states of their own:
    they are merged into one state, in the place of the last of these slices.

    Example:
        >>> from muntin import cumulate, landmark
        >>> day = GrowingSlices.of(cumulate(24, 6).growing())
        >>> day.slices_at(13), day.first_window(2), day.last_window(2), day.first_live(6)
        (2, 2, 3, 4)
        >>> GrowingSlices.of(landmark(6).growing()).first_live(6)
        0
    """

    windows: GrowingGrid

    @classmethod
    def of(cls, windows: RegularWindows) -> GrowingSlices:
        """Return the slices of windows that grow."""
        grid = grid_of(windows)
        assert isinstance(grid, GrowingGrid)
        return cls(grid, stride=1, slices=1, cycle=grid.hop)

    @property
    def grows(self) -> bool:
        """True."""
        return True

    @property
    def first(self) -> int:
        """The first slice: that after the landmark, or `-NEVER` if windows start anew in each period."""
        return -NEVER if self.windows.period is not None else 0

    def slices_at(self, ticks: T) -> T:
        """Return the slice of each tick: a slice has the number of the first window that ends after its ticks."""
        return self.windows.first_ending_after(ticks)

    def extent(self, number: int) -> Window:
        """Return the extent of a slice, in ticks."""
        start = self.windows.start(number)
        return Window(start, start + self.windows.size)

    def first_window(self, slices: T) -> T:
        """Return the first window that has a slice: the window that ends with the slice, and has the same number."""
        return slices

    def last_window(self, slices: T) -> T:
        """Return the last window that has a slice."""
        return self.windows.last_of(slices)

    def first_live(self, first_open: int) -> int:
        """Return the first slice that is part of an open window."""
        if abs(first_open) >= NEVER:  # all windows are open, or none: then all slices are live, or none
            return first_open
        return self.windows.first_of(first_open)


def _cuts_up_to(ticks: T, cuts: Sequence[int], cycle: int) -> T:
    """Return the number of the last cut at or before each tick: the slice in which the tick lies.

    Args:
        ticks: The ticks.
        cuts: The places of the cuts in a cycle, ascending.
        cycle: The length after which cuts repeat. Cut 0 is the first one of the cycle that begins at tick 0.
    """
    first_cut, *later_cuts = cuts
    number = (ticks - first_cut) // cycle
    for cut in later_cuts:  # each adds 1 from its place on, and another 1 in each further cycle
        number = number + (ticks + (cycle - cut)) // cycle
    return number


def share_slices(specifications: Sequence[RegularWindows]) -> bool:
    """Say whether windows can be made of the same slices: whether all count ticks, or all the same periods.

    Example:
        >>> from muntin import calendar
        >>> days, weeks, months = (calendar(size, zone="Asia/Tokyo").grid() for size in ("day", "week", "month"))
        >>> share_slices([days, weeks]), share_slices([days, months])
        (True, False)
    """
    return len({windows.periods for windows in specifications}) <= 1


def output_watermark(grids: Sequence[SliceGrid], watermark: int, *, at_end: bool) -> int:
    """Return the output watermark: no result of a window that is still open has a sync time below it.

    It may lie past the watermark of the input: if results are points at the ends of windows, or if the watermark of the
    input lies in a gap between windows.

    Args:
        grids: The grids of the query.
        watermark: The watermark of the input.
        at_end: True if results are points at the ends of their windows, not as long as these.

    Example:
        >>> from muntin.windows import HoppingWindows
        >>> grid = SliceGrid.of(HoppingWindows(10, 2))
        >>> output_watermark([grid], 23, at_end=False), output_watermark([grid], 23, at_end=True)
        (14, 24)
    """
    if not EARLIEST < watermark < INFINITY:
        return watermark
    open_windows = [grid.windows.window(grid.windows.first_open(watermark)) for grid in grids]
    if at_end:
        return min(window.end for window in open_windows)
    return min(window.start for window in open_windows)
