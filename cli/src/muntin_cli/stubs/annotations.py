"""Annotations as source, with the imports that they need."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

import typing_extensions

LEFT_OUT: Final = "_DEFAULT"
"""Stands for a default that has no literal."""


@dataclass(slots=True)
class Imports:
    """The modules that a file of stubs imports."""

    modules: set[str] = field(default_factory=set)

    def lines(self) -> list[str]:
        """Return one import statement per module."""
        return [f"import {module}" for module in sorted(self.modules)]


def spell_annotation(annotation: object, imports: Imports) -> str:
    """Return an annotation as source; what cannot be spelt is `Any`.

    Example:
        >>> from datetime import timedelta
        >>> imports = Imports()
        >>> spell_annotation(list[timedelta] | None, imports), imports.lines()
        ('list[datetime.timedelta] | None', ['import datetime'])
    """
    if annotation is inspect.Parameter.empty or annotation is Any or isinstance(annotation, str | TypeVar):
        return _any(imports)
    if isinstance(annotation, typing_extensions.TypeVar):
        return _any(imports)
    if annotation is None or annotation is types.NoneType:
        return "None"
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _spell_class(annotation, imports)
    if origin in (Union, types.UnionType):
        return " | ".join(spell_annotation(argument, imports) for argument in arguments)
    if origin is Literal:
        imports.modules.add("typing")
        return f"typing.Literal[{', '.join(map(repr, arguments))}]"
    return f"{_spell_class(origin, imports)}[{_spell_all(arguments, imports)}]"


def spell_default(value: object) -> str:
    """Return a default as source; one that has no literal is left to the module itself.

    Example:
        >>> spell_default("mean"), spell_default(object())
        ("'mean'", '_DEFAULT')
    """
    return repr(value) if isinstance(value, bool | int | float | str | bytes | types.NoneType) else LEFT_OUT


def _spell_all(arguments: Iterable[object], imports: Imports) -> str:
    return ", ".join(_spell_argument(argument, imports) for argument in arguments)


def _spell_argument(argument: object, imports: Imports) -> str:
    if argument is Ellipsis:
        return "..."
    if isinstance(argument, list):
        return f"[{_spell_all(argument, imports)}]"
    return spell_annotation(argument, imports)


def _spell_class(cls: object, imports: Imports) -> str:
    module, name = getattr(cls, "__module__", ""), getattr(cls, "__qualname__", "")
    if not module or not name or "<locals>" in name:
        return _any(imports)
    if module == "builtins":
        return str(name)
    imports.modules.add(module)
    return f"{module}.{name}"


def _any(imports: Imports) -> str:
    imports.modules.add("typing")
    return "typing.Any"
