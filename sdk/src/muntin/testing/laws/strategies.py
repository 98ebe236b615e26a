"""Hypothesis strategies for payloads, events and windows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.axis import INFINITY, moment
from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.schemas import DataType, Field, ListOf, MapOf, OneOf, Scalar, ScalarKind, Struct
from muntin.windows.extent import Window

_MOST_PARTS: Final = 3
_FIRST_DATE: Final = date(2000, 1, 1)
_LAST_DATE: Final = date(2040, 1, 1)
_NEAR_ZERO: Final = Window(-20, 20)


def payloads(field: Field) -> SearchStrategy[Any]:
    """Return a strategy for values of a type, as a query would give them to a module.

    Floats are finite and small multiples of 1/8, so that sums of them are exact; integers are small, so that equal
    integers are common; timestamps are aware and in UTC; a `Literal` has the values that it names. A type variable,
    and `Any`, is an integer. Nullable values are sometimes null. Payloads of several inputs come from any of them.
    """
    values = _of_type(field.type)
    return values | st.none() if field.is_nullable else values


def windows(longest: int = 20) -> SearchStrategy[Window]:
    """Return a strategy for windows near tick 0, of one tick at least."""
    return st.builds(_window, st.integers(-20, 20), st.integers(1, longest))


def events(
    payloads: SearchStrategy[object], window: Window = _NEAR_ZERO, *, open_ends: bool = False
) -> SearchStrategy[Event[Any]]:
    """Return a strategy for events that share a tick with a window; some reach beyond it on either side.

    Args:
        payloads: The strategy for their payloads.
        window: The window.
        open_ends: True to let some of the events have no end.
    """
    starts = st.integers(window.start - 5, window.end - 1)
    durations = st.integers(1, 5) | st.integers(1, window.duration + 10)
    if open_ends:
        durations |= st.just(INFINITY)
    return st.builds(partial(_event, window), starts, durations, payloads)


def _window(start: int, size: int) -> Window:
    """Return a window of a size."""
    return Window(start, start + size)


def _event(window: Window, start: int, duration: int, payload: object) -> Event[object]:
    """Return an event, prolonged if it would end before a window; an infinite duration gives one without an end."""
    end = INFINITY if duration == INFINITY else max(start + duration, window.start + 1)
    return Event(start, end, payload)


def _of_type(data_type: DataType) -> SearchStrategy[object]:
    """Return a strategy for the values of a type, none of them null; integers where a type variable takes any value."""
    if isinstance(data_type, Scalar):
        return st.sampled_from(data_type.values) if data_type.values else _SCALARS[data_type.kind]()
    if isinstance(data_type, ListOf):
        return st.lists(payloads(data_type.element), max_size=_MOST_PARTS)
    if isinstance(data_type, MapOf):
        return st.dictionaries(payloads(data_type.key), payloads(data_type.value), max_size=_MOST_PARTS)
    if isinstance(data_type, Struct):
        parts = st.fixed_dictionaries({field.name: payloads(field) for field in data_type.fields})
        return parts.map(lambda values: _make(data_type, values))
    if isinstance(data_type, OneOf):
        return st.one_of(*map(payloads, data_type.inputs))
    return _integers()


def _make(struct: Struct, values: dict[str, object]) -> object:
    """Make a record of the values of its fields; raise `ModuleDefinitionError` if its class refuses them."""
    try:
        return struct.make(**values)
    except (TypeError, ValueError) as error:
        raise ModuleDefinitionError(
            f"a payload cannot be made of {values}: {error}\n  to do: give the laws class a strategy: payloads = ..."
        ) from error


def _integers() -> SearchStrategy[int]:
    """Return a strategy for integers, half of which are so small that equal ones are common."""
    return st.integers(-3, 3) | st.integers(-1000, 1000)


def _eighths() -> SearchStrategy[float]:
    """Return a strategy for multiples of 1/8: sums of them are exact."""
    return (st.integers(-16, 16) | st.integers(-8000, 8000)).map(lambda eighths: eighths / 8)


_SCALARS: Final[dict[ScalarKind, Callable[[], SearchStrategy[Any]]]] = {
    ScalarKind.BOOLEAN: st.booleans,
    ScalarKind.INTEGER: _integers,
    ScalarKind.FLOAT: _eighths,
    ScalarKind.STRING: partial(st.text, "abé", max_size=_MOST_PARTS),
    ScalarKind.BINARY: partial(st.binary, max_size=_MOST_PARTS),
    ScalarKind.DECIMAL: partial(st.decimals, -1000, 1000, places=2),
    ScalarKind.DATE: partial(st.dates, _FIRST_DATE, _LAST_DATE),
    ScalarKind.TIMESTAMP: lambda: st.integers(0, 2**51).map(moment),
    ScalarKind.INTERVAL: partial(st.timedeltas, timedelta(days=-9), timedelta(days=9)),
    ScalarKind.INSTANT: partial(st.integers, -30, 30),
}
