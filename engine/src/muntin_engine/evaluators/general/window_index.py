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
        refined: The state of the query's own refinement; None where it has none.
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
        """Return True if the trigger is due."""
        return self.due_clock <= clock or self.due_event_time <= max_event_time

    def finished(self) -> TriggerState:
        """Return the state of the trigger once it is not called again."""
        return self._replace(state=None, is_finished=True, due_clock=INFINITY, due_event_time=INFINITY)


class WindowEntry(NamedTuple):
    """One window that has been emitted, or has a trigger state.

    Attributes:
        size: The number of its members; zero for a replaced window, which no longer exists but has live output.
        states: The state of each module, None for one without; empty while none is worth keeping.
        live_rows: Its live output events.
        trigger_state: The state of the query's trigger; None without one.
    """

    size: int
    states: list[Any]
    live_rows: list[LiveRow]
    trigger_state: TriggerState | None = None


NEW: Final = WindowEntry(0, [], [])
"""The entry of a window that is not in the index: no members and no output."""

Column: TypeAlias = "array[int] | array[float] | list[Any] | tuple[Column, ...]"
"""Values: an array of equal types, a column for each place of tuples of one length, or a list of anything."""

WINDOW_MEMORY: Final = 700
"""The memory of a window and its entry as objects, in bytes, where a result is a number: 610 as computed, and 690
as read back from a checkpoint."""

_OBJECT_MEMORY: Final = 100
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
    _other_entries: dict[int, WindowEntry]  # the entries that arrays cannot hold, by place

    @classmethod
    def of(cls, windows: Sequence[Window], entries: Sequence[WindowEntry]) -> PackedWindows:
        """Pack at least one window, in order, each with its entry."""
        other_entries: dict[int, WindowEntry] = {}
        plain_rows: list[LiveRow] = []
        for place, (window, entry) in enumerate(zip(windows, entries, strict=True)):
            if _is_plain(window, entry):
                plain_rows.append(entry.live_rows[0])
            else:
                other_entries[place] = entry
        starts = array("q", [window.start for window in windows])
        ends = array("q", [window.end for window in windows])
        sizes = array("q", [entry.size for entry in entries])
        ids = array("q", [live_row.id for live_row in plain_rows])
        values = _column([live_row.row.value for live_row in plain_rows])
        array_memory = sum(map(getsizeof, (starts, ends, sizes, ids))) + _memory(values)
        memory = array_memory + WINDOW_MEMORY * len(other_entries)
        return cls(
            first=windows[0],
            last=windows[-1],
            memory=memory,
            _starts=starts,
            _ends=ends,
            _sizes=sizes,
            _ids=ids,
            _values=values,
            _other_entries=other_entries,
        )

    def __len__(self) -> int:
        return len(self._starts)

    def windows(self) -> list[Window]:
        """Return the windows."""
        return list(map(Window, self._starts, self._ends))

    def entries(self) -> list[WindowEntry]:
        """Return the entry of each window."""
        entries: list[WindowEntry] = []
        plain_rows = zip(self._ids, _values(self._values), strict=True)
        for place, (start, end, size) in enumerate(zip(self._starts, self._ends, self._sizes, strict=True)):
            if place in self._other_entries:
                entries.append(self._other_entries[place])
            else:
                id, value = next(plain_rows)
                entries.append(WindowEntry(size, _NO_STATES, [LiveRow(id, OutputRow(start, end, value))]))
        return entries


def _is_plain(window: Window, entry: WindowEntry) -> bool:
    """Return True if arrays can hold the entry: one live row of the window's own extent, and no states."""
    _, states, live_rows, trigger_state = entry
    if states or trigger_state is not None or len(live_rows) != 1:
        return False
    start, end, _ = live_rows[0].row
    return start == window.start and end == window.end


