"""The index of the windows of one key that were emitted or have a trigger state."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Final, Protocol, TypeVar

from muntin import INFINITY, Window
from muntin_engine.evaluators.general.window_entry import NEW, WINDOW, PackedWindows, WindowEntry
from muntin_engine.evaluators.keyed.event_index import MANY, by_start

by_window: Final = attrgetter("start", "end")
"""Sort key: the order of windows."""

_window_of: Final = itemgetter(0)
_by_first: Final = attrgetter("first.start", "first.end")
_first_start: Final = attrgetter("first.start")
_last_end: Final = attrgetter("last.end")


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


MOST_OBJECTS: Final = 1024
"""So many windows are objects, where an index packs them, before they are packed."""

RUN: Final = 128
"""So many windows are packed as one run, and unpacked together."""


class WindowIndex:
    """The windows of one key, ordered by start.

    Cost: reading and writing an entry takes constant time. What goes through the windows in order first puts new ones
    in their places: a few by a search each, many by sorting all. Of a packed window its whole run is unpacked first,
    which a binary search finds.

    Attributes:
        changed: The windows whose entries changed since they were stored; None if changes are not tracked.
    """

    def __init__(self, *, keeps_history: bool = False, packs: bool = False) -> None:
        """Make an empty index.

        Args:
            keeps_history: True to keep replaced windows too, whose output is shortened, not retracted.
            packs: True to pack most of many windows, once they are stored. Not where windows are replaced or have
                trigger states, or close out of order: these are all gone through in a batch.
        """
        self._keeps_history = keeps_history
        self._packs = packs
        self._packed: list[PackedWindows] = []  # runs in order; no other window lies in the middle of one
        self._packed_count = self._packed_memory = 0
        self._entries: dict[Window, WindowEntry] = {}
        self._order: list[Window] = []
        self._starts: list[int] = []
        self._new: set[Window] = set()  # those that the order does not have yet
        self._gone: set[Window] = set()  # those that it still has
        self._has_triggers = False
        self.changed: set[Window] | None = None

    def __len__(self) -> int:
        return len(self._entries) + self._packed_count

    @property
    def memory(self) -> int | None:
        """The memory of all windows in bytes; None if none is packed."""
        if not self._packed:
            return None
        return WINDOW * len(self._entries) + self._packed_memory

    def items(self) -> list[tuple[Window, WindowEntry]]:
        """Return all entries in order; those of packed windows are made for the caller alone."""
        found = [(window, self._entries[window]) for window in self._in_order()]
        for run in self._packed:
            found += zip(run.windows(), run.entries(), strict=True)
        return sorted(found, key=_window_of) if self._packed else found

    def get(self, window: Window) -> WindowEntry:
        """Return the entry of a window; `NEW` if it has none."""
        if self._packed and window not in self._entries:
            self._unpack_at(window)
        return self._entries.get(window, NEW)

    def put(self, window: Window, entry: WindowEntry) -> None:
        """Set the entry of a window; an entry without members and live rows is removed."""
        if self._packed and window not in self._entries:
            self._unpack_at(window)
        if not entry.size and not entry.live:
            self._discard(window)
            return
        if window in self._gone:
            self._gone.remove(window)
        elif window not in self._entries:
            self._new.add(window)
        self._entries[window] = entry
        self._has_triggers |= entry.trigger_state is not None
        if self.changed is not None:
            self.changed.add(window)

    def track(self) -> None:
        """Regard all entries as stored, and track their changes from now on.

        Where there are many, and most of them did not change, they are packed.
        """
        changed = len(self.changed or ())
        self.changed = set()
        if self._packs and len(self._entries) > min(max(MOST_OBJECTS, 2 * changed), 16 * MOST_OBJECTS):
            self._pack()

    def touched_by(self, stretches: Sequence[T]) -> list[tuple[Window, list[T]]]:
        """Return the windows with members that overlap some stretches `[start, end)`, each with its stretches.

        Cost: a binary search and the windows found, for each stretch; all windows, where replaced windows are kept.
        """
        for stretch in stretches if self._packed else ():
            self._unpack_over(stretch.start, stretch.end)
        order, starts, found = self._in_order(), self._starts, dict[int, list[T]]()
        for stretch in stretches:
            start = stretch.start
            for place in range(bisect_left(starts, stretch.end) - 1, -1, -1):
                window = order[place]
                if not self._entries[window].size:
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
        self._unpack(0, bisect_left(self._packed, frontier, key=_first_start))
        order = self._in_order()
        place = bisect_left(order, frontier, key=by_start)
        past, others = order[:place], filter(is_closed, order[place:]) if is_closed is not None else ()
        closed = [window for window in (*past, *others) if self._entries[window].size]
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
        return [max(out.row.end for out in entry.live) for entry in self._entries.values() if not entry.size]

    def wake_ups(self) -> tuple[int, int]:
        """Return the clock reading and the max event time at which the first trigger is due."""
        if not self._has_triggers:
            return INFINITY, INFINITY
        trigger_states = [entry.trigger_state for entry in self._entries.values() if entry.trigger_state is not None]
        if not trigger_states:
            return INFINITY, INFINITY
        return min(trigger_state.due_clock for trigger_state in trigger_states), min(
            trigger_state.due_event_time for trigger_state in trigger_states
        )

    def _discard(self, window: Window) -> None:
        if self._entries.pop(window, None) is not None:
            if window in self._new:
                self._new.remove(window)
            else:
                self._gone.add(window)
            if self.changed is not None:
                self.changed.add(window)

    def _pack(self) -> None:
        """Pack all windows. A short run is packed with the one before it, so that runs do not become many."""
        order = self._in_order()
        for begin, end, place in reversed(self._runs(order)):
            if end - begin < RUN // 2 and place:
                self._unpack(place - 1, place)
        for begin, end, _ in self._runs(order):
            for at in range(begin, end, RUN):
                windows = order[at : min(at + RUN, end)]
                run = PackedWindows.of(windows, [self._entries[window] for window in windows])
                self._packed_memory += run.memory
                insort(self._packed, run, key=_by_first)
        self._packed_count += len(self._entries)
        self._entries, self._order, self._starts = {}, [], []

    def _runs(self, order: Sequence[Window]) -> list[tuple[int, int, int]]:
        """Return the runs of windows that no packed one is among: begin, end, and the number of packed runs before."""
        found: list[tuple[int, int, int]] = []
        begin = 0
        while begin < len(order):
            place = bisect_left(self._packed, by_window(order[begin]), key=_by_first)
            end = len(order)
            if place < len(self._packed):
                end = bisect_left(order, by_window(self._packed[place].first), begin, key=by_window)
            found.append((begin, end, place))
            begin = end
        return found

    def _unpack_at(self, window: Window) -> None:
        """Unpack the run that a window lies in, if there is one."""
        place = bisect_right(self._packed, by_window(window), key=_by_first) - 1
        if place >= 0 and window <= self._packed[place].last:
            self._unpack(place, place + 1)

    def _unpack_over(self, start: int, end: int) -> None:
        """Unpack the runs with windows that may overlap a stretch."""
        self._unpack(bisect_right(self._packed, start, key=_last_end), bisect_left(self._packed, end, key=_first_start))

    def _unpack(self, first: int, end: int) -> None:
        """Unpack the runs at some places."""
        for run in self._packed[first:end]:
            windows = run.windows()
            place = bisect_left(self._order, by_window(run.first), key=by_window)
            self._order[place:place] = windows
            self._starts[place:place] = [window.start for window in windows]
            self._entries.update(zip(windows, run.entries(), strict=True))
            self._packed_count -= len(windows)
            self._packed_memory -= run.memory
        del self._packed[first:end]

    def _in_order(self) -> list[Window]:
        order, starts = self._order, self._starts
        if len(self._new) + len(self._gone) > len(order) // MANY:
            self._order = order = sorted(self._entries, key=by_window)
            self._starts = [window.start for window in order]
        else:
            for window in self._gone:
                place = bisect_left(order, by_window(window), key=by_window)
                del order[place], starts[place]
            for window in self._new:
                place = bisect_left(order, by_window(window), key=by_window)
                order.insert(place, window)
                starts.insert(place, window.start)
        self._new.clear()
        self._gone.clear()
        return order
