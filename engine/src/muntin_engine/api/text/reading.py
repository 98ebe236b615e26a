"""A query of plain data: what calls say that were written, by a query or by a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from muntin.catalog import installed
from muntin.errors import MuntinError, QueryError
from muntin.modules.call import ModuleCall, StreamColumns, module_call
from muntin_engine.api.events import events
from muntin_engine.api.functions import condition
from muntin_engine.api.query import EventStream, Query
from muntin_engine.api.request import JoinCondition
from muntin_engine.api.steps import SIGNATURES
from muntin_engine.api.text.kinds import GivenClasses
from muntin_engine.api.text.writing import FRAMES, VERSION, main_parameter
from muntin_engine.api.union import union

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST: Final[Mapping[str, Callable[..., EventStream]]] = {"events": events, "union": union}
"""The functions that a query begins with."""


def query_from_dict(
    data: Any, tables: Mapping[str, DataFrame] | Callable[[str], DataFrame], modules: Iterable[Any] = ()
) -> Query:
    """Return the query that data describe.

    Args:
        data: What `Query.to_dict` returned.
        tables: The DataFrames by name, or a function that returns the one of a name.
        modules: Classes that are not installed: modules, functions of joins, policies, triggers and windows.

    Raises:
        QueryError: The data describe no query, or something is not here; the message says the place in the data.
    """
    if not isinstance(data, Mapping) or "muntin" not in data or not isinstance(data.get("query"), list):
        raise QueryError(f"{data!r:.80} is not the text of a query\n  expected: {{'muntin': 1, 'query': [...]}}")
    if data["muntin"] != VERSION:
        raise QueryError(f"the text is of version {data['muntin']!r:.20}, and this Muntin reads {VERSION}")
    if others := set(data) - {"muntin", "query"}:
        raise QueryError(f"the text has {', '.join(sorted(map(str, others)))}\n  expected: muntin and query alone")
    made = _Reader(tables, GivenClasses.of(modules), tuple(modules)).stream(data["query"], "query")
    if not isinstance(made, Query):
        raise QueryError("query: the last step makes no results\n  expected: aggregate, apply or join as the last step")
    return made


class _Reader:
    """Calls what the steps of a query say."""

    def __init__(
        self,
        tables: Mapping[str, DataFrame] | Callable[[str], DataFrame],
        given: GivenClasses,
        modules: tuple[Any, ...],
    ) -> None:
        self._tables, self._given, self._modules = tables, given, modules

    def stream(self, steps: Any, place: str) -> Any:
        """Return what a list of steps makes: events, windows or a query."""
        if not isinstance(steps, list) or not steps:
            raise QueryError(f"{place}: expected a list of steps that begins with events or union, got {steps!r:.80}")
        made: Any = None
        for number, one in enumerate(steps):
            here = f"{place}[{number}]"
            call = self._call_of(one, made, here)
            args, kwargs = self._arguments(call, one, f"{here}.{call}")
            try:
                made = (FIRST[call] if made is None else getattr(made, call))(*args, **kwargs)
            except _WRONG as error:
                raise QueryError(f"{here}.{call}: {error}") from error
        return made

    def _call_of(self, one: Any, made: Any, here: str) -> str:
        """Return the name of the call that a step is."""
        known = [*FIRST] if made is None else [name for name in SIGNATURES if hasattr(type(made), name)]
        named = [name for name in one if name in known] if isinstance(one, Mapping) else []
        if len(named) == 1:
            return str(named[0])
        got = ", ".join(map(str, one)) if isinstance(one, Mapping) else f"{one!r:.80}"
        raise QueryError(f"{here}: expected one of {', '.join(known)}, got {got}{_closest(one, known)}")

    def _arguments(self, call: str, one: Mapping[Any, Any], here: str) -> tuple[list[Any], dict[str, Any]]:
        parameters, main = SIGNATURES[call].parameters, main_parameter(call)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for key, data in one.items():
            given = key if isinstance(key, str) else "on"  # YAML 1.1 reads that word as true
            name = main if given == call else given
            place = here if given == call else f"{here}.{given}"
            if name is None or (given == call and data is None):
                continue  # a call without its first argument
            if name not in parameters or (name == main and given != call):
                allowed = [one for one in parameters if one not in (main, "unnamed")]
                raise QueryError(f"{here}: {call} takes no {given!r}{_closest([given], allowed)}")
            parameter = parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                _check_mapping(data, place)
                kwargs |= {str(part): self._value(name, value, f"{place}.{part}") for part, value in data.items()}
            elif parameter.kind is parameter.VAR_POSITIONAL:
                args += self._value(name, data, place)
            elif name == main:
                args.append(self._value(name, data, place))
            else:
                kwargs[name] = self._value(name, data, place)
        return args, kwargs

    def _value(self, name: str, data: Any, here: str) -> Any:
        """Return an argument, by the name of its parameter."""
        if name in FRAMES:
            return None if data is None else self._table(data, here)
        if name in ("streams", "right"):
            return self.stream(data, here)
        if name in ("modules", "operator"):
            return self._module(data, here)
        if name == "on":
            return self._condition(data, here)
        if isinstance(data, Mapping) and name in _COLUMNS:
            return {given: self._given.read(part) for given, part in data.items()}
        try:
            return self._given.read(data)
        except _WRONG as error:
            raise QueryError(f"{here}: {error}") from error

    def _table(self, name: Any, here: str) -> Any:
        if callable(self._tables):
            return self._tables(name)
        if name in self._tables:
            return self._tables[name]
        known = list(self._tables)
        raise QueryError(f"{here}: no DataFrame is given as {name!r}{_closest([name], known)}\n  give it: {name}=df")

    def _module(self, data: Any, here: str) -> ModuleCall:
        _check_mapping(data, here, "module", "columns", "parameters", "streams")
        name = data["module"]
        try:
            cls = self._given.classes.get(name) or installed().module(name)
            parameters = {n: self._given.read(v) for n, v in data.get("parameters", {}).items()}
            named = data.get("streams", {})
            streams = {n: StreamColumns(s["stream"], tuple(self._given.read(s["columns"]))) for n, s in named.items()}
            columns = self._given.read(data.get("columns", []))
            return module_call(cls, tuple(columns), {**streams, **parameters})
        except _WRONG as error:
            raise QueryError(f"{here}: {error}\n  a module of the program is given: modules=[...]") from error

    def _condition(self, data: Any, here: str) -> JoinCondition:
        _check_mapping(data, here, "function", "left", "right", "parameters")
        functions = [getattr(one, "function", one) for one in self._modules]  # of a condition, or a function
        given = next((one for one in functions if getattr(one, "name", None) == data["function"]), None)
        try:
            parameters = {n: self._given.read(v) for n, v in data.get("parameters", {}).items()}
            sides = {side: tuple(self._given.read(data.get(side, []))) for side in ("left", "right")}
            return condition(given or data["function"], **sides, **parameters)
        except _WRONG as error:
            raise QueryError(f"{here}: {error}") from error


_WRONG: Final = (MuntinError, TypeError, ValueError, KeyError, AttributeError)
"""What calls raise that get something else than they expect."""

_COLUMNS: Final = ("left_columns", "right_columns", "columns", "key_ranges")
"""The parameters that are mappings of names that query writers choose."""


def _check_mapping(data: Any, here: str, *names: str) -> None:
    """Refuse what is no mapping, or has other entries than some names, the first of which is needed."""
    if not isinstance(data, Mapping) or (names and names[0] not in data):
        wanted = f"{{{names[0]}: ...}}" if names else "a mapping of names"
        raise QueryError(f"{here}: expected {wanted}, got {data!r:.80}")
    if names and (others := [name for name in data if name not in names]):
        raise QueryError(f"{here}: there is no {others[0]!r} in it{_closest(others, list(names))}")


def _closest(given: Any, known: Sequence[str]) -> str:
    names = [str(name) for name in given] if isinstance(given, Mapping | list) else []
    close = [match for name in names for match in get_close_matches(name, known, n=1)]
    return f"\n  did you mean {close[0]!r}?" if close else f"\n  there are {', '.join(known)}"
