"""What row windows do to a list of rows, as lines of text, and as the rows of each window that is computed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from muntin import Window
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin.testing.plain_data import restored


class Computed(NamedTuple):
    """A window that was computed, its partition, and the numbers of its rows."""

    window: Window
    partition: Hashable
    rows: tuple[int, ...]


@dataclass
class Trace:
    """Drives row windows and notes what they do.

    Example:
        >>> from muntin.rows import last
        >>> trace = Trace(last(1)).counted(1, 2)
        >>> trace.lines
        ['insert 1', 'full', 'trigger 1', 'evict 1', 'insert 2', 'trigger 2']
        >>> trace.computed[-1]
        Computed(window=Window(start=2, end=3), partition=0, rows=(2,))

    Attributes:
        windows: Row windows.
        lines: A line for each action: what is done, to which rows, and in which partition if the windows have several.
        computed: Windows that were computed, in that order.
        members: Numbers of the rows that each partition has now, as the actions say.
    """

    windows: RowWindows
    lines: list[str] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state: Any = self.windows.create_state()
        self.newest = 0
        self.members: dict[Hashable, list[int]] = {}

    def rows(self, *rows: Row) -> Trace:
        """Add rows; time advances to each of them."""
        for row in rows:
            self.newest = row.time
            self._apply(self.windows.step(self.state, row))
        return self

    def counted(self, *numbers: int) -> Trace:
        """Add rows without attributes, each at the time that is its number."""
        return self.rows(*(Row(number, number) for number in numbers))

    def valued(self, *values: float | None) -> Trace:
        """Add rows with one attribute each; the first has the number 1 and the time 1, the second 2, and so on."""
        return self.rows(*(Row(place, place, (value,)) for place, value in enumerate(values, 1)))

    def advance(self, tick: int) -> Trace:
        """Advance time to a tick, without a row."""
        self._apply(self.windows.advance(self.state, tick))
        return self

    def close(self, tick: int | None = None) -> Trace:
        """End the stream at a tick, or right after its newest row."""
        end = self.newest + 1 if tick is None else tick
        self._apply(self.windows.close(self.state, end))
        return self

    def restart(self) -> Trace:
        """Continue with the state as a checkpoint restores it."""
        self.state = self.windows.from_data(restored(self.windows.to_data(self.state)))
        return self

    def _apply(self, actions: Iterable[Action]) -> None:
        """Apply actions to the members of each partition, and write a line for each.

        Fails if a row is inserted twice, or leaves that is no member.
        """
        for kind, partition, rows, window in actions:
            members = self.members.setdefault(partition, [])
            if kind is ActionKind.INSERT:
                assert not set(rows) & set(members), "a row is inserted once"
                members.extend(rows)
            shown: Sequence[int] = rows  # a window that is computed, or ends, shows all its members instead
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

            line = str(kind)
            if self.windows.partition_by is not None:
                line = f"{partition}: {line}"
            if shown:
                line += f" {','.join(map(str, shown))}"
            self.lines.append(line)