def _column(values: list[Any]) -> Column:
    """Return values as a column, from which `_values` reads them back with their types."""
    types = set(map(type, values))
    if len(types) != 1:
        return values
    (value_type,) = types
    if value_type is float:
        return array("d", values)
    if value_type is int and min(values) >= -(2**63) and max(values) < 2**63:  # an array has integers of 64 bits
        return array("q", values)
    if value_type is tuple:
        lengths = set(map(len, values))
        if len(lengths) == 1 and lengths != {0}:
            return tuple(_column(list(items)) for items in zip(*values, strict=True))
    return values


def _values(column: Column) -> Sequence[Any]:
    """Return the values of a column."""
    if not isinstance(column, tuple):
        return column
    columns = [_values(item_column) for item_column in column]
    return list(zip(*columns, strict=True))


def _memory(column: Column) -> int:
    """Return the memory of a column in bytes."""
    if isinstance(column, tuple):
        return sum(map(_memory, column))
    if isinstance(column, list):
        return getsizeof(column) + _OBJECT_MEMORY * len(column)
    return getsizeof(column)


by_window: Final = attrgetter("start", "end")
"""Sort key: the order of windows."""

_window_of: Final = itemgetter(0)
_by_first: Final = attrgetter("first.start", "first.end")
_first_start: Final = attrgetter("first.start")
_last_end: Final = attrgetter("last.end")


MOST_OBJECTS: Final = 1024
"""The most windows that are objects where an index packs windows."""

RUN: Final = 128
"""The number of windows that are packed as one run, and unpacked together."""


class _UnpackedStretch(NamedTuple):
    """Windows in order that are not packed, and between which no packed one lies.

    Attributes:
        first: The place of the first one among those that are not packed.
        end: The place after the last one.
        runs_before: The number of packed runs before them.
    """

    first: int
    end: int
    runs_before: int


