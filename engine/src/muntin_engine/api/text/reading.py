"""Make a query of plain data, by the calls that the data describe."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from muntin.catalog import installed
from muntin.errors import QueryError
from muntin.modules.call import ModuleCall, StreamColumns, module_call
from muntin_engine.api.functions import condition
from muntin_engine.api.one_pass import OnePass, one_pass
from muntin_engine.api.query import Query
from muntin_engine.api.text.checking import check
from muntin_engine.api.text.kinds import ProgramClasses
from muntin_engine.api.text.schema import FIRST, definitions
from muntin_engine.backends.choosing import TABLES, is_input
from muntin_engine.plan.query_as_text import FRAMES, VERSION
from muntin_engine.plan.request import JoinCondition
from muntin_engine.plan.steps import SIGNATURES, is_left_out, main_parameter
from muntin_engine.plan.text_places import PlacedError, did_you_mean, errors_at, plain

if TYPE_CHECKING:
    from muntin_engine.plan.request import Frame

_definitions: Final = cache(definitions)


def query_from_dict(
    data: Any, tables: Mapping[str, Frame] | Callable[[str], Frame], modules: Iterable[Any] = ()
) -> Query:
    """Return the query that data describe.

    Only the offers of installed plugins are imported. Nothing is skipped: an unknown name is an error, and so is a
    value of a type that its argument does not take. Texts of more than 64 levels or 100,000 values, which a few lines
    of YAML can stand for, are refused.

    Args:
        data: The data that `Query.to_dict` returned, or data of that form written by hand.
        tables: The DataFrames by name; or a function that returns a DataFrame by its name, called once for each name.
        modules: Classes that are not installed: modules, functions of joins, policies, triggers and windows.

    Raises:
        QueryError: The data do not describe a query, or name something that does not exist; the message has the place
            in the data, such as `query[2].aggregate.p90`, and the closest name.

    Example:
        >>> query_from_dict(query.to_dict(rides=df), {"rides": df})  # doctest: +SKIP
    """
    return QueryReader(_tables_by_name(tables), modules).query(
        _content(data, entry="query", other_reader="one_pass_from_dict")
    )


def one_pass_from_dict(
    data: Any, tables: Mapping[str, Frame] | Callable[[str], Frame], modules: Iterable[Any] = ()
) -> OnePass:
    """Return the queries of one pass that data describe.

    Equal steps at the beginning of queries are called once, so the queries share the input, or the results of another
    query. In YAML such a step can also be written once: `&rides` before it, and `*rides` in the other queries.

    Args:
        data: The data that `OnePass.to_dict` returned, or data of that form written by hand.
        tables: As for `query_from_dict`.
        modules: As for `query_from_dict`.

    Raises:
        QueryError: As for `query_from_dict`, or the queries are not of one input.
    """
    return QueryReader(_tables_by_name(tables), modules).one_pass(
        _content(data, entry="one_pass", other_reader="query_from_dict")
    )


def _content(data: Any, *, entry: str, other_reader: str) -> Any:
    """Return the query, or the queries of one pass, in the text of a query, after a check of its other entries.

    Args:
        data: The text, as plain data.
        entry: The entry to return: `query` or `one_pass`. A text has one of the two.
        other_reader: The function that reads texts with the other entry; an error names it.

    Raises:
        QueryError: The data are not a text, of another version, or without the entry.
    """
    placeholder = "[...]" if entry == "query" else "{...}"
    expected = f"expected: {{'muntin': {VERSION}, {entry!r}: {placeholder}}}"
    if not isinstance(data, Mapping) or "muntin" not in data:
        raise QueryError(f"{data!r:.80} is not the text of a query\n  {expected}")
    if type(data["muntin"]) is not int or data["muntin"] != VERSION:
        raise QueryError(f"the text is of version {data['muntin']!r:.20}, and this Muntin reads {VERSION}")
    other_entry = "one_pass" if entry == "query" else "query"
    if other_entry in data:
        raise QueryError(f"the text has {other_entry}, which {other_reader} reads\n  {expected}")
    unknown = set(data) - {"muntin", entry}
    if unknown:
        raise QueryError(f"the text has {', '.join(sorted(map(str, unknown)))}\n  {expected}")
    if entry not in data:
        raise QueryError(f"the text has no {entry}\n  {expected}")
    return plain(data[entry], entry)


def _tables_by_name(tables: Mapping[str, Frame] | Callable[[str], Frame]) -> Callable[[Any], Frame]:
    """Return a function that returns the DataFrame of a name, or raises a `QueryError` if there is none.

    Args:
        tables: The DataFrames by name, or a function that returns them. It is called once for each name, as it may make
            a new DataFrame at each call, and all streams over a table have to read the same one.
    """

    @cache
    def table_named(name: str) -> Any:
        """Return the DataFrame of a name; a second call with the name returns the same object."""
        if isinstance(tables, Mapping) and name not in tables:
            advice = f"{did_you_mean([name], map(str, tables))}\n  give it: {name:.80}=df"
            raise QueryError(f"no DataFrame is given as {name!r:.80}{advice}")
        try:
            frame: Any = tables[name] if isinstance(tables, Mapping) else tables(name)
        except Exception as error:
            raise QueryError(f"tables has no {name!r:.80}: {type(error).__name__}: {error}") from error
        if not is_input(frame):
            raise QueryError(
                f"tables gave {frame!r:.80} for {name!r:.80}\n  expected: a DataFrame of Spark's, or {TABLES}"
            )
        return frame

    def table(name: Any) -> Any:
        """Return the DataFrame that a text names."""
        # Checked before the cache is asked, which refuses values such as lists with an error of Python's.
        if isinstance(name, str):
            return table_named(name)
        raise QueryError(f"expected the name of a DataFrame, got {name!r:.80}")

    return table


class QueryReader:
    """Makes queries of their steps as plain data, by the calls that these describe.

    Args:
        table: Returns the DataFrame of a name.
        modules: The classes and functions that are not installed, as for `query_from_dict`.
    """

    def __init__(self, table: Callable[[Any], Frame], modules: Iterable[Any]) -> None:
        self._table = table
        self._modules = tuple(modules)
        self._classes = ProgramClasses.of(self._modules)

    def query(self, steps: Any) -> Query:
        """Make a query of its steps."""
        return self._query(steps, "query", shared={})

    def one_pass(self, queries: Any) -> OnePass:
        """Make the queries of one pass.

        Args:
            queries: The steps of each query, by its name.
        """
        if not isinstance(queries, Mapping):
            raise PlacedError("one_pass", f"expected lists of steps by the names of queries, got {queries!r:.80}")
        shared: dict[str, Any] = {}  # what the steps of all queries make: see `_stream`
        queries_by_name: dict[str, Query] = {}
        for name, steps in queries.items():
            queries_by_name[name] = self._query(steps, f"one_pass.{name}", shared=shared)
        with errors_at("one_pass"):
            return one_pass(**queries_by_name)

    def _query(self, steps: Any, place: str, *, shared: dict[str, Any]) -> Query:
        """Make a query of steps; see `_stream` for the arguments.

        Raises:
            PlacedError: The steps make a stream and no query, or one of them is wrong.
        """
        query = self._stream(steps, place, shared=shared)
        if isinstance(query, Query):
            return query
        advice = "expected: aggregate, apply or join as the last step"
        raise PlacedError(place, f"the last step makes no results\n  {advice}")

    def _stream(self, steps: Any, place: str, *, shared: dict[str, Any]) -> Any:
        """Make an event stream, a windowed stream or a query by calling its steps in order.

        Args:
            steps: The steps.
            place: The place of the steps in the text.
            shared: The streams and queries that calls have returned so far, each by the text of all steps up to that
                call; those that are made here are added. So queries that begin with equal steps share a stream.

        Raises:
            PlacedError: The steps are no list, or one of them is wrong.
        """
        if not isinstance(steps, list) or not steps:
            raise PlacedError(place, f"expected a list of steps that begins with events or union, got {steps!r:.80}")
        stream: Any = None
        for number, step in enumerate(steps):
            steps_so_far = json.dumps(steps[: number + 1], sort_keys=True, default=str)
            if steps_so_far not in shared:
                shared[steps_so_far] = self._next_stream(stream, step, f"{place}[{number}]")
            stream = shared[steps_so_far]
        return stream

    def _next_stream(self, stream: Any, step: Any, here: str) -> Any:
        """Call a step on a stream, and return the stream or the query that the call returns.

        Args:
            stream: The stream; None for the first step, which calls a function such as `events` and no method.
            step: The step.
            here: The place of the step in the text.

        Raises:
            PlacedError: The step is no call of such a stream, or the call refuses its arguments.
        """
        call = self._call_of(step, stream, here)
        here = f"{here}.{call}"
        args, kwargs = self._arguments(call, step, here)
        with errors_at(here):
            function = FIRST[call] if stream is None else getattr(stream, call)
            return function(*args, **kwargs)

    def _call_of(self, step: Any, stream: Any, here: str) -> str:
        """Return the name of the call that a step describes: one entry of the step has it, the others are arguments.

        Args:
            step: The step.
            stream: The stream that the call is made on; None for the first step.
            here: The place of the step in the text.

        Raises:
            PlacedError: The step has no entry that is a call of such a stream, or several.
        """
        calls = [*FIRST]
        if stream is not None:
            calls = [name for name in SIGNATURES if hasattr(type(stream), name)]
        expected = f"expected one of {', '.join(calls)}"
        if not isinstance(step, Mapping):
            raise PlacedError(here, f"{expected}, got {step!r:.80}{did_you_mean((), calls)}")
        calls_of_step = [name for name in step if name in calls]
        if len(calls_of_step) == 1:
            return str(calls_of_step[0])
        got = ", ".join(step) or "nothing"
        raise PlacedError(here, f"{expected}, got {got}{did_you_mean(step, calls)}")

    def _arguments(self, call: str, step: Mapping[str, Any], here: str) -> tuple[list[Any], dict[str, Any]]:
        """Read the arguments of a call from its step.

        Args:
            call: The name of the call.
            step: The step.
            here: The place of the step in the text, with the name of the call.

        Returns:
            The arguments by position, and those by name.

        Raises:
            PlacedError: The step does not fit the schema of the call, or an argument cannot be read.
        """
        parameters = SIGNATURES[call].parameters
        main = main_parameter(call)
        check(step, _definitions()[f"call {call}"], definitions=_definitions(), here=here, call=call)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for entry, data in step.items():
            # The main argument stands under the name of the call.
            is_main = entry == call
            name = main if is_main else entry
            place = here if is_main else f"{here}.{entry}"
            if name is None:
                continue  # the call has no main parameter
            if is_main and data is None and is_left_out(parameters[name]):
                continue  # null says that the main argument is left out
            parameter = parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                # A parameter such as `**modules`: the query writer chooses the names.
                _check_names(data, call=call, parameter=name, place=place)
                for part, value in data.items():
                    kwargs[part] = self._value(name, value, f"{place}.{part}")
            elif parameter.kind is parameter.VAR_POSITIONAL:
                args += self._value(name, data, place)
            elif name == main:
                args.append(self._value(name, data, place))
            else:
                kwargs[name] = self._value(name, data, place)
        return args, kwargs

    def _value(self, name: str, data: Any, here: str) -> Any:
        """Read an argument of a call.

        Args:
            name: The name of its parameter, which says of what kind the argument is.
            data: The data of the argument.
            here: The place of the data in the text.

        Raises:
            PlacedError: The argument cannot be read.
        """
        if name in FRAMES:
            with errors_at(here):
                return self._table(data)
        if name in ("streams", "right"):  # the streams of a union, and the right one of a join
            return self._stream(data, here, shared={})
        if name in ("modules", "operator"):
            return self._module(data, here)
        if name == "on":
            return None if data is None else self._condition(data, here)
        if isinstance(data, Mapping) and name in _COLUMNS:
            # By names that the query writer chooses: `kind`, which marks objects elsewhere, may be one of them.
            return {column: self._classes.read(part, f"{here}.{column}") for column, part in data.items()}
        return self._classes.read(data, here)

    def _module(self, data: Mapping[str, Any], here: str) -> ModuleCall:
        """Return a module with its columns and parameters, as `module` returns it, from data.

        Raises:
            PlacedError: There is no such module, or it does not take these columns and parameters.
        """
        name = data["module"]
        columns = tuple(self._classes.read(data.get("columns", []), f"{here}.columns"))
        arguments: dict[str, Any] = {}
        for stream, part in data.get("streams", {}).items():
            stream_columns = self._classes.read(part["columns"], f"{here}.streams.{stream}")
            arguments[stream] = StreamColumns(part["stream"], tuple(stream_columns))
        arguments |= self._parameters(data, here)
        try:
            cls = self._classes.classes.get(name) or installed().module(name)
            return module_call(cls, columns, arguments)
        except Exception as error:
            raise PlacedError(here, error, "a module of the program is given: modules=[...]") from error

    def _condition(self, data: Mapping[str, Any], here: str) -> JoinCondition:
        """Return the condition of a join that data describe.

        Raises:
            PlacedError: There is no such function, or it does not take these columns and parameters.
        """
        name = data["function"]
        function: Any = name
        for item in self._modules:
            # The program passes the function, or the condition that `condition` made of it.
            program_function = getattr(item, "function", item)
            if getattr(program_function, "name", None) == name:
                function = program_function
                break
        left = tuple(self._classes.read(data.get("left", []), f"{here}.left"))
        right = tuple(self._classes.read(data.get("right", []), f"{here}.right"))
        parameters = self._parameters(data, here)
        with errors_at(here):
            return condition(function, left=left, right=right, **parameters)

    def _parameters(self, data: Mapping[str, Any], here: str) -> dict[str, Any]:
        """Return the parameters of a module or a function, by name, from its data."""
        parameters: dict[str, Any] = {}
        for name, part in data.get("parameters", {}).items():
            parameters[name] = self._classes.parameter(part, f"{here}.parameters.{name}")
        return parameters


def _check_names(data: Mapping[str, Any], *, call: str, parameter: str, place: str) -> None:
    """Raise if a name that a query writer chose, such as that of a result, is also an argument of the call.

    Args:
        data: The values by the chosen names.
        call: The name of the call.
        parameter: The parameter of the call that takes the values.
        place: The place of the values in the text.

    Raises:
        PlacedError: A chosen name is that of another parameter.
    """
    # No argument can have the name of the parameter that takes the values, or of `unnamed`, which takes none.
    argument_names = set(SIGNATURES[call].parameters) - {parameter, "unnamed"}
    for part in data:
        if part in argument_names:
            raise PlacedError(place, f"{part!r} is an argument of {call}, and no name\n  choose another one")


_COLUMNS: Final = ("left_columns", "right_columns", "columns", "key_ranges")
"""The parameters that are mappings of names that query writers choose."""
