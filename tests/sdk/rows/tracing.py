"""What row windows do to a list of rows, as lines of text, and as the rows of each window that is computed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from muntin import Window
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin.testing.plain_data import restored

NAMED = ["1a", "2b", "3a", "4b", "5b", "6b", "7a", "8a", "9b", "10b", "11a", "13a"]
LETTERED = [Row(int(name[:-1]), int(name[:-1]), (name[-1],)) for name in NAMED]
"""The rows of two partitions in the document's sequences."""


class Computed(NamedTuple):
    """A window that was computed: when, of which partition, with which rows."""

    window: Window
    partition: Hashable
    rows: tuple[int, ...]


@dataclass
class Trace:
    """Drives row windows and keeps what they do.

    Attributes:
        lines: One per action: what is done, to which rows, in which partition if there are any.
        computed: The windows that were computed.
    """

    windows: RowWindows
    lines: list[str] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state: Any = self.windows.create_state()
        self.newest = 0
        self.members: dict[Hashable, list[int]] = {}

    def rows(self, *rows: Row) -> Trace:
        for row in rows:
            self.newest = row.time
            self._apply(self.windows.step(self.state, row))
        return self

    def counted(self, *values: Any) -> Trace:
        """Take rows without attributes, at times 1, 2, 3, ... and numbered so."""
        return self.rows(*(Row(value, value) for value in values))

    def valued(self, *values: float | None) -> Trace:
        """Add rows with one attribute each; the first has the number 1 and the time 1, the second 2, and so on."""
        return self.rows(*(Row(place, place, (value,)) for place, value in enumerate(values, 1)))

    def advance(self, tick: int) -> Trace:
        self._apply(self.windows.advance(self.state, tick))
        return self

    def close(self, tick: int | None = None) -> Trace:
        self._apply(self.windows.close(self.state, self.newest + 1 if tick is None else tick))
        return self

    def restart(self) -> Trace:
        """Continue with the state as a checkpoint restores it."""
        self.state = self.windows.from_data(restored(self.windows.to_data(self.state)))
        return self

    def _apply(self, actions: Iterable[Action]) -> None:
        """Apply actions to the members of each partition, and write a line for each."""
        for kind, partition, rows, window in actions:
            members = self.members.setdefault(partition, [])
            if kind is ActionKind.INSERT:
                assert not set(rows) & set(members)
                members.extend(rows)
            shown: Sequence[int] = rows
            if window is not None:
                shown = tuple(members)
                self.computed.append(Computed(window, partition, tuple(members)))
            if kind in (ActionKind.FLUSH, ActionKind.REMOVE):
                shown = tuple(members)
                members.clear()
            if kind is ActionKind.EVICT:
                assert set(rows) <= set(members), "only members leave"
                for number in rows:
                    members.remove(number)
            name = "" if self.windows.partition_by is None else f"{partition}: "
            self.lines.append(f"{name}{kind}{' ' * bool(shown)}{','.join(map(str, shown))}")


def trace(windows: RowWindows) -> Trace:
    return Trace(windows)
