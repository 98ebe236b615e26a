"""WindowIndex: the windows that have been emitted, or that have a trigger state, and may change again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from muntin import INFINITY, Window
from muntin_engine.evaluators.general.computation import OutputRow
from muntin_engine.evaluators.general.trigger_state import TriggerState

by_extent: Final = attrgetter("start", "end")
"""The order of windows."""

by_start: Final = attrgetter("start")
"""The same, where no two have the same start."""


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
"""The entry of a window that has none."""


class WindowIndex:
    """The windows of one key, ordered by start.

    Cost: reading and writing an entry takes constant time. Going through the windows in order sorts them first, if
    there are new ones: linear, since they are almost sorted.
    """

    def __init__(self, *, keeps_history: bool = False) -> None:
        """Start an index; it keeps replaced windows where output is shortened and not retracted."""
        self._keeps_history = keeps_history
        self._entries: dict[Window, WindowEntry] = {}
        self._order: list[Window] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> list[tuple[Window, WindowEntry]]:
        """Return all entries in order."""
        return [(window, self._entries[window]) for window in self._in_order()]

    def get(self, window: Window) -> WindowEntry:
        """Return the entry of a window; `NEW` if it has none."""
        return self._entries.get(window, NEW)

    def put(self, window: Window, entry: WindowEntry) -> None:
        """Set the entry of a window; one without members and live rows is forgotten."""
        if not entry.size and not entry.live:
            self._discard(window)
            return
        if window not in self._entries:
            self._order = None
        self._entries[window] = entry

    def shown_in(self, stretches: Sequence[T]) -> list[tuple[Window, list[T]]]:
        """Return the windows with members that share a tick with some stretches `[start, end)`, each with these.

        Cost: for each stretch a logarithmic step and its windows; all windows, where replaced windows are kept.
        """
        if not self._entries or not stretches:
            return []
        order = [window for window in self._in_order() if self._entries[window].size]
        starts, ends = [window.start for window in order], [window.end for window in order]
        found: list[list[T]] = [[] for _ in order]
        for stretch in stretches:
            start = stretch.start
            for place in range(bisect_left(starts, stretch.end) - 1, -1, -1):
                if ends[place] > start:
                    found[place].append(stretch)
                elif not self._keeps_history:
                    break
        return [(window, some) for window, some in zip(order, found, strict=True) if some]

    def close(self, frontier: int, watermark: int, is_closed: Callable[[Window], bool] | None = None) -> int:
        """Forget the windows that are closed, and the final output of replaced windows.

        Args:
            frontier: Existing windows that start before it are closed.
            watermark: Where output is shortened and not retracted, rows that end at it or before are final.
            is_closed: True for those of the others that are closed too; none unless given.

        Returns:
            The number of windows that are closed now and were not before.
        """
        if not self._entries:
            return 0
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
        """Return, for each replaced window, the tick at which its output is final."""
        if not self._keeps_history:
            return ()
        return [max(out.row.end for out in entry.live) for entry in self._entries.values() if not entry.size]

    def wake_ups(self) -> tuple[int, int]:
        """Return the first wake-ups of all triggers: a reading of the clock and a max event time."""
        trigger_states = [entry.trigger_state for entry in self._entries.values() if entry.trigger_state is not None]
        if not trigger_states:
            return INFINITY, INFINITY
        return min(trigger_state.clock for trigger_state in trigger_states), min(
            trigger_state.max_event_time for trigger_state in trigger_states
        )

    def _discard(self, window: Window) -> None:
        if self._entries.pop(window, None) is not None:
            self._order = None

    def _in_order(self) -> list[Window]:
        if self._order is None:
            self._order = sorted(self._entries, key=by_extent)
        return self._order
