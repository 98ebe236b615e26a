"""The entries of windows that were emitted or have a trigger state, as objects, and as a run in arrays.

A run in arrays takes a tenth of the memory. A key with many live events has more emitted windows than a worker has room
for as objects, and a batch touches few of them: `WindowIndex` packs the others, and unpacks a run when a batch touches
a window of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from sys import getsizeof
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import EARLIEST, INFINITY, Window
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
