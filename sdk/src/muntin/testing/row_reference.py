"""Row windows of one key, as the reference evaluator has them: all rows, one by one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from muntin.axis import INFINITY
from muntin.errors import QueryError
from muntin.events import Event
from muntin.modules.row_operator import RowOperator
from muntin.rows import Action, ActionKind, Row, RowWindows
from muntin.safe_text import safe_repr
from muntin.testing.row_operator_run import Given, RowOperatorRun
from muntin.windows.extent import Window


def row_windows(
    windows: RowWindows, events: Iterable[Event[Any]], complete_to: int, horizon: int
) -> Iterator[tuple[Window, list[Event[Any]]]]:
    """Yield the windows that are computed of rows before a tick, each with its members in order.

    Rows of one time are in the order in which they are given. What windows read of a row is a field of its payload, or
    an attribute, of that name.

    Args:
        windows: The windows.
        events: The rows.
        complete_to: The tick; `INFINITY` for a stream that was closed.
        horizon: The first tick past all rows of all keys.
    """
    state = windows.create_state()
    rows = sorted((event for event in events if event.start < complete_to), key=lambda event: event.start)
    members: dict[Hashable, dict[int, Event[Any]]] = {}
    for number, event in enumerate(rows, 1):
        values = tuple(value_read(event.payload, name) for name in windows.reads)
        yield from _computed(windows.step(state, Row(number, event.start, values)), members, rows)
    rest = windows.close(state, horizon) if complete_to == INFINITY else windows.advance(state, complete_to)
    yield from _computed(rest, members, rows)


def operator_rows(
    windows: RowWindows,
    module: RowOperator[Any, Any, Any, Any],
    events: Iterable[tuple[Event[Any], Any, bool]],
    complete_to: int,
    horizon: int,
) -> list[Given]:
    """Return both outputs of a module that follows rows, for the rows before a tick.

    Args:
        windows: The windows.
        module: The module.
        events: The rows, each with the module's input, and whether the module accepts that.
        complete_to: The tick; `INFINITY` for a stream that was closed.
        horizon: The first tick past all rows of all keys.
    """
    run, found = RowOperatorRun(windows, module), list[Given]()
    before = (each for each in events if each[0].start < complete_to)
    for event, payload, is_accepted in sorted(before, key=lambda each: each[0].start):
        values = tuple(value_read(event.payload, name) for name in windows.reads)
        found += run.take(event.start, values, payload, is_accepted=is_accepted)
    return [*found, *(run.close(horizon) if complete_to == INFINITY else run.advance(complete_to))]


def _computed(
    actions: Iterable[Action], members: dict[Hashable, dict[int, Event[Any]]], rows: Sequence[Event[Any]]
) -> Iterator[tuple[Window, list[Event[Any]]]]:
    for kind, partition, numbers, window in actions:
        held = members.setdefault(partition, {})
        if kind is ActionKind.INSERT:
            held[numbers[0]] = rows[numbers[0] - 1]
        if window is not None:
            yield window, list(held.values())
        for number in numbers if kind is ActionKind.EVICT else ():
            del held[number]
        if kind in (ActionKind.FLUSH, ActionKind.REMOVE):
            held.clear()


def value_read(payload: Any, name: str) -> Any:
    """Return the value that windows read of a payload: the field of that name, or the attribute.

    Raises:
        QueryError: There is none.
    """
    try:
        return payload[name] if isinstance(payload, Mapping) else getattr(payload, name)
    except (KeyError, AttributeError):
        raise QueryError(
            f"the windows read {name!r} of each row, and {safe_repr(payload)} has no such field\n"
            "  give rows that have it: dicts, or objects with that attribute"
        ) from None
