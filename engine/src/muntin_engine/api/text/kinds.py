"""Windows, policies and triggers by the names of the functions that make them, and how data becomes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any, Final

import muntin
import muntin.progress
import muntin.rows
import muntin.triggers
from muntin import correct, early
from muntin.errors import MuntinError, QueryError, UnknownModuleError
from muntin.progress import ProgressPolicy
from muntin.rows import Partitions
from muntin_engine.api.text.places import at, closest
from muntin_engine.backends.choosing import spark_backend
from muntin_engine.plan import plain_data
from muntin_engine.plan.plain_data import IS, path_of

KIND: Final = "kind"
"""The entry that says which windows, policy or trigger an object is: the name of the function that makes it."""

SQL: Final = "sql"
"""The only entry of an object that is a column: an expression, where text would be the name of one."""

WINDOWS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(muntin, name)
    for name in (
        *("tumbling", "hopping", "session", "snapshot", "calendar", "cumulate", "landmark", "trailing"),
        *("count_by_start", "count_by_end", "global_windows"),
    )
}
"""The functions that make windows, by name. `muntin.window` makes the others by the name of their kind."""

POLICIES: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: getattr(muntin.progress, name) for name in ("bounded_delay", "bounded_disorder", "punctuate_every")},
    **{name: getattr(muntin.progress, name) for name in ("ordered", "punctuated")},
    **{"correct": correct, "early": early},
}
"""The functions that make progress policies, lateness and emission, by name."""

TRIGGERS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(muntin.triggers, name)
    for name in (
        *("after", "after_count", "all_of", "any_of", "each", "every", "every_count", "on_signal", "past_end"),
        *("past_part", "percentile", "reaches", "repeat", "until", "when"),
    )
}
"""The functions that make triggers, by name."""

ROWS: Final[Mapping[str, Callable[..., Any]]] = {
    name: getattr(muntin.rows, name) for name in ("delta", "elapsed", "marker", "on_row")
}
"""The functions that make policies of row windows, by name."""

FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {**WINDOWS, **POLICIES, **TRIGGERS, **ROWS}


@dataclass(frozen=True)
class GivenClasses:
    """The classes that text may name beside what is installed: modules, policies, triggers and windows.

    Attributes:
        classes: The classes, each by its name and by its path.
    """

    classes: Mapping[str, Any]

    @classmethod
    def of(cls, things: Iterable[Any]) -> GivenClasses:
        """Return what was given: classes, modules with their columns as `module` returns them, or functions."""
        found: dict[str, Any] = {Partitions.policy: Partitions}
        for thing in things:
            made = getattr(thing, "cls", thing)
            found |= {str(name): made for name in (getattr(made, "name", None), _path(made)) if name}
        return cls(found)

    def made(self, kind: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a kind is, made of its arguments.

        Raises:
            QueryError: Nothing has that name.
            MuntinError: It does not take the arguments.
        """
        function = FUNCTIONS.get(kind)
        signature = None if function is None else inspect.signature(function)
        if function is not None and signature is not None and _binds(signature, arguments):
            star = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL), None)
            by_name = {name: part for name, part in arguments.items() if name != star}
            return function(*(arguments[star] if star else ()), **by_name)
        cls = self.classes.get(kind)
        if cls is not None:
            lengths = {part.name for part in fields(cls) if str(part.type).startswith("int")}
            texts = {name for name, value in arguments.items() if isinstance(value, str)}
            return cls(**{**arguments, **{name: muntin.ticks(arguments[name]) for name in lengths & texts}})
        for offered in (muntin.triggers.named, muntin.window):
            with suppress(UnknownModuleError):
                return offered(kind, **arguments)
        if function is not None:
            raise QueryError(f"{kind} takes {signature}, got {', '.join(arguments) or 'nothing'}")
        advice = closest([kind], sorted([*FUNCTIONS, *self.classes]))
        raise QueryError(f"there is no kind {kind!r}{advice}\n  a class of your own is given: modules=[...]")

    def read(self, data: Any, here: str) -> Any:
        """Return the value that `write_value` wrote, at a place in the text.

        Raises:
            PlacedError: There is no such thing, or it does not take what it is given.
        """
        if isinstance(data, list):
            return [self.read(part, f"{here}[{place}]") for place, part in enumerate(data)]
        if not isinstance(data, Mapping) or IS in data:
            return self.parameter(data, here)
        if set(data) == {SQL}:
            return spark_backend().inputs.expression(data[SQL])
        parts = {name: self.read(part, f"{here}.{name}") for name, part in data.items()}
        if KIND not in data:
            return parts
        with at(here):
            return self._object(parts)

    def parameter(self, data: Any, here: str) -> Any:
        """Return the parameter of a module that `write_parameter` wrote, at a place in the text; raises as `read`."""
        if isinstance(data, list):
            return [self.parameter(part, f"{here}[{place}]") for place, part in enumerate(data)]
        if not isinstance(data, Mapping):
            return data
        if IS in data:
            with at(here):
                return self._value(data, here)
        return {name: self.parameter(part, f"{here}.{name}") for name, part in data.items()}

    def _value(self, data: Mapping[str, Any], here: str) -> Any:
        """Return what is none of JSON's, such as a decimal."""
        if data[IS] == "tuple" and isinstance(data.get("value"), list):
            return tuple(self.parameter(data["value"], f"{here}.value"))
        try:
            found = plain_data.read(data, self.classes)
        except MuntinError:
            raise
        except Exception as error:
            raise QueryError(f"{dict(data)!r:.80} is no value that to_dict writes") from error
        if isinstance(found, plain_data.Unwritable):
            raise QueryError(f"{found.text:.80} was no value that text can hold")
        return found

    def _object(self, data: dict[str, Any]) -> Any:
        kind, idle, by_key = data.pop(KIND), data.pop("idle", None), data.pop("key_punctuation", False)
        made = self.made(kind, data)
        if (idle or by_key) and not isinstance(made, ProgressPolicy):
            raise QueryError(f"{kind} has neither idle nor key_punctuation, which progress policies have")
        if idle:
            made = made.with_idle(**idle)
        return made.with_key_punctuation() if by_key else made


def _binds(signature: inspect.Signature, arguments: Mapping[str, Any]) -> bool:
    """Return True if a function takes arguments of these names."""
    names = set(signature.parameters)
    needed = {p.name for p in signature.parameters.values() if p.default is p.empty}
    return needed <= set(arguments) <= names


def _path(thing: Any) -> str:
    return path_of(thing) if hasattr(thing, "__qualname__") else ""
