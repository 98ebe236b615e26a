"""A version for a module class that declares none: a hash of its code, and of all code and constants that it uses."""

from __future__ import annotations

import builtins
import dataclasses
import dis
import hashlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property, partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType, UnionType, new_class
from typing import Any, Final, get_args, get_origin

from muntin import Module
from muntin_engine.packages.local_code import is_local, package_of
from muntin_engine.packages.normalized_source import class_source, function_source, module_source

_DIGITS: Final = 8
_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
"""The types of values that their `repr` describes completely."""

_DESCRIBING: Final = frozenset({"__annotations__", "__slots__"})
"""The attributes between double underscores that are part of a class's code, besides its methods."""

_NOT_CODE: Final = frozenset({"version", "_abc_impl"})
"""The attributes without double underscores that are not part of a class's code."""


def with_version(cls: object) -> Any:
    """Return a module class with a version: the class itself, or a subclass whose version is the hash of its code.

    A version that the class inherits from code of an installed package is not its own. An object that is no module
    class is returned unchanged.
    """
    if not isinstance(cls, type) or not issubclass(cls, Module) or _declares_version(cls):
        return cls
    attributes = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "version": code_version(cls),
    }
    return new_class(cls.__name__, (cls,), {}, lambda body: body.update(attributes))


def code_version(code: Any) -> str:
    """Return a version for a class or a function, the same in each process that has the same code.

    It changes with the class or function itself, and with the functions, classes and constants that it uses, directly
    or not, if these belong to its own package or to no installed package. It does not change with other installed
    packages, imports inside functions, and attributes that are looked up by text.

    If there is source, comments, docstrings and layout make no difference. Otherwise, and for lambdas, the bytecode is
    hashed, which differs between versions of Python.

    Example:
        >>> class Twice:
        ...     def of(self, x: int) -> int:
        ...         return 2 * x
        >>> code_version(Twice)[:5], code_version(Twice) == code_version(Twice)
        ('code-', True)
    """
    return _hash(_CodeDescription(package_of(code)).of(code))


def _hash(description: object) -> str:
    """Return the version for a description of code."""
    digest = hashlib.sha256(repr(description).encode()).hexdigest()
    return f"code-{digest[:_DIGITS]}"


def identity_of_function(function: Any) -> tuple[str, str]:
    """Return a name and a version for the module that calls a function.

    The version of a function of an installed package does not depend on the code of the package, so a query goes on
    with another version of the package. The version of any other function is the hash of its code, as in
    `code_version`.
    """
    inner = function
    while isinstance(inner, partial):
        inner = inner.func
    module_name = str(getattr(inner, "__module__", None) or "")
    package = "function" if is_local(module_name) else module_name.partition(".")[0]
    qualified_name = str(getattr(inner, "__qualname__", type(inner).__qualname__))
    function_name = qualified_name.rpartition(".")[2]
    name = f"{_name_part(package)}.{_name_part(function_name)}"
    # With no name of a package, only code of no installed package is described.
    return name, _hash(_CodeDescription("").of(function))


def _name_part(text: str) -> str:
    """Turn a text into a part of a module's name, which has only lower-case letters, digits and underscores."""
    return re.sub(r"\W+", "", text.lower()).strip("_0123456789") or "function"


def _declares_version(cls: type) -> bool:
    """Say whether the author of a module class declared its version.

    The version that a class of a script inherits from a class of an installed package was not declared for it.
    """
    for owner in cls.__mro__:
        if "version" in vars(owner):
            # Every version counts but the one that a class of no installed package inherits from an installed class.
            return owner is cls or is_local(owner.__module__) or not is_local(cls.__module__)
    return False


