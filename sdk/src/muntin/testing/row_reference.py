"""The meaning of row windows and row operators, computed one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from muntin.axis import INFINITY
from muntin.errors import QueryError
from muntin.errors.safe_text import safe_repr
from muntin.events import Event
from muntin.modules.row_operator import RowOperator
from muntin.rows import Action, ActionKind, MemberRow, Row, RowsInWindow, RowWindows
from muntin.testing.equality import equal
from muntin.windows.extent import Window


class HandlerRow(NamedTuple):
    """A row that a handler returned.

    Attributes:
        is_evicted: True if the row belongs to the second output.
        window: The extent of the window that is computed, or the tick of the step.
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

    def process(
        self, time: int, values: tuple[Any, ...], payload: Any, *, is_accepted: bool = True
    ) -> list[HandlerRow]:
        """Process the next row: time passes up to it, the windows step, and each action calls a handler.

        Args:
            time: The time of the row.
            values: The values that the windows read of the row.
            payload: The input of the module.
            is_accepted: False if the input holds a null that the module does not read: no handler gets such a row.
        """
        output = self.advance(time)
        # An engine keeps nothing of a key that is like a new one, so the numbers of its rows begin anew.
        if self._is_like_a_new_key:
            self._begin()
        self._number += 1
        row = MemberRow(self._number, time, payload) if is_accepted else None
        actions = list(self._windows.step(self._window_state, Row(self._number, time, values)))
        output += self._handle_all(actions, time, row)
        is_inserted = any(action.kind is ActionKind.INSERT for action in actions)
        # A row that no window inserted passes by: the module sees the members of the row's partition.
        if row is not None and not is_inserted:
            partition_by = self._windows.partition_by
            # Windows without partitions have all rows in partition 0.
            partition = 0 if partition_by is None else values[self._windows.reads.index(partition_by)]
            output += self._rows(time, self._module.on_pass(self.state, row, self._view(partition, time)))
        return output

    def advance(self, tick: int) -> list[HandlerRow]:
        """Let time pass up to a tick, and return what the handlers return for all actions that are due by then."""
        output: list[HandlerRow] = []
        while (due := self._windows.next_tick(self._window_state)) <= tick and due < INFINITY:
            output += self._handle_all(self._windows.advance(self._window_state, due), due)
        return output

    def close(self, tick: int) -> list[HandlerRow]:
        """End the stream at a tick, and return what the handlers return for the last actions."""
        output = self.advance(tick)
        return output + self._handle_all(self._windows.close(self._window_state, tick), tick)

    @property
    def _is_like_a_new_key(self) -> bool:
        """True if the key is in the same state as a new key, so that an engine would have forgotten it."""
        if self._was_full or not self._windows.is_empty(self._window_state):
            return False
        return equal(self.state, self._module.create_state(), tolerance=0.0)

    def _begin(self) -> None:
        """Start anew, with empty windows, as for a key without rows."""
        self.state: Any = self._module.create_state()
        self._window_state = self._windows.create_state()
        self._members: dict[Hashable, dict[int, MemberRow[Any]]] = {}
        self._number = 0
        # True once on_full was called. A key is not forgotten after that, since on_full would be called a second time.
        self._was_full = False

    def _handle_all(self, actions: Iterable[Action], time: int, row: MemberRow[Any] | None = None) -> list[HandlerRow]:
        """Call the handlers of actions in order; the row is the one that came, None if time alone has passed."""
        output: list[HandlerRow] = []
        for action in actions:
            output += self._handle(action, time, row)
        return output

    def _handle(self, action: Action, time: int, row: MemberRow[Any] | None) -> list[HandlerRow]:
        """Call the handler of an action, and return its rows.

        Members that leave are removed from the view before `on_evict` is called. All members of a window leave when it
        is flushed or its partition removed.

        Args:
            action: The action: its kind, its partition, the numbers of the rows that leave, and the window's extent.
            time: The tick of the step.
            row: The row that came; None if time alone has passed, or if the module does not accept the row.
        """
        kind, partition, row_numbers, extent = action
        module = self._module
        members = self._members.setdefault(partition, {})
        view = self._view(partition, time, extent)
        if kind is ActionKind.INSERT:
            if row is None:
                return []  # a row that the module does not accept
            members[row.number] = row
            return self._rows(time, module.on_insert(self.state, row, view))
        if kind is ActionKind.TRIGGER:
            return self._rows(time, module.on_trigger(self.state, view), extent)
        if kind is ActionKind.FULL:
            # A module that does not define `on_full` cannot notice that it is called a second time: see `_begin`.
            self._was_full = type(module).on_full is not RowOperator.on_full
            return self._rows(time, module.on_full(self.state, view))
        if kind is ActionKind.EMPTY:
            return self._rows(time, module.on_empty(self.state, view))
        if kind is ActionKind.EVICT:
            return self._evict(row_numbers, partition, time)
        if kind is ActionKind.FLUSH:
            output = self._rows(time, module.on_flush(self.state, view), extent)
        else:  # `ActionKind.REMOVE`
            output = self._rows(time, module.on_remove(self.state, view))
        return output + self._evict([*members], partition, time)

    def _evict(self, row_numbers: Sequence[int], partition: Hashable, time: int) -> list[HandlerRow]:
        """Remove the members with these numbers from a partition, and return the rows that `on_evict` returns."""
        members = self._members[partition]
        # Rows that the module does not accept are members for the windows, but not for the module.
        evicted = [members.pop(number) for number in row_numbers if number in members]
        if not evicted:
            return []
        rows = self._module.on_evict(self.state, evicted, self._view(partition, time))
        return [row._replace(is_evicted=True) for row in self._rows(time, rows)]

    def _view(self, partition: Hashable, time: int, extent: Window | None = None) -> RowsInWindow[Any]:
        """Return the members of all partitions as a handler sees them in a step of one partition."""
        return RowsInWindow(self._members, partition, time, extent)

    @staticmethod
    def _rows(time: int, rows: Iterable[Any] | None, extent: Window | None = None) -> list[HandlerRow]:
        """Return the rows of a handler with the extent of the window that is computed, or else the tick of the step."""
        window = Window(time, time + 1) if extent is None else extent
        return [HandlerRow(is_evicted=False, window=window, row=row) for row in rows or ()]


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
    """Return the windows that are computed if only the rows before a tick come, each with its members in order.

    Rows of one time keep their order. A name that the windows read is a field of the row's payload if the payload is a
    mapping, and an attribute of the payload otherwise.

    Args:
        windows: The windows.
        events: The rows.
        complete_to: The tick; `INFINITY` for a stream that was closed.
        horizon: The tick at which a closed stream ends.
    """
    # The input of the module is the event itself, and the module accepts each.
    is_accepted = True
    rows = ((event, event, is_accepted) for event in events)
    computed = operator_rows(windows, _MembersOfWindows(), rows, complete_to, horizon)
    return [(window, members) for _, window, members in computed]