class WindowIndex:
    """The windows of one key, ordered by start: the index of windows of the StreamInsight paper.

    Cost: reading and writing an entry takes constant time. A walk in order first puts new windows in their places: a
    few by a search each, many by sorting all. Of a packed window its whole run is unpacked first, which a binary
    search finds.

    Attributes:
        changed_windows: The windows whose entries changed since they were saved; None if changes are not tracked.
    """

    def __init__(self, *, keeps_history: bool = False, packs: bool = False) -> None:
        """Make an empty index.

        Args:
            keeps_history: True to keep windows that no longer exist while they have live output: it is shortened, and
                not retracted.
            packs: True to pack most windows when they are many, each time that the index is saved. It has to be False
                where a batch goes through all windows: where they are replaced, have trigger states or close out of
                order.
        """
        self._keeps_history = keeps_history
        self._packs = packs
        self._packed: list[PackedWindows] = []  # runs in order; no other window lies in the middle of one
        self._packed_count = 0
        self._packed_memory = 0
        self._entries: dict[Window, WindowEntry] = {}  # of the windows that are not packed
        self._order: list[Window] = []  # these windows in order
        self._starts: list[int] = []  # their starts
        self._new: set[Window] = set()  # windows that the order does not have yet
        self._gone: set[Window] = set()  # windows that the order still has
        self._has_triggers = False
        self.changed_windows: set[Window] | None = None

    def __len__(self) -> int:
        return len(self._entries) + self._packed_count

    @property
    def memory(self) -> int | None:
        """The memory of all windows in bytes; None if none is packed."""
        if not self._packed:
            return None
        return WINDOW_MEMORY * len(self._entries) + self._packed_memory

    def items(self) -> list[tuple[Window, WindowEntry]]:
        """Return all entries in order; the packed windows stay packed."""
        items = [(window, self._entries[window]) for window in self._in_order()]
        if not self._packed:
            return items
        for run in self._packed:
            items += zip(run.windows(), run.entries(), strict=True)
        return sorted(items, key=_window_of)

    def get(self, window: Window) -> WindowEntry:
        """Return the entry of a window; `NEW` if it has none. A packed run that the window lies in is unpacked."""
        if self._packed and window not in self._entries:
            self._unpack_at(window)
        return self._entries.get(window, NEW)

    def put(self, window: Window, entry: WindowEntry) -> None:
        """Set the entry of a window; an entry without members and live rows is removed."""
        if self._packed and window not in self._entries:
            self._unpack_at(window)
        if not entry.size and not entry.live_rows:
            self._discard(window)
            return
        if window in self._gone:
            self._gone.remove(window)  # it was discarded, and `_order` still has it: nothing is to be inserted
        elif window not in self._entries:
            self._new.add(window)
        self._entries[window] = entry
        self._has_triggers |= entry.trigger_state is not None
        if self.changed_windows is not None:
            self.changed_windows.add(window)

    def track(self) -> None:
        """Mark all entries as saved; record changes from now on.

        Many windows of which most did not change are packed.
        """
        changed_count = len(self.changed_windows or ())
        self.changed_windows = set()
        if not self._packs:
            return
        # The next batch is likely to unpack as many windows as this one changed: packing each time would be in vain.
        # But the number of objects is limited, as they take much memory.
        most_objects = min(max(MOST_OBJECTS, 2 * changed_count), 16 * MOST_OBJECTS)
        if len(self._entries) > most_objects:
            self._pack()

    def touched_by(self, stretches: Sequence[tuple[int, int]]) -> list[tuple[Window, list[int]]]:
        """Return the windows with members that overlap stretches `[start, end)`, in order.

        Each window comes with the places, in `stretches`, of those that it overlaps.

        Cost: for each stretch a binary search and the windows returned; all windows, where replaced windows are kept.
        """
        if self._packed:
            for start, end in stretches:
                first = bisect_right(self._packed, start, key=_last_end)
                self._unpack(first, bisect_left(self._packed, end, key=_first_start))
        order = self._in_order()
        stretches_by_window: dict[int, list[int]] = {}  # places of stretches by the place of a window
        for stretch_place, (start, end) in enumerate(stretches):
            # Backwards from the last window that starts before the end of the stretch. Ends ascend with starts: if one
            # window ends before the stretch, so do all before it. Only where replaced windows are kept, an earlier
            # window may end later.
            for place in range(bisect_left(self._starts, end) - 1, -1, -1):
                window = order[place]
                if not self._entries[window].size:
                    continue  # a replaced window has no members
                if window.end > start:
                    stretches_by_window.setdefault(place, []).append(stretch_place)
                elif not self._keeps_history:
                    break
        return [(order[place], stretches_by_window[place]) for place in sorted(stretches_by_window)]

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
        candidates = order[:place]
        if is_closed is not None:  # windows close out of order: an index of such windows packs none
            candidates += filter(is_closed, order[place:])
        # A replaced window has no members: it stays until all its output is final.
        closed_windows = [window for window in candidates if self._entries[window].size]
        for window in closed_windows:
            self._discard(window)
        if self._keeps_history:
            self._drop_final_rows(watermark)
        return len(closed_windows)

    def _drop_final_rows(self, watermark: int) -> None:
        """Drop the live rows that end at a watermark or before it."""
        for window, entry in self.items():
            open_rows = [live_row for live_row in entry.live_rows if live_row.row.end > watermark]
            if len(open_rows) < len(entry.live_rows):
                self.put(window, entry._replace(live_rows=open_rows))

    def unsettled(self) -> Iterable[int]:
        """Return, for each replaced window, the watermark at which all its output is final."""
        if not self._keeps_history:
            return ()
        watermarks: list[int] = []
        for entry in self._entries.values():
            if not entry.size:
                watermarks.append(max(live_row.row.end for live_row in entry.live_rows))
        return watermarks

    def wake_ups(self) -> tuple[int, int]:
        """Return the clock reading and the max event time at which the first trigger is due."""
        if not self._has_triggers:
            return INFINITY, INFINITY
        due_clock = INFINITY
        due_event_time = INFINITY
        for entry in self._entries.values():
            if entry.trigger_state is not None:
                due_clock = min(due_clock, entry.trigger_state.due_clock)
                due_event_time = min(due_event_time, entry.trigger_state.due_event_time)
        return due_clock, due_event_time

    def _discard(self, window: Window) -> None:
        """Remove a window that is not packed, if it is there."""
        if self._entries.pop(window, None) is None:
            return
        if window in self._new:
            self._new.remove(window)
        else:
            self._gone.add(window)
        if self.changed_windows is not None:
            self.changed_windows.add(window)

    def _pack(self) -> None:
        """Pack all windows, as runs of at most `RUN` windows."""
        # Few windows between two runs would become a short run: they are packed with the run before them, which is
        # unpacked first. Stretches are taken from the last to the first, as unpacking a run moves the places of all
        # later runs.
        order = self._in_order()
        for stretch in reversed(self._unpacked_stretches(order)):
            if stretch.end - stretch.first < RUN // 2 and stretch.runs_before:
                self._unpack(stretch.runs_before - 1, stretch.runs_before)
        order = self._in_order()
        for stretch in self._unpacked_stretches(order):
            for run_first in range(stretch.first, stretch.end, RUN):
                windows = order[run_first : min(run_first + RUN, stretch.end)]
                run = PackedWindows.of(windows, [self._entries[window] for window in windows])
                self._packed_memory += run.memory
                insort(self._packed, run, key=_by_first)
        self._packed_count += len(self._entries)
        self._entries = {}
        self._order = []
        self._starts = []

    def _unpacked_stretches(self, order: Sequence[Window]) -> list[_UnpackedStretch]:
        """Split the unpacked windows into stretches, at each packed run that lies between two of them.

        Args:
            order: The windows that are not packed, in order.
        """
        stretches: list[_UnpackedStretch] = []
        first = 0
        while first < len(order):
            runs_before = bisect_left(self._packed, by_window(order[first]), key=_by_first)
            end = len(order)
            if runs_before < len(self._packed):
                next_packed = self._packed[runs_before].first
                end = bisect_left(order, by_window(next_packed), first, key=by_window)
            stretches.append(_UnpackedStretch(first, end, runs_before))
            first = end
        return stretches

    def _unpack_at(self, window: Window) -> None:
        """Unpack the run that a window lies in, if there is one."""
        place = bisect_right(self._packed, by_window(window), key=_by_first) - 1
        if place >= 0 and window <= self._packed[place].last:
            self._unpack(place, place + 1)

    def _unpack(self, first_run: int, end_run: int) -> None:
        """Unpack the packed runs at `[first_run, end_run)`, each of about 128 neighbouring windows."""
        for run in self._packed[first_run:end_run]:
            windows = run.windows()
            place = bisect_left(self._order, by_window(run.first), key=by_window)
            self._order[place:place] = windows
            self._starts[place:place] = [window.start for window in windows]
            self._entries.update(zip(windows, run.entries(), strict=True))
            self._packed_count -= len(windows)
            self._packed_memory -= run.memory
        del self._packed[first_run:end_run]

    def _in_order(self) -> list[Window]:
        """Return the windows that are not packed, in order: new ones are put in their places first."""
        order = self._order
        starts = self._starts
        if len(self._new) + len(self._gone) > len(order) // MANY:  # sorting is cheaper than a search for each
            order = sorted(self._entries, key=by_window)
            self._order = order
            self._starts = [window.start for window in order]
        else:
            for window in self._gone:
                place = bisect_left(order, by_window(window), key=by_window)
                del order[place]
                del starts[place]
            for window in self._new:
                place = bisect_left(order, by_window(window), key=by_window)
                order.insert(place, window)
                starts.insert(place, window.start)
        self._new.clear()
        self._gone.clear()
        return order
