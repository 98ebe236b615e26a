"""The streams of a query in SQL: window functions, their `TABLE` arguments and clauses, as the data of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from sqlglot import exp

from muntin_engine.sql_text.clauses import read_clauses
from muntin_engine.sql_text.dialect import Clause, Matching, StreamTable
from muntin_engine.sql_text.sql_source import SqlText, did_you_mean
from muntin_engine.sql_text.sql_values import column_of, name_of, text_of, value_of
from muntin_engine.sql_text.step_forms import Steps
from muntin_engine.sql_text.window_functions import EVENTS, FUNCTIONS

EVENT_ARGUMENTS: Final = {
    **dict.fromkeys(("id", "order", "change", "new_end", "signal", "source", "rows"), "column"),
    **dict.fromkeys(("edge", "sources", "buckets", "unit", "schema"), "value"),
    "key_ranges": "value",
}
"""The arguments of `events` that a window function may have by name, each with whether it is a column or a value."""

LIFETIMES: Final = frozenset(
    ("shift", "extend", "shorten", "set_duration", "to_points", "to_edges", "align_to", "as_events")
)
"""The steps of a stream after which the lifetimes of events may differ from the times in their columns."""

_ROW_WINDOW_ARGUMENTS: Final = frozenset(
    ("partitions", "shows_empty", "admits", "is_marked", "reopens", "closing_row", "closed_only")
)
"""Arguments that all row windows have, by name."""


class TimeColumns(NamedTuple):
    """The columns of a DESCRIPTOR.

    Attributes:
        columns: The nodes of the columns; none without a DESCRIPTOR.
        node: The node at which errors about a missing column point.
    """

    columns: list[Any]
    node: Any


class EventSteps(NamedTuple):
    """A table or a query as events.

    Attributes:
        steps: The calls that make the events, in order.
        arguments_of_events: The arguments of each call of `events` or `as_events`, which takes keys and an order; a
            union has several such calls.
    """

    steps: Steps
    arguments_of_events: list[dict[str, Any]]


ReadEvents: TypeAlias = Callable[[Any, TimeColumns], EventSteps]
"""Returns the table or the query of a `TABLE` argument as events, given its node and the columns of its times."""


class ReadsQueries(Protocol):
    """Reads the parts of a query: see `SqlReader`."""

    @property
    def source(self) -> SqlText:
        """The text."""

    def stream(self, table: Any) -> SqlStream:
        """Return the stream that a FROM clause reads."""

    def events(self, table: Any, times: TimeColumns) -> EventSteps:
        """Return a table or a query as events with times in these columns."""

    def is_streaming(self, tree: Any) -> bool:
        """Return True if Spark alone cannot run a tree, or what it reads."""

    def clauses(self, tree: Any) -> dict[str, Any]:
        """Return the arguments of `window` or `join` that the clauses after a query stand for."""

    def column(self, node: Any, alias: str) -> str:
        """Return an expression of columns of one stream."""


@dataclass
class SqlStream:
    """A stream that a FROM clause or a side of a join reads.

    Attributes:
        steps: The calls that make the stream, in order.
        arguments_of_events: The arguments of each call of `events` or `as_events`, which takes keys and an order; a
            union has several such calls.
        window: The windows; None without windows.
        by_rows: True if its windows follow the events of their key, so that a filter changes where they are cut.
        function: The name of its function.
        node: The node of the function.
        alias: The name that the query gives it.
    """

    steps: list[dict[str, Any]]
    arguments_of_events: list[dict[str, Any]]
    window: dict[str, Any] | None
    by_rows: bool
    function: str
    node: Any
    alias: str = ""

    @property
    def keys(self) -> list[str] | None:
        """The keys that the query names for the stream; None if it names none."""
        return self.arguments_of_events[0].get("key")

    @keys.setter
    def keys(self, keys: list[str]) -> None:
        # Each stream of a union has the keys of the union.
        for arguments in self.arguments_of_events:
            arguments["key"] = keys

    @property
    def time(self) -> str | None:
        """The column with the times of points or samples; None for events with a start and an end."""
        return self.arguments_of_events[0].get("at")

    @property
    def point_time(self) -> str | None:
        """The column with the times of events, if events are points at the times that the column has; else None."""
        has_other_lifetimes = any(name in LIFETIMES for step in self.steps for name in step)
        has_samples = any(arguments.get("edge") for arguments in self.arguments_of_events)
        if self.window is not None or has_other_lifetimes or has_samples:
            return None
        return self.time

    def keep(self, condition: str, node: Any, source: SqlText) -> None:
        """Add a step that keeps the events which meet a condition.

        Args:
            condition: The condition, over the columns of the stream.
            node: The node that the condition was read from.
            source: The text.
        """
        self.steps.append({"where": source.mark({"condition": condition}, node)})


class FunctionCall(NamedTuple):
    """The call of a window function in a FROM clause.

    Attributes:
        name: The name of the function, as it is written.
        arguments: The nodes of its arguments.
        node: The node of the call.
    """

    name: str
    arguments: list[Any]
    node: Any


def function_of(table: Any) -> FunctionCall | None:
    """Return the call of the window function that a FROM clause reads; None if it reads a table or another function.

    A function with a `TABLE` argument is a window function, whatever its name.

    Args:
        table: The node that FROM reads.
    """
    node = table.this if isinstance(table, exp.Table) else table
    if isinstance(node, exp.Anonymous) and node.name.upper() == "TABLE" and len(node.expressions) == 1:
        node = node.expressions[0]  # the function within TABLE(TUMBLE(...)), as the standard writes it
    if not isinstance(node, exp.Anonymous):
        return None
    name = node.name
    if isinstance(table, exp.Table) and table.args.get("db"):
        name = f"{name_of(table.args['db'])}.{name}"
    has_stream = any(isinstance(_unnamed(part), StreamTable) for part in node.expressions)
    if has_stream or name.upper() in (*FUNCTIONS, EVENTS):
        return FunctionCall(name, node.expressions, node)
    return None


def is_streaming(tree: Any) -> bool:
    """Return True if a query has a part that is none of Spark's SQL: a window function, a pattern, or their clauses."""
    has_clauses = any(node.meta.get("clauses") for node in tree.walk())
    if has_clauses or tree.find(StreamTable, Matching, Clause) is not None:
        return True
    return any(function_of(table) is not None for table in tree.find_all(exp.Table))