def operator_rows(
    windows: RowWindows,
    module: RowOperator[Any, Any, Any, Any],
    events: Iterable[tuple[Event[Any], Any, bool]],
    complete_to: int,
    horizon: int,
) -> list[HandlerRow]:
    """Return the rows that a module which follows rows returns for the rows before a tick, also those of `on_evict`.

    Args:
        windows: The windows.
        module: The module.
        events: The rows, each with the module's input, and True if the module accepts this input.
        complete_to: The tick; `INFINITY` for a stream that was closed.
        horizon: The tick at which a closed stream ends.
    """
    run = RowOperatorRun(windows, module)
    output: list[HandlerRow] = []
    for event, payload, is_accepted in sorted(events, key=lambda row: row[0].start):
        if event.start >= complete_to:
            break
        values = tuple(field_value(event.payload, name) for name in windows.reads)
        output += run.process(event.start, values, payload, is_accepted=is_accepted)
    return output + (run.close(horizon) if complete_to == INFINITY else run.advance(complete_to))


def field_value(payload: Any, name: str) -> Any:
    """Return the value of a name that windows read: the field of the payload, or its attribute."""
    try:
        return payload[name] if isinstance(payload, Mapping) else getattr(payload, name)
    except (KeyError, AttributeError):
        raise QueryError(
            f"the windows read {name!r} of each row, and {safe_repr(payload)} has no such field\n"
            "  give rows that have it: dicts, or objects with that attribute"
        ) from None
