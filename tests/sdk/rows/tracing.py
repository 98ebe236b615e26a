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
            self._take(self.windows.step(self.state, row))
        return self

    def counted(self, *values: Any) -> Trace:
        """Take rows without attributes, at times 1, 2, 3, ... and numbered so."""
        return self.rows(*(Row(value, value) for value in values))

    def valued(self, *values: float | None) -> Trace:
        """Take rows whose number is their place, from 1, whose time is that too, and whose one attribute is given."""
        return self.rows(*(Row(place, place, (value,)) for place, value in enumerate(values, 1)))

    def advance(self, tick: int) -> Trace:
        self._take(self.windows.advance(self.state, tick))
        return self

    def close(self, tick: int | None = None) -> Trace:
        self._take(self.windows.close(self.state, self.newest + 1 if tick is None else tick))
        return self

    def restart(self) -> Trace:
        """Go on with the state as a checkpoint gives it back."""
        self.state = self.windows.from_data(restored(self.windows.to_data(self.state)))
        return self

    def _take(self, actions: Iterable[Action]) -> None:
        for kind, partition, rows, window in actions:
            held = self.members.setdefault(partition, [])
            if kind is ActionKind.INSERT:
                assert not set(rows) & set(held)
                held.extend(rows)
            shown: Sequence[int] = rows
            if window is not None:
                shown = tuple(held)
                self.computed.append(Computed(window, partition, tuple(held)))
            if kind in (ActionKind.FLUSH, ActionKind.REMOVE):
                shown = tuple(held)
                held.clear()
            if kind is ActionKind.EVICT:
                assert set(rows) <= set(held), "only members leave"
                for number in rows:
                    held.remove(number)
            name = "" if self.windows.partition_by is None else f"{partition}: "
            self.lines.append(f"{name}{kind}{' ' * bool(shown)}{','.join(map(str, shown))}")


def trace(windows: RowWindows) -> Trace:
    return Trace(windows)
