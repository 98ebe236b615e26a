"""The window functions of SQL, by the windows that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

EVENTS: Final = "EVENTS"
"""The function of a stream without windows."""


@dataclass(frozen=True)
class WindowFunction:
    """A window function of SQL.

    Attributes:
        window: The kind of its windows, as the data of a query names it.
        parameters: The parameters of the windows, in the order of the function's arguments.
        by_rows: True if windows follow the events of their key, so that `PARTITION BY` changes where they are cut.
        other_names: The names that Flink has for arguments, each with the name of the parameter.
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
    """Return True if windows follow the events of their key, so that a filter changes where they are cut.

    Windows of plugins, of which this is not known, are taken to do so.

    Args:
        window: The kind of the windows.
    """
    return window not in _BY_WINDOW or FUNCTIONS[_BY_WINDOW[window]].by_rows


class WindowCall(NamedTuple):
    """A call of windows in SQL.

    Attributes:
        function: The name of the function; the kind of the windows if SQL has no function for them.
        positional: The values of the arguments that stand without a name, in order.
        by_name: The values of the arguments by name.
    """

    function: str
    positional: list[Any]
    by_name: dict[str, Any]


def spell_windows(window: str, parameters: Mapping[str, Any]) -> WindowCall:
    """Return the call of a window function that makes windows.

    Args:
        window: The kind of the windows.
        parameters: Their parameters, by name, as data.
    """
    name = _BY_WINDOW.get(window)
    if name is None:
        return WindowCall(window, positional=[], by_name=dict(parameters))

    # Arguments stand without a name up to the first one that is missing or is no plain value, such as a policy.
    by_name = dict(parameters)
    positional: list[Any] = []
    for parameter in FUNCTIONS[name].parameters:
        if parameter not in by_name or not isinstance(by_name[parameter], str | int | float):
            break
        positional.append(by_name.pop(parameter))
    return WindowCall(name, positional, by_name)


def may_overlap(window: Mapping[str, Any]) -> bool:
    """Return True if windows, as the data of a query has them, may have ticks in common."""
    # Tumbling and calendar windows lie end to end unless they have a hop or a reach.
    lies_end_to_end = window["kind"] in ("tumbling", "calendar") and window.keys().isdisjoint(("hop", "reach"))
    return not lies_end_to_end
