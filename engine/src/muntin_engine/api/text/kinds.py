"""The reading of windows, policies and triggers: objects that text names by the functions that make them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

import muntin
import muntin.progress
import muntin.rows
import muntin.triggers
from muntin.errors import MuntinError, QueryError, UnknownModuleError
from muntin.progress import ProgressPolicy
from muntin.rows import Partitions
from muntin_engine.backends.choosing import spark_backend
from muntin_engine.plan.arguments_as_text import KIND, SQL
from muntin_engine.plan.text_functions import FUNCTIONS
from muntin_engine.plan.text_places import at, closest
from muntin_engine.plan.values_as_data import IS, Unwritable, path_of, value_from_data


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
        classes: dict[str, Any] = {Partitions.policy: Partitions}
        for thing in things:
            named = getattr(thing, "cls", thing)
            name = getattr(named, "name", None)
            if name:
                classes[str(name)] = named
            if hasattr(named, "__qualname__"):
                classes[path_of(named)] = named
        return cls(classes)

    def make(self, kind: str, arguments: Mapping[str, Any]) -> Any:
        """Return what a kind is, made of its arguments.

        Raises:
            QueryError: Nothing has that name.
            MuntinError: It does not take the arguments.
        """
        function = FUNCTIONS.get(kind)
        signature = None if function is None else inspect.signature(function)
        if function is not None and signature is not None and _binds(signature, arguments):
            return _call(function, signature, arguments)
        if kind in self.classes:
            return _make_of_class(self.classes[kind], arguments)
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
            value = value_from_data(data, self.classes)
        except MuntinError:
            raise
        except Exception as error:
            raise QueryError(f"{dict(data)!r:.80} is no value that to_dict writes") from error
        if isinstance(value, Unwritable):
            raise QueryError(f"{value.text:.80} was no value that text can hold")
        return value

    def _object(self, parts: dict[str, Any]) -> Any:
        """Return what an object with a kind describes; idleness and punctuation of keys are calls on a policy."""
        kind = parts.pop(KIND)
        idle = parts.pop("idle", None)
        has_key_punctuation = parts.pop("key_punctuation", False)
        value = self.make(kind, parts)
        if not idle and not has_key_punctuation:
            return value
        if not isinstance(value, ProgressPolicy):
            raise QueryError(f"{kind} has neither idle nor key_punctuation, which progress policies have")
        policy = value
        if idle:
            policy = policy.with_idle(**idle)
        return policy.with_key_punctuation() if has_key_punctuation else policy


def _binds(signature: inspect.Signature, arguments: Mapping[str, Any]) -> bool:
    """Return True if a function takes arguments of these names."""
    names = set(signature.parameters)
    needed = {parameter.name for parameter in signature.parameters.values() if parameter.default is parameter.empty}
    return needed <= set(arguments) <= names


def _call(function: Callable[..., Any], signature: inspect.Signature, arguments: Mapping[str, Any]) -> Any:
    """Return the result of a function; text has the arguments of a starred parameter as a list under its name."""
    starred: Sequence[Any] = ()
    by_name = dict(arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = by_name.pop(parameter.name)
    return function(*starred, **by_name)


def _make_of_class(cls: Any, arguments: Mapping[str, Any]) -> Any:
    """Return an object of a class that was given; where a field is a number of ticks, text may say a length."""
    values = dict(arguments)
    for part in fields(cls):
        if str(part.type).startswith("int") and isinstance(values.get(part.name), str):
            values[part.name] = muntin.ticks(values[part.name])
    return cls(**values)
