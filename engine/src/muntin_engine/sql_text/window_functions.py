"""The window functions of SQL, by the windows that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

EVENTS: Final = "EVENTS"
"""The function of a stream without windows."""


@dataclass(frozen=True)
class WindowFunction:
    """A window function.

    Attributes:
        window: The windows, as the data of a query names them.
        parameters: The parameters of the windows, in the order of the arguments.
        by_rows: True if windows follow the events of their key, so that `PARTITION BY` changes where they are cut.
        other_names: The names that arguments have in Flink, each with that of the parameter.
    """

    window: str
    parameters: tuple[str, ...] = ()
    by_rows: bool = False
    other_names: tuple[tuple[str, str], ...] = ()


FUNCTIONS: Final[Mapping[str, WindowFunction]] = {
    "TUMBLE": WindowFunction("tumbling", ("size", "offset", "reach")),
    "HOP": WindowFunction("hopping", ("hop", "size", "offset", "reach"), other_names=(("slide", "hop"),)),
    "CUMULATE": WindowFunction("cumulate", ("step", "size", "offset")),
    "SESSION": WindowFunction("session", ("gap",), by_rows=True),
    "SNAPSHOT": WindowFunction("snapshot", by_rows=True),
    "COUNT_BY_START": WindowFunction("count_by_start", ("count", "every"), by_rows=True),
    "COUNT_BY_END": WindowFunction("count_by_end", ("count", "every"), by_rows=True),
    "TRAILING": WindowFunction("trailing", ("length", "every"), by_rows=True),
    "CALENDAR": WindowFunction("calendar", ("size", "hop", "zone", "start", "reach")),
    "LANDMARK": WindowFunction("landmark", ("step", "since")),
    "GLOBAL_WINDOWS": WindowFunction("global_windows"),
    "LAST": WindowFunction("last", ("evicts", "triggers", "waits_until_full"), by_rows=True),
    "BATCH": WindowFunction("batch", ("evicts", "within"), by_rows=True),
    "BETWEEN_ROWS": WindowFunction("between", ("opens", "closes", "within"), by_rows=True),
}
"""The window functions by their names in SQL."""

_BY_WINDOW: Final = {function.window: name for name, function in FUNCTIONS.items()}


def follows_rows(window: str) -> bool:
    """Return True if windows of a kind follow the events of their key, so that a filter changes where they are cut."""
    return window not in _BY_WINDOW or FUNCTIONS[_BY_WINDOW[window]].by_rows


class WindowCall(NamedTuple):
    """A call of windows in SQL.

    Attributes:
        function: The name of the function; that of the windows themselves if SQL has no function for them.
        places: The values of the arguments by place.
        named: The values of the arguments by name.
    """

    function: str
    places: list[Any]
    named: dict[str, Any]


def spell_windows(window: str, parameters: Mapping[str, Any]) -> WindowCall:
    """Return the call of windows in SQL: the first arguments by place, up to one that is no plain value."""
    name = _BY_WINDOW.get(window)
    if name is None:
        return WindowCall(window, [], dict(parameters))
    named = dict(parameters)
    places: list[Any] = []
    for parameter in FUNCTIONS[name].parameters:
        if parameter not in named or not isinstance(named[parameter], str | int | float):
            break
        places.append(named.pop(parameter))
    return WindowCall(name, places, named)
