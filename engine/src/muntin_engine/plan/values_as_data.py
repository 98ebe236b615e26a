"""Values of Python as plain data that JSON can hold, and back: parameters of modules, policies, and parts of plans.

A value is what JSON has for it; a list is a tuple. Anything else is a dict that says what it is, such as
`{"is": "BoundedDelay", "delay": 5}`. Muntin's own classes go by their name, others by the module that they are defined
in. Nothing is imported to read data: a class of others is one that was given, or that the process has imported already.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import ModuleType
from typing import Any, Final

import muntin.axis
import muntin.policies
import muntin.progress
import muntin.schemas
import muntin.triggers.composed
import muntin.triggers.elementary
import muntin.triggers.emission
import muntin_engine.plan.code_in_use
import muntin_engine.plan.columns
import muntin_engine.plan.inputs
import muntin_engine.plan.join_plan
import muntin_engine.plan.module_plan
import muntin_engine.plan.plan
import muntin_engine.time.lifetimes
import muntin_engine.time.source_rules
from muntin.axis import TimeLength
from muntin.catalog.named_windows import from_dict, kind_named
from muntin.errors import MuntinError, QueryError
from muntin.modules.parameters import spell
from muntin.schemas import Scalar, Struct, Variable
from muntin.windows import WindowSpecification

IS: Final = "is"
"""The entry of a dict that says what it is."""

_MODULES_OF_PLANS: Final[tuple[ModuleType, ...]] = (
    muntin.axis,
    muntin.policies,
    muntin.progress,
    muntin.schemas,
    muntin.triggers.composed,
    muntin.triggers.elementary,
    muntin.triggers.emission,
    muntin_engine.plan.code_in_use,
    muntin_engine.plan.columns,
    muntin_engine.plan.inputs,
    muntin_engine.plan.join_plan,
    muntin_engine.plan.module_plan,
    muntin_engine.plan.plan,
    muntin_engine.time.lifetimes,
    muntin_engine.time.source_rules,
)
"""The modules of Python with the classes that a plan is made of."""


def _classes_in(python_modules: Sequence[ModuleType]) -> dict[str, type]:
    """Return the classes that modules of Python define, by name, without those that they import."""
    classes: dict[str, type] = {}
    for python_module in python_modules:
        for name, value in vars(python_module).items():
            if isinstance(value, type) and value.__module__ == python_module.__name__:
                classes[name] = value
    return classes


_MUNTIN_CLASSES: Final[Mapping[str, type]] = _classes_in(_MODULES_OF_PLANS)
"""The classes of Muntin's that a plan is made of, by name."""


UNWRITABLE: Final = "unwritable"
"""The value of the entry `IS` where data stand for a value that they cannot hold."""


@dataclass(frozen=True, slots=True)
class Unwritable:
    """A value that data cannot hold, such as a function.

    Attributes:
        text: The value in words.
    """

    text: str


def value_to_data(value: Any) -> Any:
    """Return a value as data that JSON can hold.

    In the place of a value that data cannot hold, such as a function, the data have its text, which is read back as
    `Unwritable`.

    Example:
        >>> from muntin import tumbling
        >>> value_to_data((1, Decimal("2.50"), tumbling(10)))[:2]
        [1, {'is': 'Decimal', 'value': '2.50'}]
    """
    for form in _FORMS:
        if form.holds(value):
            return form.write(value)
    return {IS: UNWRITABLE, "text": spell(value)}


def value_from_data(data: Any, classes: Mapping[str, type] = {}) -> Any:  # the default is never changed
    """Return the value that `value_to_data` wrote.

    Args:
        data: The data.
        classes: Classes that may not be imported yet, by their paths, such as `rides:Trip`, or by their names behind a
            colon, such as `:Trip`, for a class of any Python module.

    Raises:
        QueryError: The data name a class that is neither imported nor among `classes`, or this version does not write
            such data.
    """
    if isinstance(data, list):  # written of a tuple; a list is written as an object of the kind `list`
        return tuple(value_from_data(part, classes) for part in data)
    if not isinstance(data, Mapping):
        return data
    kind = data.get(IS)
    if kind is None:
        return {name: value_from_data(part, classes) for name, part in data.items()}

    # An object that says of what kind it is; its other entries are its parts.
    parts = {name: part for name, part in data.items() if name != IS}
    if kind == "window":
        return from_dict(parts)
    if kind == UNWRITABLE:
        return Unwritable(**parts)
    if kind in _PLAIN_KINDS:
        return _PLAIN_KINDS[kind].read(value_from_data(parts["value"], classes))
    return _object_from_data(_class_named(kind, classes), parts, data, classes)


