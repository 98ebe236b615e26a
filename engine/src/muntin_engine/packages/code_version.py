"""A version for a module class that declares none: a hash of its code and of what that uses."""

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
_TOLD: Final = frozenset({"__annotations__", "__slots__"})
"""The attributes between double underscores that say something of a class, besides its methods."""

_NOT_CODE: Final = frozenset({"version", "_abc_impl"})


def with_version(cls: object) -> Any:
    """Return a module class that has a version: itself, or a subclass that has the hash of its code for one.

    A version that it inherits from code of an installed package is not its own. What is no module class is returned as
    it is.
    """
    if not isinstance(cls, type) or not issubclass(cls, Module) or _declares_version(cls):
        return cls
    said = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return new_class(cls.__name__, (cls,), {}, lambda body: body.update(said | {"version": code_version(cls)}))


def code_version(code: Any) -> str:
    """Return a version for a class or a function, the same in each process that has the same code.

    It changes with the class, and with the functions, classes and constants that it uses, also by way of others, where
    these are of its own package or of no installed one. Comments, docstrings and layout make no difference, where the
    source is to be had; elsewhere, and for lambdas, it is the bytecode that counts, which differs between versions of
    Python. What it cannot see are other versions of installed packages, what is imported inside functions, and
    attributes that are looked up by text.

    Example:
        >>> class Twice:
        ...     def of(self, x: int) -> int:
        ...         return 2 * x
        >>> code_version(Twice)[:5], code_version(Twice) == code_version(Twice)
        ('code-', True)
    """
    return _hash(_CodeDescription(package_of(code)).of(code))


def _hash(description: object) -> str:
    return f"code-{hashlib.sha256(repr(description).encode()).hexdigest()[:_DIGITS]}"


def identity_of_function(function: Any) -> tuple[str, str]:
    """Return a name and a version for the module that calls a function.

    A function of an installed package goes by its name, so that a query goes on with another version of the package.
    The version of any other is the hash of its code, as `code_version` makes it.
    """
    inner = function
    while isinstance(inner, partial):
        inner = inner.func
    home = str(getattr(inner, "__module__", None) or "")
    named = str(getattr(inner, "__qualname__", type(inner).__qualname__)).rpartition(".")[2]
    parts = ("function" if is_local(home) else home.partition(".")[0], named)
    name = ".".join(re.sub(r"\W+", "", part.lower()).strip("_0123456789") or "function" for part in parts)
    return name, _hash(_CodeDescription("").of(function))


def _declares_version(cls: type) -> bool:
    owner = next((one for one in cls.__mro__ if "version" in vars(one)), None)
    if owner is None:
        return False
    return owner is cls or is_local(owner.__module__) or not is_local(cls.__module__)


