"""Find out which code a query runs: its modules, and the functions that its expressions call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from muntin import Function, Module
from muntin.windows import WindowSpecification
from muntin_engine.packages.code_version import code_version
from muntin_engine.packages.local_code import is_local
from muntin_engine.plan.code_in_use import CodeInUse


def code_in_use(
    parts: Iterable[Module | WindowSpecification], called: Iterable[Function[..., Any]] = ()
) -> tuple[CodeInUse, ...]:
    """Describe the code that a query runs: the name, the version and a hash of each module, window and function.

    Args:
        parts: The modules of the query, and its windows that plugins define.
        called: The functions that the query and its inputs call.

    Cost: code of installed packages is hashed once in a process; local code is hashed at each call.
    """
    # By name: a module that a query calls twice is one piece of code.
    classes = {part.name: type(part) for part in parts}
    functions = {function.name: function for function in called}

    codes: list[CodeInUse] = []
    for name, cls in classes.items():
        requires_same_code = getattr(cls, "requires_same_code", False)  # classes of windows have no such attribute
        codes.append(CodeInUse(name, cls.version, _hash_of_class(cls), requires_same_code=requires_same_code))
    for name, function in functions.items():
        codes.append(
            CodeInUse(
                name,
                function.version,
                _hash(function.implementation),
                is_function=True,
                requires_same_code=function.requires_same_code,
                continues_since=function.continues_since,
            )
        )
    return tuple(codes)


def _hash_of_class(cls: type[Module] | type[WindowSpecification]) -> str:
    """Return the hashes of a class and of the modules that it wraps, joined as one text."""
    return "+".join(map(_hash, _classes_in(cls)))


def _classes_in(cls: Any) -> Iterator[Any]:
    """Yield the class of a module, and the classes of the modules that a decorator of the SDK composed it of."""
    yield cls
    inner_classes = list(getattr(cls, "_parts", {}).values())
    wrapped_class = getattr(cls, "_wrapped", None)
    if wrapped_class:
        inner_classes.append(wrapped_class)
    for inner_class in inner_classes:
        yield from _classes_in(inner_class)


def _hash(code: Any) -> str:
    """Return the hash of a class or function; of an installed package it cannot change while the process runs."""
    return code_version(code) if is_local(str(getattr(code, "__module__", ""))) else _hash_of_installed(code)


@cache
def _hash_of_installed(code: Any) -> str:
    return code_version(code)