def _object_from_data(cls: type, parts: dict[str, Any], data: Mapping[str, Any], classes: Mapping[str, type]) -> Any:
    """Make an object of a class from the data of its fields.

    Args:
        cls: The class.
        parts: The data of its fields, by name.
        data: The data of the whole object, for the error.
        classes: The classes that may not be imported yet, as for `value_from_data`.

    Raises:
        QueryError: The class cannot be made with these fields.
    """
    values = {name: value_from_data(part, classes) for name, part in parts.items()}
    if issubclass(cls, Struct):
        values["make"] = dict  # it is not written: the values of a struct column are always dicts
    try:
        return cls(**values)
    except (TypeError, ValueError) as error:
        raise QueryError(f"{dict(data)!r:.200} cannot be read: {error}\n  use the Muntin that wrote it") from error


def _class_named(name: str, classes: Mapping[str, type]) -> type:
    """Return the class that a name in data stands for, without importing anything.

    Only enumerations, tuples and dataclasses can be named, so that reading data never calls other code.

    Args:
        name: The name of a class of Muntin's, or the path of another class, such as `rides:Trip`.
        classes: The classes that may not be imported yet, as for `value_from_data`.

    Raises:
        QueryError: There is no such class, or it is of another kind.
    """
    module, _, class_name = name.partition(":")
    # A program may give a class by its path, or by its name behind a colon, whatever module it is in.
    cls: Any = classes.get(name) or classes.get(f":{class_name}")
    if cls is None:
        cls = imported(name) if class_name else _MUNTIN_CLASSES.get(name)
    if isinstance(cls, type) and (issubclass(cls, Enum | tuple) or is_dataclass(cls)):
        return cls
    advice = f"import it before: from {module} import {class_name}" if class_name else "use the Muntin that wrote it"
    raise QueryError(f"the data names {name}, which is not here\n  {advice}")


def path_of(cls: type) -> str:
    """Return where a class is defined: its module and its name there.

    Example:
        >>> path_of(Decimal)
        'decimal:Decimal'
    """
    return f"{cls.__module__}:{cls.__qualname__}"


def imported(path: str) -> Any:
    """Return the object at a path such as `rides:Trip`; None if the process has not imported its Python module."""
    module, _, name = path.partition(":")
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _name_of(cls: type) -> str:
    """Return the name by which data refer to a class: its own for a class of Muntin's, else its path."""
    return cls.__name__ if _MUNTIN_CLASSES.get(cls.__name__) is cls else path_of(cls)


