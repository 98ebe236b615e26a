"""A query as plain data: the calls that make it, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Any, Final

from muntin.errors import QueryError
from muntin.modules.call import ModuleCall
from muntin_engine.api.text.kinds import SQL
from muntin_engine.api.text.values import write_parameter, write_value
from muntin_engine.backends.choosing import backend_of
from muntin_engine.plan.request import InputRequest, JoinCondition
from muntin_engine.plan.steps import SIGNATURES, Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERSION: Final = 1
"""The version of the format."""

FRAMES: Final = ("df", "clock")
"""The parameters that are DataFrames."""


def main_parameter(call: str) -> str | None:
    """Return the parameter whose argument stands under the name of a call.

    It is the first that may go by place; where all go by name, those of any names; None if there is neither.
    """
    parameters = [one for one in SIGNATURES[call].parameters.values() if one.name != "unnamed"]  # which is none
    places = [one.name for one in parameters if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)]
    return next(iter([*places, *(one.name for one in parameters if one.kind is one.VAR_KEYWORD)]), None)


def is_left_out(main: Parameter) -> bool:
    """Return True if null may stand under the name of a call: it has no first argument."""
    return main.default is None or main.kind in (main.VAR_POSITIONAL, main.VAR_KEYWORD)


def text_of(queries: Mapping[str, Sequence[Step]], tables: Mapping[str, DataFrame]) -> dict[str, Any]:
    """Return a query, or the queries of one pass, as data that JSON can hold.

    Args:
        queries: The calls that make each, by name; the name of one that is written alone is empty.
        tables: Names of the DataFrames that they read; others are called `input`, `input_2` and so on.

    Raises:
        QueryError: An argument is nothing that text can hold.
    """
    writer, found = _Writer(tables), dict[str, Any]()
    for name, steps in queries.items():
        try:
            found[name] = writer.stream(steps)
        except QueryError as error:
            raise QueryError(f"{name}: {error}" if name else str(error)) from error
    return {"muntin": VERSION, **({"query": found[""]} if "" in found else {"one_pass": found})}


class _Writer:
    """Writes the steps of a query, and names the DataFrames that it meets."""

    def __init__(self, tables: Mapping[str, DataFrame]) -> None:
        self._named = [(frame, name) for name, frame in tables.items()]

    def stream(self, steps: Sequence[Step]) -> list[dict[str, Any]]:
        return [self._step(one) for one in steps]

    def _step(self, one: Step) -> dict[str, Any]:
        """Return a call as data: its first argument under its name, and those by name beside."""
        main = main_parameter(one.call)
        data: dict[str, Any] = {one.call: None}
        for name, value in one.arguments.items():
            if name != main and _is_default(value, SIGNATURES[one.call].parameters[name].default):
                continue
            try:
                written = self._argument(name, value, one.frames)
            except QueryError as error:
                raise QueryError(f"{one.call}({name}=...) cannot be written as text: {error}") from error
            data[one.call if name == main else name] = written
        return data

    def _argument(self, name: str, value: Any, frames: tuple[Any, ...]) -> Any:
        if name in FRAMES:
            return self._table(value)
        return self._value(value, frames)

    def _value(self, value: Any, frames: tuple[Any, ...]) -> Any:
        if isinstance(value, InputRequest):
            return self.stream(value.steps)
        if isinstance(value, ModuleCall):
            return _module_data(value, frames)
        if isinstance(value, JoinCondition):
            sides = {"left": value.left, "right": value.right}
            columns = {side: [_column(part, frames) for part in given] for side, given in sides.items() if given}
            return {"function": value.function.name, **columns, **_parameters(value.parameters)}
        if isinstance(value, Mapping):
            return {str(key): self._value(part, frames) for key, part in value.items()}
        if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
            return [self._value(part, frames) for part in value]
        return _column(value, frames) if hasattr(type(value), "isNotNull") else write_value(value)

    def _table(self, frame: Any) -> str | None:
        if frame is None:
            return None
        for known, name in self._named:
            if known is frame:
                return name
        taken = {name for _, name in self._named}
        name = next(n for n in ("input", *(f"input_{k}" for k in range(2, 1000))) if n not in taken)
        self._named.append((frame, name))
        return name


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _module_data(call: ModuleCall, frames: tuple[Any, ...]) -> dict[str, Any]:
    data: dict[str, Any] = {"module": call.cls.name}
    if call.inputs:
        data["columns"] = [_column(part, frames) for part in call.inputs]
    if call.streams:
        data["streams"] = {
            name: {"stream": part.stream, "columns": [_column(one, frames) for one in part.columns]}
            for name, part in call.streams.items()
        }
    return {**data, **_parameters(call.parameters)}


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"parameters": {n: write_parameter(v) for n, v in parameters.items()}} if parameters else {}


def _column(column: Any, frames: Iterable[Any]) -> str | dict[str, str]:
    """Return a column as its name, or as an expression that Spark reads as the same.

    Raises:
        QueryError: There is none.
    """
    if isinstance(column, str):
        return column
    for frame in frames:
        text = backend_of(frame).inputs.text_of_column(frame, column)
        if text is not None:
            return text if text.isidentifier() else {SQL: text}
    raise QueryError(f"{column} has no text that is sure to mean the same\n  write it as SQL: 'km > 2'")