class _CodeDescription:
    """Describes code and constants as nested tuples of text."""

    def __init__(self, home: str) -> None:
        """Take the package whose code counts in any case."""
        self._home = home
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []

    def of(self, value: object) -> Any:
        """Return the description of a value; of one that was described already, its number."""
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, tuple | frozenset):  # whether two equal ones are the same is a matter of chance
            return self._collection(value)
        if id(value) in self._seen:
            return "again", self._seen[id(value)]
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)  # or another object may get its id
        return self._code(value) or self._collection(value) or self._object(value)

    def _code(self, value: object) -> object:
        if isinstance(value, ModuleType):
            return "module", value.__name__, self._file(value) if self._counts(value.__name__) else ""
        if isinstance(value, type):
            return self._class(value) if self._counts(value.__module__) else _named(value)
        if isinstance(value, FunctionType):
            return self._function(value) if self._counts(value.__module__) else _named(value)
        if isinstance(value, CodeType):
            return self._bytecode(value)
        if isinstance(value, MethodType):
            return "method", self.of(value.__func__), self.of(value.__self__)
        return self._wrapper(value)

    def _wrapper(self, value: object) -> object:
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
        return ("wrapper", _named(type(value)), self.of(wrapped)) if wrapped is not None else None

    def _collection(self, value: object) -> object:
        if isinstance(value, tuple | list):
            return type(value).__name__, *map(self.of, value)
        if isinstance(value, set | frozenset):
            return type(value).__name__, *sorted(repr(_CodeDescription(self._home).of(part)) for part in value)
        if isinstance(value, Mapping):
            return "mapping", *((self.of(key), self.of(part)) for key, part in value.items())
        return None

    def _object(self, value: Any) -> object:
        cls = type(value)
        if isinstance(value, Enum):
            return "member", self.of(cls), value.name
        if dataclasses.is_dataclass(value) or self._counts(cls.__module__):
            fields = getattr(value, "__dict__", None) or _slots(value)
            said = [(name, part) for name, part in fields.items() if not _is_remembered(cls, name)]
            return "object", self.of(cls), *((name, self.of(part)) for name, part in said)
        try:
            view = memoryview(value)
            return "buffer", _named(cls), view.format, view.shape, hashlib.sha256(view.tobytes()).hexdigest()
        except (TypeError, ValueError):
            return _spelled(value)

    def _class(self, cls: type) -> object:
        bases = [(self.of(base), str(getattr(base, "version", ""))) for base in cls.__bases__]
        attributes = [(name, self.of(value)) for name, value in sorted(vars(cls).items()) if _says_something(cls, name)]
        return "class", class_source(cls) or cls.__qualname__, *bases, *attributes

    def _function(self, function: FunctionType) -> object:
        code = function.__code__
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        closure = [(name, self.of(_contents(cell))) for name, cell in cells]
        used = [(name, self.of(value)) for name, value in _globals(function)]
        own = function_source(function) or self._bytecode(code)
        return "function", own, self.of(function.__defaults__), self.of(function.__kwdefaults__), *closure, *used

    def _bytecode(self, code: CodeType) -> object:
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return "code", code.co_code, counts, names, *map(self.of, code.co_consts)

    def _file(self, module: ModuleType) -> str:
        """Return the source of a module that is used as a whole."""
        file = getattr(module, "__file__", None)
        if not file or module.__name__ == "__main__":
            return ""
        data = Path(file).read_bytes()
        text = data.decode(errors="replace") if file.endswith(".py") else hashlib.sha256(data).hexdigest()
        return module_source(text) or text

    def _counts(self, module: str | None) -> bool:
        return module is not None and (module.partition(".")[0] == self._home or is_local(module))


def _says_something(cls: type, name: str) -> bool:
    value = vars(cls)[name]
    if name in _NOT_CODE or _is_made_by_dataclass(cls, value):
        return False
    if name in _TOLD and not value:  # Python adds empty annotations to a class that is asked for them
        return False
    is_special = name.startswith("__") and name.endswith("__")
    return not is_special or name in _TOLD or isinstance(value, FunctionType | staticmethod | classmethod | property)


def _is_made_by_dataclass(cls: type, value: Any) -> bool:
    """True for `__init__` and the like of a dataclass, which its fields say already."""
    made = dataclasses.is_dataclass(cls) and isinstance(value, FunctionType)
    return made and not value.__code__.co_qualname.startswith(cls.__qualname__)


def _globals(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals that a function reads and that are there, in order of their names."""
    for name in sorted(set(_read_names(function.__code__))):
        if name in function.__globals__ and not hasattr(builtins, name):
            yield name, function.__globals__[name]


def _read_names(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _read_names(constant)


def _contents(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing was put into it yet
        return None


def _is_remembered(cls: type, name: str) -> bool:
    """True for what an object computed of itself, and keeps."""
    return isinstance(inspect.getattr_static(cls, name, None), cached_property)


def _slots(value: object) -> dict[str, object]:
    names = (name for cls in type(value).__mro__ for name in vars(cls).get("__slots__", ()))
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _named(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _spelled(value: object) -> tuple[str, str]:
    """Return the type of a value and, for values of the standard library, the `repr`, unless that has an address."""
    text = repr(value) if type(value).__module__.partition(".")[0] in sys.stdlib_module_names else ""
    return _named(type(value)), "" if " at 0x" in text else text
