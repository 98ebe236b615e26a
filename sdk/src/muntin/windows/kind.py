"""The contract of a kind of window."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from muntin.axis import EARLIEST, INFINITY
from muntin.windows.extent import Window
from muntin.windows.specification import WindowSpecification
from muntin.windows.stretches import Stretches


class WindowKind(WindowSpecification):
    """A way of cutting the axis into windows. Subclass it as a frozen dataclass with slots.

    Kinds differ in two answers: on which stretch of the axis an event counts (`membership`), and how the stretches of
    one key's events cut the axis (`cut`). An event is a member of each window that shares a tick with its stretch.
    Everything else has a default that is right for most kinds. The engine calls the methods key by key: `stretches` are
    those of one key, and the end of an event that has not ended is `INFINITY`. Nothing may be remembered between calls.
    A kind that keeps the laws works with final, speculative, eager and early results, with revisions and after
    restarts.

    Laws (checked by `muntin.testing.WindowKindLaws`):

    1. *Order.* Windows ascend strictly, in start and in end. The extent of a window begins at the window's start or
       before, and never before the extent of an earlier window.
    2. *Restriction.* `cut(stretches, a, b)` is the whole cut without the windows that share no tick with `[a, b)`.
    3. *Set.* Windows depend on the set of stretches alone: not on their order, nor on earlier calls.
    4. *Membership.* A stretch never begins before its event; where windows do not wait for events, it ends at most
       `reach` after its event, or never.
    5. *Settled.* Windows that end at a watermark or before do not change any more. With `ends_move`, this holds only
       for windows that end before the watermark.
    6. *Future.* A window that a later event opens starts at the earliest where the first open window starts, at
       `unborn`, or at the watermark, whichever comes first. Where windows do not wait for events, it starts at the
       earliest where the first window starts that ends after the watermark.
    7. *Forgetting.* From the frontier on, the stretches that are kept, with the data that is `carried`, make the same
       cut as all stretches.
    8. *Change.* `affected_stretch` covers each window that a change adds or takes away.
    9. *Plain data.* `to_dict` and `from_dict` are inverse, and the carried data is plain data.
    10. *Shortcuts.* `grid`, `growing` and `fuses_within`, where they are not None, and `cuts_at_edges`, where it is
        True, make the same windows and members.
    11. *Duality.* `members` returns an event for exactly the windows that `windows_of` yields for it.
    12. *Context.* The windows of an event depend on no more than `context` says.

    Cost: `cut` should find its first window without going through all stretches before it, and be lazy: the engine
    takes as many windows as it needs.

    Attributes:
        can_be_time_bound: True if the kind defines `known_at` and `successor`, so that results may be time-bound. All
            other attributes are those of a `WindowSpecification`.

    Example:
        A window from each start to the next:

        >>> from dataclasses import dataclass
        >>> from itertools import pairwise
        >>> @dataclass(frozen=True, slots=True)
        ... class BetweenStarts(WindowKind):
        ...     name, version, title = "demo.between_starts", "1.0", "windows between starts"
        ...     ends_move = True
        ...     def membership(self, start, end):
        ...         return start, start + 1
        ...     def cut(self, stretches, start, end):
        ...         return (Window(a, b) for a, b in pairwise(stretches.starts) if a < end and b > start)
        ...     def affected_stretch(self, start, end):
        ...         return start - 1, end
        ...     def unborn(self, stretches):
        ...         return stretches.starts[-1] if stretches.starts else INFINITY
        >>> list(BetweenStarts().cut(Stretches([(1, 2), (5, 6), (9, 10)]), 5, 7))
        [Window(start=5, end=9)]
    """

    __slots__ = ()

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch `[start, end)` of the axis on which an event counts, by default its lifetime.

        An empty stretch means that the event is a member of no window so far.
        """
        return start, end

    @abstractmethod
    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows that share a tick with `[start, end)`, in order.

        Windows without a member may be among them. Where windows do not wait for events and the end is `INFINITY`, the
        windows go on without an end.

        Args:
            stretches: The stretches on which the events of the key count, as `membership` returns them.
            start: The first tick of the part of the axis.
            end: The tick after its last one.
        """

    def windows_of(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows that an event is a member of, in order: those that share a tick with its stretch.

        The stretch of the event is among `stretches`.

        Example:
            >>> from muntin import hopping
            >>> [window.start for window in hopping(10, 5).windows_of(Stretches([(7, 8)]), 7, 8)]
            [0, 5]
        """
        stretch_start, stretch_end = self.membership(start, end)
        if stretch_start >= stretch_end:
            return iter(())  # an empty stretch: the event is a member of no window
        return self.cut(stretches, stretch_start, stretch_end)

    def members(self, window: Window, events: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the events, given by start and end, that are members of a window of `cut`: the dual of `windows_of`.

        The engine calls `windows_of`. Override this with the definition that a user of the windows would give, from the
        times of events and without `membership`: the laws then check one against the other.

        Example:
            >>> from muntin import hopping
            >>> hopping(10, 5).members(Window(0, 10), [(7, 8), (9, 30), (10, 11)])
            [(7, 8), (9, 30)]
        """
        members: list[tuple[int, int]] = []
        for event in events:
            stretch_start, stretch_end = self.membership(*event)
            # An empty stretch has no tick in common with a window, even if it lies inside the window.
            is_empty = stretch_start >= stretch_end
            if not is_empty and stretch_start < window.end and stretch_end > window.start:
                members.append(event)
        return members

    def extent_start(self, start: int) -> int:
        """Return the start of the extent of a window that `cut` yields with a start; by default that start.

        `cut` has to yield windows with ascending starts. So a kind whose windows share a start, such as `cumulate`,
        yields only the last part of each window, from the end of the window before it. Its `membership` lasts on, so
        that an event is a member of all parts that follow. This method then returns the start that modules see and
        results report.

        Args:
            start: The start of a window of `cut`, or a tick between two of them.
        """
        return start

    def extent(self, window: Window) -> Window:
        """Return the extent that modules see and results report of a window that `cut` yields."""
        start = self.extent_start(window.start)
        return window if start == window.start else Window(start, window.end)

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in which windows may come or go when a stretch comes, goes, or changes.

        By default that is the stretch itself, from its start to its end.

        Args:
            start: The start of the stretch. If an event changes, the earlier start of its old and its new stretch.
                Where both stretches start together, and each lasts as long as its event or longer, only ends differ:
                then the earlier end of the old and the new event, before which nothing changes.
            end: The end of the stretch. If an event changes, the later end of its old and its new stretch.
        """
        return start, end

    def unborn(self, stretches: Stretches) -> int:
        """Return the least start, at the frontier or later, of a window that the stretches may open with later events.

        By default `INFINITY`: stretches have opened all their windows already.
        """
        return INFINITY

    def carried(self, stretches: Stretches, frontier: int) -> Any:
        """Return the data to keep of the past when its stretches are forgotten, as plain data; by default nothing.

        Args:
            stretches: All stretches, before any is forgotten, with the data that was carried last.
            frontier: The tick before which all windows that start are closed. Stretches that end at the frontier or
                before may be forgotten.
        """
        return None

    def outlives(self, carried: Any) -> bool:
        """Return True if carried data still matter when a key has no events left; by default they do not.

        The engine forgets a key without events, with its carried data, unless they matter.

        Args:
            carried: The data that `carried` returned last.
        """
        return False

    def known_at(self, window: Window) -> int | None:
        """Return the tick at which a whole window becomes known at once; None, the default, if members come one by one.

        Only time-bound results need it.
        """
        return None

    def successor(self, window: Window, since: int) -> tuple[int, int] | None:
        """Return the first and the last tick at which the window that replaces a removed one may start.

        The successor is the last window that starts in this range and lasts beyond the range. None, the default, if
        windows are never removed. Only time-bound results need it.

        Args:
            window: The removed window.
            since: The start of the output that was emitted for the removed window.
        """
        return None


def first_open_window(kind: WindowKind, stretches: Stretches, limit: int) -> Window | None:
    """Return the first window that ends after a tick: it holds the tick or comes next; None if there is none."""
    return next(kind.cut(stretches, limit, INFINITY), None)


def next_frontier(kind: WindowKind, stretches: Stretches, limit: int) -> int:
    """Return the frontier after all windows that end at a limit or before were closed: no earlier window can change.

    It is the least start of a window that is still open, or that present or later events may still open; the limit if
    there is no such window.
    """
    if limit == INFINITY:
        return INFINITY
    if limit == EARLIEST:
        # Before any watermark no window is closed.
        return stretches.frontier

    starts: list[int] = []
    first_open = first_open_window(kind, stretches, limit)
    if first_open is not None:
        starts.append(first_open.start)
    if kind.waits_for_events:
        starts.append(limit)  # a later event alone opens windows at the limit or later
        starts.append(kind.unborn(stretches))  # a later event together with present ones may open earlier windows
    # The frontier never goes back: events before it are forgotten.
    return max(stretches.frontier, min(starts, default=limit))
