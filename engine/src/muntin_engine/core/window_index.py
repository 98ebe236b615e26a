"""WindowIndex: the windows that have been put out and may change again (SI-66)."""

from __future__ import annotations

from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from muntin import Window
from muntin_engine.core.assignment import Assigner
from muntin_engine.core.computation import OutputRow


class StandingRow(NamedTuple):
    """An output event that has been put out and not taken back."""

    id: int
    row: OutputRow


class WindowEntry:
    """One window that has been put out.

    Attributes:
        states: The state of each module, None for one without; empty for a window that no longer exists.
        standing: The output events that stand.
    """

    __slots__ = ("standing", "states")

    def __init__(self, states: list[Any], standing: list[StandingRow]) -> None:
        self.states = states
        self.standing = standing


class WindowIndex:
    """The windows of one key, ordered by start. How the axis is cut is the assigner's to know.

    Cost: logarithmic in the number of entries, plus the entries returned; `overlapping` looks at every earlier entry
    if the index keeps the history of windows that no longer exist.
    """

    def __init__(self, assigner: Assigner, *, keeps_history: bool = False) -> None:
        self.assigner = assigner
        self._keeps_history = keeps_history
        self._entries: SortedDict = SortedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> list[tuple[Window, WindowEntry]]:
        """Return all entries in order."""
        return list(self._entries.items())

    def get(self, window: Window) -> WindowEntry | None:
        """Return the entry of a window, or None."""
        entry: WindowEntry | None = self._entries.get(window)
        return entry

    def put(self, window: Window, entry: WindowEntry) -> None:
        """Set the entry of a window."""
        self._entries[window] = entry

    def discard(self, window: Window) -> None:
        """Forget a window, if it is known."""
        self._entries.pop(window, None)

    def overlapping(self, start: int, end: int) -> list[Window]:
        """Return the windows with an entry that share a tick with `[start, end)`."""
        found: list[Window] = []
        for window in self._entries.irange(maximum=Window(end, end), inclusive=(True, False), reverse=True):
            if window.end > start and window.start < end:
                found.append(window)
            elif window.end <= start and not self._keeps_history:
                break
        return found

    def close(self) -> None:
        """Forget the windows before the frontier; what they put out stands for good."""
        frontier = self.assigner.frontier
        for window in list(self._entries.irange(maximum=Window(frontier, frontier), inclusive=(True, False))):
            if window.end <= frontier or not self._keeps_history:
                del self._entries[window]
