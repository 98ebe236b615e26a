"""The steps of a query as a text of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from muntin.errors import QueryError
from muntin_engine.sql_text.clauses import write_clauses
from muntin_engine.sql_text.join_writing import JoinedQuery
from muntin_engine.sql_text.result_expressions import NAMES_IN_SQL, over_modules, with_alias
from muntin_engine.sql_text.sql_aggregates import DISTINCT_COUNT, ROW_COUNT, aggregate_name
from muntin_engine.sql_text.sql_values import spell_name, spell_value
from muntin_engine.sql_text.step_forms import Steps, call_of, unpacked
from muntin_engine.sql_text.stream_writing import WrittenStream, spell_column, table_text
from muntin_engine.sql_text.window_functions import follows_rows


def write(steps: list[dict[str, Any]]) -> str:
    """Return the SQL of a query, from which the same steps are read.

    Args:
        steps: The steps, as they are read.

    Raises:
        QueryError: SQL has no words for a step; the message says for which.
    """
    try:
        return _query_text(unpacked(steps))
    except ValueError as error:
        if isinstance(error, QueryError):
            raise
        message = f"this query has no text in SQL: {error}\n  write it as data: query.to_dict()"
        raise QueryError(message) from error


def _query_text(steps: Steps) -> str:
    """Return the SQL of steps that make results.

    Raises:
        ValueError: SQL has no words for a step; the message says for which.
    """
    # Each round takes the steps away that it writes. A query whose results are events begins the next one.
    remaining = list(steps)
    stream: WrittenStream | None = None
    while remaining:
        call, arguments = call_of(remaining[0])
        if call in ("events", "union"):
            stream = _stream_of(remaining.pop(0))
        elif stream is None:
            raise ValueError(f"a query does not begin with {call}()")
        elif call in ("window", "aggregate", "apply", "join"):
            text = _results_text(stream, remaining)
            if not remaining:
                return text
            call, arguments = call_of(remaining.pop(0))
            if call != "as_events":
                raise ValueError(f"{call}() of a query has no clause")
            stream = WrittenStream(f"({text})", arguments)
        else:
            stream = stream.with_steps([remaining.pop(0)])
    raise ValueError("a stream of events alone is no query")


def _stream_of(step: Mapping[str, Any]) -> WrittenStream:
    """Return the stream that a call of `events` or `union` makes."""
    call, arguments = call_of(step)
    if call == "events":
        return WrittenStream(table_text(arguments), arguments)
    selects: list[str] = []
    streams = {name: _inner_stream(steps) for name, steps in arguments["streams"].items()}
    for name, stream in streams.items():
        condition = stream.last_condition
        if condition is None:
            selects.append(f"SELECT * FROM {stream.function_call(None)} AS {spell_name(name)}")
        else:
            function_call = stream.without_last_step().function_call(None)
            selects.append(f"SELECT * FROM {function_call} AS {spell_name(name)} WHERE {condition}")
    first = next(iter(streams.values()))
    return WrittenStream(f"({' UNION ALL '.join(selects)})", shared_keys=first.keys)


def _inner_stream(steps: Steps) -> WrittenStream:
    """Return a stream that is joined or united: that of a table, or of the results of a query.

    Raises:
        ValueError: SQL has no words for a step; the message says for which.
    """
    call, arguments = call_of(steps[0])
    if call == "events":
        return WrittenStream(table_text(arguments), arguments, list(steps[1:]))

    # The results of a query: those of its last `as_events`, as the query itself may read results of another one.
    place_of_as_events: int | None = None
    for place, step in enumerate(steps):
        if "as_events" in step:
            place_of_as_events = place
    if place_of_as_events is None:
        raise ValueError(f"a stream that begins with {call}() within another")
    query = _query_text(steps[:place_of_as_events])
    arguments_of_events = steps[place_of_as_events]["as_events"]
    steps_after = list(steps[place_of_as_events + 1 :])
    return WrittenStream(f"({query})", arguments_of_events, steps_after)


def _results_text(stream: WrittenStream, remaining: Steps) -> str:
    """Return a query of windows, of an operator or of a join.

    Args:
        stream: The events.
        remaining: The steps from the query on; those of the query are taken away.
    """
    call, arguments = call_of(remaining.pop(0))
    if call == "join":
        joined = JoinedQuery(stream, _inner_stream(arguments["right"]), arguments)
        selection = _ResultSelection.take(remaining)
        return joined.text(selection.conditions, selection.columns)
    window: Mapping[str, Any] | None = None
    clauses: dict[str, Any] = {}
    if call == "window":
        clauses = dict(arguments)
        window = clauses.pop("specification")
        call, arguments = call_of(remaining.pop(0))
    selection = _ResultSelection.take(remaining)
    if call == "aggregate":
        return _AggregateQuery(stream, window, clauses, arguments["modules"], selection).text()
    return _operator_text(stream, window, clauses, arguments["operator"], selection)


@dataclass(frozen=True)
class _ResultSelection:
    """The steps after results: conditions on them, and the columns that are selected.

    Attributes:
        conditions: The conditions.
        columns: The columns by name; None if none are selected.
    """

    conditions: list[str]
    columns: dict[str, str] | None

    @classmethod
    def take(cls, remaining: Steps) -> _ResultSelection:
        """Take the conditions and selections away from the steps that remain."""
        conditions: list[str] = []
        columns: dict[str, str] | None = None
        while remaining and remaining[0].keys() & {"where", "select"}:
            call, arguments = call_of(remaining.pop(0))
            if call == "where":
                conditions.append(arguments["condition"])
            else:
                columns = {name: name for name in arguments.get("names") or ()} | dict(arguments.get("columns", {}))
        return cls(conditions, columns)

    @property
    def condition(self) -> str:
        """All conditions as one; empty without any."""
        if len(self.conditions) > 1:
            return " AND ".join(f"({condition})" for condition in self.conditions)
        return "".join(self.conditions)

    def around(self, inner: str) -> str:
        """Return a query that selects from another one."""
        items = ["*"]
        if self.columns is not None:
            items = [with_alias(over_modules(text, {}), name) for name, text in self.columns.items()]
        where = f"\nWHERE {over_modules(self.condition, {})}" if self.conditions else ""
        return f"SELECT {', '.join(items)}\nFROM (\n{inner}\n){where}"


def _from_text(stream: WrittenStream, window: Mapping[str, Any] | None) -> str:
    """Return FROM and WHERE of a query over one stream."""
    condition = stream.last_condition
    # A filter changes where windows are cut that follow rows, so there it stands beside the table.
    is_in_table = window is not None and follows_rows(window["kind"])
    if condition is None or is_in_table:
        return f"\nFROM {stream.function_call(window)}"
    return f"\nFROM {stream.without_last_step().function_call(window)}\nWHERE {condition}"


def _operator_text(
    stream: WrittenStream,
    window: Mapping[str, Any] | None,
    clauses: Mapping[str, Any],
    operator: Mapping[str, Any],
    selection: _ResultSelection,
) -> str:
    """Return a query of an operator, whose columns are its own."""
    extent = "window" if window is not None else "lifetime"
    items = [with_alias(over_modules(name, {}), name) for name in (*stream.keys, extent)]
    items.append(_module_call(operator))
    text = f"SELECT {', '.join(items)}{_from_text(stream, window)}{write_clauses(clauses)}"
    if selection.conditions or selection.columns is not None:
        return selection.around(text)
    return text


@dataclass(frozen=True)
class _AggregateQuery:
    """A query of aggregates.

    Attributes:
        stream: The events.
        window: The windows; None without windows.
        clauses: The arguments of the windows that are clauses.
        modules: The calls of modules, by the names of their results.
        selection: The steps after the results.
    """

    stream: WrittenStream
    window: Mapping[str, Any] | None
    clauses: Mapping[str, Any]
    modules: Mapping[str, Any]
    selection: _ResultSelection

    def text(self) -> str:
        """Return the query; where SELECT computes with what is no column of SQL, as one around another."""
        keys = self.stream.keys
        extent = "window" if self.window is not None else "lifetime"
        natural = {name: name for name in (*keys, extent, *self.modules)}
        columns = natural if self.selection.columns is None else self.selection.columns
        if self._is_plain(columns):
            return self._text_of(columns, self.selection.conditions)
        inner = self._text_of(natural, [])
        if self.selection.conditions or self.selection.columns is not None:
            return self.selection.around(inner)
        return inner

    def _is_plain(self, columns: Mapping[str, str]) -> bool:
        """Return True if SELECT has each module under its name, and else keys and windows alone."""
        has_modules = all(columns.get(name) == name for name in self.modules)
        names_of_results = {*self.modules, *self.stream.keys, *NAMES_IN_SQL}
        return has_modules and names_of_results.issuperset(columns.values())

    def _text_of(self, columns: Mapping[str, str], conditions: list[str]) -> str:
        """Write a SELECT with these columns and conditions on results."""
        calls = {name: _module_call(call) for name, call in self.modules.items()}
        items = [with_alias(over_modules(text, calls), name) for name, text in columns.items()]
        text = f"SELECT {', '.join(items)}{_from_text(self.stream, self.window)}"
        if self.window is not None:
            group = [*map(spell_column, self.stream.keys), "window_start", "window_end"]
            text += f"\nGROUP BY {', '.join(group)}"
        if conditions:
            having = replace(self.selection, conditions=conditions).condition
            text += f"\nHAVING {over_modules(having, calls)}"
        return text + write_clauses(self.clauses)


def _module_call(call: Mapping[str, Any]) -> str:
    """Return the call of a module: an aggregate of SQL where it is one."""
    columns = [spell_column(column) for column in call.get("columns", ())]
    module = call["module"]
    parameters = dict(call.get("parameters", {}))
    if (module, parameters) == ROW_COUNT and not columns:
        return "COUNT(*)"
    if (module, parameters) == DISTINCT_COUNT and columns:
        return f"COUNT(DISTINCT {', '.join(columns)})"
    aggregate = aggregate_name(module, parameters)
    if aggregate is not None and columns:
        return f"{aggregate}({', '.join(columns)})"
    named = [f"{spell_name(name)} => {spell_value(value)}" for name, value in parameters.items()]
    return f"{module}({', '.join([*columns, *named])})"
