"""Row windows and row operators as they are defined, a row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from muntin.axis import INFINITY
from muntin.errors import QueryError
from muntin.errors.safe_text import safe_repr
from muntin.events import Event
from muntin.modules.row_operator import RowOperator
from muntin.rows import Action, ActionKind, MemberRow, Row, RowsInWindow, RowWindows
from muntin.testing.equality import equal
from muntin.windows.extent import Window


class Given(NamedTuple):
    """A row of a result, and where it lies.

    Attributes:
        is_evicted: True if it is of the second output.
        window: The extent of the window that is computed, or the tick at which something happens.
        row: The row.
    """

    is_evicted: bool
    window: Window
    row: Any


class RowOperatorRun:
    """The windows of one key, and a module that follows them.

    Attributes:
        state: The module's state.
    """

    def __init__(self, windows: RowWindows, module: RowOperator[Any, Any, Any, Any]) -> None:
        """Start a key."""
        self._windows: Any = windows
        self._module = module
        self._begin()

    def take(self, time: int, values: tuple[Any, ...], payload: Any, *, is_accepted: bool = True) -> list[Given]:
        """Take the next row.

        Args:
            time: Its time.
            values: What the windows read of it.
            payload: What the module reads of it.
            is_accepted: False if that holds a null that the module does not read; it is told nothing of such a row.
        """
        found = self.advance(time)
        is_empty = not self._was_full and self._windows.is_empty(self._followed)
        if is_empty and equal(self.state, self._module.create_state(), 0.0):
            self._begin()
        self._number += 1
        row = MemberRow(self._number, time, payload) if is_accepted else None
        actions = list(self._windows.step(self._followed, Row(self._number, time, values)))
        found += self._told(actions, time, row)
        if row is not None and all(action.kind is not ActionKind.INSERT for action in actions):
            by = self._windows.partition_by
            partition = 0 if by is None else values[self._windows.reads.index(by)]
            found += self._shown(time, self._module.on_pass(self.state, row, self._view(partition, time)))
        return found

    def advance(self, tick: int) -> list[Given]:
        """Let time pass."""
        found: list[Given] = []
        while (due := self._windows.next_tick(self._followed)) <= tick and due < INFINITY:
            found += self._told(self._windows.advance(self._followed, due), due)
        return found

    def close(self, tick: int) -> list[Given]:
        """End the stream."""
        return [*self.advance(tick), *self._told(self._windows.close(self._followed, tick), tick)]

    def _begin(self) -> None:
        self.state: Any = self._module.create_state()
        self._followed = self._windows.create_state()
        self._held: dict[Hashable, dict[int, MemberRow[Any]]] = {}
        self._number = 0
        self._was_full = False  # on_full was called: it is called once, also where the window has been empty since

    def _told(self, actions: Iterable[Action], time: int, row: MemberRow[Any] | None = None) -> list[Given]:
        return [given for action in actions for given in self._done(action, time, row)]

    def _done(self, action: Action, time: int, row: MemberRow[Any] | None) -> Iterator[Given]:
        kind, partition, numbers, extent = action
        module, members = self._module, self._held.setdefault(partition, {})
        view = self._view(partition, time, extent)
        if kind is ActionKind.INSERT:
            if row is not None:
                members[row.number] = row
                yield from self._shown(time, module.on_insert(self.state, row, view))
        elif kind is ActionKind.TRIGGER:
            yield from self._shown(time, module.on_trigger(self.state, view), extent)
        elif kind is ActionKind.FULL:
            self._was_full = type(module).on_full is not RowOperator.on_full
            yield from self._shown(time, module.on_full(self.state, view))
        elif kind is ActionKind.EMPTY:
            yield from self._shown(time, module.on_empty(self.state, view))
        elif kind is ActionKind.EVICT:
            yield from self._left(numbers, members, partition, time)
        else:
            if kind is ActionKind.FLUSH:
                yield from self._shown(time, module.on_flush(self.state, view), extent)
            else:
                yield from self._shown(time, module.on_remove(self.state, view))
            yield from self._left([*members], members, partition, time)

    def _left(
        self, numbers: Sequence[int], members: dict[int, MemberRow[Any]], partition: Hashable, time: int
    ) -> Iterator[Given]:
        gone = [members.pop(number) for number in numbers if number in members]
        if gone:
            rows = self._module.on_evict(self.state, gone, self._view(partition, time))
            yield from (given._replace(is_evicted=True) for given in self._shown(time, rows))

    def _view(self, partition: Hashable, time: int, extent: Window | None = None) -> RowsInWindow[Any]:
        return RowsInWindow(self._held, partition, time, extent)

    @staticmethod
    def _shown(time: int, rows: Iterable[Any] | None, extent: Window | None = None) -> list[Given]:
        window = Window(time, time + 1) if extent is None else extent
        return [Given(False, window, row) for row in rows or ()]


class _MembersOfWindows(RowOperator[Any, None, list[Any], None]):
    """Gives the members of each window that is computed."""

    def create_state(self) -> None:
        """Return no state."""

    def on_trigger(self, state: None, window: RowsInWindow[Any]) -> list[list[Any]]:
        """Return the members, as one row."""
        return [[row.payload for row in window.rows]]

    on_flush = on_trigger


def row_windows(
    windows: RowWindows, events: Iterable[Event[Any]], complete_to: int, horizon: int
) -> list[tuple[Window, list[Event[Any]]]]:
    """Return the windows that are computed of rows before a tick, each with its members in order.

    Rows of one time are in the order in which they are given. What windows read of a row is a field of its payload, or
    an attribute, of that name.
    """
    rows = ((event, event, True) for event in events)
    return [
        (window, members)
        for _, window, members in operator_rows(windows, _MembersOfWindows(), rows, complete_to, horizon)
    ]


def operator_rows(
    windows: RowWindows,
    module: RowOperator[Any, Any, Any, Any],
    events: Iterable[tuple[Event[Any], Any, bool]],
    complete_to: int,
    horizon: int,
) -> list[Given]:
    """Return both outputs of a module that follows rows, for the rows before a tick."""
    run, found = RowOperatorRun(windows, module), list[Given]()
    before = (each for each in events if each[0].start < complete_to)
    for event, payload, is_accepted in sorted(before, key=lambda each: each[0].start):
        values = tuple(value_read(event.payload, name) for name in windows.reads)
        found += run.take(event.start, values, payload, is_accepted=is_accepted)
    return [*found, *(run.close(horizon) if complete_to == INFINITY else run.advance(complete_to))]


def value_read(payload: Any, name: str) -> Any:
    """Return the value that windows read of a payload: the field of that name, or the attribute."""
    try:
        return payload[name] if isinstance(payload, Mapping) else getattr(payload, name)
    except (KeyError, AttributeError):
        raise QueryError(
            f"the windows read {name!r} of each row, and {safe_repr(payload)} has no such field\n"
            "  give rows that have it: dicts, or objects with that attribute"
        ) from None