class _CodeDescription:
    """Describes code and constants as nested tuples of text.

    A version is the hash of a description, so any change of a description gives modules other versions. The order in
    which values are described counts, too: a value that is met again is described by the number of its first place.
    """

    def __init__(self, package: str) -> None:
        """Take the name of the package whose code is described; code of other installed packages is only named."""
        self._package = package
        self._number_by_id: dict[int, int] = {}
        self._described: list[Any] = []

    def of(self, value: object) -> Any:
        """Return the description of a value; for a value that was described before, its number."""
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        # Python may or may not make equal constants one object, so these are not recognized by identity.
        if isinstance(value, tuple | frozenset):
            return self._collection(value)
        # Code may lead back to itself, as a recursive function does. Objects are recognized by identity, and numbered
        # in the order in which they are met, which is the same in each process.
        if id(value) in self._number_by_id:
            return "again", self._number_by_id[id(value)]
        self._number_by_id[id(value)] = len(self._number_by_id)
        self._described.append(value)  # as long as it lives, no other object gets its id
        return self._code(value) or self._collection(value) or self._object(value)

    def _code(self, value: object) -> object:
        """Describe a module, a class or a function; return None for other values."""
        if isinstance(value, ModuleType):
            source = self._source_of_module(value) if self._is_described(value.__name__) else ""
            return "module", value.__name__, source
        if isinstance(value, type):
            return self._class(value) if self._is_described(value.__module__) else _full_name(value)
        if isinstance(value, FunctionType):
            return self._function(value) if self._is_described(value.__module__) else _full_name(value)
        if isinstance(value, CodeType):
            return self._bytecode(value)
        if isinstance(value, MethodType):
            return "method", self.of(value.__func__), self.of(value.__self__)
        return self._wrapper(value)

    def _wrapper(self, value: object) -> object:
        """Describe an object that wraps functions or types; return None for other values."""
        if isinstance(value, staticmethod | classmethod):
            return type(value).__name__, self.of(value.__func__)
        if isinstance(value, property):
            return "property", *map(self.of, (value.fget, value.fset, value.fdel))
        if isinstance(value, cached_property):
            return "cached property", self.of(value.func)
        if isinstance(value, partial):
            return "partial", *map(self.of, (value.func, value.args, value.keywords))
        if get_origin(value) is not None or isinstance(value, UnionType):
            return "type", repr(value), *map(self.of, get_args(value))
        wrapped = inspect.getattr_static(value, "__wrapped__", None)
        if wrapped is None:
            return None
        return "wrapper", _full_name(type(value)), self.of(wrapped)

    def _collection(self, value: object) -> object:
        """Describe a collection; return None for other values."""
        if isinstance(value, tuple | list):
            return type(value).__name__, *map(self.of, value)
        if isinstance(value, set | frozenset):
            # A set has no order. So each member is described apart from all other values, and the texts are sorted.
            members = [repr(_CodeDescription(self._package).of(member)) for member in value]
            return type(value).__name__, *sorted(members)
        if isinstance(value, Mapping):
            items = [(self.of(key), self.of(member)) for key, member in value.items()]
            return "mapping", *items
        return None

    def _object(self, value: Any) -> object:
        """Describe an object that is neither code nor a collection: by its fields, its bytes or its text."""
        cls = type(value)
        if isinstance(value, Enum):
            return "member", self.of(cls), value.name
        if dataclasses.is_dataclass(value) or self._is_described(cls.__module__):
            description_of_class = self.of(cls)
            attributes = _slots(value) | getattr(value, "__dict__", {})
            fields: list[tuple[str, Any]] = []
            for name, field in attributes.items():
                if not _is_cached_property(cls, name):
                    fields.append((name, self.of(field)))
            return "object", description_of_class, *fields
        try:
            view = memoryview(value)
            return "buffer", _full_name(cls), view.format, view.shape, hashlib.sha256(view.tobytes()).hexdigest()
        except (TypeError, ValueError):
            return _type_and_text(value)

    def _class(self, cls: type) -> object:
        """Describe a class by its bases, its attributes and its source."""
        # A base of another package is only named. Only the version of such a base says that its code has changed.
        bases = [(self.of(base), str(getattr(base, "version", ""))) for base in cls.__bases__]
        attributes: list[tuple[str, Any]] = []
        for name, value in sorted(vars(cls).items()):
            if _is_code_of_class(cls, name):
                attributes.append((name, self.of(value)))
        return "class", class_source(cls) or cls.__qualname__, *bases, *attributes

    def _function(self, function: FunctionType) -> object:
        """Describe a function by its source, its defaults, and the outer and global variables that it reads."""
        code = function.__code__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        closure = [(name, self.of(_contents(cell))) for name, cell in cells]
        global_values = [(name, self.of(value)) for name, value in _globals(function)]
        source = function_source(function) or self._bytecode(code)
        defaults = self.of(function.__defaults__)
        keyword_defaults = self.of(function.__kwdefaults__)
        return "function", source, defaults, keyword_defaults, *closure, *global_values

    def _bytecode(self, code: CodeType) -> object:
        """Describe code that has no source, by its bytecode."""
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return "code", code.co_code, counts, names, *map(self.of, code.co_consts)

    def _source_of_module(self, module: ModuleType) -> str:
        """Return the source of a module that is used as a whole, or a hash of its file if that is compiled."""
        file = getattr(module, "__file__", None)
        if not file or module.__name__ == "__main__":  # no other code can import it by that name
            return ""
        data = Path(file).read_bytes()
        text = data.decode(errors="replace") if file.endswith(".py") else hashlib.sha256(data).hexdigest()
        return module_source(text) or text

    def _is_described(self, module: str | None) -> bool:
        """Say whether the code of a module is part of the description; code of other packages is only named."""
        if module is None:
            return False
        return module.partition(".")[0] == self._package or is_local(module)