@dataclass(frozen=True, slots=True)
class _PlainKind:
    """The writing and reading of a plain type that JSON has no word for."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _write_parts(value: Any) -> list[Any]:
    """Return the items of a list or a tuple as data."""
    return [value_to_data(part) for part in value]


def _write_set(value: Any) -> list[Any]:
    """Return the members of a set as data, sorted by their text, so that equal sets have equal data."""
    return sorted(map(value_to_data, value), key=repr)


def _write_pairs(value: Mapping[Any, Any]) -> list[Any]:
    """Return the entries of a mapping as data, each as a pair of its key and its value."""
    return [[value_to_data(name), value_to_data(part)] for name, part in value.items()]


_MICROSECOND: Final = timedelta(microseconds=1)
_PLAIN_KINDS: Final[Mapping[str, _PlainKind]] = {
    "list": _PlainKind(_write_parts, list),
    "set": _PlainKind(_write_set, set),
    "frozenset": _PlainKind(_write_set, frozenset),
    "dict": _PlainKind(_write_pairs, dict),  # a mapping whose keys are not text
    "float": _PlainKind(repr, float),  # a number that is not finite
    "TimeLength": _PlainKind(int, TimeLength),
    "Decimal": _PlainKind(str, Decimal),
    "Fraction": _PlainKind(str, Fraction),
    "bytes": _PlainKind(bytes.hex, bytes.fromhex),
    "datetime": _PlainKind(datetime.isoformat, datetime.fromisoformat),
    "date": _PlainKind(date.isoformat, date.fromisoformat),
    "timedelta": _PlainKind(lambda value: value // _MICROSECOND, lambda value: value * _MICROSECOND),
}
"""The plain types that JSON has no word for, by their names."""


def _write_plain(kind: str, value: Any) -> dict[str, Any]:
    """Return a value of one of `_PLAIN_KINDS` as data that name its kind."""
    return {IS: kind, "value": _PLAIN_KINDS[kind].write(value)}


class _Form(ABC):
    """A form in which values are written. The first one that holds a value writes it."""

    @abstractmethod
    def holds(self, value: Any) -> bool:
        """Return True if a value is written in this form."""

    @abstractmethod
    def write(self, value: Any) -> Any:
        """Return the value as data."""


class _ConstantForm(_Form):
    """Null, true and false."""

    def holds(self, value: Any) -> bool:
        return value is None or isinstance(value, bool)

    def write(self, value: Any) -> Any:
        return value


class _MemberForm(_Form):
    """A member of an enumeration."""

    def holds(self, value: Any) -> bool:
        return isinstance(value, Enum)

    def write(self, value: Enum) -> Any:
        return {IS: _name_of(type(value)), "value": value.value}


class _TextForm(_Form):
    def holds(self, value: Any) -> bool:
        return isinstance(value, str)

    def write(self, value: str) -> Any:
        return str(value)


class _WindowsForm(_Form):
    """Windows of a kind that goes by its name, which a plugin may offer."""

    def holds(self, value: Any) -> bool:
        """Return True for windows whose class is found by the name of their kind."""
        if not isinstance(value, WindowSpecification):
            return False
        try:
            return kind_named(value.name) is type(value)
        except MuntinError:
            return False  # no kind has the name: the windows are written by the path of their class

    def write(self, value: WindowSpecification) -> Any:
        return {IS: "window", **value.to_dict()}


class _NumberForm(_Form):
    def holds(self, value: Any) -> bool:
        return isinstance(value, int | float)

    def write(self, value: float) -> Any:
        """Return a number as JSON has it, or with its kind if JSON has no such number."""
        # A length of time is an int, too, and is written as what it is.
        if isinstance(value, TimeLength):
            return _write_plain("TimeLength", value)
        if isinstance(value, int):
            return int(value)
        if math.isfinite(value):
            return float(value)
        return _write_plain("float", float(value))  # JSON has no infinity and no NaN


class _MappingForm(_Form):
    """A mapping: an object of JSON if its keys are text, else a list of pairs."""

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def write(self, value: Mapping[Any, Any]) -> Any:
        """Return a mapping as an object of JSON, or as a list of pairs if its keys are not all text."""
        # With a key `IS`, an object of JSON would be read back as an object of a class.
        if IS not in value and all(isinstance(name, str) for name in value):
            return {name: value_to_data(part) for name, part in value.items()}
        return _write_plain("dict", value)


class _TupleForm(_Form):
    def holds(self, value: Any) -> bool:
        return type(value) is tuple

    def write(self, value: tuple[Any, ...]) -> Any:
        return _write_parts(value)


class _PlainForm(_Form):
    """A value of a plain type that JSON has no word for."""

    def holds(self, value: Any) -> bool:
        return type(value).__name__ in _PLAIN_KINDS

    def write(self, value: Any) -> Any:
        return _write_plain(type(value).__name__, value)


def _parameters_of(cls: Any) -> list[str]:
    """Return the names of the fields of a dataclass that its constructor has as parameters."""
    return [part.name for part in fields(cls) if part.init]


class _RecordForm(_Form):
    """A dataclass or a named tuple, by its fields."""

    def holds(self, value: Any) -> bool:
        return isinstance(value, tuple) or (is_dataclass(value) and not isinstance(value, type))

    def write(self, value: Any) -> Any:
        """Return an object with the name of the class and the values of its fields."""
        cls = self._class_of(value)
        names = list(cls._fields) if isinstance(value, tuple) else _parameters_of(cls)
        if isinstance(value, Struct):
            names.remove("make")  # a class, which is always dict for a struct column
        data = {IS: _name_of(cls)}
        for name in names:
            data[name] = value_to_data(getattr(value, name))
        return data

    def _class_of(self, value: Any) -> Any:
        """Return the class by whose name and fields a value is written.

        The type of a column may be of a subclass that only its backend has: it is written by the class of the SDK.
        """
        for sdk_class in (Scalar, Variable):
            if isinstance(value, sdk_class):
                return sdk_class
        return type(value)


_FORMS: Final[tuple[_Form, ...]] = (
    _ConstantForm(),
    _MemberForm(),
    _TextForm(),
    _WindowsForm(),
    _NumberForm(),
    _MappingForm(),
    _TupleForm(),
    _PlainForm(),
    _RecordForm(),
)
"""The forms, in the order in which they are tried: true is a number too, and many members of enumerations are text."""
