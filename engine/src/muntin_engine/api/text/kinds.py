"""Read windows, policies and triggers: objects that text names by the functions that make them."""

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
from muntin_engine.plan.arguments_as_text import KIND, SQL
from muntin_engine.plan.request import SqlExpression
from muntin_engine.plan.text_functions import FUNCTIONS
from muntin_engine.plan.text_places import did_you_mean, errors_at
from muntin_engine.plan.values_as_data import IS, Unwritable, path_of, value_from_data


@dataclass(frozen=True)
class ProgramClasses:
    """The classes of a program that text may name besides installed ones: modules, policies, triggers and windows.

    Attributes:
        classes: The classes, each by its name and by its path.
    """

    classes: Mapping[str, Any]

    @classmethod
    def of(cls, things: Iterable[Any]) -> ProgramClasses:
        """Collect the classes that a program passes.

        Args:
            things: Classes, functions of joins, and modules with their columns, as `module` returns them.
        """
        classes: dict[str, Any] = {Partitions.policy: Partitions}  # Muntin's own, which no function makes
        for thing in things:
            program_class = getattr(thing, "cls", thing)  # a module with its columns has its class as `cls`
            name = getattr(program_class, "name", None)
            if name:
                classes[str(name)] = program_class
            if hasattr(program_class, "__qualname__"):
                classes[path_of(program_class)] = program_class
        return cls(classes)

    def make(self, kind: str, arguments: Mapping[str, Any]) -> Any:
        """Make an object of a kind.

        Args:
            kind: The name of a function of Muntin's, of a class of the program, or of a trigger or window of a plugin.
            arguments: The arguments, by the names of parameters.

        Raises:
            QueryError: No kind has that name.
            MuntinError: The kind does not take the arguments. A class of the program may also raise other exceptions.
        """
        # The name may be that of a function and of a class of the program: arguments that the function does not take
        # are for the class.
        function = FUNCTIONS.get(kind)
        if function is not None and _binds(inspect.signature(function), arguments):
            return _call(function, arguments)
        if kind in self.classes:
            return _make_of_class(self.classes[kind], arguments)
        # A trigger or a window of an installed plugin.
        for make_named in (muntin.triggers.named, muntin.window):
            with suppress(UnknownModuleError):
                return make_named(kind, **arguments)

        # No kind takes the arguments: a function of the name refuses them, or there is nothing of the name.
        if function is not None:
            got = ", ".join(arguments) or "nothing"
            raise QueryError(f"{kind} takes {inspect.signature(function)}, got {got}")
        advice = did_you_mean([kind], sorted([*FUNCTIONS, *self.classes]))
        raise QueryError(f"there is no kind {kind!r}{advice}\n  a class of your own is given: modules=[...]")

    def read(self, data: Any, here: str) -> Any:
        """Read a value that `write_value` wrote.

        Args:
            data: The data of the value.
            here: The place of the data in the text.

        Raises:
            PlacedError: No kind has the name, or a kind does not take its arguments.
        """
        if isinstance(data, list):
            return [self.read(part, f"{here}[{number}]") for number, part in enumerate(data)]
        if not isinstance(data, Mapping) or IS in data:
            return self.parameter(data, here)  # a plain value
        if set(data) == {SQL}:
            return SqlExpression(data[SQL])
        parts = {name: self.read(part, f"{here}.{name}") for name, part in data.items()}
        if KIND not in data:
            return parts
        with errors_at(here):
            return self._object(parts)

    def parameter(self, data: Any, here: str) -> Any:
        """Read a parameter of a module that `write_parameter` wrote.

        Args:
            data: The data of the parameter.
            here: The place of the data in the text.

        Raises:
            PlacedError: The data are not those of a value.
        """
        if isinstance(data, list):
            return [self.parameter(part, f"{here}[{number}]") for number, part in enumerate(data)]
        if not isinstance(data, Mapping):
            return data
        if IS in data:
            with errors_at(here):
                return self._value(data, here)
        return {name: self.parameter(part, f"{here}.{name}") for name, part in data.items()}

    def _value(self, data: Mapping[str, Any], here: str) -> Any:
        """Read a value of a type that JSON lacks, such as a decimal.

        Args:
            data: An object with the entry `IS`, which says of what type the value is.
            here: The place of the data in the text.

        Raises:
            QueryError: The data are not those of a value.
        """
        # `write_parameter` marks tuples: a list in the text is a list.
        if data[IS] == "tuple" and isinstance(data.get("value"), list):
            return tuple(self.parameter(data["value"], f"{here}.value"))
        try:
            value = value_from_data(data, self.classes)
        except MuntinError:
            raise  # its message says what is wrong; one of Python's would not
        except Exception as error:
            raise QueryError(f"{dict(data)!r:.80} is no value that to_dict writes") from error
        if isinstance(value, Unwritable):
            raise QueryError(f"{value.text:.80} was no value that text can hold")
        return value

    def _object(self, parts: dict[str, Any]) -> Any:
        """Make the object that an entry `KIND` and arguments describe.

        Two entries of a progress policy are no arguments but calls on it: `idle` is a call of `with_idle`, and
        `key_punctuation` one of `with_key_punctuation`.

        Args:
            parts: The kind and the values of all other entries, by name.

        Raises:
            MuntinError: There is no such kind, or it does not take the arguments.
        """
        kind = parts.pop(KIND)
        idle = parts.pop("idle", None)
        has_key_punctuation = parts.pop("key_punctuation", False)
        value = self.make(kind, parts)
        if not idle and not has_key_punctuation:
            return value
        if not isinstance(value, ProgressPolicy):
            raise QueryError(f"{kind} has neither idle nor key_punctuation, which progress policies have")
        if idle:
            value = value.with_idle(**idle)
        if has_key_punctuation:
            value = value.with_key_punctuation()
        return value


def _binds(signature: inspect.Signature, arguments: Mapping[str, Any]) -> bool:
    """Return True if a function can be called with arguments of these names: it has all of them, and needs no others.

    Args:
        signature: The signature of the function.
        arguments: The arguments by name.
    """
    names = set(signature.parameters)
    required = {parameter.name for parameter in signature.parameters.values() if parameter.default is parameter.empty}
    return required <= set(arguments) <= names


def _call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function with arguments by name; those of a parameter such as `*triggers` are a list under its name."""
    starred: Sequence[Any] = ()
    by_name = dict(arguments)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = by_name.pop(parameter.name)
    return function(*starred, **by_name)


def _make_of_class(cls: Any, arguments: Mapping[str, Any]) -> Any:
    """Make an object of a class of the program.

    A field that is an integer is a number of ticks, for which the text may have a length such as `10 minutes`.

    Args:
        cls: The class, a dataclass.
        arguments: The arguments of its constructor, by name.

    Raises:
        DurationError: A length cannot be read.
        Exception: The constructor raises it.
    """
    values = dict(arguments)
    for class_field in fields(cls):
        is_number = str(class_field.type).startswith("int")
        if is_number and isinstance(values.get(class_field.name), str):
            values[class_field.name] = muntin.ticks(values[class_field.name])
    return cls(**values)
