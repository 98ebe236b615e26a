"""A stream as a text of SQL: a window function with its table, times, keys and clauses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from muntin_engine.sql_text.clauses import LATE, WATERMARK
from muntin_engine.sql_text.sql_values import spell_name, spell_value
from muntin_engine.sql_text.step_forms import Steps, call_of
from muntin_engine.sql_text.stream_reading import EVENT_ARGUMENTS
from muntin_engine.sql_text.then_steps import write_then_step
from muntin_engine.sql_text.window_functions import EVENTS, WindowCall, spell_windows


@dataclass(frozen=True)
class WrittenStream:
    """A stream that is to be written in SQL.

    Attributes:
        table: The text after the word TABLE: a name, or a query in parentheses.
        event_arguments: The arguments of the call of `events` or `as_events` that makes the stream.
        steps: The calls after that one.
        shared_keys: For a union, the keys that each of its streams has; None for another stream.
    """

    table: str
    event_arguments: Mapping[str, Any] = field(default_factory=dict)
    steps: Steps = field(default_factory=list)
    shared_keys: Sequence[str] | None = None

    @property
    def partition_keys(self) -> list[str]:
        """The keys of PARTITION BY, as expressions."""
        keys = self.event_arguments.get("key") or []
        return [keys] if isinstance(keys, str) else list(keys)

    @property
    def keys(self) -> list[str]:
        """The keys of the events, as expressions."""
        return self.partition_keys if self.shared_keys is None else list(self.shared_keys)

    @property
    def last_condition(self) -> str | None:
        """The condition of the last step if it is a filter, which can be written as WHERE; else None."""
        if self.steps and "where" in self.steps[-1]:
            condition: str = self.steps[-1]["where"]["condition"]
            return condition
        return None

    def with_steps(self, steps: Steps) -> WrittenStream:
        """Return the stream with further calls."""
        return replace(self, steps=[*self.steps, *steps])

    def without_last_step(self) -> WrittenStream:
        """Return the stream without its last call."""
        return replace(self, steps=self.steps[:-1])

    def without_keys(self) -> WrittenStream:
        """Return the stream without PARTITION BY."""
        arguments_without_keys = {name: value for name, value in self.event_arguments.items() if name != "key"}
        return replace(self, event_arguments=arguments_without_keys)

    def function_call(self, window: Mapping[str, Any] | None) -> str:
        """Return the call of the window function that makes the stream.

        Args:
            window: The windows; None for a stream without windows.

        Raises:
            ValueError: SQL cannot express a step or an argument, which the message names.
        """
        call = WindowCall(EVENTS, positional=[], by_name={})
        if window is not None:
            parameters = {parameter: value for parameter, value in window.items() if parameter != "kind"}
            call = spell_windows(window["kind"], parameters)

        # The table and its times, the arguments of the windows, then those of the events.
        arguments = [self._table(), *self._descriptor(), *map(spell_value, call.positional)]
        arguments += [f"{parameter.upper()} => {spell_value(value)}" for parameter, value in call.by_name.items()]
        for parameter, value in self.event_arguments.items():
            if parameter in EVENT_ARGUMENTS and parameter != "order":  # ORDER BY stands beside the table
                is_column = EVENT_ARGUMENTS[parameter] == "column"
                spelled = spell_column(value) if is_column else spell_value(value)
                arguments.append(f"{parameter.upper()} => {spelled}")
        return f"{call.function}({', '.join(arguments)})"

    def _descriptor(self) -> list[str]:
        """Return DESCRIPTOR with the columns of times; nothing for the results of a query, which have their windows."""
        times: list[str] = []
        for parameter in ("at", "start", "end"):
            column = self.event_arguments.get(parameter)
            if column is not None:
                times.append(spell_column(column))
        return [f"DESCRIPTOR({', '.join(times)})"] if times else []

    def _table(self) -> str:
        """Return the argument TABLE with the keys, the order and the clauses of the stream.

        Raises:
            ValueError: A step of the stream has no clause.
        """
        words = [f"TABLE {self.table}"]
        if self.partition_keys:
            words.append(f"PARTITION BY {_in_parentheses(self.partition_keys)}")
        if order := self.event_arguments.get("order"):
            words.append(f"ORDER BY {_in_parentheses(order if isinstance(order, list) else [order])}")
        for clause in (WATERMARK, LATE):
            if self.event_arguments.get(clause.parameter) is not None:
                words.append(clause.write(self.event_arguments[clause.parameter]))
        for step in self.steps:
            call, arguments = call_of(step)
            words.append(write_then_step(call, arguments))
        return " ".join(words)


def table_text(arguments: Mapping[str, Any]) -> str:
    """Return the name of the table, or the query of Spark's in parentheses, that a call of `events` reads.

    Args:
        arguments: The arguments of the call.
    """
    table = arguments["df"]
    if isinstance(table, Mapping):
        return f"({table['sql']})"
    return ".".join(map(spell_name, str(table).split(".")))


def spell_column(text: str) -> str:
    """Return a column in SQL: a name, in backticks if it is a word of SQL, or an expression as it is."""
    return spell_name(text) if text.isidentifier() else text


def _in_parentheses(columns: Sequence[str]) -> str:
    """Return the columns of PARTITION BY or ORDER BY: several are written in parentheses."""
    spelled = ", ".join(map(spell_column, columns))
    return spelled if len(columns) == 1 else f"({spelled})"
