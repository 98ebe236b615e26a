"""The steps of a query as a text of SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from muntin.errors import QueryError
from muntin_engine.sql_text.clauses import write_clauses
from muntin_engine.sql_text.join_writing import JoinedQuery
from muntin_engine.sql_text.result_expressions import NAMES_IN_SQL, over_modules, with_alias
from muntin_engine.sql_text.sql_aggregates import DISTINCT_COUNT, ROW_COUNT, aggregate_name
from muntin_engine.sql_text.sql_values import spell_name, spell_value
from muntin_engine.sql_text.step_forms import Steps, call_of, with_named_arguments
from muntin_engine.sql_text.stream_writing import WrittenStream, spell_column, table_text
from muntin_engine.sql_text.window_functions import follows_rows


def sql_of_steps(steps: list[dict[str, Any]]) -> str:
    """Write a query as SQL, from which the same steps are read again.

    Args:
        steps: The steps of the query, as `Query.to_dict` returns them.

    Raises:
        QueryError: SQL cannot express a step, which the message names.
    """
    try:
        return _query_text(with_named_arguments(steps))
    except ValueError as error:
        if isinstance(error, QueryError):
            raise  # some of these, such as a DurationError, are ValueErrors too, and have a message of their own
        message = f"this query has no text in SQL: {error}\n  write it as data: query.to_dict()"
        raise QueryError(message) from error


def _query_text(steps: Steps) -> str:
    """Return the SQL of a query, or of a chain of queries, each of which reads the results of the one before it.

    Args:
        steps: The steps of the query.

    Raises:
        ValueError: SQL cannot express a step, which the message names.
    """
    # Each round takes away the steps that it writes. A query whose results are events is the table of the next one.
    remaining = list(steps)
    stream: WrittenStream | None = None
    while remaining:
        call, arguments = call_of(remaining[0])
        if call in ("events", "union"):
            stream = _stream_of(remaining.pop(0))
        elif stream is None:
            raise ValueError(f"a query does not begin with {call}()")
        elif call in ("window", "aggregate", "apply", "join"):
            text = _results_text(stream, remaining)  # removes the steps that it writes
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
    """Return the stream that a call of `events` or `union` makes.

    Raises:
        ValueError: SQL cannot express a stream of the union.
    """
    call, arguments = call_of(step)
    if call == "events":
        return WrittenStream(table_text(arguments), arguments)

    # A union: a SELECT for each stream.
    selects: list[str] = []
    streams = {name: _inner_stream(steps) for name, steps in arguments["streams"].items()}
    for name, stream in streams.items():
        condition = stream.last_condition
        if condition is None:
            selects.append(f"SELECT * FROM {stream.function_call(window=None)} AS {spell_name(name)}")
        else:
            function_call = stream.without_last_step().function_call(window=None)
            selects.append(f"SELECT * FROM {function_call} AS {spell_name(name)} WHERE {condition}")
    first_stream = next(iter(streams.values()))  # all streams of a union have the same keys
    return WrittenStream(f"({' UNION ALL '.join(selects)})", shared_keys=first_stream.keys)


def _inner_stream(steps: Steps) -> WrittenStream:
    """Return a stream that is joined with or united with others: it reads a table, or the results of a query.

    Args:
        steps: The steps that make the stream.

    Raises:
        ValueError: SQL cannot express a step, which the message names.
    """
    call, arguments = call_of(steps[0])
    if call == "events":
        return WrittenStream(table_text(arguments), arguments, list(steps[1:]))

    # The results of a query become events at the last `as_events`: an earlier one belongs to the query itself, which
    # then reads the results of another one.
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
    """Return the text of a query of windows, of an operator or of a join.

    Args:
        stream: The events.
        remaining: The steps that are not written yet, the first of which begins the query. Those that are written here
            are removed.

    Raises:
        ValueError: SQL cannot express a step, which the message names.
    """
    call, arguments = call_of(remaining.pop(0))
    if call == "join":
        joined = JoinedQuery(stream, _inner_stream(arguments["right"]), arguments)
        selection = _ResultSelection.pop_from(remaining)
        return joined.text(selection.conditions, selection.columns)

    window: Mapping[str, Any] | None = None
    clauses: dict[str, Any] = {}
    if call == "window":
        clauses = dict(arguments)
        window = clauses.pop("specification")
        call, arguments = call_of(remaining.pop(0))
    selection = _ResultSelection.pop_from(remaining)
    if call == "aggregate":
        query = _AggregateQuery(stream, window, clauses, modules=arguments["modules"], selection=selection)
        return query.text()
    return _operator_text(stream, window, clauses, operator=arguments["operator"], selection=selection)


@dataclass(frozen=True)
class _ResultSelection:
    """The steps `where` and `select` on the results of a query.

    Attributes:
        conditions: The conditions that results have to meet.
        columns: The selected columns, expressions over the results by name; None if all columns are kept.
    """

    conditions: list[str]
    columns: dict[str, str] | None

    @classmethod
    def pop_from(cls, remaining: Steps) -> _ResultSelection:
        """Remove the steps `where` and `select` from the beginning of a list of steps, and return what they say.

        Results have to meet the conditions of all `where`. Of several `select` the last one counts.
        """
        conditions: list[str] = []
        columns: dict[str, str] | None = None
        while remaining and remaining[0].keys() & {"where", "select"}:
            call, arguments = call_of(remaining.pop(0))
            if call == "where":
                conditions.append(arguments["condition"])
            else:
                names = arguments.get("names") or ()
                columns = {name: name for name in names}
                columns.update(arguments.get("columns", {}))
        return cls(conditions, columns)

    @property
    def condition(self) -> str:
        """All conditions as one; empty without any."""
        if len(self.conditions) > 1:
            return " AND ".join(f"({condition})" for condition in self.conditions)
        return "".join(self.conditions)

    def around(self, inner: str) -> str:
        """Return the text of a query that selects from another one.

        Args:
            inner: The text of the other query. Modules are called there, and here only their results are read.
        """
        items = ["*"]
        if self.columns is not None:
            items = [with_alias(over_modules(text, calls={}), name) for name, text in self.columns.items()]
        where = f"\nWHERE {over_modules(self.condition, calls={})}" if self.conditions else ""
        return f"SELECT {', '.join(items)}\nFROM (\n{inner}\n){where}"


def _from_text(stream: WrittenStream, window: Mapping[str, Any] | None) -> str:
    """Return the clauses FROM and WHERE of a query over one stream.

    Args:
        stream: The stream. If its last step is a filter, that stands in WHERE.
        window: The windows; None without windows.
    """
    condition = stream.last_condition
    # A filter changes where windows that follow rows are cut. So a filter before such windows is written in the table.
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
    """Return the text of a query of an operator.

    Args:
        stream: The events.
        window: The windows; None without windows.
        clauses: The arguments of the windows that are clauses.
        operator: The call of the operator, as data.
        selection: The steps on the results. They are written as a query around that of the operator, in which SELECT
            cannot compute with the columns of the operator.
    """
    extent = "window" if window is not None else "lifetime"
    items = [with_alias(over_modules(name, calls={}), name) for name in (*stream.keys, extent)]
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
        """Return the text of the query.

        If SELECT renames or leaves out modules, or computes with their results, the text is that of two queries. The
        inner one has the results of all modules under their names, and SELECT stands in the one around it.
        """
        keys = self.stream.keys
        extent = "window" if self.window is not None else "lifetime"
        natural_columns = {name: name for name in (*keys, extent, *self.modules)}
        columns = natural_columns if self.selection.columns is None else self.selection.columns
        if self._is_plain(columns):
            return self._text_of(columns, has_conditions=True)
        inner = self._text_of(natural_columns, has_conditions=False)
        if self.selection.conditions or self.selection.columns is not None:
            return self.selection.around(inner)
        return inner

    def _is_plain(self, columns: Mapping[str, str]) -> bool:
        """Return True if SELECT has each module under its own name, and besides these only keys and windows."""
        has_modules = all(columns.get(name) == name for name in self.modules)
        names_of_results = {*self.modules, *self.stream.keys, *NAMES_IN_SQL}
        return has_modules and names_of_results.issuperset(columns.values())

    def _text_of(self, columns: Mapping[str, str], *, has_conditions: bool) -> str:
        """Return the text of a SELECT.

        Args:
            columns: The columns, expressions over the results by name.
            has_conditions: True if the conditions on the results stand in HAVING; False if a query around this one has
                them.
        """
        calls = {name: _module_call(call) for name, call in self.modules.items()}
        items = [with_alias(over_modules(text, calls), name) for name, text in columns.items()]
        text = f"SELECT {', '.join(items)}{_from_text(self.stream, self.window)}"
        if self.window is not None:
            group = [*map(spell_column, self.stream.keys), "window_start", "window_end"]
            text += f"\nGROUP BY {', '.join(group)}"
        if has_conditions and self.selection.conditions:
            text += f"\nHAVING {over_modules(self.selection.condition, calls)}"
        return text + write_clauses(self.clauses)


def _module_call(call: Mapping[str, Any]) -> str:
    """Return the call of a module in SQL: as an aggregate of SQL, such as `COUNT(*)`, if it is one.

    Args:
        call: The call, as data.
    """
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
    words = [f"{spell_name(name)} => {spell_value(value)}" for name, value in parameters.items()]
    return f"{module}({', '.join([*columns, *words])})"