def read_stream(table: Any, source: SqlText, read_events: ReadEvents) -> SqlStream:
    """Return the stream that a FROM clause reads, by the arguments of its window function.

    Args:
        table: The node that FROM reads.
        source: The text.
        read_events: Returns the table or the query of the `TABLE` argument as events.

    Raises:
        SqlError: FROM reads a table and no window function, or the function does not have these arguments.
    """
    call = function_of(table)
    if call is None:
        advice = (
            "write EVENTS(TABLE rides, DESCRIPTOR(leaves)) AS r\n"
            "or a window function such as TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
        )
        raise source.error(table, f"{text_of(table)} is a table, and here a stream is read", advice)
    return _StreamReading(call, source).stream(table, read_events)


class _StreamReading:
    """Reads the arguments of one window function.

    Args:
        call: The call of the function.
        source: The text.

    Raises:
        SqlError: There is no such window function, or an argument is given twice.
    """

    def __init__(self, call: FunctionCall, source: SqlText) -> None:
        self._source = source
        self._name = call.name
        self._node = call.node
        self._function = FUNCTIONS.get(call.name.upper())
        self._is_events = call.name.upper() == EVENTS
        is_of_plugin = "." in call.name
        if self._function is None and not self._is_events and not is_of_plugin:
            windows = did_you_mean(call.name, [*FUNCTIONS, EVENTS])
            advice = f"{windows}\na plugin's windows have its name: retail.visits(TABLE ...)"
            raise source.error(call.node, f"{call.name} is no window function", advice)
        self._parameters = () if self._function is None else self._function.parameters
        self._other_names = {} if self._function is None else dict(self._function.other_names)
        self._positional = [part for part in call.arguments if not isinstance(part, exp.Kwarg)]
        self._by_name = self._arguments_by_name(part for part in call.arguments if isinstance(part, exp.Kwarg))

    def _arguments_by_name(self, arguments: Iterable[Any]) -> dict[str, Any]:
        """Return arguments by the names of their parameters, which the text may call as Flink does.

        Args:
            arguments: The nodes of arguments by name.

        Raises:
            SqlError: Two arguments are for the same parameter.
        """
        argument_by_name: dict[str, Any] = {}
        for argument in arguments:
            written_name = argument.this.name.lower()
            name = self._other_names.get(written_name, written_name)
            if name in argument_by_name:
                raise self._source.error(argument, f"{written_name} is given twice", "leave one of them out")
            argument_by_name[name] = argument
        return argument_by_name

    def stream(self, table: Any, read_events: ReadEvents) -> SqlStream:
        """Return the stream that the function makes of its arguments.

        Args:
            table: The node that FROM reads, which may have an alias.
            read_events: Returns the table or the query of the `TABLE` argument as events.
        """
        stream_table = self._pop_table()
        columns = self._pop_descriptor()
        steps, arguments_of_events = read_events(stream_table.this, TimeColumns(columns, self._node))

        # Some arguments of `events` stand beside the table as clauses. Others are arguments of the function:
        # `_window_arguments` adds these. The steps after THEN are no arguments but calls on the events.
        shared_arguments = self._arguments_of_table(stream_table, columns)
        window = self._window_arguments(shared_arguments)
        steps += shared_arguments.pop("then", [])
        for arguments in arguments_of_events:  # each stream of a union gets them
            arguments.update(shared_arguments)
            self._source.mark(arguments, self._node)
        follows_rows = self._function is None or self._function.by_rows  # windows of plugins are taken to do so
        return SqlStream(
            steps=steps,
            arguments_of_events=arguments_of_events,
            window=window,
            by_rows=window is not None and follows_rows,
            function=self._name.upper(),
            node=self._node,
            alias=self._alias(table, events_table=arguments_of_events[0].get("df")),
        )

    def _pop_table(self) -> Any:
        """Remove the `TABLE` argument, which comes first or is called `data`, from the arguments, and return it.

        Raises:
            SqlError: There is no `TABLE` argument.
        """
        if self._positional and "data" not in self._by_name:
            argument = self._positional.pop(0)
        else:
            argument = _unnamed(self._by_name.pop("data", None))
        if not isinstance(argument, StreamTable):
            advice = f"write {self._name}(TABLE rides, DESCRIPTOR(leaves), ...)"
            raise self._source.error(argument or self._node, f"{self._name} reads a table", advice)
        return argument

    def _pop_descriptor(self) -> list[Any]:
        """Remove the DESCRIPTOR, which comes second or is called `timecol`, from the arguments, and return its columns.

        Returns:
            The nodes of its columns; none without a DESCRIPTOR.

        Raises:
            SqlError: Another argument stands before the DESCRIPTOR.
        """
        # `_pop_table` has removed the table, so the DESCRIPTOR is the first argument that is left.
        if any(map(_is_descriptor, self._positional[1:])):
            fact = f"{text_of(self._positional[0])} stands before the DESCRIPTOR"
            advice = "several keys stand in parentheses: TABLE rides PARTITION BY (station, city)"
            raise self._source.error(self._positional[0], fact, advice)
        if self._positional and _is_descriptor(self._positional[0]):
            return list(self._positional.pop(0).expressions)
        descriptor = _unnamed(self._by_name.pop("timecol", None))
        return [] if descriptor is None else list(descriptor.expressions)

    def _arguments_of_table(self, stream_table: Any, columns: list[Any]) -> dict[str, Any]:
        """Return the arguments of `events` that stand beside the table: keys, order and clauses.

        Args:
            stream_table: The node of the `TABLE` argument.
            columns: The columns of the DESCRIPTOR.
        """
        arguments: dict[str, Any] = {}
        if stream_table.args.get("keys"):
            arguments["key"] = [column_of(key) for key in stream_table.args["keys"]]
        if order := stream_table.args.get("order"):
            arguments["order"] = _row_order(order)
        time = name_of(columns[0]) if columns else ""  # a WATERMARK clause may name the column of the times
        return arguments | read_clauses(stream_table.args.get("clauses") or (), self._source, time)

    def _window_arguments(self, event_arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Return the windows as data; None for a stream without windows.

        Arguments by name that are of `events` are added to `event_arguments`.

        Args:
            event_arguments: The arguments of `events` so far, which are changed.

        Raises:
            SqlError: An argument is unknown, given twice, or one too many.
        """
        # Arguments by place are of the windows.
        if len(self._positional) > len(self._parameters):
            fact = f"{self._name} takes {', '.join(self._parameters) or 'no more'} after the DESCRIPTOR"
            advice = f"other arguments have names: {', '.join(EVENT_ARGUMENTS)}"
            raise self._source.error(self._positional[len(self._parameters)], fact, advice)
        window: dict[str, Any] = {}
        for parameter, argument in zip(self._parameters, self._positional, strict=False):
            window[parameter] = value_of(argument, self._source)

        # Arguments by name are of the windows or of events.
        for parameter, argument in self._by_name.items():
            written_name = argument.this.name.lower()
            is_beside_table = parameter in EVENT_ARGUMENTS and parameter in event_arguments  # as ORDER BY
            if parameter in window or is_beside_table:
                fact = f"{written_name} is given by its place already"
                raise self._source.error(argument, fact, "leave one of them out")
            if parameter in EVENT_ARGUMENTS and parameter not in self._parameters:
                event_arguments[parameter] = self._event_argument(parameter, argument.expression)
            elif self._is_of_windows(parameter):
                window[parameter] = value_of(argument.expression, self._source)
            else:
                known_names = [*self._parameters, *self._other_names, *EVENT_ARGUMENTS]
                fact = f"{self._name} has no argument {written_name}"
                raise self._source.error(argument, fact, did_you_mean(written_name, known_names))
        if self._is_events:
            return None
        return {"kind": self._function.window if self._function else self._name, **window}

    def _is_of_windows(self, parameter: str) -> bool:
        """Return True if the windows may have a parameter of this name.

        Windows of a plugin may have any parameter, as these are not known here.
        """
        is_of_plugin = self._function is None and not self._is_events
        return is_of_plugin or parameter in self._parameters or parameter in _ROW_WINDOW_ARGUMENTS

    def _event_argument(self, name: str, value: Any) -> Any:
        """Return an argument of `events` as data: a column as its text, anything else as a value.

        Args:
            name: The name of the argument, one of `EVENT_ARGUMENTS`.
            value: The node of the argument, without its name.
        """
        if name == "order":
            return _row_order(value)
        return column_of(value) if EVENT_ARGUMENTS[name] == "column" else value_of(value, self._source)

    def _alias(self, table: Any, events_table: Any) -> str:
        """Return the name of the stream: its alias, or else the name of its table; empty if it reads a query.

        Args:
            table: The node that FROM reads.
            events_table: The table of the events as data: its name, or an object with a query of Spark's.
        """
        alias = table.alias if isinstance(table, exp.Table) else ""
        if alias:
            return str(alias)
        return events_table if isinstance(events_table, str) else ""


def times_of(times: TimeColumns, source: SqlText) -> dict[str, str]:
    """Return the columns of a DESCRIPTOR as arguments of `events`: `at` for one column, `start` and `end` for two.

    Raises:
        SqlError: There is no column, or there are more than two.
    """
    names = [column_of(column) for column in times.columns]
    if len(names) == 1:
        return {"at": names[0]}
    if len(names) == 2:
        return {"start": names[0], "end": names[1]}
    fact = "no time column is named" if not names else f"{len(names)} time columns are named"
    node = times.columns[2] if names else times.node  # the first column that is one too many
    raise source.error(node, fact, "write DESCRIPTOR(leaves), or DESCRIPTOR(leaves, returns)")


def _unnamed(argument: Any) -> Any:
    """Return the value of an argument by name; an argument by place as it is."""
    return argument.expression if isinstance(argument, exp.Kwarg) else argument


def _is_descriptor(node: Any) -> bool:
    """Return True for an argument `DESCRIPTOR(...)`, which names the columns of times."""
    return isinstance(node, exp.Anonymous) and node.name.upper() == "DESCRIPTOR"


def _row_order(order: Any) -> Any:
    """Return the columns of `ORDER BY`: one, or those in parentheses as a list."""
    if isinstance(order, exp.Tuple):
        return [column_of(column) for column in order.expressions]
    return column_of(order)
