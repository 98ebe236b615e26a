"""Data that a module keeps outside of its states: on itself, its class, in default arguments, in globals."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import getattr_static, isfunction
from typing import Any, Final, TypeAlias

from muntin.testing.plain_data import restored

_CONTAINERS: Final = (dict, list, set, deque)
_MOST: Final = 10_000
"""Containers of more are tables, which nobody fills while windows are computed; copying them would take long."""

Variables: TypeAlias = list[tuple[Any, dict[str, Any]]]


class Outside:
    """The variables that a module's methods reach besides their arguments, as they are now."""

    def __init__(self, module: object) -> None:
        """Remember them."""
        classes = [
            cls for cls in type(module).__mro__ if cls is not object and not cls.__module__.startswith("muntin.")
        ]
        code = [found for cls in classes for name in vars(cls) if isfunction(found := _function(cls, name))]
        owners = [owner for owner in (module, *classes) if hasattr(owner, "__dict__")]
        self._variables: Variables = [(owner, _plain(vars(owner))) for owner in owners]
        held = [value for owner in owners for value in vars(owner).values()]
        held += [value for function in code for value in function.__defaults__ or ()]
        held += [value for function in code for value in (function.__kwdefaults__ or {}).values()]
        held += [
            function.__globals__[name]
            for function in code
            for name in function.__code__.co_names
            if name in function.__globals__
        ]
        kept = {id(value): value for value in held if isinstance(value, _CONTAINERS) and len(value) <= _MOST}
        self._contents = [(value, content) for value in kept.values() if (content := _copied(value)) is not None]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Let them be again what they were, until the end of the block."""
        now = Outside.__new__(Outside)
        now._variables = [(owner, _plain(vars(owner))) for owner, _ in self._variables]
        now._contents = [(value, copied) for value, _ in self._contents if (copied := _copied(value)) is not None]
        self._restore()
        try:
            yield
        finally:
            now._restore()

    def _restore(self) -> None:
        for owner, variables in self._variables:
            for name in vars(owner).keys() & _plain(vars(owner)).keys() - variables.keys():
                delattr(owner, name)
            for name, value in variables.items():
                if vars(owner).get(name, _NOTHING) is not value:
                    setattr(owner, name, value)
        for value, content in self._contents:
            if value != content:
                value.clear()
                (value.update if isinstance(value, dict | set) else value.extend)(restored(content))


_NOTHING: Final = object()


def _function(cls: type, name: str) -> object:
    found = getattr_static(cls, name)
    return getattr(found, "__func__", getattr(found, "fget", found))


def _plain(variables: Any) -> dict[str, Any]:
    """Return the variables that a module may assign at runtime: neither methods nor Python's own class attributes."""
    return {
        name: value
        for name, value in variables.items()
        if not (name.startswith(("__", "_abc")) or callable(value) or hasattr(type(value), "__get__"))
    }


def _copied(value: object) -> object:
    try:
        return restored(value)
    except TypeError:  # it holds more than data, such as modules of its own, of which a copy is another one
        return None