def _is_code_of_class(cls: type, name: str) -> bool:
    """Say whether an attribute of a class was written by its author, and not added by Python."""
    value = vars(cls)[name]
    is_special = name.startswith("__") and name.endswith("__")
    if name in _NOT_CODE or (is_special and _is_made_by_dataclass(cls, value)):
        return False
    if name in _DESCRIBING:
        return bool(value)  # Python adds empty annotations to a class when it is asked for them
    return not is_special or isinstance(value, FunctionType | staticmethod | classmethod | property)


def _is_made_by_dataclass(cls: type, value: Any) -> bool:
    """Say whether a special method was added by `dataclass`, such as `__init__`, so that it follows from the fields."""
    if not dataclasses.is_dataclass(cls) or not isinstance(value, FunctionType):
        return False
    is_written_in_class = value.__code__.co_qualname.startswith(cls.__qualname__)
    return not is_written_in_class


def _globals(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals that a function reads, with their names and in order of these.

    Builtins and undefined names are left out.
    """
    for name in sorted(set(_read_names(function.__code__))):
        if name in function.__globals__ and not hasattr(builtins, name):
            yield name, function.__globals__[name]


def _read_names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals in code and in the functions inside it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _read_names(constant)


def _contents(cell: Any) -> object:
    """Return the value of a variable of an outer function."""
    try:
        return cell.cell_contents
    except ValueError:  # it has no value yet
        return None


def _is_cached_property(cls: type, name: str) -> bool:
    """Say whether an attribute of an object is a cached property, which was computed from others."""
    return isinstance(inspect.getattr_static(cls, name, None), cached_property)


def _slots(value: object) -> dict[str, object]:
    """Return the attributes of an object that lie in slots, by name."""
    attributes: dict[str, object] = {}
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots  # a class may have the name of its only slot
        for name in names:
            if name in ("__dict__", "__weakref__"):
                continue
            # Python gives a private attribute the name of its class too: `__x` of the class A is `_A__x`.
            is_private = name.startswith("__") and not name.endswith("__")
            attribute = f"_{cls.__name__.lstrip('_')}{name}" if is_private else name
            if hasattr(value, attribute):
                attributes[attribute] = getattr(value, attribute)
    return attributes


def _full_name(value: Any) -> str:
    """Return the name of a class or a function, with its module."""
    return f"{value.__module__}.{value.__qualname__}"


def _type_and_text(value: object) -> tuple[str, str]:
    """Return the name of a value's type, and the `repr` of the value if its class is of the standard library.

    The `repr` is left out if it has an address, which differs from process to process.
    """
    is_of_python = type(value).__module__.partition(".")[0] in sys.stdlib_module_names
    text = repr(value) if is_of_python else ""
    if " at 0x" in text:
        text = ""
    return _full_name(type(value)), text
