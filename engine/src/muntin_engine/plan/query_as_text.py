"""A query as text, which people write too: the calls that make it, in order. `api.text.reading` calls them again.

A text holds calls, whose columns are those of any DataFrame that has them; `plan_as_data` holds a plan that is bound to
columns and types already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from muntin.errors import QueryError
from muntin.modules.call import ModuleCall
from muntin_engine.plan.arguments_as_text import SQL, write_parameter, write_value
from muntin_engine.plan.request import InputRequest, JoinCondition, SqlExpression
from muntin_engine.plan.steps import SIGNATURES, Step, main_parameter

if TYPE_CHECKING:
    from muntin_engine.plan.request import Frame

VERSION: Final = 1
"""The version of the format."""

FRAMES: Final = ("df", "clock")
"""The parameters that are DataFrames."""

SpellColumn: TypeAlias = Callable[[Any, Any], str | None]
"""Returns the text of a column of a backend, given a DataFrame and the column: an expression of SQL that means the same
over the DataFrame. None if no such text is known."""


def text_of(
    queries: Mapping[str, Sequence[Step]], tables: Mapping[str, Frame], spell_column: SpellColumn
) -> dict[str, Any]:
    """Return a query, or the queries of one pass, as data that JSON can hold.

    Args:
        queries: The calls that make each query, by its name; a query that is written alone has an empty name.
        tables: The DataFrames that queries read, by names; DataFrames without a name are called `input`, `input_2` and
            so on.
        spell_column: Returns the text of a column of the backend.

    Raises:
        QueryError: Text cannot hold an argument of a call.
    """
    writer = _Writer(tables, spell_column)
    texts: dict[str, Any] = {}
    for name, steps in queries.items():
        try:
            texts[name] = writer.stream(steps)
        except QueryError as error:
            raise QueryError(f"{name}: {error}" if name else str(error)) from error
    if "" in texts:
        return {"muntin": VERSION, "query": texts[""]}
    return {"muntin": VERSION, "one_pass": texts}


class _Writer:
    """Writes the steps of queries, and names the DataFrames that it meets."""

    def __init__(self, tables: Mapping[str, Frame], spell_column: SpellColumn) -> None:
        self._named_frames = [(frame, name) for name, frame in tables.items()]
        self._spell_column = spell_column

    def stream(self, steps: Sequence[Step]) -> list[dict[str, Any]]:
        """Return the calls that make a query, or a stream that it reads, as data."""
        return [self._step(step) for step in steps]

    def _step(self, step: Step) -> dict[str, Any]:
        """Return a call as data: its main argument under the name of the call, the others under their own names.

        Other arguments than the main one are left out if they are equal to their defaults.
        """
        main = main_parameter(step.call)
        parameters = SIGNATURES[step.call].parameters
        # The entry of the call comes first. It has null if the call has no main argument.
        data: dict[str, Any] = {step.call: None}
        for name, value in step.arguments.items():
            is_main = name == main
            if not is_main and _is_default(value, parameters[name].default):
                continue
            try:
                argument = self._table(value) if name in FRAMES else self._argument(value, step.frames)
            except QueryError as error:
                raise QueryError(f"{step.call}({name}=...) cannot be written as text: {error}") from error
            data[step.call if is_main else name] = argument
        return data

    def _argument(self, value: Any, frames: tuple[Any, ...]) -> Any:
        """Return an argument as data: streams, modules and conditions by their parts, and columns as they are named.

        Args:
            value: The argument.
            frames: The DataFrames whose columns it may name.
        """
        if isinstance(value, InputRequest):
            return self.stream(value.steps)
        if isinstance(value, ModuleCall):
            return self._module(value, frames)
        if isinstance(value, JoinCondition):
            return self._condition(value, frames)
        if isinstance(value, Mapping):
            return {str(key): self._argument(part, frames) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self._argument(part, frames) for part in value]
        if isinstance(value, SqlExpression) or _is_expression(value):
            return self._column(value, frames)
        return write_value(value)

    def _module(self, call: ModuleCall, frames: tuple[Any, ...]) -> dict[str, Any]:
        """Return a module with its columns and its parameters as data."""
        data: dict[str, Any] = {"module": call.cls.name}
        if call.inputs:
            data["columns"] = self._columns(call.inputs, frames)
        if call.streams:
            streams = {}
            for name, part in call.streams.items():
                streams[name] = {"stream": part.stream, "columns": self._columns(part.columns, frames)}
            data["streams"] = streams
        return {**data, **_parameters(call.parameters)}

    def _condition(self, condition: JoinCondition, frames: tuple[Any, ...]) -> dict[str, Any]:
        """Return the condition of a join, with its function, columns and parameters, as data."""
        data: dict[str, Any] = {"function": condition.function.name}
        if condition.left:
            data["left"] = self._columns(condition.left, frames)
        if condition.right:
            data["right"] = self._columns(condition.right, frames)
        return {**data, **_parameters(condition.parameters)}

    def _columns(self, columns: Sequence[Any], frames: tuple[Any, ...]) -> list[str | dict[str, str]]:
        """Return each of several columns as `_column` does."""
        return [self._column(column, frames) for column in columns]

    def _column(self, column: Any, frames: tuple[Any, ...]) -> str | dict[str, str]:
        """Return a column as its name, or as an expression of SQL that means the same.

        Args:
            column: A name, an expression of SQL, or a column of the backend.
            frames: The DataFrames that the column may be of.

        Raises:
            QueryError: The column is one of the backend's, and no text is known that is sure to mean the same.
        """
        if isinstance(column, SqlExpression):
            return {SQL: str(column)}
        if isinstance(column, str):
            return column
        for frame in frames:
            text = self._spell_column(frame, column)
            if text is not None:
                is_name = text.isidentifier()  # text alone is read back as the name of a column
                return text if is_name else {SQL: text}
        raise QueryError(f"{column} has no text that is sure to mean the same\n  write it as SQL: 'km > 2'")

    def _table(self, frame: Any) -> str | None:
        """Return the name of a DataFrame; give it one if it has none."""
        if frame is None:
            return None
        for named_frame, name in self._named_frames:
            if named_frame is frame:
                return name
        used_names = {name for _, name in self._named_frames}
        name = "input"
        number = 1
        while name in used_names:
            number += 1
            name = f"input_{number}"
        self._named_frames.append((frame, name))
        return name


def _is_expression(value: Any) -> bool:
    """Return True for a column of Spark's, which has this method; so nothing of Spark is imported to recognize it."""
    return hasattr(type(value), "isNotNull")


def _is_default(value: Any, default: Any) -> bool:
    """Return True if an argument is equal to its default; an equal value of another type, as 1 for True, is not."""
    return value is default or (type(value) is type(default) and bool(value == default))


def _parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry with the parameters of a module or a function as data; no entry if there are no parameters."""
    if not parameters:
        return {}
    return {"parameters": {name: write_parameter(value) for name, value in parameters.items()}}
