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
    """Return a query's modules and windows of plugins, and the functions that it and its inputs call.

    Cost: code of installed packages is hashed once in a process; local code is hashed at each call.
    """
    classes = {part.name: type(part) for part in parts}
    functions = {function.name: function for function in called}

    codes: list[CodeInUse] = []
    for name, cls in classes.items():
        requires_same_code = getattr(cls, "requires_same_code", False)  # windows do not say
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
    """Return the hash of a module's code, and of those that it wraps."""
    return "+".join(map(_hash, _classes_in(cls)))


def _classes_in(cls: Any) -> Iterator[Any]:
    yield cls
    for inner in [*getattr(cls, "_parts", {}).values(), *filter(None, [getattr(cls, "_wrapped", None)])]:
        yield from _classes_in(inner)


def _hash(code: Any) -> str:
    return code_version(code) if is_local(str(getattr(code, "__module__", ""))) else _hash_of_installed(code)


@cache
def _hash_of_installed(code: Any) -> str:
    return code_version(code)
