"""The index of the windows of one key that were emitted or have a trigger state."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.evaluators.general.event_index import MANY, by_start


class TriggerState(NamedTuple):
    """The trigger state of one window.

    Attributes:
        state: The trigger's own state; None once it is finished.
        is_finished: True if the trigger is not called again.
        clock: The clock reading at which the trigger is due.
        max_event_time: The max event time at which the trigger is due.
        firings: The number of firings so far.
        is_changed: True if the window's members changed since the last firing.
        since: The key's last serial number at that firing: events that came later have larger ones.
    """

    state: Any = None
    is_finished: bool = False
    clock: int = INFINITY
    max_event_time: int = INFINITY
    firings: int = 0
    is_changed: bool = False
    since: int = EARLIEST

    def wakes(self, clock: int, max_event_time: int) -> bool:
        """True if the trigger is due."""
        return self.clock <= clock or self.max_event_time <= max_event_time


by_extent: Final = attrgetter("start", "end")
"""Sort key: the order of windows."""


class Stretch(Protocol):
    """A stretch `[start, end)` of the axis."""

    @property
    def start(self) -> int:
        """Its first tick."""
        ...

    @property
    def end(self) -> int:
        """The first tick after it."""
        ...


T = TypeVar("T", bound=Stretch)


class OutputRow(NamedTuple):
    """One row of a window's output, with its lifetime."""

    start: int
    end: int
    value: Any


class LiveRow(NamedTuple):
    """An output event that has been emitted and not retracted."""

    id: int
    row: OutputRow


class WindowEntry(NamedTuple):
    """One window that has been emitted, or has a trigger state.

    Attributes:
        size: The number of its members; zero for a replaced window, which no longer exists but has live output.
        states: The state of each module, None for one without; empty while none is worth keeping.
        live: Its live output events.
        trigger_state: The state of the query's trigger; None without one.
    """

    size: int
    states: list[Any]
    live: list[LiveRow]
    trigger_state: TriggerState | None = None


NEW: Final = WindowEntry(0, [], [])
"""The entry of a window that is not in the index: no members and no output."""


class WindowIndex:
    """The windows of one key, ordered by start.

    Cost: reading and writing an entry takes constant time. What goes through the windows in order first puts new ones
    in their places: a few by a search each, many by sorting all.

    Attributes:
        entries: The entries by window, in no order; callers only read it.
        changed: The windows whose entries changed since they were stored; None if changes are not tracked.
    """

    def __init__(self, *, keeps_history: bool = False) -> None:
        """Make an index; one that keeps history has replaced windows too, whose output is shortened, not retracted."""
        self._keeps_history = keeps_history
        self.entries: dict[Window, WindowEntry] = {}
        self._order: list[Window] = []
        self._starts: list[int] = []
        self._new: set[Window] = set()  # those that the order does not have yet
        self._gone: set[Window] = set()  # those that it still has
        self._has_triggers = False
        self.changed: set[Window] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def items(self) -> list[tuple[Window, WindowEntry]]:
        """Return all entries in order."""
        return [(window, self.entries[window]) for window in self._in_order()]

    def get(self, window: Window) -> WindowEntry:
        """Return the entry of a window; `NEW` if it has none."""
        return self.entries.get(window, NEW)

    def put(self, window: Window, entry: WindowEntry) -> None:
        """Set the entry of a window; an entry without members and live rows is removed."""
        if not entry.size and not entry.live:
            self._discard(window)
            return
        if window in self._gone:
            self._gone.remove(window)
        elif window not in self.entries:
            self._new.add(window)
        self.entries[window] = entry
        self._has_triggers |= entry.trigger_state is not None
        if self.changed is not None:
            self.changed.add(window)

    def track(self) -> None:
        """Regard all entries as stored, and track their changes from now on."""
        self.changed = set()

    def shown_in(self, stretches: Sequence[T]) -> list[tuple[Window, list[T]]]:
        """Return the windows with members that overlap some stretches `[start, end)`, each with its stretches.

        Cost: a binary search and the windows found, for each stretch; all windows, where replaced windows are kept.
        """
        order, starts, found = self._in_order(), self._starts, dict[int, list[T]]()
        for stretch in stretches:
            start = stretch.start
            for place in range(bisect_left(starts, stretch.end) - 1, -1, -1):
                window = order[place]
                if not self.entries[window].size:
                    continue
                if window.end > start:
                    found.setdefault(place, []).append(stretch)
                elif not self._keeps_history:
                    break
        return [(order[place], found[place]) for place in sorted(found)]

    def close(self, frontier: int, watermark: int, is_closed: Callable[[Window], bool] | None = None) -> int:
        """Remove the closed windows, and the final output of replaced windows.

        Args:
            frontier: Windows that start before it are closed.
            watermark: Where output is shortened and not retracted, rows that end at it or before are final.
            is_closed: Returns True for a later window that is closed too; None if no later one is.

        Returns:
            The number of windows that closed.
        """
        order = self._in_order()
        place = bisect_left(order, frontier, key=by_start)
        past, others = order[:place], filter(is_closed, order[place:]) if is_closed is not None else ()
        closed = [window for window in (*past, *others) if self.entries[window].size]
        for window in closed:
            self._discard(window)
        for window, entry in self.items() if self._keeps_history else ():
            if any(out.row.end <= watermark for out in entry.live):
                left = [out for out in entry.live if out.row.end > watermark]
                self.put(window, entry._replace(live=left))
        return len(closed)

    def unsettled(self) -> Iterable[int]:
        """Return, for each replaced window, the watermark at which all its output is final."""
        if not self._keeps_history:
            return ()
        return [max(out.row.end for out in entry.live) for entry in self.entries.values() if not entry.size]

    def wake_ups(self) -> tuple[int, int]:
        """Return the clock reading and the max event time at which the first trigger is due."""
        if not self._has_triggers:
            return INFINITY, INFINITY
        trigger_states = [entry.trigger_state for entry in self.entries.values() if entry.trigger_state is not None]
        if not trigger_states:
            return INFINITY, INFINITY
        return min(trigger_state.clock for trigger_state in trigger_states), min(
            trigger_state.max_event_time for trigger_state in trigger_states
        )

    def _discard(self, window: Window) -> None:
        if self.entries.pop(window, None) is not None:
            if window in self._new:
                self._new.remove(window)
            else:
                self._gone.add(window)
            if self.changed is not None:
                self.changed.add(window)

    def _in_order(self) -> list[Window]:
        order, starts = self._order, self._starts
        if len(self._new) + len(self._gone) > len(order) // MANY:
            self._order = order = sorted(self.entries, key=by_extent)
            self._starts = [window.start for window in order]
        else:
            for window in self._gone:
                place = bisect_left(order, by_extent(window), key=by_extent)
                del order[place], starts[place]
            for window in self._new:
                place = bisect_left(order, by_extent(window), key=by_extent)
                order.insert(place, window)
                starts.insert(place, window.start)
        self._new.clear()
        self._gone.clear()
        return order
