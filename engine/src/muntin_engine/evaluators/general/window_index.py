"""The windows of one key that were emitted or have a trigger state: their entries, and the index of these.

Entries are objects, or a run of them lies in arrays, which takes a tenth of the memory. A key with many live events has
more emitted windows than a worker has room for as objects, and a batch touches few of them: the index packs the others,
and unpacks a run when a batch touches a window of it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from sys import getsizeof
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import EARLIEST, INFINITY, Window
from muntin_engine.evaluators.keyed.event_index import MANY, by_start
from muntin_engine.evaluators.keyed.live_output import LiveRow, OutputRow


class TriggerState(NamedTuple):
    """The trigger state of one window.

    Attributes:
        state: The trigger's own state; None once it is finished.
        is_finished: True if the trigger is not called again.
        due_clock: The clock reading at which the trigger is due.
        due_event_time: The max event time at which it is due.
        firings: The number of firings so far.
        is_changed: True if the window's members changed since the last firing.
        last_serial: The key's last serial number at that firing: events that came later have larger ones.
        refined: The state of a refinement of one's own.
    """

    state: Any = None
    is_finished: bool = False
    due_clock: int = INFINITY
    due_event_time: int = INFINITY
    firings: int = 0
    is_changed: bool = False
    last_serial: int = EARLIEST
    refined: Any = None

    def wakes(self, clock: int, max_event_time: int) -> bool:
        """True if the trigger is due."""
        return self.due_clock <= clock or self.due_event_time <= max_event_time


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

Column: TypeAlias = "array[int] | array[float] | list[Any] | tuple[Column, ...]"
"""Values: an array of equal types, a column for each place of tuples of one length, or a list of anything."""

WINDOW: Final = 700
"""The memory of a window and its entry as objects, in bytes, where a result is a number: 610 as computed, and 690
as read back from a checkpoint."""

_OBJECT: Final = 100
"""The memory of a result that is in no array, in bytes, roughly."""

_NO_STATES: Final[list[Any]] = []
"""The states of a window without one; nobody changes it."""


@dataclass(frozen=True, slots=True)
class PackedWindows:
    """Windows in order, with their entries.

    Most windows have one live row, of their own extent, and no module states: their sizes, ids and values lie in
    arrays. The entries of others are kept as they are.

    Attributes:
        first: The first window.
        last: The last one.
        memory: The memory that they take, in bytes.
    """

    first: Window
    last: Window
    memory: int
    _starts: array[int]
    _ends: array[int]
    _sizes: array[int]
    _ids: array[int]
    _values: Column
    _others: dict[int, WindowEntry]

    @classmethod
    def of(cls, windows: Sequence[Window], entries: Sequence[WindowEntry]) -> PackedWindows:
        """Pack at least one window, in order, each with its entry."""
        others = {
            place: entry
            for place, (window, entry) in enumerate(zip(windows, entries, strict=True))
            if not _is_plain(window, entry)
        }
        plain = [entry.live[0] for place, entry in enumerate(entries) if place not in others]
        starts, ends = (array("q", map(attrgetter(name), windows)) for name in ("start", "end"))
        sizes = array("q", map(itemgetter(0), entries))
        ids, values = array("q", map(itemgetter(0), plain)), _column([out.row.value for out in plain])
        memory = sum(map(getsizeof, (starts, ends, sizes, ids))) + _memory(values) + WINDOW * len(others)
        return cls(windows[0], windows[-1], memory, starts, ends, sizes, ids, values, others)

    def __len__(self) -> int:
        return len(self._starts)

    def windows(self) -> list[Window]:
        """Return the windows."""
        return list(map(Window, self._starts, self._ends))

    def entries(self) -> list[WindowEntry]:
        """Return the entry of each window."""
        found: list[WindowEntry] = []
        plain = zip(self._ids, _values(self._values), strict=True)
        for place, (start, end, size) in enumerate(zip(self._starts, self._ends, self._sizes, strict=True)):
            if place in self._others:
                found.append(self._others[place])
            else:
                id, value = next(plain)
                found.append(WindowEntry(size, _NO_STATES, [LiveRow(id, OutputRow(start, end, value))]))
        return found


def _is_plain(window: Window, entry: WindowEntry) -> bool:
    """True if the arrays can have the entry."""
    _, states, live, trigger_state = entry
    if states or trigger_state is not None or len(live) != 1:
        return False
    start, end, _ = live[0].row
    return start == window.start and end == window.end


def _column(values: list[Any]) -> Column:
    """Return values as a column; those that it is read back as are the same, with their types."""
    kinds = set(map(type, values))
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is float:
        return array("d", values)
    if kind is int and min(values) >= -(2**63) and max(values) < 2**63:
        return array("q", values)
    if kind is tuple and len(widths := set(map(len, values))) == 1 and (width := widths.pop()):
        return tuple(_column(list(map(itemgetter(place), values))) for place in range(width))
    return values


def _values(column: Column) -> Sequence[Any]:
    """Return the values of a column."""
    return list(zip(*map(_values, column), strict=True)) if isinstance(column, tuple) else column


def _memory(column: Column) -> int:
    """Return the memory of a column in bytes."""
    if isinstance(column, tuple):
        return sum(map(_memory, column))
    return getsizeof(column) + _OBJECT * len(column) * isinstance(column, list)


by_window: Final = attrgetter("start", "end")
"""Sort key: the order of windows."""

_window_of: Final = itemgetter(0)
_by_first: Final = attrgetter("first.start", "first.end")
_first_start: Final = attrgetter("first.start")
_last_end: Final = attrgetter("last.end")


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

    def touched_by(self, stretches: Sequence[tuple[int, int]]) -> list[tuple[Window, list[int]]]:
        """Return the windows with members that overlap some stretches `[start, end)`, each with the numbers of these.

        Cost: a binary search and the windows found, for each stretch; all windows, where replaced windows are kept.
        """
        for start, end in stretches if self._packed else ():
            first = bisect_right(self._packed, start, key=_last_end)
            self._unpack(first, bisect_left(self._packed, end, key=_first_start))
        order, starts, found = self._in_order(), self._starts, dict[int, list[int]]()
        for number, (start, end) in enumerate(stretches):
            for place in range(bisect_left(starts, end) - 1, -1, -1):
                window = order[place]
                if not self._entries[window].size:
                    continue
                if window.end > start:
                    found.setdefault(place, []).append(number)
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
        states = [entry.trigger_state for entry in self._entries.values() if entry.trigger_state is not None]
        clocks, times = [state.due_clock for state in states], [state.due_event_time for state in states]
        return min(clocks, default=INFINITY), min(times, default=INFINITY)

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
