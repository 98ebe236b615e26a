"""Steps of a query between the two forms that they have: arguments all by name, and as the text of a query has them.

In a text the first argument stands under the name of the call, `{"where": "km > 2"}`, and an expression over columns is
`{"sql": "km * 2"}`, so that it is no name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from muntin_engine.plan.steps import main_parameter
from muntin_engine.sql_text.values import is_name

Steps: TypeAlias = "list[dict[str, Any]]"

_COLUMNS: Final = ("key", "id", "order", "at", "start", "end", "change", "new_end", "signal", "source")


def packed(steps: Steps) -> Steps:
    """Return steps as the text of a query has them."""
    return [_packed(call, arguments) for one in steps for call, arguments in one.items()]


def unpacked(steps: Steps) -> Steps:
    """Undo `packed`."""
    return [_unpacked(one) for one in steps]


def _packed(call: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    first = main_parameter(call)
    data: dict[str, Any] = {call: None}
    for name, value in arguments.items():
        data[call if name == first else name] = _value(name, value, packed, _sql)
    return data


def _unpacked(one: Mapping[str, Any]) -> dict[str, Any]:
    call = next(iter(one))
    arguments = {(main_parameter(call) or "") if name == call else name: value for name, value in one.items()}
    arguments.pop("", None)
    if arguments.get("names", "") is None:
        del arguments["names"]
    return {call: {name: _value(name, value, unpacked, _text) for name, value in arguments.items()}}


def _value(name: str, value: Any, steps: Any, column: Any) -> Any:
    if name == "right":
        return steps(value)
    if name == "streams":
        return {stream: steps(inner) for stream, inner in value.items()}
    if name in ("left_columns", "right_columns") and isinstance(value, Mapping):
        return {given: column(text) for given, text in value.items()}
    if name == "modules":
        return {given: _module(call, column) for given, call in value.items()}
    if name == "operator":
        return _module(value, column)
    if name == "on":
        return {part: [*map(column, given)] if part in ("left", "right") else given for part, given in value.items()}
    if name in _COLUMNS:
        return [*map(column, value)] if isinstance(value, list) else column(value)
    return value


def _module(call: Mapping[str, Any], column: Any) -> dict[str, Any]:
    return {name: [*map(column, part)] if name == "columns" else part for name, part in call.items()}


def _sql(text: Any) -> Any:
    return {"sql": text} if isinstance(text, str) and not is_name(text) else text


def _text(column: Any) -> Any:
    return column["sql"] if isinstance(column, Mapping) and set(column) == {"sql"} else column
