"""Steps of a query between the two forms that they have: arguments all by name, and as the text of a query has them.

In a text the first argument stands under the name of the call, `{"where": "km > 2"}`, and an expression over columns is
`{"sql": "km * 2"}`, so that it is no name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from muntin_engine.plan.steps import main_parameter
from muntin_engine.sql_text.sql_values import is_name

Steps: TypeAlias = "list[dict[str, Any]]"

_COLUMN_PARAMETERS: Final = frozenset(
    ("key", "id", "order", "at", "start", "end", "change", "new_end", "signal", "source")
)


def call_of(step: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name of the call that a step has as its only entry, and the arguments of the call by name.

    Args:
        step: The step, with all arguments by name: see `with_named_arguments`.
    """
    ((call, arguments),) = step.items()
    return call, arguments


def packed(steps: Steps) -> Steps:
    """Convert steps to the form that they have in the text of a query.

    `{"where": {"condition": "km > 2"}}` becomes `{"where": "km > 2"}`.

    Args:
        steps: Steps with all arguments by name.
    """
    return _Packing().steps(steps)


def with_named_arguments(steps: Steps) -> Steps:
    """Convert steps to the form in which all arguments go by name.

    `{"where": "km > 2"}` becomes `{"where": {"condition": "km > 2"}}`.

    Args:
        steps: Steps as the text of a query has them.
    """
    return _Unpacking().steps(steps)


class _Conversion(ABC):
    """Converts steps from one form to the other."""

    @abstractmethod
    def column(self, column: Any) -> Any:
        """Convert a column."""

    @abstractmethod
    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Convert a step."""

    def steps(self, steps: Steps) -> Steps:
        """Convert steps."""
        return [self.step(step) for step in steps]

    def argument(self, name: str, value: Any) -> Any:
        """Convert an argument of a step: the columns, modules and streams in it.

        Args:
            name: The name of its parameter.
            value: The argument.
        """
        if name == "right":
            return self.steps(value)
        if name == "streams":
            return {stream: self.steps(steps) for stream, steps in value.items()}
        if name in ("left_columns", "right_columns") and isinstance(value, Mapping):
            return {result: self.column(column) for result, column in value.items()}
        if name == "modules":
            return {result: self._module(call) for result, call in value.items()}
        if name == "operator":
            return self._module(value)
        if name == "on":
            return self._condition(value)
        if name in _COLUMN_PARAMETERS:
            return self._columns(value) if isinstance(value, list) else self.column(value)
        return value

    def _columns(self, columns: Any) -> list[Any]:
        """Convert each of several columns."""
        return [self.column(column) for column in columns]

    def _module(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the columns of a module; its name and its parameters stay."""
        return {name: self._columns(value) if name == "columns" else value for name, value in call.items()}

    def _condition(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the columns of both streams that the condition of a join reads; its other parts stay."""
        converted: dict[str, Any] = {}
        for name, value in call.items():
            converted[name] = self._columns(value) if name in ("left", "right") else value
        return converted


class _Packing(_Conversion):
    def column(self, column: Any) -> Any:
        """Mark an expression as SQL, so that it is not read as a name."""
        is_expression = isinstance(column, str) and not is_name(column)
        return {"sql": column} if is_expression else column

    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Put the main argument of a call under the name of the call, and the others beside it."""
        call, arguments = call_of(step)
        main = main_parameter(call)
        data: dict[str, Any] = {call: None}  # the name of the call comes first, and stays if there is no main argument
        for name, value in arguments.items():
            data[call if name == main else name] = self.argument(name, value)
        return data


class _Unpacking(_Conversion):
    def column(self, column: Any) -> Any:
        """Return the text of a column, whether it is a name or an expression."""
        is_expression = isinstance(column, Mapping) and set(column) == {"sql"}
        return column["sql"] if is_expression else column

    def step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Put all arguments of a call into one object, by their names, under the name of the call."""
        call = next(iter(step))
        main = main_parameter(call)
        arguments: dict[str, Any] = {}
        for name, value in step.items():
            # The main argument stands under the name of the call itself: `{"where": ...}`. If a call has no main
            # argument, null stands under its name, as for `select` without names.
            parameter = main if name == call else name
            is_left_out = not parameter or (parameter == "names" and value is None)
            if not is_left_out:
                arguments[str(parameter)] = self.argument(str(parameter), value)
        return {call: arguments}
